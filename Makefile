PYTHON ?= python3
BIN := .venv/bin
export OMP_NUM_THREADS := 1

.PHONY: setup demo test test-slow check fmt bench lock
.DEFAULT_GOAL := setup

setup: .venv/.stamp ## make .venv and install everything into it (quick when nothing changed)

.venv/.stamp: pyproject.toml requirements.lock
	$(PYTHON) -c 'import sys; sys.exit("Outrider needs Python 3.11 or newer: pass PYTHON=/path/to/python3" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv && $(BIN)/python -m pip install --quiet --no-compile --config-settings editable_mode=compat --constraint requirements.lock --editable '.[device,ocr,cloud,clones,dev]' && touch $@

demo: setup ## the whole loop on this machine, about ten minutes
	$(BIN)/outrider up

test: check ## what a change must pass: checks, then every test that is not marked slow
	$(BIN)/pytest tests -m 'not slow' -n 2 --dist loadscope

test-slow: setup ## the long tests
	$(BIN)/pytest tests -m slow

check: setup ## format, lint, types, import contracts
	$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet . && $(BIN)/mypy && $(BIN)/lint-imports --no-logo --no-cache

fmt: setup ## put the code into its form
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

bench: setup ## what one action costs
	$(BIN)/outrider bench policy --elements 64 --json

lock: setup ## write the versions that are installed now into the lock file
	$(BIN)/python -m pip freeze --exclude-editable | sed -E 's/\+[a-z0-9.]+$$//' > requirements.lock
