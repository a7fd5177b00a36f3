# `make demo` and `make test` set themselves up on a fresh clone; `make help` lists the rest.

PYTHON ?=
TEST_JOBS ?= 2
FUZZ_INPUTS ?= 1000000
SOAK_INPUTS ?= 20000000
SOAK_FRAMES ?= 1000000
SOAK_FLIPS ?= 10500
SOAK_SECONDS ?= 600
SOAK_KILLS ?= 100
SOAK_PLAYS ?= 300
SOAK_REQUESTS ?= 200
SOAK_ATTACK ?= --kills 1000 --power-losses 200 --ext4-losses 200 --full-disks 200 --tmpfs-disks 200 --hostile 10000 \
	--interrupts 2000 --forks 50 --concurrency-seconds 3600
ATTACK_ARGS ?=
ASAN_INPUTS ?= 20000
PYTEST_ARGS ?=
PYSPARK ?= 4.2.1
BENCH_ARGS ?=
COMPAT_SUITES ?=

BIN := .venv/bin
PYTEST_OPTIONS = --numprocesses $(TEST_JOBS) --dist loadgroup -r fEs $(PYTEST_ARGS)
PYTEST = $(BIN)/python -m pytest $(PYTEST_OPTIONS)
# Suites of code that runs on the kernels: they run again on the plain-Python twin. (tests/kernels runs both itself.)
TWIN_TESTS := $(wildcard tests/format tests/golden tests/property)
# Suites in which the interpreter matters (threads, signals, processes): they run on a newer Python too, if there is one.
NEWEST_TESTS := $(wildcard tests/unit tests/client tests/attack tests/storage/test_threads.py tests/storage/test_log_dir*.py)

