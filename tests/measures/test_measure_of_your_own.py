"""User-defined ranking measures: a class in one short file, found by its name."""

from __future__ import annotations

from importlib import import_module, reload
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given

import assay
from assay.measures import MEASURES, Measure, parse_measure
from tests.measures.test_measures_of_peers import qrels_and_run


@pytest.fixture(name="bpref", scope="module")
def of_a_file():
    module = import_module("tests.measures.bpref")
    assert len(Path(module.__file__).read_text(encoding="utf-8").splitlines()) <= 25
    return module


@pytest.mark.filterwarnings("ignore:run r")
@given(qrels_and_run)
def test_a_user_defined_measure_is_found_by_its_name(bpref, case):
    reload(bpref)  # defining the same class again is allowed
    qrels, run = case
    evaluator = import_module("pytrec_eval").RelevanceEvaluator(qrels, {"bpref"})
    theirs = evaluator.evaluate(run)
    found = assay.measure(qrels, {"r": run}, "bpref", per_topic=True)
    for _, topic, _, value in found.rows()[:-1]:
        expected = theirs[topic]["bpref"] if topic in theirs else 0.0
        assert value == pytest.approx(expected, abs=1e-9)


def test_a_user_defined_measure_behaves_like_others(bpref):
    reload(bpref)
    assert parse_measure("bpref(rel=2)") == bpref.Bpref(rel=2.0)
    assert bpref.Bpref().score([0.0, None, 1.0], [1.0, 0.0, 1.0], 1.0) == 0.0
    with pytest.raises(ValueError, match=r"Did you mean bpref\?"):
        parse_measure("bpreff")


def test_parameters_may_be_integers_and_strings():
    class Deep(Measure):
        depth: int = 3
        of: str = "all"
        name: ClassVar[str] = "deep"

        def scores(self, hits, judged):
            return judged.share(hits.count() * self.depth, hits.shown)

    try:
        assert parse_measure("deep(depth=4, of=some)@5") == Deep(depth=4, of="some", k=5)
        with pytest.raises(ValueError, match="depth of deep must be a number, got 'x'"):
            parse_measure("deep(depth=x)")
    finally:
        del MEASURES["deep"]


def test_two_measures_cannot_have_the_same_name():
    with pytest.raises(TypeError, match=r"relevance\.AP is called AP"):

        class Other(Measure):
            name: ClassVar[str] = "AP"

    assert MEASURES["AP"].__name__ == "AP"
