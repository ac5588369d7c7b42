"""``measures.evaluate``: the forms of its input, its result, and lazy imports."""

from __future__ import annotations

import math
import subprocess
import sys
from importlib import import_module
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import measures
from assay.measures.base import Measure
from assay.measures.run_scores import evaluate_runs, to_judgements

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
    """The least that a table needs: columns that can be turned into lists."""

    class Frame:
        columns = frame.columns

        def __getitem__(self, name: str):
            return frame[name].to_list()

    return Frame()


def forms():
    return [
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


@pytest.mark.parametrize("number", range(7))
def test_every_form_of_qrels_and_runs_scores_the_same(number):
    qrels, run = forms()[number]
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


def test_a_table_without_a_run_column_is_one_run():
    found = measures.evaluate(QRELS, forms()[2][1], [measures.AP])
    assert found.rows() == [("run", "all", "AP", 0.75, None)]


def test_pandas_in_and_out():
    pandas = import_module("pandas")
    qrels = pandas.DataFrame(forms()[2][0].to_dict(as_series=False))
    run = pandas.DataFrame(forms()[2][1].to_dict(as_series=False))
    found = measures.evaluate(qrels, {"mine": run}, [measures.AP])
    assert found.to_pandas()["value"].tolist() == [0.75]


@pytest.mark.filterwarnings("ignore:run r")
def test_undefined_values_are_null_with_a_reason():
    found = measures.evaluate(QRELS, {"r": {"9": {"a": 1.0}}}, ["AP"], topics="answered")
    assert found.rows() == [("r", "all", "AP", None, "the run has no topic of the qrels")]
    assert measures.evaluate(QRELS, {"r": {}}, ["AP"]).rows() == [("r", "all", "AP", 0.0, None)]
    assert measures.evaluate(QRELS, {}, ["AP"]).rows() == []


@pytest.mark.filterwarnings("ignore:run r")
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
def test_results_are_never_nan(qrels, run, topics, ideal):
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
    assert found["value"].to_list() == [
        0.5
    ]  # topic 1 has the ideal order, topic 2 has no documents
    alpha = [measures.alpha_nDCG @ 5, measures.alpha_nDCG(alpha=0) @ 5]
    first = measures.evaluate(QRELS, {"r": {"1": ["a", "x"]}}, alpha, ideal="run")
    assert first["value"].to_list() == [0.5, 0.5]
    subtopics = {"1": {"s": {"a": 1, "c": 1}, "t": {"a": 1}}}
    later = measures.evaluate(
        QRELS, {"r": {"1": ["c", "a"]}}, alpha[1], ideal="run", subtopics=subtopics
    )
    best = 2 + 1 / math.log2(3)  # a covers two subtopics, c one
    assert later["value"].item() == pytest.approx((1 + 2 / math.log2(3)) / best / 2)


class Odd(Measure):
    """A measure without a name whose author forgot that there are several topics."""

    def scores(self, hits, judged):
        return [1.0]


Odd.name = "odd"


@pytest.mark.parametrize(
    ("arguments", "more", "message"),
    [
        ((QRELS, {"r": RUN}, ["nDGC"]), {}, "unknown measure 'nDGC'"),
        ((QRELS, {"r": RUN}, [measures.P]), {}, "P needs a cutoff"),
        ((QRELS, RUN, ["AP"]), {}, "runs must be name → run, but '1' holds scores"),
        ((QRELS, {"r": RUN}, ["AP"]), {"ties": "random"}, "ties must be one of trec, trec64, file"),
        ((QRELS, {"r": RUN}, ["AP"]), {"topics": "some"}, "topics must be one of"),
        ((QRELS, {"r": RUN}, ["AP"]), {"ideal": "best"}, "ideal must be one of"),
        ((QRELS, {"r": RUN}, ["ERR"]), {"g_max": 1}, "topic 1: a has grade 2, above g_max = 1"),
        ((QRELS, {"r": {"1": {"a": math.nan}}}, ["AP"]), {}, "run r: topic 1: .*not a finite"),
        ((QRELS, {"r": {"1": ["a", "a"]}}, ["AP"]), {}, "run r: topic 1: document a is ranked"),
        (
            ({"1": {"a": math.inf}}, {"r": RUN}, ["AP"]),
            {},
            "1: the grade of a is not a finite",
        ),
        (({}, {"r": RUN}, ["AP"]), {}, "the qrels have no topics"),
        ((pl.DataFrame({"qid": ["1"]}), {"r": RUN}, ["AP"]), {}, "no column docno or doc_id"),
        (([("1", "a", 1)], {"r": RUN}, ["AP"]), {}, "neither a dict, nor a DataFrame"),
        ((QRELS, {"r": RUN}, ["α-nDCG"]), {"subtopics": {"7": {}}}, "topic 7 has subtopics"),
        ((QRELS, {"r": RUN}, [5]), {}, "5 is neither a measure nor its name"),
        ((QRELS, {"r": RUN}, Odd), {}, r"neither a measure nor its name: write Odd\(\)"),
        ((QRELS, {"r": RUN}, Odd()), {}, r"odd: its scores are \[1.0\], not an array with a"),
    ],
)
def test_invalid_arguments_are_refused(arguments, more, message):
    with pytest.raises(ValueError, match=message):
        measures.evaluate(*arguments, **more)


ODD = [
    ({"1": [("a", 2.0), ("b", 1.0)]}, r"topic 1: \('a', 2.0\) is not a document id"),
    ({"1": {"a", "b"}}, "topic 1: a ranking cannot be a set; give a dict"),
    ({"1": "a"}, "topic 1: a ranking cannot be a str"),
    ({"1": None}, "topic 1: a ranking cannot be a NoneType"),
    ({"1": (one for one in "ab")}, "topic 1: a ranking cannot be a generator"),
    ({"1": np.ones((2, 2))}, "topic 1: a ranking cannot be a ndarray"),
    ({"1": {"a": "2"}}, "topic 1: the score of a is not a number"),
    ({"1": {"a": 2.0, "b": None}}, "topic 1: the score of b is not a number"),
    ({"1": {"a": 10**400}}, "topic 1: the score of a is not a finite number"),
    ({"1": {1: 2.0, "1": 1.0}}, "topic 1: two documents are the same as text: 1"),
    ({"1": ["a"], 1: ["b"]}, "two topics are the same as text: 1"),
    ({None: ["a"]}, "an id is missing"),
    ({"1": [b"a"]}, "topic 1: b'a' is not an id"),
    (pl.DataFrame({"qid": ["1", None], "docno": ["a", "b"], "score": [2, 1]}), "row 2: an id is"),
    (pl.DataFrame({"qid": ["1", "1"], "docno": ["a", None], "score": [2, 1]}), "row 2: an id is"),
    (pl.DataFrame({"qid": ["1"], "docno": ["a"], "score": ["2"]}), "score of a is not a number"),
    (7, "neither a dict, nor a DataFrame"),
    # A valid first entry does not hide invalid ones after it.
    ({"1": {"a": 2.0, "b": "1"}}, "topic 1: the score of b is not a number"),
    ({"1": ["a", ("b", 1.0)]}, r"topic 1: \('b', 1.0\) is not a document id"),
    ({"1": ["a", None]}, "topic 1: an id is missing"),
    ({"1": [3.0, 2.0]}, "topic 1: 3.0 is not a document id"),
    ({"1": {True: 1.0}}, "topic 1: True is not an id"),
    ({"1": {"a": 1.0, float("nan"): 2.0}}, "topic 1: nan is not an id|topic 1: an id is missing"),
    ({"1": [*map(str, range(40_000)), "7"]}, "topic 1: document 7 is ranked twice"),
]


def test_a_run_column_separates_runs():
    rows = [("x", "1", "c", 3.0), ("x", "1", "a", 2.0), ("y", "1", "b", 1.0), ("y", "2", "a", 1.0)]
    table = pl.DataFrame(rows, schema=["run", "topic", "id", "score"], orient="row")
    apart = {"x": {"1": ["c", "a"]}, "y": {"1": ["b"], "2": ["a"]}}
    found = measures.evaluate(QRELS, table, "AP")
    assert found.equals(measures.evaluate(QRELS, apart, "AP"))
    with pytest.raises(ValueError, match=r"run r: its table holds several runs \(x, y"):
        measures.evaluate(QRELS, {"r": table}, "AP")
    with pytest.raises(ValueError, match="columns doc and id: rename the one"):
        measures.evaluate(QRELS, table.with_columns(doc=pl.col("id")), "AP")


def test_missing_pandas_ids_are_reported():
    pandas = import_module("pandas")
    missing = pandas.array([None], dtype="string")
    frame = pandas.DataFrame({"qid": ["1"], "docno": missing, "score": [1.0]})
    for run in frame, {"1": {pandas.NA: 1.0}}, {"1": [pandas.NA, "a"]}:
        with pytest.raises(ValueError, match="an id is missing"):
            measures.evaluate(QRELS, {"r": run}, ["AP"])


def test_the_order_of_a_dict_does_not_matter():
    for qrels in {"1": {5: 1, "a": 0}}, {"1": {"a": 0, 5: 1}}:
        for run in {"1": {5: 3.0, "a": 2.5}}, {"1": {"a": 2.5, 5: 3.0}}, {"1": [5, "a"]}:
            assert measures.evaluate(qrels, {"r": run}, "AP")["value"].item() == 1


def test_subtopic_ids_are_converted_like_those_of_qrels_whatever_the_other_measures():
    alpha = measures.alpha_nDCG @ 5
    subtopics = {1: {"s": {10: 1, 11: 0}, "t": {12: 1}}}
    qrels, run = {1: {10: 0, 11: 0, 12: 1}}, {1: {11: 3.0, 10: 2.0, 12: 1.0}}
    alone = measures.evaluate(qrels, {"r": run}, alpha, subtopics=subtopics)
    both = measures.evaluate(qrels, {"r": run}, [alpha, "Judged"], subtopics=subtopics)
    expected = (1 / math.log2(3) + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    assert alone["value"].item() == both["value"][0] == pytest.approx(expected)
    with pytest.raises(ValueError, match="the grade of 10 is not a number"):
        measures.evaluate(qrels, {"r": run}, alpha, subtopics={1: {"s": {10: "1"}}})


@pytest.mark.parametrize("number", range(len(ODD)))
def test_a_run_of_the_wrong_form_is_refused(number):
    run, message = ODD[number]
    with pytest.raises(ValueError, match=f"run r: .*{message}"):
        measures.evaluate(QRELS, {"r": run}, ["AP"])


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        ({"1": {"a": "2"}}, "topic 1: the grade of a is not a number"),
        ({"1": {"a": 1, "b": None}}, "topic 1: the grade of b is not a number"),
        ({"1": {"a": 1, "b": math.nan}}, "topic 1: the grade of b is not a finite number"),
        ({"1": ["a"]}, "topic 1: its grades must be a dict of document → grade, not a list"),
        ({"1": {None: 1}}, "topic 1: an id is missing"),
        (
            pl.DataFrame({"qid": ["1", None], "docno": ["a", "b"], "label": [2, 1]}),
            "row 2: an id is missing",
        ),
    ],
)
def test_qrels_of_the_wrong_form_are_refused(qrels, message):
    with pytest.raises(ValueError, match=message):
        measures.evaluate(qrels, {"r": RUN}, ["AP"])


