# One target per job. Run `make` without a target to list them.
# Everything runs in .venv, which `make setup` builds from requirements.lock (exact versions, hashes).

PYTHON ?= python3
BIN := .venv/bin
# Tests wait for processes about a fifth of the time, so one more worker than there are cores keeps the cores
# busy; override with `make test JOBS=8`.
JOBS ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )))

.DEFAULT_GOAL := help
.PHONY: help setup demo check format lint types architecture docs docs-check pictures golden test test-slow bench lock clean

help:  ## show this list
	@echo 'evalwright: evaluate models and datasets from declarative tasks'
	@echo
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */\1\t/' | awk -F '\t' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: .venv/.ready  ## build .venv from the locked versions

.venv/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'evalwright needs Python 3.11 or newer; choose one with: make setup PYTHON=python3.12' >&2; exit 2; }
	@echo 'setting up .venv (once)' >&2
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile --no-deps --require-hashes --requirement requirements.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: .venv/.ready  ## show the main features offline: validate, rank and calibrate a real model, judge
	@$(BIN)/python tools/demo.py

check: format-check lint types architecture docs-check  ## run all checks except the tests

format: .venv/.ready  ## format the code and fix imports
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix --quiet . || true

.PHONY: format-check
format-check: .venv/.ready
	@$(BIN)/ruff format --check --quiet . || { echo 'run `make format`' >&2; exit 1; }

lint: .venv/.ready  ## run ruff with all rules
	@$(BIN)/ruff check --quiet .

types: .venv/.ready  ## run mypy in strict mode
	@$(BIN)/mypy

architecture: .venv/.ready  ## check that imports go in one direction
	@$(BIN)/lint-imports --no-cache

docs: .venv/.ready  ## generate the table of built-ins, the reference pages and the schemas
	@$(BIN)/python -m tools.built_ins
	@$(BIN)/python -m tools.docs

docs-check: .venv/.ready  ## fail if a generated file is out of date
	@$(BIN)/python -m tools.built_ins --check
	@$(BIN)/python -m tools.docs --check

pictures: .venv/.ready  ## redraw the terminal pictures in docs/pictures
	@$(BIN)/python -m tools.pictures

golden: .venv/.ready  ## rewrite the golden reports; check the diff before you commit
	@EVALWRIGHT_GOLDEN=write $(BIN)/python -m pytest -q tests/test_golden.py

test: check  ## run the checks and the tests, as CI does
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m 'not slow'

test-slow: .venv/.ready  ## run the simulations behind the published numbers (takes minutes)
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m slow

bench: .venv/.ready  ## run the main benchmarks and check their thresholds (about 15 minutes)
	@for script in startup validate dataset_check text stats comparisons compare_runs functions scale throughput durability sandbox local peers; do echo; echo "== bench/$$script.py"; $(BIN)/python bench/$$script.py || exit 1; done

lock:  ## compile requirements.lock from pyproject.toml (needs uv)
	@uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet --group dev pyproject.toml --output-file requirements.lock

clean:  ## remove .venv and all caches
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis bench/.peers
