# Two commands do everything on a fresh Debian or Ubuntu machine with Python 3.11 or newer:
#   make demo   an agent that gets stuck, live in the terminal, and the analysis of its trace
#   make test   the tests
# `make test-frameworks` tests the processor in real agent frameworks, which it installs in .venv-frameworks.
# All make a virtual environment of their own in .venv first. Debian keeps venv in a package of its
# own: where it is missing, it is installed with apt-get (through sudo, unless run as root).

PYTHON ?= $(shell for p in python3.14 python3.13 python3.12 python3.11 python3; do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$p; break; fi; done)
BIN := .venv/bin
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: demo test test-frameworks lint check picture clean

demo: .venv/.installed
	$(BIN)/otel-stall demo

test: .venv/.dev
	$(BIN)/python -m pytest

# Instrumentations stay in a process once they are on, so each file runs in one of its own.
test-frameworks: .venv-frameworks/.installed
	@set -e; for file in tests/frameworks/test_*.py; do .venv-frameworks/bin/python -m pytest -q $$file; done

lint: .venv/.dev
	$(BIN)/ruff format --check otel_stall tests
	$(BIN)/ruff check otel_stall tests
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test

picture: .venv/.installed
	$(BIN)/otel-stall demo --fast --svg docs/demo.svg >/dev/null

clean:
	rm -rf .venv .venv-frameworks demo-output

.venv/bin/pip:
	@test -n "$(PYTHON)" || { echo "otel-stall needs Python 3.11 or newer" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
		{ $(AS_ROOT) apt-get update -q && $(AS_ROOT) apt-get install -y -q $(notdir $(PYTHON))-venv; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/.installed: pyproject.toml .venv/bin/pip
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/.dev: .venv/.installed
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

.venv-frameworks/.installed: pyproject.toml .venv/bin/pip
	$(PYTHON) -m venv .venv-frameworks
	.venv-frameworks/bin/python -m pip install --quiet --upgrade pip
	.venv-frameworks/bin/python -m pip install --quiet --editable . --group frameworks
	@touch $@
