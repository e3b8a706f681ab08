# Everything a developer or CI calls. `make demo` and `make test` work from a fresh checkout; a second call costs seconds.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
C_SOURCES = $(shell git ls-files 'firmware/*.c' 'firmware/*.h' 'tests/*.c' 'tests/*.h' 'host/*.c' 'host/*.h' 'docs/examples/*.c' 'docs/examples/*.h')
JOBS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)

# What `make test-frameworks` tests with, and what made tests/data/frameworks. Of torch, the build for CPUs is enough, which
# saves some gigabytes.
FRAMEWORKS = tensorflow==2.21.0 keras==3.15.1 torch==2.13.0 scikit-learn==1.9.1 skl2onnx==1.20.0

.PHONY: help setup setup-dev demo test test-full test-frameworks test-labgrid lint format docs docs-json docs-ops docs-picture \
  examples-pages bench bench-costs bench-fetches bench-layers bench-line bench-planner bench-depth bench-partition bench-farm bench-check fuzz fuzz-long \
  fuzz-page boards-check published published-page quantised npu-models npu-operators silicon-table tuning-page compare-faults \
  snapshots wheel clean

help:
	@echo "make demo    set up, then take the shipped model aboard an emulated board"
	@echo "make test    set up, then run all tests"
	@echo "make setup   only set up: .venv, compilers, emulators"
	@echo "make test-frameworks   run the tests that need TensorFlow, PyTorch and scikit-learn, in .venv-frameworks"
	@echo "make test-labgrid      run the tests that need labgrid, which is installed in .venv-labgrid"
	@echo "make lint    ruff, mypy, clang-format"
	@echo "make docs    build the documentation into site/"
	@echo "make bench   measure, and write docs/reference/benchmarks.md (make bench-check only compares; make bench-costs measures"
	@echo "             kernels layer by layer, for estimates: CORES=, MODELS=; make bench-layers single layers beside CMSIS-NN, and"
	@echo "             drawn ones beside portable C: CORES=, DRAWN=, SEED=; make bench-line the serial line;"
	@echo "             make bench-fetches the lines of flash that kernels wait for: MODELS=;"
	@echo "             make bench-planner the planner, on public instances of its problem; make bench-depth the time that deep models"
	@echo "             take to compile: LAYERS=; make bench-partition the search of -partition=cost, against the best partitions of"
	@echo "             small graphs; make bench-farm what a farm adds to its jobs: RUNS=, FAULTS=kills or stops, RECORD=1)"
	@echo "make fuzz    campaigns with random input, with a fresh seed: SECONDS= for each, CASES=, CAMPAIGNS=, SEED="
	@echo "             (make fuzz-long runs the cases of a release and writes docs/fuzz.json and docs/explanation/trust.md)"
	@echo "make compare-faults   draws damaged models, and counts how many \`aboard compare\` finds: SEED=, FAULTS=, UNDAMAGED="
	@echo "make published   tries the models of git checkouts, CHECKOUTS=, and writes docs/published.json and its page"
	@echo "make quantised   quantises models with data of git checkouts, CHECKOUTS=, and writes docs/quantised.json and its page"
	@echo "make npu-models  verifies models on the NPU in QEMU, for each size and memory mode; writes docs/npu.json and its page (hours)"
	@echo "make npu-operators  compares random operators and graphs on the NPU, CMSIS_NN_PATH=; writes docs/npu_operators.json and its page"
	@echo "make tuning-page  tries every point of the kernels of kws in QEMU; writes docs/tuning.json and its page (15 minutes)"
	@echo "make silicon-table  checks docs/silicon/*.json, which \`aboard bench\` wrote on boards; writes docs/reference/silicon.md"
	@echo "make boards-check  compares the board files with a Zephyr tree, ZEPHYR=, and writes docs/reference/board_checks.md"
	@echo "make snapshots   write tests/snapshots: every error message, and what commands print"
	@echo "make wheel   build dist/*.whl"

setup: $(VENV)/.stamp-setup

