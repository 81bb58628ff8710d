# Each target sets up .venv first; when that is done already, this takes no time.
#
#   make demo   the main job: a language model learns with world-model rewards (some minutes)
#   make test   the tests; PYTEST_ARGS="-m 'not slow' -x" passes options on
#   make lint   ruff, ruff format --check, mypy
#   make format, make clean

.PHONY: demo test lint format setup clean
DEMO_ARGS ?=
PYTEST_ARGS ?=

demo:
	@tools/setup.sh
	@.venv/bin/wmrl demo $(DEMO_ARGS)

test: setup
	@.venv/bin/pytest $(PYTEST_ARGS)

lint: setup
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@tools/typecheck.sh

format: setup
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

setup:
	@tools/setup.sh dev all

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
