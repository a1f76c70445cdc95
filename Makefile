# make demo   the main job on real data: trains, protects, attacks, writes out/demo/report.html
# make test   the whole test suite
# make bench  speed and memory as ratios against peers, measured in the same run; writes out/bench
# make speed  the short form of it, which fails where a ratio is worse by over a third than in .ci/bench.json
# make smoke  the wheel and every extra in fresh environments, a command of each
# make check  format, lint, types, import rule
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

.PHONY: demo test bench speed smoke check docs scripts browser clean

demo: $(INSTALLED)
	$(BIN)/deeprotect demo --out out/demo --force

test: $(INSTALLED)
	$(BIN)/pytest -n $(TESTERS) --dist worksteal

bench: $(INSTALLED)
	$(BIN)/deeprotect bench --out out/bench --force

speed: $(INSTALLED)
	$(BIN)/deeprotect bench --short --against .ci/bench.json

smoke:
	$(PYTHON) .ci/smoke.py

check: $(INSTALLED)
	$(BIN)/ruff format --check src tests docs/pages.py
	$(BIN)/ruff check src tests docs/pages.py
	$(BIN)/mypy
	$(BIN)/lint-imports

# They are part of the repository, so that nobody needs node to install or export; tests/exporting compares.
scripts: device/node_modules browser/node_modules
	cd device && npm run --silent build
	cd browser && npm run --silent build

browser: scripts
	cd device && npm run --silent build -- bench
	cd browser && npm run --silent build -- proof

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
	rm -rf $(VENV) out browser/out browser/node_modules device/out device/node_modules
