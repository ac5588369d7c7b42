# Needs Python 3.11 or newer with pip; everything else is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo runs baselines test check lint docs dist install install-test lock clean help

help:
	@echo "make demo         install, then examples/films from a small wiki to a leaderboard"
	@echo "make baselines    the same, with answers written anew by the embedded language model"
	@echo "make test         install, then lint, type-check and run all tests"
	@echo "make docs         install, then the documentation site in build/site"
	@echo "make dist         what a release consists of, in dist: wheel, source, bill of materials"
	@echo "make judge        train the embedded judge anew (hours of one core; see training/README.md)"
	@echo "make lock         bring requirements*.lock up to date"

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Assay needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.lock pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/.installed-test: requirements-test.lock $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-test.lock
	@touch $@

install: $(VENV)/.installed
install-test: $(VENV)/.installed-test

# From a wiki to passages, an index and three PR runs, in examples/films/build. The runs that are
# judged were made before Japanese names were split into pairs of characters: --no-pairs.
FILMS := examples/films
BUILD := $(FILMS)/build
RETRIEVE := $(BIN)/assay retrieve $(BUILD)/index $(FILMS)/questions.tsv --k 5 --max-passage-chars 200
ANSWER := $(BIN)/assay answer $(FILMS)/questions.tsv --model embedded
ANSWER += --ledger $(BUILD)/answers.sqlite

