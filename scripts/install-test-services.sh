#!/bin/sh
# Install what some tests talk to: the PostgreSQL server, from Debian's packages. The tests start and stop it themselves.
# Without root nothing is installed, and these tests say that they are skipped.
set -eu

ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && exit 0
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || exit 0
# The package would start a server of its own.
if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common
    echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
fi
echo "installing the PostgreSQL server for the tests" >&2
apt-get update -qq >/dev/null 2>&1 || true
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Options::=--force-confold postgresql >/dev/null 2>&1 ||
    echo "the PostgreSQL server could not be installed; its tests are skipped" >&2
