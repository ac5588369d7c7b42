# Needs Python 3.11 or newer with pip; everything else is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo baselines test check lint install install-test lock clean help

help:
	@echo "make demo         install, then judge and score examples/films with the embedded judge"
	@echo "make baselines    from a small wiki to runs, answers and a leaderboard"
	@echo "make test         install, then lint, type-check and run all tests"
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

demo: install
	$(BIN)/assay evaluate examples/films

BASE := examples/baselines
RETRIEVE := $(BIN)/assay retrieve $(BASE)/build/index $(BASE)/questions.tsv --k 5
ANSWER := $(BIN)/assay answer $(BASE)/questions.tsv --model embedded
ANSWER += --ledger $(BASE)/build/answers.sqlite

baselines: install
	$(BIN)/assay corpus build $(BASE)/wiki $(BASE)/build/corpus --words 80 --restart
	$(BIN)/assay index build $(BASE)/build/corpus $(BASE)/build/index --dense minilm --restart
	$(RETRIEVE) -o $(BASE)/pr/BM25.txt --method bm25
	$(RETRIEVE) -o $(BASE)/pr/DENSE.txt --method dense
	$(RETRIEVE) -o $(BASE)/pr/FUSED.txt --method fused
	$(BIN)/assay validate $(BASE)/pr/*.txt --format r2c2-pr --corpus $(BASE)/build/corpus
	$(ANSWER) -o $(BASE)/ac/FUSED-SAID.txt --pr-runs $(BASE)/pr/FUSED.txt --passages 3
	$(ANSWER) -o $(BASE)/ac/ORACLE-LOGPROB.txt --pr-runs $(BASE)/pr/ORACLE.txt \
	  --confidence logprob
	$(BIN)/assay evaluate $(BASE)

lint: install-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

check: test

lock: install-test
	$(BIN)/uv pip compile --quiet --universal --no-header --no-annotate --no-emit-index-url --generate-hashes --extra embedded --extra corpus --extra retrieval --extra e5 --extra recalibration pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --no-header --no-annotate --no-emit-index-url --generate-hashes --extra embedded --extra corpus --extra retrieval --extra e5 --extra recalibration --extra test pyproject.toml -o requirements-test.lock

# Trains the embedded judge anew from the folder of labelled pairs; see training/README.md.
SHARED ?= ../shared/data
WORK ?= .judge
STEPS ?= 560
COOL ?= 375
THREADS ?= 1

.PHONY: judge
judge: .venv-train/.installed
	.venv-train/bin/python training/start.py --out $(WORK)/start
	.venv-train/bin/python training/prepare.py --shared $(SHARED) --start $(WORK)/start --out $(WORK)/data
	OMP_WAIT_POLICY=passive .venv-train/bin/python training/train.py --data $(WORK)/data --start $(WORK)/start --out $(WORK)/run --steps $(STEPS) --cool $(COOL) --threads $(THREADS)
	.venv-train/bin/python training/export.py --weights $(WORK)/run/judge.pt --out $(WORK)/judge.onnx
	.venv-train/bin/python training/calibrate.py --model $(WORK)/judge.onnx --data $(WORK)/data --start $(WORK)/start --readings $(WORK)/readings.jsonl
	.venv-train/bin/python training/evaluate.py --data $(WORK)/data --shared $(SHARED) --readings $(WORK)/readings.jsonl

.venv-train/.installed: training/requirements.txt
	$(PYTHON) -m venv .venv-train
	.venv-train/bin/python -m pip install --quiet --disable-pip-version-check -r training/requirements.txt
	.venv-train/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

clean:
	rm -rf $(VENV) examples/*/out examples/*/labels.sqlite* examples/*/build
