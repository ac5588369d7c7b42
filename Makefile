# Needs Python 3.11 or newer with pip; everything else is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo runs baselines test pytest check lint docs dist install install-test lock clean help

help:
	@echo "make demo         install, then examples/films from a small wiki to a leaderboard"
	@echo "make baselines    the same, with answers written anew by the embedded language model"
	@echo "make test         install, then lint, type-check and run all tests"
	@echo "make docs         install, then the documentation site in build/site"
	@echo "make dist         what a release consists of, in dist: wheels, source, bill of materials"
	@echo "make judge        train the embedded judge anew (minutes of a GPU, days of one core; training/README.md)"
	@echo "make judge-further  train the judge that is there further, on one core"
	@echo "make lock         bring requirements*.lock up to date"

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Assay needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.lock pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

# The larger judge is for tests alone: it lies where it is, and nothing of it is copied. The source
# archive has none.
BESIDE := $(wildcard judges/large/pyproject.toml)
$(VENV)/.installed-test: requirements-test.lock $(BESIDE) $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-test.lock
	$(if $(BESIDE),$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e $(dir $(BESIDE)))
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

# Where nothing compiled may be written, as in many images, each process would compile all tests.
pytest: install-test
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses auto --dist worksteal

# Beside each other: mypy has one process, and tests wait for others now and then.
test:
	$(MAKE) --jobs lint pytest

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
# The encoder that the judge is trained from.
START ?= $(WORK)/start/model.safetensors
# Pairs that the larger network reads, then the judge beside it, in two parts.
TAUGHT_BY ?= 564224
FIRST ?= 1404928
SECOND ?= 737280
BATCH ?= 1024
LARGE_BATCH ?= 512
# How much the pool has of people's pairs, and of what was written for the judge; to see every step
# run, .001 is enough.
PART ?= 1
TEXTS ?= 1
# Where the judge and the larger one go; by default the packages, which then ship them.
JUDGE ?= src/assay/labellers/judge/data
LARGE ?= judges/large/src/assay_judge_large/data
# Pairs of a source that are read to calibrate and to evaluate; empty: as the programs say.
MOST ?=
SAMPLE := $(if $(MOST),--most $(MOST))
READ := --data $(WORK)/data --readings $(WORK)/readings.jsonl $(SAMPLE)
TRAIN := .venv-train/bin/python training/train.py --pool $(WORK)/pool.npz

.PHONY: judge
judge: .venv-train/.installed
	.venv-train/bin/python training/start.py --out $(WORK)/start
	.venv-train/bin/python training/start.py --out $(WORK)/large --large
	.venv-train/bin/python training/prepare.py --shared $(SHARED) --out $(WORK)/data
	.venv-train/bin/python training/pool.py --shared $(SHARED) --start $(WORK)/start --out $(WORK)/pool.npz --part $(PART) --texts $(TEXTS)
	$(TRAIN) --large --start $(WORK)/large/model.safetensors --out $(WORK)/teacher --pairs $(TAUGHT_BY) --batch $(LARGE_BATCH) --micro 64000 --rate 6e-5 --read $(WORK)/said.npy
	$(TRAIN) --teacher $(WORK)/said.npy --start $(START) --out $(WORK)/first --pairs $(FIRST) --batch $(BATCH) --written .2
	$(TRAIN) --teacher $(WORK)/said.npy --start $(WORK)/first/judge.pt --out $(WORK)/second --pairs $(SECOND) --batch $(BATCH) --written .2 --rate 2.5e-4 --seed 9
	.venv-train/bin/python training/export.py --weights $(WORK)/second/judge.pt --out $(WORK)/judge.onnx
	.venv-train/bin/python training/calibrate.py --model $(WORK)/judge.onnx --start $(WORK)/start --out $(JUDGE) $(READ)
	.venv-train/bin/python training/export.py --weights $(WORK)/teacher/judge.pt --out $(WORK)/large.onnx
	.venv-train/bin/python training/calibrate.py --model $(WORK)/large.onnx --start $(WORK)/start --out $(LARGE) --pieces $(READ)
	.venv-train/bin/python training/evaluate.py --shared $(SHARED) --package $(JUDGE) --out $(WORK)/figures.json $(READ)

# Trains the judge that is there further on a processor (an hour or two of one core), on the texts
# written for it beside a part of the pool, of which it is its own teacher; what is shipped is the
# mean of what it was and what it became.
FURTHER ?= 85000

.PHONY: judge-further
judge-further: .venv-train/.installed
	.venv-train/bin/python training/start.py --out $(WORK)/start
	.venv-train/bin/python training/prepare.py --shared $(SHARED) --out $(WORK)/data
	.venv-train/bin/python training/pool.py --shared $(SHARED) --start $(WORK)/start --out $(WORK)/pool.npz --part .35
	.venv-train/bin/python training/export.py --weights $(JUDGE)/judge.onnx --out $(WORK)/former.pt
	$(TRAIN) --start $(WORK)/former.pt --former $(WORK)/former.pt --out $(WORK)/further --pairs $(FURTHER) --batch 64 --written .4 --rate 1e-4 --dropout 0 --threads 1
	.venv-train/bin/python training/export.py --weights $(WORK)/former.pt $(WORK)/further/judge.pt --shares .35 .65 --out $(WORK)/judge.onnx
	.venv-train/bin/python training/calibrate.py --model $(WORK)/judge.onnx --start $(WORK)/start --out $(JUDGE) $(READ)
	.venv-train/bin/python training/evaluate.py --shared $(SHARED) --package $(JUDGE) --out $(WORK)/figures.json $(READ)

.venv-train/.installed: training/requirements.txt
	$(PYTHON) -m venv .venv-train
	.venv-train/bin/python -m pip install --quiet --disable-pip-version-check -r training/requirements.txt
	.venv-train/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

clean:
	rm -rf $(VENV) build examples/*/out examples/*/labels.sqlite* examples/*/build
