# make demo   the main job on real data: trains, protects, attacks, writes out/demo/report.html
# make test   the whole test suite
# make bench  speed and memory as ratios against peers, measured in the same run
# make check  format, lint, types, import rule
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test bench check clean

demo: $(INSTALLED)
	$(BIN)/deeprotect demo --out out/demo

test: $(INSTALLED)
	$(BIN)/pytest -n auto --dist worksteal

bench: $(INSTALLED)
	$(BIN)/deeprotect bench

check: $(INSTALLED)
	$(BIN)/ruff format --check src tests
	$(BIN)/ruff check src tests
	$(BIN)/mypy
	$(BIN)/lint-imports

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[all,dev]'
	touch $@

clean:
	rm -rf $(VENV) out
