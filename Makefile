# Two commands do everything on a fresh Debian or Ubuntu machine with Python 3.11 or newer:
#   make demo   an agent that gets stuck, live in the terminal, and the analysis of its trace
#   make test   the tests
# `make test-frameworks` tests the processor in real agent frameworks, which it installs in .venv-frameworks.
# `make test-vendors` tests it on the tracer providers of logfire, langfuse, traceloop, phoenix and mlflow
# (.venv-vendors), `make matrix` on the oldest and newest SDK and those between that changed (.venv-matrix).
# `make pipeline-demo` runs collector, gateway and Jaeger on loopback with an agent that gets stuck, and
# `make test-pipeline` tests the configurations with the same parts; both build them first (`make parts`). The
# latter also checks the dashboards by what Grafana publishes for Node (.venv-grafana).
# `make test-page` opens the report for a browser in a headless Chromium, `make picture` takes the README's pictures of it.
# `make fuzz SECONDS=600` fuzzes every way in for so long each (TARGETS="readers dialect" some of them), and `make soak`
# makes two million steps through a live processor and draws memory and times.
# `make dist` builds and checks wheel and source archive, `make test-pythons` tests the wheel on every Python that is
# here, `make test-lowest` the oldest dependencies, `make audit` and `make licences` look at what is installed, and
# `make lock` refreshes .ci/locks/, from which .venv is installed for tests (.venv-release, .venv-lowest).
# All make a virtual environment of their own in .venv first. Debian keeps venv in a package of its
# own: where it is missing, it is installed with apt-get (through sudo, unless run as root).

PYTHON ?= $(shell for p in python3.14 python3.13 python3.12 python3.11 python3; do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$p; break; fi; done)
BIN := .venv/bin
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

PARTS = OTEL_STALL_PARTS_BIN=$${OTEL_STALL_PARTS_BIN:-$$(collector-config/build-parts.sh)}

.PHONY: demo test fuzz soak test-frameworks test-page test-pipeline test-vendors test-lowest test-pythons matrix parts \
	pipeline-demo environments lint check picture lock dist audit licences clean

demo: .venv/.installed
	$(BIN)/otel-stall demo

test: .venv/.dev
	$(BIN)/python -m pytest

# Coverage-guided, with atheris, which has wheels for some Pythons only: without it inputs are changed at random.
fuzz: .venv/.dev
	-@$(BIN)/python -m pip install --quiet --group fuzz
	$(BIN)/python tests/fuzz/fuzz.py $(or $(SECONDS),60) $(TARGETS)

soak: .venv/.dev
	$(BIN)/python -m pip install --quiet --group soak
	nice -n 19 $(BIN)/python benchmarks/soak.py --plot docs/soak.svg --csv soak.csv

# Instrumentations stay in a process once they are on, so each file runs in one of its own.
test-frameworks: .venv-frameworks/.installed
	@set -e; for file in tests/frameworks/test_*.py; do .venv-frameworks/bin/python -m pytest -q $$file; done

test-vendors: .venv-vendors/.installed
	.venv-vendors/bin/python -m pytest -q tests/vendors/test_*.py

test-page: .venv/.page
	$(BIN)/python -m pytest -q tests/page/test_*.py

test-pipeline: .venv/.dev .venv-grafana/.installed parts
	@command -v promtool >/dev/null && PATH=$$PATH:/usr/sbin command -v haproxy >/dev/null || \
		{ $(AS_ROOT) apt-get update -q && $(AS_ROOT) apt-get install -y -q --no-install-recommends prometheus haproxy; }
	@$(PARTS) && export OTEL_STALL_PARTS_BIN && $(BIN)/python -m pytest -q tests/pipeline/test_*.py

# The collector and Jaeger, built from Go modules once and kept in a cache; without Go it says how else to get them.
parts:
	@$(PARTS) && test -x "$$OTEL_STALL_PARTS_BIN/otelcol-stall" && test -x "$$OTEL_STALL_PARTS_BIN/jaeger" && \
		echo "collector and Jaeger are in $$OTEL_STALL_PARTS_BIN"

pipeline-demo: .venv/.gateway parts
	@$(PARTS) && export OTEL_STALL_PARTS_BIN && \
		$(BIN)/python collector-config/demo.py $(if $(SECONDS_UP),--seconds $(SECONDS_UP))

# In 1.43 spans froze; 1.42 is the last before, 1.40 the first that tells processors of a span's end in time.
SDKS := 1.40.0 1.42.1 1.43.0 1.45.2

# What `make test-frameworks`, `-vendors`, `-pipeline`, `-lowest` and `matrix` need beside .venv.
environments: .venv-frameworks/.installed .venv-vendors/.installed .venv-grafana/.installed .venv-release/.installed \
	.venv-lowest/.installed $(SDKS:%=.venv-matrix/%/.installed) parts

# Some of these SDKs use what newer Pythons warn of, and warnings are errors in tests.
matrix: $(SDKS:%=.venv-matrix/%/.installed)
	@set -e; for sdk in $(SDKS); do echo "opentelemetry-sdk $$sdk"; \
		.venv-matrix/$$sdk/bin/python -m pytest -q \
		-W "ignore:SelectableGroups:DeprecationWarning" tests/test_sdk_versions.py; done

