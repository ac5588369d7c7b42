"""Ranking measures: golden values (NTCIREVAL), hand calculations and edge cases."""

from __future__ import annotations

import math
from typing import ClassVar

import pytest

from assay.measures import MEASURES, Gain, Measure, parse_measure
from assay.measures.batch import score_hits
from assay.measures.judgements import Judgements
from assay.measures.ranking.cumulated import NDCG
from assay.measures.ranking.stopping import RBP
from assay.measures.run_scores import RunScores, evaluate_runs, run_hits, to_judgements


def _qrels(text: str) -> dict[str, float]:
    return {name: float(grade) for name, grade in (pair.split("=") for pair in text.split())}


TOPICS = {
    "V1": (_qrels("d1=3 d2=2 d3=1 d4=0 d5=2 d6=1"), ["d3", "d1", "d7", "d4", "d2", "d5"]),
    "V2": (_qrels("a=1 b=1 c=2 d=3 e=1 f=2 g=0"), ["z", "c"]),
    "V3": (
        _qrels("p1=1 p3=2 p5=3 p6=1 p2=0 p4=0 p7=0 p8=0"),
        ["p2", "p4", "p9", "p1", "p3", "p8", "p6", "p7", "p5", "p10"],
    ),
    "R2C2": (_qrels("r1=0 r2=0 r3=0 r4=1 r5=1"), ["r1", "r2", "r3", "r4", "r5"]),
}

COLUMNS = ("nDCG", "nDCG-JK", "Q", "AP(norm=min)", "ERR", "nERR", "iRBU", "niRBU")
TABLE = """
V1@3  .549766 .638788 .452381 .666667 .531250 .637500 .798806 .862962
V1@5  .603103 .675889 .400000 .520000 .550000 .655087 .887962 .932919
V1@10 .720288 .783459 .560000 .653333 .557813 .664392 .932093 .979285
V2@3  .239812 .319394 .142857 .166667 .250000 .300000 .490050 .529408
V2@10 .196075 .263874 .071429 .083333 .250000 .297248 .490050 .510424
V3@5  .231945 .222047 .149621 .162500 .137500 .165907 .596770 .650184
V3@10 .470060 .434511 .446496 .380754 .174330 .210347 .876846 .955328
"""
LINEAR = [
    (topic, f"{column}@{k}", float(value))
    for line in TABLE.strip().splitlines()
    for (topic, k), values in [(line.split()[0].split("@"), line.split()[1:])]
    for column, value in zip(COLUMNS, values, strict=True)
]
EXPONENTIAL = [
    ("V1", "nDCG(gain=exp)@10", 0.682022),
    ("V1", "Q(gain=exp)@10", 0.528095),
    ("V1", "ERR(gain=exp)@10", 0.520288),
    ("V1", "nERR(gain=exp)@10", 0.571245),
    ("V1", "iRBU(gain=exp)@10", 0.937279),
    ("V3", "nDCG(gain=exp)@10", 0.410423),
    ("V3", "Q(gain=exp)@10", 0.415225),
    ("V3", "ERR(gain=exp)@10", 0.153163),
    ("V3", "nERR(gain=exp)@10", 0.169460),
    ("V3", "iRBU(gain=exp)@10", 0.878324),
]
SLIDE = [
    ("R2C2", "nDCG@20", 0.501266),
    ("R2C2", "nDCG-JK@20", 0.465338),
    ("R2C2", "Q@20", 0.452381),
    ("R2C2", "AP@20", 0.325),
    ("R2C2", "AP(norm=min)@20", 0.325),
    ("R2C2", "ERR@20", 0.175),
    ("R2C2", "nERR@20", 0.28),
    ("R2C2", "iRBU@20", 0.718046),
]


def evaluate(
    run: dict[str, list[str]],
    qrels: dict[str, dict[str, float]],
    measures: list[Measure],
    g_max: float | None = None,
) -> RunScores:
    return evaluate_runs(qrels, {"r": run}, measures, g_max=g_max)["r"]


def score(topic: str, name: str, g_max: float | None = None) -> float:
    """Score a golden topic; g_max defaults to the highest grade of its own qrels."""
    qrels, ranking = TOPICS[topic]
    measure = parse_measure(name)
    mean = evaluate({"t": ranking}, {"t": qrels}, [measure], g_max=g_max).mean(measure)
    assert mean is not None
    return mean


@pytest.mark.parametrize(("topic", "name", "expected"), LINEAR + EXPONENTIAL + SLIDE)
def test_golden_values(topic: str, name: str, expected: float) -> None:
    assert score(topic, name) == pytest.approx(expected, abs=5e-7)


def test_the_whole_table_is_tested() -> None:
    assert len(LINEAR) == 7 * 8


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("P@3", 2 / 3),
        ("P@10", 4 / 10),  # divided by k, although only six documents are shown
        ("P(rel=2)@10", 3 / 10),
        ("Rprec", 3 / 5),
        ("Rprec(rel=2)", 1 / 3),
        ("RR", 1.0),
        ("RR(rel=2)", 1 / 2),
        ("RR(rel=2)@1", 0.0),
        ("Recall@5", 3 / 5),
        ("Recall", 4 / 5),
        ("Recall(rel=2)@6", 1.0),
        ("Success(rel=2)@1", 0.0),
        ("Success(rel=2)@2", 1.0),
        ("Judged@3", 2 / 3),
        ("Judged@10", 5 / 6),  # divided by the number of documents shown
        ("AP", (1 + 1 + 3 / 5 + 4 / 6) / 5),
        ("AP@3", 2 / 5),
        ("AP(norm=min)@3", 2 / 3),
        ("AP(rel=2)", (1 / 2 + 2 / 5 + 3 / 6) / 3),
        ("RBP(p=0.5)@2", 0.5 * (1 / 3 + 0.5 * 3 / 3)),
        ("RBP", 0.2 * (1 + 0.8 * 3 + 0.8**4 * 2 + 0.8**5 * 2) / 3),
        ("nDCG-JK(b=10)", 1.0 * (1 + 3 + 2 + 2) / (3 + 2 + 2 + 1 + 1)),
        ("iRBU(phi=1)@2", 1 - (1 - 1 / 4) * (1 - 3 / 4)),
    ],
)
def test_hand_calculated(name: str, expected: float) -> None:
    assert score("V1", name) == pytest.approx(expected, abs=1e-12)


