"""Inputs stored in a file give the same values as those in memory."""

from array import array

import pytest

from assay.model import exam_storage
from assay.model.exam import Ranking
from assay.model.exam_storage import RunStore, StoredTexts, store_texts

TEXTS = {f"p{n}": f"text {n} é" * (n % 3) for n in range(50)} | {
    "": "of no id",
    "\udcff": "a\udcffb",
}


def test_texts_are_stored_in_a_file():
    stored = StoredTexts(TEXTS)
    assert dict(stored) == TEXTS
    assert [stored[one] for one in reversed(TEXTS)] == [*reversed(TEXTS.values())]
    assert "p1" in stored
    assert "p1text" not in stored
    assert stored.get("p50") is None
    assert dict(StoredTexts({})) == {}


def test_few_texts_stay_in_memory(monkeypatch):
    assert store_texts(TEXTS) is TEXTS
    monkeypatch.setattr(exam_storage, "MAX_IN_MEMORY", 51)
    assert dict(store_texts(TEXTS)) == TEXTS
    assert store_texts(TEXTS) is not TEXTS


@pytest.fixture(autouse=True)
def _blocks_are_small(monkeypatch):
    monkeypatch.setattr("assay.model.scratch._HELD", 100)
    monkeypatch.setattr("assay.model.scratch._BLOCK", 3)


RUNS = {
    "a": {q: Ranking.of(["p1", "p2", q], array("d", [3.5, 2, -1])) for q in ("q1", "q2")},
    "b": {"q2": Ranking.of(["p2"], array("d", [1e9])), "q1": Ranking.of([], array("d"))},
    "without scores": {"q1": Ranking.of(["p9", "p1"])},
    "some scored": {"q1": Ranking.of(["p9"], array("d", [1])), "q2": Ranking.of(["p1"])},
    "of ranks": {"q1": Ranking.at_ranks([("p1", 2), ("p2", 2)])},
    "silent": {},
}


def test_runs_are_stored_as_numbers(monkeypatch):
    monkeypatch.setattr(exam_storage, "MAX_IN_MEMORY", 0)
    rankings = RunStore()
    found = {name: rankings.store(run) for name, run in RUNS.items()}
    rankings.finish()
    assert {name: dict(run) for name, run in found.items()} == RUNS
    assert [*found["b"]] == ["q2", "q1"]
    assert found["a"].get("q3") is None
    assert isinstance(found["a"], exam_storage.NumberedRun)
    assert found["some scored"] is RUNS["some scored"]
    assert found["of ranks"] is RUNS["of ranks"]


def test_runs_of_few_passages_are_held():
    assert RunStore().store(RUNS["a"]) is RUNS["a"]
