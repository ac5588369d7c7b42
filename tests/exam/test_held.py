"""Inputs that lie in a file say what those in memory say."""

from array import array

import pytest

from assay.model import exam_held as held
from assay.model.exam import Ranking
from assay.model.exam_held import Rankings, StoredTexts, texts_of

TEXTS = {f"p{n}": f"text {n} é" * (n % 3) for n in range(50)} | {
    "": "of no id",
    "\udcff": "a\udcffb",
}


def test_texts_in_a_file():
    stored = StoredTexts(TEXTS)
    assert dict(stored) == TEXTS
    assert [stored[one] for one in reversed(TEXTS)] == [*reversed(TEXTS.values())]
    assert "p1" in stored
    assert "p1text" not in stored
    assert stored.get("p50") is None
    assert dict(StoredTexts({})) == {}


def test_few_texts_are_held(monkeypatch):
    assert texts_of(TEXTS) is TEXTS
    monkeypatch.setattr(held, "HELD", 51)
    assert dict(texts_of(TEXTS)) == TEXTS
    assert texts_of(TEXTS) is not TEXTS


@pytest.fixture(autouse=True)
def _blocks_are_small(monkeypatch):
    monkeypatch.setattr("assay.model.scratch._HELD", 100)
    monkeypatch.setattr("assay.model.scratch._BLOCK", 3)


RUNS = {
    "a": {q: Ranking.of(["p1", "p2", q], array("d", [3.5, 2, -1])) for q in ("q1", "q2")},
    "b": {"q2": Ranking.of(["p2"], array("d", [1e9])), "q1": Ranking.of([], array("d"))},
    "without scores": {"q1": Ranking.of(["p9", "p1"])},
    "some scored": {"q1": Ranking.of(["p9"], array("d", [1])), "q2": Ranking.of(["p1"])},
    "of ranks": {"q1": Ranking.at([("p1", 2), ("p2", 2)])},
    "silent": {},
}


def test_runs_of_numbers(monkeypatch):
    monkeypatch.setattr(held, "HELD", 0)
    rankings = Rankings()
    found = {name: rankings.held(run) for name, run in RUNS.items()}
    rankings.done()
    assert {name: dict(run) for name, run in found.items()} == RUNS
    assert [*found["b"]] == ["q2", "q1"]
    assert found["a"].get("q3") is None
    assert isinstance(found["a"], held.NumberedRun)
    assert found["some scored"] is RUNS["some scored"]
    assert found["of ranks"] is RUNS["of ranks"]


def test_runs_of_few_passages_are_held():
    assert Rankings().held(RUNS["a"]) is RUNS["a"]
