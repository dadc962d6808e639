#!/bin/sh
# Build the wheel, install it into an empty environment and start what it installs. Usage: check-wheel.sh PYTHON
set -eu

python=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m pip wheel --quiet --no-deps --wheel-dir "$work/dist" .
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet "$work"/dist/ascend_sn-*.whl

# Outside the source tree, so that only the installed package can answer.
cd "$work"
"$work/venv/bin/ascend-sn" --help >/dev/null
"$work/venv/bin/ascend-sn" --version
"$work/venv/bin/python" -W error -c 'import ascend_sn, ascend.profiler, asc_tools.profiler'
"$work/venv/bin/python" -c 'from ascend_sn.report.html_bundle import report_script; assert report_script(), "no front end"'
"$work/venv/bin/python" -c 'from ascend_sn.insight.assets import WEB_FOLDER; assert (WEB_FOLDER / "index.html").is_file(), "no web page"'
"$work/venv/bin/python" -m pip check
echo "wheel: $(basename "$work"/dist/*.whl) installs and starts"
