#!/bin/sh
# Build a wheel in one of several ways, install it into an environment without it and use what it installs.
# Usage: check-wheel.sh PYTHON [HOW]
#   wheel        (default) from the tree, with the tools at hand
#   sdist        from the source distribution without its page: Node builds it
#   no-node      from the source distribution, with a C compiler alone: the page comes with it
#   no-compiler  from the source distribution, with neither: ziglang from the package index compiles
#   nothing      the same without ziglang: the build stops, and names what to install
# Tools are hidden by a path that lacks them. PYTHON has the packages of `.[test]`.
set -eu

python=$1
how=${2:-wheel}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "$how: $*" >&2; exit 1; }

# A path with these programs only.
only() {
    unset CC
    mkdir "$work/bin"
    for name in sh env uname rm mkdir cat "$@"; do
        found=$(command -v "$name") && ln -s "$found" "$work/bin/$name"
    done
}

unpacked() {
    "$python" -m hatchling build --target sdist --directory "$work/sdist" >/dev/null 2>&1 || fail "no source distribution"
    mkdir "$work/source"
    tar -xzf "$work"/sdist/ascend_sn-*.tar.gz -C "$work/source" --strip-components 1
    test -f "$work/source/src/ascend_sn/_web/insight/index.html" || fail "the source distribution lacks the page"
}

# built_with PATH SOURCE [OPTION]: without isolation the build backend is that of PYTHON, and nothing is fetched.
built_with() {
    PATH=$1 "$python" -m pip wheel --verbose --no-deps ${3-} --wheel-dir "$work/dist" "$2" >"$work/log" 2>&1 ||
        { tail -20 "$work/log" >&2; fail "no wheel"; }
    ! grep 'front end is not built' "$work/log" >&2 || fail "no page"
}

asked_for() { grep -q "Successfully installed.*$1" "$work/log"; }

case $how in
wheel)
    built_with "$PATH" .
    ;;
sdist)
    unpacked
    rm -r "$work/source/src/ascend_sn/_web"
    built_with "$PATH" "$work/source" --no-build-isolation
    ;;
no-node)
    unpacked
    only cc gcc as ld
    built_with "$work/bin" "$work/source" --no-build-isolation
    ;;
no-compiler)
    unpacked
    only
    built_with "$work/bin" "$work/source"
    asked_for nodejs && fail "the build asked for Node"
    asked_for ziglang || fail "the build found a compiler"
    ;;
nothing)
    unpacked
    only
    if PATH=$work/bin "$python" -m pip wheel --no-deps --no-build-isolation --wheel-dir "$work/dist" "$work/source" \
        >"$work/log" 2>&1; then fail "a wheel came out"; fi
    grep -q 'no C compiler found: install gcc or clang' "$work/log" || { tail -20 "$work/log" >&2; fail "no clear line"; }
    grep -q Traceback "$work/log" && fail "a traceback"
    echo "nothing: the build stops and names the compiler"
    exit 0
    ;;
*)
    fail "no such way"
    ;;
esac

"$python" -m venv "$work/venv"
if [ "$how" = wheel ]; then
    "$work/venv/bin/python" -m pip install --quiet "$work"/dist/ascend_sn-*.whl
    "$work/venv/bin/python" -m pip check >/dev/null
else # only the package is in question: what it needs is that of PYTHON
    "$work/venv/bin/python" -m pip install --quiet --no-deps "$work"/dist/ascend_sn-*.whl
    site='import sysconfig; print(sysconfig.get_path("purelib"))'
    "$python" -c "$site" >"$("$work/venv/bin/python" -c "$site")/needed.pth"
fi
version=$("$python" -c 'import runpy; print(runpy.run_path("src/ascend_sn/_version.py")["__version__"])')

# Outside the source tree and its path, so that only the installed package can answer.
unset PYTHONPATH
cd "$work"
bin=$work/venv/bin
"$bin/ascend-sn" --help >/dev/null
"$bin/ascend-sn" --version | grep -qwF "$version" || fail "not version $version"
"$bin/python" -W error -c 'import sys, ascend_sn, ascend.profiler, asc_tools.profiler; assert ascend_sn.__file__.startswith(sys.prefix)'
"$bin/python" -c 'from ascend_sn.report.html.bundle import report_script; assert report_script(), "no front end"'
"$bin/python" -c 'from ascend_sn.insight.assets import WEB_FOLDER; assert (WEB_FOLDER / "index.html").is_file(), "no web page"'
"$bin/python" - <<'END'
from importlib.metadata import files
texts = {str(file): file.locate().read_text(encoding="utf-8") for file in files("ascend-sn") if "licen" in file.name.lower()}
assert any(name.endswith("dist-info/licenses/LICENSE") for name in texts), texts.keys()
bundled = {"_web/licenses.md": ("echarts", "zrender", "tslib"), "_web/insight/licenses.md": ("preact", "echarts", "zrender")}
for place, packages in bundled.items():
    text = next(text for name, text in texts.items() if name.endswith(place))
    for package in packages:
        assert f"## {package} - " in text, (place, package)
END

export XDG_CACHE_HOME="$work/cache" LC_ALL=C.UTF-8
"$bin/ascend-sn" demo >demo.txt 2>demo.err || { cat demo.err >&2; fail "the demo fails"; }
grep -q '^Verdict' demo.txt || fail "the demo gives no verdict"
test -s demo-result/ascend-sn-report.html || fail "the demo writes no report"
cat >foreign.json <<'END'
{"traceEvents": [{"ph": "X", "name": "aten::mm", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1000, "dur": 40},
                 {"ph": "X", "name": "aten::add", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1100, "dur": 10}]}
END
"$bin/ascend-sn" query foreign.json --format csv "select name, dur_ns from operator order by ts_ns" >read.csv
printf 'name,dur_ns\naten::mm,40000\naten::add,10000\n' | cmp -s - read.csv || { cat read.csv >&2; fail "the file is misread"; }
echo "$how: $(basename "$work"/dist/*.whl) installs, records, reads"