setup-dev: $(VENV)/.stamp-dev

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "aboard needs Python 3.10 or newer, got $$($(PYTHON) --version). Say make PYTHON=python3.x" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || bash .ci/tools venv
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { rm -rf $(VENV); $(PYTHON) -m virtualenv -q $(VENV) 2>/dev/null; } || { \
	  echo "aboard: no virtual environment could be made. Install it with: apt-get install python3-venv" >&2; exit 1; }

# The reference interpreters have no wheel for some machines; without them `aboard verify` compares with numpy.
$(VENV)/.stamp-setup: pyproject.toml .ci/tools | $(BIN)/python
	@bash .ci/tools run
	@$(PIP) install -q -e '.[portable]'
	@$(PIP) install -q -e '.[oracle]' || echo "aboard: no reference interpreter for this machine; numpy takes its place" >&2
	@touch $@

$(VENV)/.stamp-dev: $(VENV)/.stamp-setup
	@bash .ci/tools test
	@$(PIP) install -q -e '.[dev]'
	@touch $@

demo: setup
	@$(BIN)/python -m aboard.demo

# Commands that tests start read bytecode, also where PYTHONDONTWRITEBYTECODE keeps them from writing it.
test: setup-dev
	@$(BIN)/python -m compileall -q host tests/support tests/fuzz
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -q --junitxml=$(VENV)/tests.xml

test-full: setup-dev
	@ABOARD_FULL=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal -q

.venv-frameworks/.stamp: pyproject.toml Makefile
	@$(PYTHON) -m venv .venv-frameworks
	@.venv-frameworks/bin/python -m pip --disable-pip-version-check install -q $(FRAMEWORKS) -e '.[keras,torch,sklearn,dev]'
	@touch $@

test-frameworks: setup-dev .venv-frameworks/.stamp
	@ABOARD_FRAMEWORKS=1 .venv-frameworks/bin/python -m pytest -q -W default tests/frameworks

# labgrid brings a pyserial of its own, which would replace that of aboard.
.venv-labgrid/.stamp: Makefile
	@$(PYTHON) -m venv .venv-labgrid
	@.venv-labgrid/bin/python -m pip --disable-pip-version-check install -q labgrid==26.0.1
	@touch $@

test-labgrid: setup-dev .venv-labgrid/.stamp
	@ABOARD_LABGRID=.venv-labgrid/bin $(BIN)/python -m pytest -q tests/labgrid