def test_g_max_is_a_grade_and_defaults_to_the_highest_of_the_whole_qrels() -> None:
    err = parse_measure("ERR(gain=exp)")
    assert err.score([1.0], [1.0], g_max=3.0) == pytest.approx(1 / 8)
    qrels = {"1": {"a": 1.0}, "2": {"b": 3.0}}
    evaluation = evaluate({"1": ["a"]}, qrels, [err])
    assert to_judgements(qrels).g_max == 3.0
    assert evaluation.values[err].tolist() == [pytest.approx(1 / 8), 0.0]


@pytest.mark.parametrize("name", ["ERR", "nERR", "iRBU", "niRBU", "RBP"])
def test_a_grade_above_g_max_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="g_max"):
        parse_measure(name).score([2.0], [2.0], g_max=1.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_grades_that_are_not_finite_are_refused(bad: float) -> None:
    for arguments in [([bad], [1.0], 1.0), ([1.0], [bad], 1.0), ([1.0], [1.0], bad)]:
        with pytest.raises(ValueError, match="not a finite number"):
            NDCG().score(*arguments)


def test_a_gain_that_is_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        NDCG(gain=Gain.EXP).score([5000.0], [5000.0], 5000.0)


def _all_measures() -> list[Measure]:
    return [kind(k=10) if kind.cutoff != "none" else kind() for kind in MEASURES.values()]


@pytest.mark.parametrize("measure", _all_measures(), ids=str)
def test_a_topic_without_relevant_documents_scores_0(measure: Measure) -> None:
    if measure.name == "Judged":
        return
    assert measure.score([0.0, None], [0.0, 0.0], g_max=0.0) == 0.0
    assert measure.score([None], [], g_max=3.0) == 0.0
    assert measure.score([], [3.0, 1.0], g_max=3.0) == 0.0


@pytest.mark.parametrize("measure", _all_measures(), ids=str)
def test_negative_grades_count_as_zero(measure: Measure) -> None:
    negative = measure.score([-2.0, 1.0, None], [1.0, 2.0, -2.0], g_max=2.0)
    assert negative == measure.score([0.0, 1.0, None], [1.0, 2.0, 0.0], g_max=2.0)


def test_judged_counts_negative_grades_and_is_0_for_an_empty_list() -> None:
    judged = parse_measure("Judged@10")
    assert judged.score([-2.0, None], [], g_max=0.0) == 0.5
    assert judged.score([], [], g_max=0.0) == 0.0


class TestEvaluate:
    qrels: ClassVar = {"1": {"a": 1.0, "b": 0.0}, "2": {"c": 2.0}, "3": {"d": 0.0}, "4": {"e": 1.0}}
    run: ClassVar = {"1": ["b", "a"], "3": ["d"], "4": [], "9": ["x"]}

    def test_every_qrels_topic_has_a_score_and_other_topics_are_listed(self) -> None:
        rr = parse_measure("RR")
        evaluation = evaluate(self.run, self.qrels, [rr])
        assert evaluation.values[rr].tolist() == [0.5, 0.0, 0.0, 0.0]
        assert to_judgements(self.qrels).without_relevant == ("3",)
        assert evaluation.missing == ("2", "4")
        assert evaluation.unjudged == ("9",)

    def test_the_mean_is_over_the_qrels_or_the_answered_topics(self) -> None:
        rr = parse_measure("RR")
        evaluation = evaluate(self.run, self.qrels, [rr])
        assert evaluation.mean(rr) == 0.125
        assert evaluation.mean(rr, topics="answered") == 0.25
        assert evaluate({}, self.qrels, [rr]).mean(rr, topics="answered") is None
        assert evaluate({}, self.qrels, [rr]).mean(rr) == 0.0

    def test_an_ideal_list_can_be_given(self) -> None:
        ndcg = parse_measure("nDCG@2")
        qrels = {"1": {"a": 1.0, "b": 3.0}}
        judged = Judgements(qrels, ideals={"1": [1.0]})
        own = score_hits(run_hits({"1": ["a"]}, judged), judged, [ndcg])
        pooled = evaluate({"1": ["a"]}, qrels, [ndcg])
        assert own[ndcg].tolist() == [[1.0]]
        assert pooled.mean(ndcg) == pytest.approx(1 / (3 + 1 / math.log2(3)))

    def test_invalid_input_is_refused(self) -> None:
        rr = parse_measure("RR")
        with pytest.raises(ValueError, match="no topics"):
            evaluate({}, {}, [rr])
        with pytest.raises(ValueError, match="topic 1: document b is ranked twice"):
            evaluate({"1": ["a", "b", "b"]}, self.qrels, [rr])
        with pytest.raises(ValueError, match="topic 7"):
            Judgements(self.qrels, ideals={"7": [1.0]})
        with pytest.raises(ValueError, match=r"topic 2: .*g_max"):
            evaluate({"2": ["c"]}, self.qrels, [RBP()], g_max=1.0)
