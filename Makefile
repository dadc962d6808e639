# `make demo` and `make test` are all a fresh machine needs; each makes its own environment.
VENV := .venv
BIN := $(VENV)/bin

.PHONY: venv
venv: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	test -x $(BIN)/python || python3.11 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[test,lint,docs]'
	touch $@