def test_numeric_ids_become_text():
    numbers = {1: {10: 2.0, 11: np.float32(3)}, np.int64(2): np.array([12, 13]), 3.0: (14,)}
    texts = {"1": {"10": 2.0, "11": 3.0}, "2": ["12", "13"], "3": ["14"]}
    grades = {1: {10: 1, 11: np.int64(0)}, 2.0: {13: 2}, "3": {"14": 1}}
    found = measures.evaluate(grades, {"a": numbers, "b": texts}, "RR", per_topic=True)
    values = [row[3] for row in found.rows()]
    assert values == [0.5, 0.5, 1.0, pytest.approx(2 / 3)] * 2
    frame = pl.DataFrame({"qid": [1.0, 2.0], "docno": [10, 13], "score": [1, 1]})
    assert measures.evaluate(grades, frame.lazy(), "RR")["value"].item() == pytest.approx(2 / 3)
    arrow = frame.to_arrow()
    assert measures.evaluate(grades, arrow, "RR")["value"].item() == pytest.approx(2 / 3)


def test_a_run_without_any_topic_of_the_qrels_gives_a_warning():
    with pytest.warns(UserWarning, match=r"run r: none of its 1 topics \(the first is 'q9'\)"):
        found = measures.evaluate(QRELS, {"r": {"q9": {"a": 1.0}}}, ["AP"])
    assert found["value"].item() == 0


def test_a_run_without_a_name_is_refused_whatever_its_scores():
    with pytest.raises(ValueError, match="runs must be name → run"):
        measures.evaluate(QRELS, {"1": {"a": np.float32(1)}}, ["AP"])


def test_public_names_are_listed_by_dir():
    assert {"evaluate", "nDCG", "parse_measure"} <= set(dir(measures))


def test_cutoffs():
    assert str(measures.nDCG @ np.int64(5)) == "nDCG@5"
    with pytest.raises(ValueError, match="whole number from 1 to 1000000000"):
        measures.Q @ 10**20
    assert measures.evaluate(QRELS, {"r": RUN}, measures.Q @ 10**9)["value"].item() > 0


def test_prepared_qrels_can_be_reused():
    judged = to_judgements(QRELS)
    assert to_judgements(judged) is judged
    assert to_judgements(judged, g_max=5).g_max == 5
    twice = [evaluate_runs(judged, {"r": RUN}, ["nDCG"])["r"].mean(measures.nDCG) for _ in "ab"]
    assert twice[0] == twice[1]


def test_importing_loads_no_numpy():
    code = (
        "import sys; from assay import measures; measures.nDCG @ 20; print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