# The oldest versions that pyproject.toml allows; the newest are those of `make test-pythons`.
LOWEST := processor scenarios exporter config journal metrics emission hosts report

test-lowest: .venv-lowest/.installed
	.venv-lowest/bin/python -m pytest -q $(LOWEST:%=tests/test_%.py) tests/dialects/test_recorded.py \
		tests/gateway/test_core.py

test-pythons: dist
	@.ci/release/test-pythons.sh

dist: .venv-release/.installed
	@.ci/release/build.sh

# `make lock UPGRADE=1` takes the newest versions that fit; else what is pinned stays where it fits.
lock: .venv/.dev
	.ci/release/lock.sh $(if $(UPGRADE),--upgrade)

audit: .venv-release/.installed
	@.venv-release/bin/python .ci/release/audit.py .ci/locks/dev.txt .ci/locks/release.txt

# Of what a user installs with the wheel and its extras: permissive licences, and MPL for what is used unchanged.
LICENCES := Apache;MIT;BSD;PSF;Python Software Foundation;ISC;MPL-2.0;Mozilla Public License 2.0 (MPL 2.0)

licences: .venv-release/.installed .venv-lowest/.installed
	@.venv-release/bin/pip-licenses --python=.venv-lowest/bin/python --from=mixed --partial-match \
		--allow-only="$(LICENCES)" --summary --format=plain

lint: .venv/.dev
	$(BIN)/ruff format --check otel_stall tests collector-config .ci/release
	$(BIN)/ruff check otel_stall tests collector-config .ci/release
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test

picture: .venv/.page
	$(BIN)/otel-stall demo --fast --svg docs/demo.svg >/dev/null
	$(BIN)/python tests/page/picture.py demo-output/spans-report.html docs

clean:
	rm -rf .venv .venv-frameworks .venv-grafana .venv-vendors .venv-matrix .venv-release .venv-lowest dist demo-output

.venv/bin/pip:
	@test -n "$(PYTHON)" || { echo "otel-stall needs Python 3.11 or newer" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
		{ $(AS_ROOT) apt-get update -q && $(AS_ROOT) apt-get install -y -q $(notdir $(PYTHON))-venv; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/.installed: pyproject.toml .venv/bin/pip
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/.gateway: .venv/.installed
	$(BIN)/python -m pip install --quiet --editable '.[gateway]'
	@touch $@

.venv/.dev: pyproject.toml .ci/locks/dev.txt .venv/bin/pip
	$(BIN)/python -m pip install --quiet --require-hashes --requirement .ci/locks/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m pip check
	@touch $@ .venv/.installed .venv/.gateway

.venv-release/.installed: .ci/locks/release.txt .venv/.dev
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-release
	$(BIN)/uv pip sync --quiet --python .venv-release --require-hashes .ci/locks/release.txt
	@touch $@

.venv-lowest/.installed: pyproject.toml .ci/locks/lowest.txt .venv/.dev
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-lowest
	$(BIN)/uv pip sync --quiet --python .venv-lowest --require-hashes .ci/locks/lowest.txt
	$(BIN)/uv pip install --quiet --python .venv-lowest --no-deps --no-build-isolation --editable .
	@touch $@

# Debian has Chromium as a package; Ubuntu has not, there it is the one that playwright brings.
.venv/.page: .venv/.dev
	$(BIN)/python -m pip install --quiet --group page
	@test -n "$$OTEL_STALL_CHROMIUM" || command -v chromium chromium-browser google-chrome >/dev/null || \
		{ $(AS_ROOT) apt-get update -q && $(AS_ROOT) apt-get install -y -q --no-install-recommends chromium; } || \
		$(BIN)/playwright install --with-deps chromium
	@touch $@

.venv-frameworks/.installed: pyproject.toml .venv/bin/pip
	$(PYTHON) -m venv .venv-frameworks
	.venv-frameworks/bin/python -m pip install --quiet --upgrade pip
	.venv-frameworks/bin/python -m pip install --quiet --editable . --group frameworks
	@touch $@

# What Grafana publishes to check dashboards with; the lock file beside the tests says which.
.venv-grafana/.installed: $(addprefix tests/pipeline/grafana/,package.json package-lock.json)
	@command -v npm >/dev/null || { $(AS_ROOT) apt-get update -q && $(AS_ROOT) apt-get install -y -q nodejs npm; }
	@mkdir -p $(@D) && cp $^ $(@D)
	cd $(@D) && npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

.venv-vendors/.installed: pyproject.toml .venv/bin/pip
	$(PYTHON) -m venv .venv-vendors
	.venv-vendors/bin/python -m pip install --quiet --upgrade pip
	.venv-vendors/bin/python -m pip install --quiet --editable . --group vendors
	@touch $@

.venv-matrix/%/.installed: pyproject.toml .venv/bin/pip
	$(PYTHON) -m venv .venv-matrix/$*
	.venv-matrix/$*/bin/python -m pip install --quiet --editable . "opentelemetry-sdk==$*" pytest pytest-timeout
	@touch $@
