"""Measure names: parsing, printing, and error messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import measures
from assay.measures import MEASURES, Gain, Measure, parse_measure
from assay.measures.ranking.cumulated import NDCG, NDCGJK, Q
from assay.measures.ranking.relevance import (
    AP,
    RR,
    APNorm,
    Judged,
    Precision,
    Recall,
    RPrecision,
    Success,
)
from assay.measures.ranking.stopping import ERR, IRBU, NERR, NIRBU, RBP
from assay.measures.ranking.subtopics import AlphaNDCG


@pytest.mark.parametrize(
    ("text", "measure"),
    [
        ("nDCG@20", NDCG(k=20)),
        ("nDCG", NDCG()),
        ("nDCG(gain=exp)@20", NDCG(gain=Gain.EXP, k=20)),
        ("nDCG-JK(b=10)@20", NDCGJK(b=10, k=20)),
        ("Q@20", Q(k=20)),
        ("Q(beta=0.5)@20", Q(beta=0.5, k=20)),
        ("Q(gain=exp,beta=10)", Q(gain=Gain.EXP, beta=10)),
        ("AP(rel=2)", AP(rel=2)),
        ("AP(norm=min)@5", AP(norm=APNorm.MIN, k=5)),
        ("ERR@20", ERR(k=20)),
        ("nERR@20", NERR(k=20)),
        ("iRBU@20", IRBU(k=20)),
        ("iRBU(phi=0.9)@20", IRBU(phi=0.9, k=20)),
        ("niRBU@20", NIRBU(k=20)),
        ("RBP(p=0.95)", RBP(p=0.95)),
        ("P(rel=2)@10", Precision(rel=2, k=10)),
        ("Rprec", RPrecision()),
        ("RR(rel=2)", RR(rel=2)),
        ("Recall@100", Recall(k=100)),
        ("Recall(rel=2)@100", Recall(rel=2, k=100)),
        ("Success@5", Success(k=5)),
        ("α-nDCG@20", AlphaNDCG(k=20)),
        ("α-nDCG(alpha=0.1)@20", AlphaNDCG(alpha=0.1, k=20)),
        ("Judged@10", Judged(k=10)),
    ],
)
def test_canonical_names_parse_and_print_back_the_same(text: str, measure: Measure) -> None:
    assert parse_measure(text) == measure
    assert str(measure) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("Q(beta=1)@20", "Q@20"),
        ("iRBU(phi=0.99)@20", "iRBU@20"),
        ("nDCG(gain=linear)@20", "nDCG@20"),
        (" ndcg ( exp ) @ 20 ", "nDCG(gain=exp)@20"),
        ("AP(min)@5", "AP(norm=min)@5"),
        ("AP( rel = 2.0 , R )", "AP(rel=2)"),
        ("Q()@5", "Q@5"),
        ("p@5", "P@5"),
        ("map", "AP"),
        ("map_cut_10", "AP@10"),
        ("ndcg", "nDCG"),
        ("ndcg_cut_10", "nDCG@10"),
        ("ndcg_cut.10", "nDCG@10"),
        ("recip_rank", "RR"),
        ("P_10", "P@10"),
        ("recall_100", "Recall@100"),
        ("success_5", "Success@5"),
        ("Rprec", "Rprec"),
        ("alpha-nDCG@5", "α-nDCG@5"),
        ("D♯-nDCG@5", "D#-nDCG@5"),
        ("dsharp_ndcg(exp)@5", "D#-nDCG(gain=exp)@5"),
        ("alpha_ndcg(alpha=0.2)@5", "α-nDCG(alpha=0.2)@5"),
        ("ndcg_jk@5", "nDCG-JK@5"),
        ("NDCG_CUT_5", "nDCG@5"),
        ("MAP", "AP"),
        ("p.5", "P@5"),
    ],
)
def test_other_spellings(text: str, canonical: str) -> None:
    assert str(parse_measure(text)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Known measures: nDCG, nDCG-JK, Q, AP"),
        ("nDGC@20", r"unknown measure 'nDGC'.*mean nDCG@20\? Known measures: nDCG, "),
        ("alpha_ndgc@20", r"mean α-nDCG@20\?"),
        ("Recal(rel=2)@10", r"mean Recall\(rel=2\)@10\?"),
        ("nDCG20", r"is not a measure name.*mean nDCG@20\?"),
        ("HMR", "unknown measure 'HMR' in 'HMR'. Known measures"),
        ("R@100", r"mean Recall@100\?"),  # not RR
        ("hit_rate@10", r"mean Success@10\?"),
        ("ndcg_burges@10", r"mean nDCG\(gain=exp\)@10\?"),
        ("bpref", "unknown measure 'bpref' in 'bpref'. Known measures"),  # Rprec is another
        ("nDCG@", "is not a measure name"),
        ("nDCG@20@5", "is not a measure name"),
        ("nDCG(gain=exp@20", "is not a measure name"),
        ("nDCG@0", "whole number from 1 to 1000000000, got 0"),
        ("nDCG@-1", "is not a measure name"),
        ("P", "needs a cutoff, for example P@10"),
        ("Rprec@5", "takes no cutoff"),
        ("nDCG(beta=1)@5", "no parameter 'beta=1'.*its parameters: gain"),
        ("nDCG(min)@5", "no parameter 'min'.*its parameters: gain"),
        ("nDCG(k=5)", "no parameter 'k=5'"),
        ("Judged(rel=1)@5", "its parameters: none"),
        ("nDCG(gain=log)@5", "must be one of linear, exp, got 'log'"),
        ("Q(beta=x)@5", "must be a number, got 'x'"),
        ("Q(beta=-1)", "beta must be 0 or more"),
        ("Q(beta=nan)", "beta must be 0 or more"),
        ("Q(beta=1,beta=2)", "given twice"),
        ("RBP(p=1)", "p must be between 0 and 1"),
        ("iRBU(phi=0)", "phi must be above 0"),
        ("nDCG-JK(b=1)", "base b must be above 1"),
        ("AP(rel=0)", "rel must be above 0"),
        ("α-nDCG(alpha=2)", "alpha must be from 0 to 1"),
        ("D#-nDCG(gamma=2)", "gamma must be from 0 to 1"),
        ("I-rec(rel=0)", "rel must be above 0"),
    ],
)
def test_invalid_names_have_helpful_messages(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_measure(text)


def test_a_cutoff_must_be_a_whole_number() -> None:
    with pytest.raises(ValueError, match="whole number"):
        NDCG(k=True)


def test_measures_as_objects() -> None:
    assert measures.nDCG @ 20 == parse_measure("nDCG@20")
    assert measures.nDCG(gain="exp") @ 20 == parse_measure("nDCG(gain=exp)@20")
    assert str(measures.P(rel=2) @ 10) == "P(rel=2)@10"
    assert str(measures.AP(rel=2)) == "AP(rel=2)"
    every = [getattr(measures, name) for name in measures.__all__]
    assert {one.name for one in every if isinstance(one, Measure)} == set(MEASURES)
    for wrong in (
        lambda: measures.Rprec @ 5,
        lambda: measures.nDCG @ 0,
        lambda: measures.nDCG(gain="log"),
        lambda: measures.nDCG(beta=1),
        lambda: measures.Q(beta="1"),
        lambda: measures.P.score([1.0], [1.0], 1.0),
        measures.P.require_cutoff,
    ):
        with pytest.raises(ValueError, match=r"cutoff|one of|no parameter|a number"):
            wrong()


_gains = st.sampled_from(Gain)
_rels = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
_PARAMETERS: dict[str, dict[str, st.SearchStrategy[object]]] = {
    "nDCG": {"gain": _gains},
    "nDCG-JK": {
        "gain": _gains,
        "b": st.floats(min_value=1, exclude_min=True, allow_infinity=False),
    },
    "Q": {"gain": _gains, "beta": st.floats(min_value=0, allow_infinity=False)},
    "AP": {"rel": _rels, "norm": st.sampled_from(APNorm)},
    "ERR": {"gain": _gains},
    "nERR": {"gain": _gains},
    "iRBU": {"gain": _gains, "phi": st.floats(min_value=0, max_value=1, exclude_min=True)},
    "niRBU": {"gain": _gains, "phi": st.floats(min_value=0, max_value=1, exclude_min=True)},
    "RBP": {
        "gain": _gains,
        "p": st.floats(min_value=0, max_value=1, exclude_min=True, exclude_max=True),
    },
    "P": {"rel": _rels},
    "Rprec": {"rel": _rels},
    "RR": {"rel": _rels},
    "Recall": {"rel": _rels},
    "Success": {"rel": _rels},
    "α-nDCG": {"alpha": st.floats(min_value=0, max_value=1), "rel": _rels},
    "I-rec": {"rel": _rels},
    "D-nDCG": {"gain": _gains},
    "D#-nDCG": {"gain": _gains, "rel": _rels, "gamma": st.floats(min_value=0, max_value=1)},
    "Judged": {},
}


@st.composite
def any_measure(draw: st.DrawFn) -> Measure:
    """Draw any measure with any parameters."""
    name = draw(st.sampled_from(sorted(MEASURES)))
    kind = MEASURES[name]
    cutoffs: st.SearchStrategy[int | None] = st.integers(1, 10**6)
    if kind.cutoff == "none":
        cutoffs = st.none()
    elif kind.cutoff == "optional":
        cutoffs = st.none() | cutoffs
    parameters = {key: draw(values) for key, values in _PARAMETERS[name].items()}
    return kind(k=draw(cutoffs), **parameters)


@given(any_measure())
def test_any_measure_survives_printing_and_parsing(measure: Measure) -> None:
    parsed = parse_measure(str(measure))
    assert parsed == measure
    assert str(parsed) == str(measure)
    assert hash(parsed) == hash(measure)


@given(st.text(max_size=30))
def test_any_text_is_a_measure_or_a_value_error(text: str) -> None:
    try:
        measure = parse_measure(text)
    except ValueError:
        return
    assert parse_measure(str(measure)) == measure
