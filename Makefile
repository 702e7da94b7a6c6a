# Windrow's verbs; `make help` lists them. Every one sets up what it needs first, which is quick when
# there is nothing to do.

BIN := .venv/bin
SOAKED := tests/runtime/test_answer_law.py tests/runtime/test_output_streams.py tests/physical/test_expressions.py tests/optimizer/test_optimizer.py \
	tests/plan/test_round_trip.py tests/runtime/shards/test_recovery.py tests/batch tests/state tests/aggregates tests/synopses tests/operators tests/runtime/spark/test_cases_on_spark.py

.PHONY: help setup demo test soak check format bench lock clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

setup: ## make .venv with the locked dependencies; install Java when it is missing
	@sh scripts/setup.sh

demo: setup ## run eight queries over network traffic on Spark, live in the terminal
	@$(BIN)/windrow demo

test: setup ## run the tests, two files at a time, those on Spark early; ARGS="-k name" picks some
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

soak: setup ## kill and disturb runs, fill disks and memory; then generated tests with new seeds until one fails or Ctrl-C
	@$(BIN)/python scripts/soak.py
	@while HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest -x --timeout 0 $(SOAKED); do :; done

check: setup ## format, lint, types, layers: what must hold besides the tests
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy --strict
	$(BIN)/lint-imports --no-logo

format: setup ## format the code and mend what the linter can
	$(BIN)/python -m ruff check --fix-only .
	$(BIN)/python -m ruff format .

bench: setup ## run all benchmarks, or the one in NAME=; ARGS=--quick for a short run
	@$(BIN)/python -m benchmarks $(NAME) $(ARGS)

lock: ## pin all dependencies anew in requirements.lock; ARGS=--upgrade moves to the newest
	@sh scripts/lock.sh $(ARGS)

clean: ## remove .venv, caches and what benchmarks drew
	rm -rf .venv build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find benchmarks/out -type f ! -name .gitkeep -delete
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
