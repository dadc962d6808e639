#!/bin/sh
# Print the Python to build with, after making sure that it can: version, venv, Python.h, a C compiler.
# As root, what is missing comes from apt; otherwise one line says what to install and the exit code is 1.
set -eu

say() { echo "ascend-sn: $*" >&2; }
stop() { say "$*"; exit 1; }

may_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; }

updated=no
install() {
    say "installing $* with apt"
    if [ $updated = no ]; then apt-get update -qq >/dev/null || say "apt-get update failed, trying with the lists at hand"; fi
    updated=yes
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
has_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }
has_headers() {
    "$1" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' >/dev/null 2>&1
}
of_the_system() { [ "$("$1" -c 'import sys; print(sys.base_prefix)')" = /usr ]; }
# python3.11-dev and the like; only the system's own interpreter takes its parts from apt.
package() { "$1" -c "import sys; print('python%d.%d-$2' % sys.version_info[:2])"; }

find_python() {
    for candidate in ${PYTHON:-} python3.11 python3.12 python3.13 python3; do
        if new_enough "$candidate"; then command -v "$candidate"; return; fi
    done
}

python=$(find_python)
if [ -z "$python" ] && may_install; then
    install python3 || true
    python=$(find_python)
fi
[ -n "$python" ] || stop "Python 3.11 or newer is missing: install it, or name one with 'make PYTHON=/path/to/python3.11 ...'"

lacks=""
packages=""
has_venv "$python" || { lacks="$lacks, its venv module"; packages="$packages $(package "$python" venv)"; }
has_headers "$python" || { lacks="$lacks, its C headers (Python.h)"; packages="$packages $(package "$python" dev)"; }
if [ -n "$packages" ] && of_the_system "$python" && may_install; then
    # shellcheck disable=SC2086 # one word per package
    install $packages || true
fi
if ! has_venv "$python" || ! has_headers "$python"; then
    remedy="install a complete Python"
    if of_the_system "$python"; then
        command -v apt-get >/dev/null 2>&1 && remedy="apt-get install$packages"
        command -v dnf >/dev/null 2>&1 && remedy="dnf install python3-devel"
    fi
    stop "$python lacks ${lacks#, }: $remedy, or name another with 'make PYTHON=/path/to/python3.11 ...'"
fi

if ! command -v "${CC:-cc}" >/dev/null 2>&1 && ! command -v gcc >/dev/null 2>&1 && ! command -v clang >/dev/null 2>&1; then
    may_install && install gcc libc6-dev || true
    command -v gcc >/dev/null 2>&1 || say "no C compiler found; the build takes ziglang from PyPI instead"
fi

echo "$python"
