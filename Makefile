# make demo   the main job on real data: trains, protects, attacks, writes out/demo/report.html
# make test   the tests of every room, with every service that is there; under four minutes on two cores
# make test-all  and those that draw, train or attack until a probability shows: what CI runs
# make reproduce  the paper's case studies on public data, in out/reproduce; DATA=DIR for archives on this machine
# make bench  speed and memory as ratios against peers, measured in the same run; writes out/bench
# make speed  the short form of it, which fails where a ratio is worse by over a third than in .ci/bench.json
# make smoke  the wheel and every extra in fresh environments, a command of each
# make check  format, lint, types, import rule; the same for TypeScript, with node 20 and npm; workflows, compose and container files against their schemas
# make lowest  the tests with the lowest version of everything that pyproject.toml allows, in an environment of their own
# make coverage  which lines the tests run, out/coverage/index.html
# make dist  wheel, source distribution and npm package, out/dist; with TAG=v1.2.3 only if that is the version
# make docs   the documentation site, out/site/index.html; broken links fail
# make scripts  what `deeprotect export` writes beside a bundle, built from device/ and browser/; needs node 20 and npm
# make browser  the same, and what measures it in engines and in Chromium
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# Twice the cores: many tests wait for a browser, a server or a clock.
TESTERS := $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1))')
DOCS_INSTALLED := $(VENV)/.docs-installed

.PHONY: demo test test-all reproduce bench speed smoke check lowest coverage dist docs scripts browser clean

demo: $(INSTALLED)
	$(BIN)/deeprotect demo --out out/demo --force

test: $(INSTALLED)
	$(BIN)/pytest -n $(TESTERS) --dist worksteal -m 'not long'

test-all: $(INSTALLED)
	$(BIN)/pytest -n $(TESTERS) --dist worksteal

reproduce: $(INSTALLED)
	$(BIN)/python -m studies reproduce --out out/reproduce --force $(if $(DATA),--from $(DATA))

bench: $(INSTALLED)
	$(BIN)/python -m studies bench --out out/bench --force

speed: $(INSTALLED)
	$(BIN)/python -m studies bench --short --against .ci/bench.json

smoke:
	$(PYTHON) .ci/smoke.py

check: $(INSTALLED) node_modules device/node_modules browser/node_modules
	$(BIN)/ruff format --check src studies tests docs/pages.py
	$(BIN)/ruff check src studies tests docs/pages.py
	$(BIN)/mypy
	$(BIN)/lint-imports
	npm run --silent lint
	$(BIN)/hadolint Dockerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docs/deploy/compose.yaml

# The newest torch is the lowest: nothing older is tried.
lowest:
	mkdir -p out && $(PYTHON) .ci/lowest.py > out/lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet --constraint out/lowest.txt --editable '.[all,studies]' hypothesis pytest pytest-timeout pytest-xdist
	.venv-lowest/bin/pytest -n $(TESTERS) --dist worksteal -m 'not long' --ignore tests/docs

# Tests start processes of their own, which are not counted.
coverage: $(INSTALLED)
	$(BIN)/coverage run -m pytest -m 'not long'
	$(BIN)/coverage html --directory out/coverage
	$(BIN)/coverage report --fail-under 80

dist: $(INSTALLED) device/node_modules
	$(BIN)/python -c "import deeprotect, sys; sys.exit('$(TAG)' not in ('', 'v' + deeprotect.__version__) and 'the tag is not the version in pyproject.toml')"
	rm -rf out/dist
	$(BIN)/python -m build --outdir out/dist
	rm -rf out/ready device/protectors && mkdir device/protectors
	$(BIN)/deeprotect export activity --target device --out out/ready
	cp out/ready/protector.json device/protectors/activity.json
	cd device && npm pack --silent --pack-destination ../out/dist

# They are part of the repository, so that nobody needs node to install or export; tests/exporting compares.
scripts: device/node_modules browser/node_modules
	cd device && npm run --silent build
	cd browser && npm run --silent build

browser: scripts
	cd device && npm run --silent build -- bench
	cd browser && npm run --silent build -- proof

node_modules: package-lock.json
	npm ci --silent --no-audit --no-fund
	touch $@

%/node_modules: %/package-lock.json
	cd $* && npm ci --silent --no-audit --no-fund
	touch $@

# Never --quiet: it drops warnings before strict mode counts them.
docs: $(DOCS_INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

$(DOCS_INSTALLED): $(INSTALLED)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[all,dev]'
	touch $@

clean:
	rm -rf $(VENV) out node_modules browser/out browser/node_modules device/out device/node_modules
