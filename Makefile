# Everything runs in .venv, which is made on first use and brought up to date
# when setup.cfg changes. `make help` lists the commands.

PYTHON ?= python3
PIP = .venv/bin/python -m pip --disable-pip-version-check
INSTALL = $(PIP) install -qq --upgrade-strategy only-if-needed
# A file's tests stay together: they share what is slow to compile. Files begin
# in the order of tests/conftest.py, the longest first.
PYTEST = .venv/bin/python -m pytest -q -n auto --dist loadfile \
  --no-loadscope-reorder

# TensorFlow's notes about missing GPUs would bury the answers.
export TF_CPP_MIN_LOG_LEVEL ?= 3

# Some systems split venv from its pip; then ours comes from the outside.
new-venv = $(PYTHON) -m venv $(1) >/dev/null 2>&1 || { \
  $(PYTHON) -m venv --clear --without-pip $(1) && \
  $(PYTHON) -m pip --python $(1)/bin/python install -qq pip; }

.DELETE_ON_ERROR:
.PHONY: help demo test test-slow test-versions lint format bench accelerator \
  accelerator-table clean

help: ## List the commands
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 20

demo: .venv/demo ## Train a translator, export it, serve it and ask it
	@.venv/bin/python -m examples.serve_translator

# XLA compiles for a long time and the programs are tiny: the quick tests do
# without LLVM's optimisation, the slow ones do not.
test: export XLA_FLAGS ?= --xla_backend_optimization_level=0
test: .venv/test ## Run the quick tests
	@$(PYTEST)

# Tests fill the cores by running side by side: threads of one would only wait
# for those of another.
test test-slow: export TF_NUM_INTRAOP_THREADS ?= 1

# One run for all kinds: at the end of a run one core waits for the other.
test-slow: .venv/test .venv/peers .venv/accelerator ## Run slow, peers and accelerator tests
	@$(PYTEST) -m "slow or peers or accelerator"

# Each TensorFlow with a Keras that fits it, and the jax of its season where the
# TPU's kernel can be taken from one, in environments of their own; what
# everything rests on is tested, and two machines, which are slow tests.
VERSIONS ?= 2.19-3.12 2.20-3.13-0.7 2.21-3.15-0.10
CORE = $(addprefix tests/,test_layers.py ops/test_attend.py \
  attention/test_multi_head.py attention/test_padding.py \
  attention/test_keras_drop_in.py models/transformer/test_model.py \
  models/gpt/test_model.py models/bert/test_model.py models/vit/test_model.py \
  models/rnn_seq2seq/test_model.py decoding/test_beam_search.py \
  decoding/test_generation.py text/test_word_piece.py \
  training/distribution training/resuming/test_fit.py \
  export/tasks/test_translation.py)

test-versions: export XLA_FLAGS ?= --xla_backend_optimization_level=0
test-versions: $(VERSIONS:%=test-version-%) ## Run core tests on older TensorFlows

test-version-%:
	@tensorflow=$(word 1,$(subst -, ,$*)); \
	  keras=$(word 2,$(subst -, ,$*)); \
	  jax=$(word 3,$(subst -, ,$*)); \
	  python=build/versions/$$tensorflow/bin/python; \
	  echo "TensorFlow $$tensorflow, Keras $$keras, jax $${jax:-none}" && \
	  $(PYTHON) -m venv build/versions/$$tensorflow && \
	  $$python -m pip --disable-pip-version-check install -qq \
	    -e ".[examples,pretrained,dev]" "tensorflow==$$tensorflow.*" \
	    "keras==$$keras.*" $${jax:+"jax==$$jax.*"} && \
	  $$python -m pytest -q -n auto --dist loadfile $(CORE) && \
	  { [ -z "$$jax" ] || $$python -m pytest -q -m accelerator tests/ops/fused; } && \
	  $$python -m pytest -q -m slow -k two_machines tests/training/distribution

lint: .venv/test ## Check style
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .

format: .venv/test ## Mend style
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

bench: .venv/test .venv/peers ## Compare time and memory with Keras and torch
	@.venv/bin/python -m benchmarks.attention

accelerator: .venv/accelerator ## Install the TPU and GPU compilers

accelerator-table: .venv/accelerator ## Ask them about whole models (hours; goes on where it stopped)
	@.venv/bin/python -m benchmarks.accelerator --dropout 0 --largest_batch --save

clean: ## Remove .venv and build/
	rm -rf .venv .venv-tpu build

# The files below are stamps: empty, newer than the installation they stand for.

.venv/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "Python 3.10 or newer is needed: make PYTHON=/path/to/python3"; \
	  exit 1; }
	@echo "Making .venv with $$($(PYTHON) --version)"
	@$(call new-venv,.venv)
	@touch $@

.venv/demo: .venv/made setup.cfg pyproject.toml
	@echo "Installing TensorFlow, Keras and what the examples need (minutes, once)"
	@$(INSTALL) -e ".[examples]"
	@touch $@

.venv/test: .venv/demo
	@echo "Installing the tools for testing"
	@$(INSTALL) -e ".[examples,pretrained,dev]"
	@touch $@

.venv/peers: .venv/test
	@echo "Installing the libraries we compare with (large, once)"
	@$(INSTALL) -e ".[text,peers]"
	@touch $@

# The CUDA plugin's own dependencies are gigabytes of GPU libraries that
# compiling without a GPU does not use; it must match jax's version.
.venv/accelerator: .venv/test .venv-tpu/made
	@echo "Installing the TPU and GPU compilers (large, once)"
	@$(INSTALL) -e ".[accelerator]"
	@version=$$(.venv/bin/python -c \
	  'import importlib.metadata as m; print(m.version("jax"))') && \
	  $(INSTALL) --no-deps "jax-cuda12-plugin==$$version" \
	    "jax-cuda12-pjrt==$$version"
	@touch $@

# TensorFlow's TPU build lowers with the TPU's op kernels, and takes the place
# of the ordinary one; libtpu must be of its season.
.venv-tpu/made:
	@echo "Installing TensorFlow's TPU build (large, once)"
	@$(call new-venv,.venv-tpu)
	@.venv-tpu/bin/python -m pip --disable-pip-version-check install -qq \
	  tensorflow-tpu==2.20.0 libtpu==0.0.21
	@touch $@
