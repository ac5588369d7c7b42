"""``from assay import measures``: what goes in, what comes out, and how fast it is there."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from importlib import import_module
from typing import NamedTuple

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import measures
from assay.measures.frames import evaluate_runs, to_judgements

QRELS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1}}
RUN = {"1": {"c": 3.0, "a": 2.0, "x": 1.0}, "2": {"b": 1.0, "a": 0.5}}


class Qrel(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class ScoredDoc(NamedTuple):
    query_id: str
    doc_id: str
    score: float


def long(nested, names):
    rows = [(topic, doc, value) for topic, docs in nested.items() for doc, value in docs.items()]
    return pl.DataFrame(rows, schema=list(names), orient="row")


def pandas_like(frame: pl.DataFrame):
    """What a table needs: columns, and a column that can be made a list."""

    class Frame:
        columns = frame.columns

        def __getitem__(self, name: str):
            return frame[name].to_list()

    return Frame()


FORMS = [
    (QRELS, RUN),
    (QRELS, {topic: sorted(docs, key=docs.get, reverse=True) for topic, docs in RUN.items()}),
    (long(QRELS, ("qid", "docno", "label")), long(RUN, ("qid", "docno", "score"))),
    (
        long(QRELS, ("query_id", "doc_id", "relevance")),
        long(RUN, ("query_id", "doc_id", "score")).reverse(),
    ),
    (
        pandas_like(long(QRELS, ("qid", "docno", "label"))),
        pandas_like(long(RUN, ("qid", "docno", "score"))),
    ),
    (
        (Qrel(t, d, g) for t, docs in QRELS.items() for d, g in docs.items()),
        [ScoredDoc(t, d, s) for t, docs in RUN.items() for d, s in docs.items()],
    ),
    (to_judgements(QRELS), RUN),
]


@pytest.mark.parametrize("number", range(len(FORMS)))
def test_every_form_of_qrels_and_runs_scores_the_same(number):
    qrels, run = FORMS[number]
    found = measures.evaluate(qrels, {"mine": run}, [measures.nDCG @ 2, "AP"], per_topic=True)
    ndcg = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    half = 1 / math.log2(3)
    assert found.columns == ["run", "topic", "measure", "value", "reason"]
    assert found.rows() == [
        ("mine", "1", "nDCG@2", pytest.approx(ndcg), None),
        ("mine", "2", "nDCG@2", pytest.approx(half), None),
        ("mine", "all", "nDCG@2", pytest.approx((ndcg + half) / 2), None),
        ("mine", "1", "AP", 1.0, None),
        ("mine", "2", "AP", 0.5, None),
        ("mine", "all", "AP", 0.75, None),
    ]


def test_a_table_alone_is_one_run():
    found = measures.evaluate(QRELS, FORMS[2][1], [measures.AP])
    assert found.rows() == [("run", "all", "AP", 0.75, None)]


def test_pandas_in_and_out():
    pandas = import_module("pandas")
    qrels = pandas.DataFrame(FORMS[2][0].to_dict(as_series=False))
    run = pandas.DataFrame(FORMS[2][1].to_dict(as_series=False))
    found = measures.evaluate(qrels, {"mine": run}, [measures.AP])
    assert found.to_pandas()["value"].tolist() == [0.75]


def test_what_is_not_defined_is_null_with_a_reason():
    found = measures.evaluate(QRELS, {"r": {"9": {"a": 1.0}}}, ["AP"], topics="answered")
    assert found.rows() == [("r", "all", "AP", None, "the run has no topic of the qrels")]
    assert measures.evaluate(QRELS, {"r": {}}, ["AP"]).rows() == [("r", "all", "AP", 0.0, None)]
    assert measures.evaluate(QRELS, {}, ["AP"]).rows() == []


@given(
    st.dictionaries(
        st.sampled_from("12"),
        st.dictionaries(st.sampled_from("abc"), st.integers(-2, 3)),
        min_size=1,
    ),
    st.dictionaries(
        st.sampled_from("123"), st.dictionaries(st.sampled_from("abcd"), st.floats(-1, 1))
    ),
    st.sampled_from(["qrels", "answered"]),
    st.sampled_from(["qrels", "run"]),
)
def test_no_nan_leaves(qrels, run, topics, ideal):
    every = [
        measures.nDCG, measures.nDCG_JK @ 2, measures.Q, measures.AP @ 2, measures.ERR,
        measures.nERR, measures.iRBU, measures.niRBU @ 3, measures.RBP, measures.P @ 2,
        measures.Rprec, measures.RR, measures.Recall, measures.Success @ 1, measures.alpha_nDCG,
        measures.Judged @ 2,
    ]  # fmt: skip
    found = measures.evaluate(qrels, {"r": run}, every, per_topic=True, topics=topics, ideal=ideal)
    assert not found["value"].is_nan().any()
    assert found.filter(pl.col("value").is_null() != pl.col("reason").is_not_null()).is_empty()
    assert found["value"].drop_nulls().is_between(0, 1 + 1e-9).all()


def test_the_ideal_list_of_the_run_itself():
    found = measures.evaluate(QRELS, {"r": {"1": ["c", "x"]}}, [measures.nDCG @ 5], ideal="run")
    assert found["value"].to_list() == [0.5]  # topic 1 is as good as can be, topic 2 is silent


@pytest.mark.parametrize(
    ("arguments", "more", "message"),
    [
        ((QRELS, {"r": RUN}, ["nDGC"]), {}, "unknown measure 'nDGC'"),
        ((QRELS, {"r": RUN}, [measures.P]), {}, "P needs a cutoff"),
        ((QRELS, RUN, ["AP"]), {}, "runs must be name → run, but '1' holds scores"),
        ((QRELS, {"r": RUN}, ["AP"]), {"ties": "random"}, "ties must be one of trec, file"),
        ((QRELS, {"r": RUN}, ["AP"]), {"topics": "some"}, "topics must be one of"),
        ((QRELS, {"r": RUN}, ["AP"]), {"ideal": "best"}, "ideal must be one of"),
        ((QRELS, {"r": RUN}, ["ERR"]), {"g_max": 1}, "topic 1: .*above the gain of g_max"),
        ((QRELS, {"r": {"1": {"a": math.nan}}}, ["AP"]), {}, "run r: topic 1: .*not a finite"),
        ((QRELS, {"r": {"1": ["a", "a"]}}, ["AP"]), {}, "run r: topic 1: document a is ranked"),
        (({"1": {"a": math.inf}}, {"r": RUN}, ["AP"]), {}, "not finite"),
        (({}, {"r": RUN}, ["AP"]), {}, "the qrels have no topics"),
        ((pl.DataFrame({"qid": ["1"]}), {"r": RUN}, ["AP"]), {}, "no column docno or doc_id"),
        (([("1", "a", 1)], {"r": RUN}, ["AP"]), {}, "neither a dict, nor a DataFrame"),
        ((QRELS, {"r": RUN}, ["α-nDCG"]), {"subtopics": {"7": {}}}, "topic 7 has subtopics"),
    ],
)
def test_what_cannot_be_scored_is_refused(arguments, more, message):
    with pytest.raises(ValueError, match=message):
        measures.evaluate(*arguments, **more)


def test_qrels_that_are_ready_serve_for_many_calls():
    judged = to_judgements(QRELS)
    assert to_judgements(judged) is judged
    assert to_judgements(judged, g_max=5).g_max == 5
    twice = [evaluate_runs(judged, {"r": RUN}, ["nDCG"])["r"].mean(measures.nDCG) for _ in "ab"]
    assert twice[0] == twice[1]


def test_importing_is_fast_and_loads_no_numpy():
    code = (
        "import sys; from assay import measures; measures.nDCG @ 20; print('numpy' in sys.modules)"
    )
    times = []
    for _ in range(5):
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        )
        times.append(time.perf_counter() - started)
        assert done.stdout.strip() == "False"
    assert min(times) < 0.15 + 0.05  # starting Python itself takes some 0.02 s
