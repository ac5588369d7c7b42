"""Saying something twice never pays; what several summaries say is in the pool once."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.measures.summaries import Weights
from assay.model.summaries import SummarySection, without_repeats
from assay.protocols.sgss.inputs import SgssInputs
from assay.protocols.sgss.protocol import SGSS
from tests.sgss.cases import SUMMARIES, rows, toml, write
from tests.sgss.test_sgss_ranges import SETTINGS, Told, made, weights


def scores(mine, other, weighted, book):
    found = SGSS.score(SgssInputs({"p": {"A": mine, "B": other}}, weighted, None), SETTINGS, book)
    return found.scores["A"]


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 2), min_size=1, max_size=3),
    st.data(),
    weights,
    st.integers(),
    st.sampled_from([0, 3]),
)
def test_repeating_a_section_or_a_statement_never_raises(shape, data, weighted, seed, missing):
    mine, other = made("p", "A", shape), made("p", "B", [1, 2])
    again = data.draw(st.sampled_from(mine.sections))
    shouted = SummarySection(
        data.draw(st.sampled_from([again.heading, "Another heading"])),
        tuple(
            one.__class__(f" {one.text.upper().rstrip('.')} !", one.citations)
            for one in again.statements
        ),
    )
    after = mine.sections.index(again) + 1
    at = data.draw(st.integers(after, len(mine.sections)))
    longer = replace(mine, sections=(*mine.sections[:at], shouted, *mine.sections[at:]))
    book = Told(seed, missing)
    before = scores(without_repeats(mine), other, weighted, book)
    for name, score in scores(without_repeats(longer), other, weighted, book).items():
        assert score.ends == before[name].ends, name


@settings(max_examples=30)
@given(st.integers(), st.integers(0, 1))
def test_a_section_of_two_summarisers_is_in_the_pool_once(seed, place):
    """Equation 9 is a set, and what is said word for word is perfectly relevant."""
    mine, other = made("p", "A", [1, 2]), made("p", "B", [1])
    copied = replace(other, sections=(mine.sections[place],))
    assert scores(mine, copied, Weights(), Told(seed, 0))["Comp"].value == 1


def with_repeats():
    first, *others = json.loads(json.dumps(SUMMARIES))
    first["sections"] += [first["sections"][0]] * 3
    first["sections"][1]["statements"].append({"text": "TEA came by  ship.", "citations": [1]})
    return [first, *others]


def test_repeats_in_a_file_are_read_once_and_said(sgss, folder):
    sgss("evaluate", folder)
    before = {name: (folder / "out" / name).read_bytes() for name in ("scores.csv", "lines.csv")}
    write(folder, with_repeats())
    done = sgss("evaluate", folder)
    assert done.returncode == 0, done.stderr
    for name, text in before.items():
        assert (folder / "out" / name).read_bytes() == text
    said = " ".join(done.stdout.split())
    assert "4 statements repeated within a summary. Only the first is read." in said


@pytest.mark.parametrize(
    ("silent", "so"),
    [("zero", "Each counts as 0."), ("left-out", "They are left out of the means.")],
)
def test_the_terminal_names_the_summaries_that_are_missing(sgss, folder, silent, so):
    write(folder, SUMMARIES[:3])
    toml(folder, settings=f'silent = "{silent}"')
    done = sgss("evaluate", folder)
    said = " ".join(done.stdout.split())
    assert f"1 query left out by summarisers (B: rum). {so}" in said


def test_a_preference_for_a_summary_that_is_not_there_is_unknown_and_said(sgss, folder):
    write(folder, SUMMARIES[:3])
    (folder / "preferences.csv").write_text(
        "query_id,left,right,labeller,preference,split\n"
        "tea,A,B,kim,LEFT,test\nrum,A,B,kim,LEFT,test\nrum,B,A,lee,LEFT,test\n"
        "rum,A,B,max,RIGHT,test\n"
    )
    toml(folder, more='preferences = "preferences.csv"\n')
    done = sgss("evaluate", folder)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "1 pair with a preference but without one of the summaries (rum: A, B)." in said
    (pair,) = (one for one in rows(folder / "out" / "preferences.csv") if one["query"] == "rum")
    assert (pair["difference_floor"], pair["difference_ceiling"], pair["AR"]) == ("", "", "")
    assert float(pair["AR_floor"]) == 0
    assert float(pair["AR_ceiling"]) == pytest.approx(2 / 3)
