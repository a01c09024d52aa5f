# make demo: set up and run the main job.   make test: set up, check and test.   make help: the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup demo test check fix docs bench lock clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(STAMP)  ## a virtual environment in .venv with exactly the locked packages

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "assay needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

demo: $(STAMP)  ## run the starter tasks with the toy model and show the leaderboard
	$(BIN)/assay run

test: check  ## checks, then the whole test suite
	$(BIN)/python -m pytest -n 2

check: $(STAMP)  ## ruff, mypy strict, import direction, docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/docs tests/test_architecture.py

fix: $(STAMP)  ## format and repair what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP)  ## write the generated reference pages again
	$(BIN)/python -m tests.docs.generate

bench: $(STAMP)  ## measurements beside the peers' ways, as ratios; never part of the tests
	$(BIN)/python -m bench

lock:  ## resolve the dependencies again (needs uv)
	uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -o requirements.lock

clean:  ## remove what setup and runs made
	rm -rf $(VENV) runs outputs .assay build dist