runs: install
	$(BIN)/assay corpus build $(FILMS)/wiki $(BUILD)/corpus --words 32 --overlap 0.25 --restart
	$(BIN)/assay index build $(BUILD)/corpus $(BUILD)/index --dense minilm --no-pairs --restart
	@mkdir -p $(BUILD)/pr
	$(RETRIEVE) -o $(BUILD)/pr/BM25.txt --method bm25
	$(RETRIEVE) -o $(BUILD)/pr/DENSE.txt --method dense
	$(RETRIEVE) -o $(BUILD)/pr/FUSED.txt --method fused
	$(BIN)/assay validate $(BUILD)/pr/*.txt $(FILMS)/pr/ORACLE.txt --format r2c2-pr \
	  --corpus $(BUILD)/corpus --max-passage-chars 200

# The answers cite passages of the committed runs by rank: those are judged. Vectors may differ a
# little from processor to processor; where that moves a passage, the demo says so.
demo: runs
	@for run in BM25 DENSE FUSED; do \
	  if cmp -s $(BUILD)/pr/$$run.txt $(FILMS)/pr/$$run.txt; then \
	    echo "$$run: the same bytes as $(FILMS)/pr/$$run.txt, which the answers cite."; \
	  else \
	    echo "$$run: differs on this processor from $(FILMS)/pr/$$run.txt, which the answers cite" \
	      "and which is judged (make baselines takes the new one)."; \
	  fi; \
	done
	$(BIN)/assay evaluate $(FILMS)

# A question that the model gives no usable answer to is left out and named: status 1, no reason to
# stop here.
baselines: runs
	cp $(BUILD)/pr/*.txt $(FILMS)/pr
	$(ANSWER) -o $(FILMS)/ac/FUSED-SAID.txt --pr-runs $(FILMS)/pr/FUSED.txt --passages 3 \
	  || test $$? -eq 1
	$(ANSWER) -o $(FILMS)/ac/ORACLE-LOGPROB.txt --pr-runs $(FILMS)/pr/ORACLE.txt \
	  --confidence logprob || test $$? -eq 1
	$(BIN)/assay validate $(FILMS)/ac/*.txt --format r2c2-ac --pr-runs $(FILMS)/pr
	$(BIN)/assay evaluate $(FILMS)

lint: install-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

check: test

docs: install-test
	$(BIN)/python docs/make_site.py
	$(BIN)/zensical build --strict --clean

dist: install-test
	$(BIN)/python .ci/dist.py

lock: install-test
	$(BIN)/uv pip compile --quiet --universal --no-header --no-annotate --no-emit-index-url --generate-hashes --extra embedded --extra language-models --extra plots --extra corpus --extra retrieval --extra e5 --extra recalibration pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --no-header --no-annotate --no-emit-index-url --generate-hashes --extra embedded --extra language-models --extra plots --extra corpus --extra retrieval --extra e5 --extra recalibration --extra test pyproject.toml -o requirements-test.lock

# Trains the embedded judge anew from the folder of labelled pairs; see training/README.md.
SHARED ?= ../shared/data
WORK ?= .judge
STEPS ?= 560
COOL ?= 375
# Steps of a second training, with more pairs of claims, and where its rate starts to fall; 0: none.
MORE ?= 1750
MORE_COOL ?= 950
LONGER := $(filter-out 0,$(MORE))
# A third training, on attacks and the sources that came later: half of them, then all; it starts from
# the second.
HALF ?= 1000
HALF_COOL ?= 650
LATER ?= 150
LATER_COOL ?= 60
BEFORE ?= $(WORK)/$(if $(LONGER),further,run)/judge.pt
# As ONNX, to find claims with another name that it takes for supported.
MINER := $(if $(filter %.onnx,$(BEFORE)),$(BEFORE),$(WORK)/before.onnx)
THREADS ?= 1
# Where the judge goes; by default the package, which then ships it.
JUDGE ?= src/assay/labellers/judge/data
# Pairs of a source that are read to calibrate and to evaluate; empty: as the programs say.
MOST ?=
SAMPLE := $(if $(MOST),--most $(MOST))
READ := --data $(WORK)/data --readings $(WORK)/readings.jsonl $(SAMPLE)
TRAIN := OMP_WAIT_POLICY=passive .venv-train/bin/python training/train.py --threads $(THREADS)

.PHONY: judge
judge: .venv-train/.installed
	.venv-train/bin/python training/start.py --out $(WORK)/start
	.venv-train/bin/python training/prepare.py --shared $(SHARED) --start $(WORK)/start --out $(WORK)/data
	$(TRAIN) --data $(WORK)/data/train.npz --start $(WORK)/start/model.safetensors --out $(WORK)/run --steps $(STEPS) --cool $(COOL)
	$(if $(LONGER),$(TRAIN) --data $(WORK)/data/further.npz --start $(WORK)/run/judge.pt --out $(WORK)/further --steps $(MORE) --cool $(MORE_COOL) --warm 60)
	$(if $(filter %.onnx,$(BEFORE)),,.venv-train/bin/python training/export.py --weights $(BEFORE) --out $(MINER))
	.venv-train/bin/python training/broaden.py --shared $(SHARED) --start $(WORK)/start --out $(WORK)/data --judge $(MINER)
	$(TRAIN) --data $(WORK)/data/half.npz --start $(BEFORE) --out $(WORK)/half --steps $(HALF) --cool $(HALF_COOL) --warm 40 --rate 1e-4
	$(TRAIN) --data $(WORK)/data/later.npz --start $(WORK)/half/judge.pt --out $(WORK)/later --steps $(LATER) --cool $(LATER_COOL) --warm 15 --rate 6e-5
	.venv-train/bin/python training/export.py --weights $(WORK)/later/judge.pt --out $(WORK)/judge.onnx
	.venv-train/bin/python training/calibrate.py --model $(WORK)/judge.onnx --start $(WORK)/start --out $(JUDGE) $(READ)
	.venv-train/bin/python training/evaluate.py --shared $(SHARED) --package $(JUDGE) --out $(WORK)/figures.json $(READ)

.venv-train/.installed: training/requirements.txt
	$(PYTHON) -m venv .venv-train
	.venv-train/bin/python -m pip install --quiet --disable-pip-version-check -r training/requirements.txt
	.venv-train/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

clean:
	rm -rf $(VENV) build examples/*/out examples/*/labels.sqlite* examples/*/build