KERNEL_SOURCES := setup.py $(wildcard src/octavo/kernels/compiled/*.pyx src/octavo/kernels/compiled/*.pxd src/octavo/kernels/compiled/*.h)
# Stamp files: the packages for `make demo` are installed; those for everything else are too.
DEMO := .venv/.demo
INSTALLED := .venv/.installed
# Named after the compiler, so that another compiler (or none: CC=/bin/false) causes a new build.
space := $(subst ,, )
KERNELS := .venv/.kernels-$(subst /,_,$(subst $(space),_,$(CC)))

.DEFAULT_GOAL := help
.PHONY: help setup demo test newest spark check lint docs site bench fuzz attack soak asan compat wheels kafka clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(KERNELS) $(INSTALLED) ## make .venv with dependencies, compiled kernels and .venv/bin/octavo

$(DEMO): pyproject.toml constraints.txt scripts/venv.sh scripts/java.sh
	@echo "Setting up .venv: once, a few minutes."
	@PYTHON="$(PYTHON)" scripts/venv.sh demo
	@touch $@

$(INSTALLED): $(DEMO)
	@scripts/venv.sh dev
	@touch $@

$(KERNELS): $(DEMO) $(KERNEL_SOURCES) scripts/kernels.sh
	@scripts/kernels.sh
	@rm -f .venv/.kernels-*
	@touch $@

demo: $(KERNELS) ## rebuild five published batches and compare them, then run a pipeline: producers, Spark, cleaner, commands
	@$(BIN)/python examples/seed_experiment.py
	@$(BIN)/python examples/orders_pipeline.py

test: setup ## run every test on the compiled kernels, and those of formats on the plain-Python twin too
	@scripts/kafka.sh --if-possible
	$(PYTEST)
	@if ls src/octavo/kernels/compiled/*.so >/dev/null 2>&1; then set -x; OCTAVO_KERNELS=reference $(PYTEST) $(TWIN_TESTS); fi
	@$(MAKE) --no-print-directory newest

newest: setup ## run the tests of clients, threads and attacks on the newest Python that PySpark allows, if it is newer than .venv's
	@python=$$(scripts/newest_python.sh); \
	if [ -z "$$python" ]; then echo "skipped: there is no Python here that is newer than that of .venv"; exit 0; fi; \
	scripts/newest_venv.sh "$$python" && set -x && \
	PYTHONPATH=src .venv-newest/bin/python -m pytest -p no:cacheprovider $(PYTEST_OPTIONS) $(NEWEST_TESTS)

spark: setup ## run the Spark tests that matter most on another PySpark (PYSPARK=4.2.1)
	@scripts/pyspark.sh $(PYSPARK)

lint: setup ## run ruff, mypy --strict (over tests too) and the import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test ## do what .ci/run does: lint, then test

docs: setup ## regenerate the generated parts and the diagrams of docs/
	$(BIN)/python -m tests.docs.facts
	$(BIN)/python -m tests.docs.generated
	$(BIN)/python -m tests.docs.diagrams.drawings
	$(BIN)/python -m tests.spark.option_outcomes

site: setup ## build the documentation as a site in build/site, offline; open build/site/index.html
	$(BIN)/python -m sphinx -W --keep-going -q -d build/doctrees docs build/site

bench: export BENCH_RESULTS = benchmarks/results.json
bench: setup ## measure each job against its physical limit or its peers, and draw the README's plot (BENCH_ARGS=…)
	$(BIN)/python -m benchmarks $(BENCH_ARGS)
	$(BIN)/python -m benchmarks.reading $(BENCH_ARGS)
	$(BIN)/python -m benchmarks.producing $(BENCH_ARGS)
	$(BIN)/python -m benchmarks.storing $(BENCH_ARGS)
	$(BIN)/python -m benchmarks.compaction $(BENCH_ARGS)
	$(BIN)/python -m benchmarks.broker $(BENCH_ARGS)
	$(BIN)/python -m benchmarks.coordinating $(BENCH_ARGS)
	$(BIN)/python -m benchmarks.testing $(BENCH_ARGS)
	$(BIN)/python -m benchmarks.spark_source $(BENCH_ARGS)
	$(BIN)/python -m benchmarks.spark_sink $(BENCH_ARGS)
	$(BIN)/python -m benchmarks.plot

fuzz: setup ## feed mutated inputs to every decoder (FUZZ_INPUTS=1000000)
	$(BIN)/python -m tests.fuzz --inputs $(FUZZ_INPUTS)

attack: setup ## kill, cut the power, fill disks, feed hostile files, interrupt, fork, all at once; print the scoreboard (ATTACK_ARGS=…)
	$(BIN)/python -m tests.attack --jobs $(TEST_JOBS) $(ATTACK_ARGS)

soak: setup ## attack, flip bytes, kill writers, read a busy broker's disk, fuzz for hours (SOAK_ATTACK= SOAK_FLIPS= SOAK_KILLS= SOAK_PLAYS= SOAK_REQUESTS= SOAK_SECONDS= SOAK_FRAMES= SOAK_INPUTS=)
	$(BIN)/python -m tests.attack --jobs $(TEST_JOBS) --seed $$(date +%s) $(SOAK_ATTACK)
	OCTAVO_FLIPS=$(SOAK_FLIPS) $(PYTEST) tests/corruption
	OCTAVO_KILLS=$(SOAK_KILLS) $(PYTEST) tests/crash/test_kills.py tests/broker/test_kills.py tests/broker/test_transactional_kills.py tests/broker/test_chain_kills.py
	OCTAVO_RANDOM=1 OCTAVO_PLAYS=$(SOAK_PLAYS) $(PYTEST) tests/broker/test_plays_with_kafka.py
	OCTAVO_RANDOM_REQUESTS=$(SOAK_REQUESTS) OCTAVO_RANDOM_SEED=$$(date +%s) $(PYTEST) tests/broker/test_random_answers_with_kafka.py
	OCTAVO_MUTATED_FRAMES=$(SOAK_FRAMES) OCTAVO_MUTATED_SEED=$$(date +%s) OCTAVO_CROWD=900 $(PYTEST) tests/broker/test_mutated_frames.py tests/broker/test_crowds.py
	OCTAVO_LIVE_SECONDS=$(SOAK_SECONDS) $(PYTEST) tests/interop/test_live_directory.py tests/spark/test_live_stream.py
	OCTAVO_SPARK_ARCHIVES=all $(PYTEST) tests/spark/test_source.py
	OCTAVO_SYNC=1 $(PYTEST) tests/storage tests/client tests/jobs tests/cli
	OCTAVO_CRASH_STRIDE=1 OCTAVO_KILLS=$(SOAK_KILLS) $(PYTEST) tests/storage/staging tests/crash/test_log_dir_crashes.py tests/spark/test_sink_kills.py tests/spark/test_sink_speculation.py
	OCTAVO_LOG_SEEDS=40 OCTAVO_CLEANER_SEEDS=120 $(PYTEST) tests/interop/test_log_with_kafka.py tests/interop/test_cleaner_with_kafka.py
	OCTAVO_RANDOM=1 $(PYTEST) tests/property
	$(BIN)/python -m tests.fuzz --inputs $(SOAK_INPUTS) --seed $$(date +%s)

asan: setup ## run the kernels' tests and a short fuzz under AddressSanitizer (ASAN_INPUTS=20000)
	@scripts/asan.sh $(ASAN_INPUTS)

compat: setup ## run the public test suites of Kafka's clients against octavo broker, and print one table (COMPAT_SUITES=…)
	@compat/run.sh $(COMPAT_SUITES)

wheels: setup ## build the sdist and the wheel for PyPI into dist/, and try them in empty environments
	@scripts/wheels.sh

kafka: ## fetch Kafka's jars for the tests that compare with them, through Maven
	@scripts/kafka.sh

clean: ## remove .venv, builds and caches, but not the fetched jars
	rm -rf .venv .venv-newest build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis src/*.egg-info
	rm -f src/octavo/kernels/compiled/*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
