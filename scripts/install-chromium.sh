#!/bin/sh
# Install Chromium and fonts for Chinese where the browser tests find none; needs root and Debian's packages.
set -eu

for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && exit 0
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "no Chromium, and no way to install it here: the browser tests will fail" >&2
  exit 0
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends chromium fonts-noto-cjk >/dev/null
