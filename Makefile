# Everything a user or a contributor does here. Works with GNU make 3.81 and later.
# All paths are relative, so the folder's own path may hold spaces.

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-system check fmt bench requirements lock clean

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.stamp
SYSTEM := tests/system

COMPILE := -m uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-header

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## make .venv from the locked requirements (the others do it by themselves)

$(STAMP): requirements-dev.lock pyproject.toml tools/setup.sh
	@PYTHON="$(PYTHON)" sh tools/setup.sh
	@touch "$@"

demo: $(STAMP) ## the main job: three nodes, a grant, packets, a revocation
	@$(PY) examples/demo.py

test: $(STAMP) ## run the tests that need nothing but Python
	@$(PY) -m pytest -q -m "not system"

test-system: $(STAMP) ## run the tests that need root or system packages
	@if [ -z "$$(find $(SYSTEM) -name 'test_*.py' 2>/dev/null)" ]; then \
		echo "There are no system tests yet ($(SYSTEM) is empty)."; \
	else \
		$(PY) -m pytest -q -m system $(SYSTEM) || { \
			code=$$?; \
			if [ $$code -eq 5 ]; then \
				echo "$(SYSTEM) has test files, but none is marked 'system'." >&2; \
			fi; \
			exit $$code; \
		}; \
	fi

check: $(STAMP) ## what a change must pass: format, lint, types, layers, tests
	@$(PY) -m ruff format --check .
	@$(PY) -m ruff check .
	@$(PY) -m mypy
	@$(VENV)/bin/lint-imports
	@$(PY) -m pytest -q -m "not system"

fmt: $(STAMP) ## format the code and mend what the linter can mend
	@$(PY) -m ruff format .
	@$(PY) -m ruff check --fix .

bench: $(STAMP) ## measure, and write build/bench.json
	@$(PY) -m bench

requirements: $(STAMP) ## show how far the requirements are met
	@$(PY) tools/requirements.py

lock: $(STAMP) ## resolve the two lock files anew (needs network; puts uv into .venv)
	@$(PY) -m pip install --quiet --upgrade uv
	@$(PY) $(COMPILE) --upgrade --output-file requirements.lock pyproject.toml
	@$(PY) $(COMPILE) --upgrade --group dev \
		--output-file requirements-dev.lock pyproject.toml

clean: ## remove all that make has made, .venv included
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache \
		.hypothesis .import_linter_cache .coverage .coverage.*
	find src tests bench examples tools -name __pycache__ -type d \
		-prune -exec rm -rf {} + 2>/dev/null || true
