# `make` alone tells what there is. Needs Python 3.11 or newer and nothing else; `make controlplane` also needs Go.

PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; done)
VENV := .venv
BIN := $(VENV)/bin
# Bytecode is written when a module is first imported: most of what is installed never is.
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install --no-compile
# kubeglance is measured as its image has it: on a Python that is optimised, as those of distributions are, with nothing that only development needs.
BENCH_PYTHON ?= $(shell for name in /usr/bin/python3 "$(PYTHON)"; do \
	"$$name" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; done)
UV ?= uv
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-emit-find-links
ARGS ?=
SUITE ?= all

.DEFAULT_GOAL := help
.PHONY: help demo install test check docs goldens controlplane bench format lock clean

help: ## What can be made
	@echo 'make TARGET [ARGS="..."]'
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r target text; do \
		printf '%-15s%s\n' "$$target" "$$text"; done

demo: $(VENV)/serve.stamp ## A simulated cluster with kubeglance behind it; ARGS="--once" ends after the tables
	@$(BIN)/kubeglance demo $(ARGS)

install: $(VENV)/dev.stamp ## The virtual environment .venv, with all that development needs

test: $(VENV)/dev.stamp ## All tests; ARGS are pytest's, such as ARGS="tests/unit -x"
	$(BIN)/python -m pytest $(ARGS)

check: $(VENV)/dev.stamp ## Lint, format, types, import contracts, documentation drift
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --quiet tests/unit/docs

controlplane: $(VENV)/dev.stamp ## Build the real kube-apiserver, etcd and kubectl that the e2e tests run (needs Go, minutes when cold)
	$(BIN)/python -m tests.e2e.controlplane build

format: $(VENV)/dev.stamp ## Format, and mend what the linter can mend
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .

docs: $(VENV)/dev.stamp ## Write what is derived: deploy/base and the tables in docs/
	@$(BIN)/python -m tests.unit.docs.derived

goldens: $(VENV)/dev.stamp ## Ask the real metrics-server anew what tests compare kubeglance with (needs make controlplane)
	@$(BIN)/python -m tests.goldens.make

bench: $(VENV)/bench.stamp $(VENV)/released.stamp ## Measure beside the real metrics-server, 20 minutes (needs make controlplane and wrk); QUICK=1: 4; SUITE=hpa: beside prometheus-adapter; SUITE=micro: the steps alone
	@$(BIN)/python -m benchmarks --suite=$(SUITE) $(if $(QUICK),--quick) $(if $(ONLY),--only=$(ONLY)) $(ARGS)

lock: ## Choose the newest versions anew and write requirements/*.lock
	@command -v $(UV) >/dev/null || { echo 'make lock needs uv, which is not part of the project. For example:'; \
		echo '  python3 -m venv /tmp/uv && /tmp/uv/bin/pip install uv && make lock UV=/tmp/uv/bin/uv'; exit 1; }
	$(COMPILE) --upgrade pyproject.toml --output-file requirements/serve.lock
	$(COMPILE) --upgrade pyproject.toml --extra dev --constraint requirements/serve.lock --output-file requirements/dev.lock
	$(COMPILE) --upgrade pyproject.toml --extra bench --constraint requirements/dev.lock --output-file requirements/bench.lock
	echo hatchling | $(COMPILE) - --constraint requirements/dev.lock --output-file requirements/build.lock

clean: ## Remove the virtual environment and the tools' caches; what make controlplane built stays
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist

# A new environment whenever there is none; the stamps say which locks it holds.
$(BIN)/python:
	@test -n "$(PYTHON)" || { echo 'No Python 3.11 or newer with venv was found; name one: make PYTHON=/path/to/python3.11 ...' >&2; exit 1; }
	@echo "Making $(VENV) with $(PYTHON) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/serve.stamp: requirements/serve.lock requirements/build.lock pyproject.toml | $(BIN)/python
	@echo 'Installing the locked requirements ...'
	@$(PIP) --require-hashes --requirement requirements/serve.lock --requirement requirements/build.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.stamp: requirements/dev.lock $(VENV)/serve.stamp
	@echo 'Installing what development needs ...'
	@$(PIP) --require-hashes --requirement requirements/dev.lock
	@touch $@

$(VENV)/bench.stamp: requirements/bench.lock $(VENV)/serve.stamp
	@echo 'Installing what benchmarks need ...'
	@$(PIP) --require-hashes --requirement requirements/bench.lock
	@touch $@

$(VENV)/released.stamp: requirements/serve.lock $(VENV)/serve.stamp
	@echo 'Making $(VENV)/released with $(BENCH_PYTHON), to be measured ...'
	@rm -rf $(VENV)/released
	@$(BENCH_PYTHON) -m venv --without-pip $(VENV)/released
	@$(subst -m pip,-m pip --python $(VENV)/released/bin/python,$(PIP)) --require-hashes --requirement requirements/serve.lock
	@touch $@
