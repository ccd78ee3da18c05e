# Triplane's commands. `make up` and `make test` install what they need by themselves.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

ENV ?= dev
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CODE := __main__.py models catalog components policies cli sandbox benchmarks goldens tests
STACK = $(BIN)/python -m sandbox.engine.stack
# Compiled tests are kept, also where an image's environment says otherwise: 12 seconds per worker.
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest
# A module's tests share a stack and run in order, so a module is never split between workers; the
# longest begin first (tests/helpers/repository/module_times.py), whatever the number of their tests.
SIDE_BY_SIDE = -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# More arguments for pytest: make test ARGS="-k gateway"
ARGS ?=

# SANDBOX=1 plays AWS and every existing cluster, so that staging and prod run offline too.
export SANDBOX ?=

# SANDBOX_ENGINES=1 runs a stub engine for every engine pod of an existing cluster.
export SANDBOX_ENGINES ?=

.PHONY: docs help setup toolchain up down preview render test bench bench-memory mutants goldens plots snapshots check fmt format-check lint type fast lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(STAMP) ## .venv with everything in Python

# The stamp is newer than the lock file once what it lists is installed.
$(STAMP): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) is missing: install Python 3.11 or newer"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: $(PYTHON) is older than 3.11; set PYTHON=python3.x"; exit 1; }
	@$(PYTHON) sandbox/bootstrap.py $(VENV)
	@touch $@

toolchain: setup ## build the engine, the provider and the control plane (cached outside the tree)
	@$(BIN)/python -m sandbox.toolchain

up: setup ## bring the stack up on the embedded control plane and print its outputs
	@$(STACK) up --env $(ENV)

down: setup ## destroy the stack and remove its control plane (PURGE=1: without destroying it)
	@$(STACK) down --env $(ENV) $(if $(PURGE),--purge)

preview: setup ## preview the stack, and tell what it would replace or lose
	@$(STACK) preview --env $(ENV)
	@$(BIN)/triplane changes build/$(ENV)$(if $(TRIPLANE_INSTANCE),-$(TRIPLANE_INSTANCE)).preview.jsonl

render: setup ## write the stack's manifests to build/$(ENV)/<region>/
	@$(STACK) render --env $(ENV)

test: toolchain ## run every test (ARGS="-k gateway" chooses)
	@$(PYTEST) $(SIDE_BY_SIDE) $(ARGS)

bench: toolchain ## previews as ratios (program, pack, prod by regions), budgets per second
	@$(BIN)/python -m benchmarks.speed.preview
	@$(BIN)/python -m benchmarks.speed.scale
	@$(BIN)/python -m benchmarks.speed.budgets

bench-memory: setup ## compare the memory model with other estimators
	@$(BIN)/python -m benchmarks.peers.compare

mutants: setup ## change the code at random and see which tests notice (SAMPLE=, MINUTES=, SEED=, PACKAGE=)
	@$(BIN)/python -m benchmarks.mutants $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(MINUTES),--minutes $(MINUTES)) \
		$(if $(SEED),--seed $(SEED)) $(if $(PACKAGE),--package $(PACKAGE))

goldens: setup ## ask the pinned engine itself, without a GPU (several GB; SAMPLE=5 checks five)
	@$(BIN)/python -m goldens $(if $(SAMPLE),--sample $(SAMPLE))

plots: setup ## renew the tables and drawings of docs/memory-model.md
	@$(BIN)/python -m benchmarks.memory.plots

snapshots: setup ## renew tests/snapshots: what every environment's program makes
	@$(BIN)/python -m tests.helpers.snapshots.renew

docs: setup ## renew the tables of docs/policies.md and docs/settings.md from rules and settings
	@$(BIN)/python -m policies.frame.explain
	@$(BIN)/python -m catalog.generate.settings_page

fast: setup
	@$(PYTEST) $(SIDE_BY_SIDE) -m "pure or mocks or process" -q $(ARGS)

check: format-check lint type fast ## format, lint, types, fast tests

fmt: setup ## format the code
	@$(BIN)/ruff format $(CODE)
	@$(BIN)/ruff check --fix --quiet $(CODE)

format-check: setup
	@$(BIN)/ruff format --check $(CODE)

lint: setup ## lint the code
	@$(BIN)/ruff check $(CODE)

type: setup ## check types, strictly
	@$(BIN)/basedpyright

# The resolver is needed here only: it has an environment of its own.
UV := build/lock/bin/uv
lock: setup ## renew requirements.lock from pyproject.toml
	@test -x $(UV) || { $(BIN)/python -m venv build/lock && build/lock/bin/pip install --quiet uv; }
	@$(UV) pip compile --quiet --generate-hashes --universal --python-version 3.11 \
		--group dev --no-emit-index-url --custom-compile-command "make lock" \
		pyproject.toml -o requirements.lock
	@$(UV) pip compile --quiet --generate-hashes --universal --python-version 3.11 \
		--group mutants --no-emit-index-url --custom-compile-command "make lock" \
		-o benchmarks/mutants/requirements.txt

clean: ## remove what the tree's commands made in the tree
	@rm -rf build .pytest_cache .ruff_cache .hypothesis