lint: setup-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@MYPYPATH=host:tests $(BIN)/mypy tests/bench scripts
	@for file in docs/examples/*/pyproject.toml; do folder=$$(dirname $$file); MYPYPATH=host:$$folder $(BIN)/mypy -p $$(basename $$folder) || exit 1; done
	@for file in docs/examples/*/train.py; do folder=$$(dirname $$file); MYPYPATH=host:docs/examples/common:$$folder $(BIN)/mypy $$folder/*.py || exit 1; done
	@$(BIN)/clang-format --dry-run --Werror $(C_SOURCES)

format: setup-dev
	@$(BIN)/ruff check -q --fix .
	@$(BIN)/ruff format .
	@$(BIN)/clang-format -i $(C_SOURCES)

# Runs the applications of docs/examples, and writes their figures into their pages.
examples-pages: setup-dev
	@$(BIN)/python scripts/examples_pages.py

docs: setup-dev docs-json docs-ops
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs-json: setup
	@$(BIN)/python -m aboard.cli.json_page > $(VENV)/json.md
	@cmp -s $(VENV)/json.md docs/reference/json.md || cp $(VENV)/json.md docs/reference/json.md

docs-ops: setup
	@$(BIN)/python -m aboard.cli.ops_page > $(VENV)/operators.md
	@cmp -s $(VENV)/operators.md docs/reference/operators.md || cp $(VENV)/operators.md docs/reference/operators.md

# The picture of the front page: the head of a report.
docs-picture: setup-dev
	@$(BIN)/aboard report digits --board arm/mps2_an386 --profile --force --quiet -o $(VENV)/report.html > $(VENV)/report.txt
	@chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1216,1150 \
	  --screenshot=docs/images/report.png file://$(CURDIR)/$(VENV)/report.html 2> $(VENV)/chromium.txt

bench: setup-dev
	@$(BIN)/python tests/bench/run.py $(if $(BOARDS),--boards $(BOARDS)) $(if $(MODELS),--models $(MODELS))
	@$(BIN)/python tests/bench/sequences.py

BENCH_COSTS = $(if $(CORES),--cores $(CORES)) $(if $(MODELS),--models $(MODELS))

bench-costs: setup-dev
	@$(BIN)/python tests/bench/costs.py $(BENCH_COSTS)
	@$(BIN)/python tests/bench/code_sizes.py $(BENCH_COSTS)

bench-fetches: setup-dev
	@$(BIN)/python tests/bench/fetches.py $(if $(MODELS),--models $(MODELS))

bench-layers: setup-dev
	@$(BIN)/python tests/bench/single_layers.py $(if $(CORES),--cores $(CORES)) $(if $(DRAWN),--drawn $(DRAWN)) $(if $(SEED),--seed $(SEED))

bench-line: setup-dev
	@$(BIN)/python tests/bench/line.py

bench-planner: setup-dev
	@$(BIN)/python tests/bench/minimalloc.py

bench-depth: setup-dev
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/bench/depth.py $(LAYERS)

bench-partition: setup-dev
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/bench/partition.py

bench-farm: setup-dev
	@$(BIN)/python tests/bench/farm.py --runs $(or $(RUNS),10000) $(if $(FAULTS),--faults $(FAULTS)) $(if $(RECORD),--record)

bench-check: setup-dev
	@$(BIN)/python tests/bench/run.py --check $(if $(BOARDS),--boards $(BOARDS)) $(if $(MODELS),--models $(MODELS))
	@$(BIN)/python tests/bench/sequences.py --check

FUZZ = OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/fuzz/run.py --jobs $(JOBS) $(if $(CAMPAIGNS),--campaigns $(CAMPAIGNS)) \
  $(if $(SEED),--seed $(SEED))

fuzz: setup-dev
	@$(FUZZ) --seconds $(or $(SECONDS),60) $(if $(CASES),--cases $(CASES))

fuzz-long: setup-dev
	@$(FUZZ) --long --record

fuzz-page: setup-dev
	@$(BIN)/python tests/fuzz/run.py --page

compare-faults: setup-dev
	@OPENBLAS_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m support.damage.judge --seed $(or $(SEED),$$(date +%s)) \
	  --faults $(or $(FAULTS),50) --undamaged $(or $(UNDAMAGED),10)

published: setup-dev
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/published/run.py --jobs $(JOBS) --record $(CHECKOUTS)

quantised: setup-dev
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/published/quantised.py $(CHECKOUTS)

# Goes on where docs/npu.json ends.
npu-models: setup-dev
	@$(BIN)/python tests/ethos_u/verify_models.py

npu-operators: setup-dev
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/ethos_u/count_operators.py

tuning-page: setup-dev
	@$(BIN)/python tests/bench/tuning.py

silicon-table: setup-dev
	@$(BIN)/python tests/silicon/table.py

# Compares the board files with the device trees of a Zephyr tree; COMMIT= if the folder is no checkout.
boards-check: setup-dev
	@$(BIN)/python tests/boards/check.py $(ZEPHYR) $(if $(COMMIT),--commit $(COMMIT)) $(if $(SOURCE),--source $(SOURCE))

published-page: setup-dev
	@$(BIN)/python tests/published/run.py --page

snapshots: setup-dev
	@PYTHONPATH=tests $(BIN)/python -m support.snapshots

wheel: setup-dev
	@$(BIN)/python -m build --wheel --outdir dist .

clean:
	rm -rf build dist site $(VENV) .venv-frameworks .venv-labgrid
