# Two commands matter: `make demo` and `make test`. Everything works from an empty clone and again on top of itself.

PYTHON ?= python3
ARGS   ?=
SIZE   ?= ci
PY     := .venv/bin/python
PIP    := $(PY) -m pip --disable-pip-version-check -qq install --constraint config/constraints.txt
PINS   := pyproject.toml config/constraints.txt
CODE   := channels tests

# Tests run side by side, one process per core. Whatever a shell says, interpreters keep the bytecode that they made:
# the tests start hundreds, and without it each compiles the product anew. Files that nobody keeps go to memory where
# there is room, since a domain file syncs at every commit.
unexport PYTHONDONTWRITEBYTECODE
ROOM   := $(shell [ -w /dev/shm ] && [ "$$(df -Pk /dev/shm | awk 'NR == 2 { print $$4 }')" -ge 1048576 ] && echo yes)
SPREAD := -n auto --maxprocesses=4 --dist=worksteal
PYTEST := $(if $(ROOM),PYTEST_DEBUG_TEMPROOT=/dev/shm )$(PY) -m pytest

.DEFAULT_GOAL := help
.PHONY: help demo run check lint unit store quick test pictures crash bench storm agents pins browser clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo: .venv/installed ## the whole product on this machine: make demo, or make demo ARGS='--say hello'
	@$(PY) -m channels demo $(ARGS)

run: .venv/installed ## the service: make run ARGS='--config FILE'
	@$(PY) -m channels run $(ARGS)

# Side by side, as it takes two cores; each part's output comes in one piece.
check: .venv/tested ## format, lint, types, import contracts, unit and store tests: under 60 s
	@$(MAKE) --no-print-directory --jobs 2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) lint quick

unit store: .venv/tested
	$(PYTEST) -q -p no:cacheprovider $(SPREAD) tests/$@

quick: .venv/tested
	$(PYTEST) -q -p no:cacheprovider $(SPREAD) tests/unit tests/store

lint: .venv/tested
	$(PY) -m ruff format --check $(CODE)
	$(PY) -m ruff check $(CODE)
	$(PY) -m mypy
	$(PY) -c 'from importlinter.cli import lint_imports_command as lint; lint()'

test: .venv/tested lint browser ## everything that CI runs
	$(PYTEST) $(SPREAD) $(ARGS)

pictures: .venv/tested browser ## pictures of pages and cards, into tests/browser/pictures
	CHANNELS_PICTURES=1 $(PY) -m pytest -q tests/browser $(ARGS)

crash: .venv/tested ## kill it everywhere, into build/crash-*.json: make crash, SIZE=full (hours), ARGS='--seed 7'
	$(PY) -m tests.crash --size $(SIZE) $(ARGS)

bench: .venv/tested ## the figures of tests/bench
	$(PY) -m tests.bench $(ARGS)

storm: .venv/tested ## 2 000 messages of 20 people in bad weather: make storm ARGS='--messages N --seed N'
	$(PY) -m tests.integration.storm $(ARGS)

# Not in CI. Installs them from their registries into AGENTS_CACHE (build/real-agents), about 1.5 GB and needs Node.js 20.
agents: .venv/tested ## real ACP agents against a fake model, into build/agents-*.json: make agents ARGS='--agent opencode'
	$(PY) -m tests.real_agents $(ARGS)

pins: .venv/tested ## write config/constraints.txt anew from what is installed here
	@head -1 config/constraints.txt > .venv/pins
	@$(PY) -m pip freeze --exclude-editable | grep -v @ >> .venv/pins
	@cp .venv/pins config/constraints.txt

clean: ## remove what tools left behind; the .venv stays
	rm -rf build demo-data *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is newer than what it was made from. A .venv that has no stamp, or no working Python, is mended in place.
define make-venv
	@$(PY) -c '' 2>/dev/null || { echo 'making .venv'; $(PYTHON) -m venv --clear .venv; }
	@$(PY) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'Python 3.11 or newer is needed: make PYTHON=python3.11' >&2; rm -rf .venv; exit 1; }
endef

.venv/installed: $(PINS)
	$(make-venv)
	@echo 'installing Feishu Channels into .venv'
	@$(PIP) --editable .
	@touch $@

.venv/tested: $(PINS)
	$(make-venv)
	@echo 'installing Feishu Channels and what its tests need into .venv'
	@$(PIP) --editable '.[test]'
	@touch .venv/installed $@

# The browser tests drive Debian's Chromium. Root gets it here; everybody else is told.
browser:
	@if command -v chromium >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-noto-cjk; \
	else echo 'the browser tests need Chromium: install the packages chromium and fonts-noto-cjk'; fi
