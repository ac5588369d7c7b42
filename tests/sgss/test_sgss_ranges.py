"""Missing labels give ranges that hold the value; handing in less never pays."""

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.measures.summaries import Weights
from assay.model.summaries import CitedText, Document, Preference, Summary, SummarySection
from assay.protocols.counted_labels import CountedLabels
from assay.protocols.labels import LabelBook
from assay.protocols.sgss.inputs import DEGRADED, SgssInputs, SgssSettings
from assay.protocols.sgss.protocol import SGSS
from assay.tasks.base import unit_hash
from assay.tasks.trec_rag import SUPPORT

DOCS = {1: Document(1, "", "", "Tea was drunk early.")}
POINTS = ("no", "partially", "perfectly")
LEVELS = dict(zip(POINTS, ("none", "partial", "full"), strict=True))


class Told(LabelBook):
    """Labels that hang on the unit and a seed; some units (``missing`` of 10) have none."""

    def __init__(self, seed, missing):
        super().__init__(None)
        self.seed, self.without = seed, missing

    def labels(self, task, asked, given=None):
        found = [self.told(task, unit) for unit, _ in asked]
        labels = {at: one for at, one in enumerate(found) if one is not None}
        return CountedLabels(None, np.full(len(found), -1), labels)

    def told(self, task, unit):
        drawn = hashlib.sha256(f"{self.seed} {unit_hash(task.name, unit)}".encode()).digest()
        if drawn[1] % 10 < self.without:
            return None
        point = POINTS[drawn[0] % 3]
        said = {"support": LEVELS[point]} if task is SUPPORT else {"label": point}
        return SimpleNamespace(task=task.name, verdict=said)


def made(query, run, shape):
    """``shape``: how many statements each section has."""
    sections = tuple(
        SummarySection(
            f"heading {run} {place}",
            tuple(
                CitedText(f"{query} {run} {place} {n}", (1,) if n % 2 else ()) for n in range(size)
            ),
        )
        for place, size in enumerate(shape)
    )
    return Summary(query, f"about {query}", run, CitedText(f"{run} {query}", (1,)), sections, DOCS)


shapes = st.lists(st.integers(1, 2), max_size=2)
grids = st.fixed_dictionaries(
    {query: st.fixed_dictionaries(dict.fromkeys("ABC", shapes)) for query in ("p", "q")}
)
weight = st.sampled_from([-0.5, 0.0, 0.5, 1.0])
weights = st.one_of(st.just(Weights()), st.builds(Weights, *[weight] * 7))
SETTINGS = SgssSettings(resamples=100, apd="geometric")


def inputs(grid, weighted, *, degrade=(), preferences=()):
    summaries = {}
    for query, by_run in grid.items():
        here = summaries[query] = {run: made(query, run, shape) for run, shape in by_run.items()}
        for one in list(here.values()):
            for name in degrade:
                version = DEGRADED[name](one)
                here[version.run] = version
    return SgssInputs(summaries, weighted, None, preferences)


@given(grids, weights, st.integers(), st.sampled_from([0, 3]), st.sampled_from("pq"))
def test_replacing_a_summary_by_nothing_never_raises_a_floor(grid, weighted, seed, missing, query):
    book = Told(seed, missing)
    before = SGSS.score(inputs(grid, weighted), SETTINGS, book).scores["A"]
    less = {**grid, query: {run: shape for run, shape in grid[query].items() if run != "A"}}
    after = SGSS.score(inputs(less, weighted), SETTINGS, book).scores["A"]
    assert set(after) == set(before)
    for name, score in after.items():
        assert score.topics == before[name].topics == 2
        assert score.floor <= before[name].floor + 1e-12, name


@given(grids, weights, st.integers(), st.sampled_from([1, 3, 10]))
def test_the_ends_hold_the_value_of_all_labels(grid, weighted, seed, missing):
    said = tuple(
        Preference(query, one, other, "kim", one == "A", test=True)
        for query in grid
        for one, other in ("AB", "BC")
    )
    given_in = inputs(grid, weighted, degrade=("NoHeadings", "NoSection1"), preferences=said)
    whole = SGSS.score(given_in, SETTINGS, Told(seed, 0))
    torn = SGSS.score(given_in, SETTINGS, Told(seed, missing))
    for run, by_measure in whole.scores.items():
        for name, score in by_measure.items():
            ends = torn.scores[run][name]
            assert score.value is not None
            assert ends.topics == score.topics == 2
            assert ends.floor - 1e-12 <= score.value <= ends.ceiling + 1e-12, (run, name)
    rows = {row["part"]: row for row in torn.document()["preferences"]}
    for row in whole.document()["preferences"]:
        ends = rows[row["part"]]
        assert ends["floor"] - 1e-12 <= row["MAR"] <= ends["ceiling"] + 1e-12
        assert ends["pairs"] >= row["pairs"]


def test_a_pair_that_is_not_certain_counts_with_a_range():
    said = (Preference("p", "A", "B", "kim", left_better=True, test=True),)
    given_in = inputs({"p": {"A": [1], "B": [1]}}, Weights(), preferences=said)
    (row,) = SGSS.score(given_in, SETTINGS, Told(1, 10)).document()["preferences"]
    assert (row["MAR"], row["floor"], row["ceiling"]) == (None, 0.0, 1.0)
    assert (row["pairs"], row["missing"]) == (1, 1)


def test_one_summariser_alone_has_nothing_to_be_compared_with():
    found = SGSS.score(inputs({"p": {"A": [1]}}, Weights()), SETTINGS, Told(1, 0))
    assert found.scores["A"]["Comp"].ends is None
    assert found.scores["A"]["XUX"].value is not None
    assert any("two summarisers" in gap.so for gap in found.gaps)


def test_having_no_sections_does_not_pay_under_a_negative_weight():
    grid = {"p": {"A": [1], "B": []}}
    weighted = Weights(OS=0, OF=0, OR=0, HR=0, SRel=0, SF=0, Comp=-1)
    scores = SGSS.score(inputs(grid, weighted), SETTINGS, Told(1, 0)).scores
    assert scores["B"]["Comp"].value == 0
    assert scores["B"]["SGSS"].value == -1 <= scores["A"]["SGSS"].value


def test_what_is_left_out_is_the_users_choice_and_said():
    grid = {"p": {"A": [1], "B": [1]}, "q": {"B": [1]}}
    zero = SGSS.score(inputs(grid, Weights()), SETTINGS, Told(1, 0))
    assert zero.per_topic["A"]["SGSS"]["q"] == (0.0, 0.0)
    assert zero.per_topic["A"]["OS"]["q"] == (0.0, 0.0)
    left = SGSS.score(
        inputs(grid, Weights()), SETTINGS.model_copy(update={"silent": "left-out"}), Told(1, 0)
    )
    assert "q" not in left.per_topic["A"]["SGSS"]
    assert left.scores["A"]["SGSS"].value == pytest.approx(2 * zero.scores["A"]["SGSS"].value)
    assert "is left out" in left.boards[0].note


def test_what_the_report_leaves_out_is_said_and_no_gap_that_is_not_there():
    grid = {f"q{number:02}": {run: [1] for run in "AB"} for number in range(61)}
    found = SGSS.score(inputs(grid, Weights()), SETTINGS, Told(1, 0))
    by_query = next(part for part in found.parts() if part.title == "Line by line")
    assert [title.partition(":")[0] for title, _ in by_query.groups] == list(grid)
    alone = SGSS.score(inputs({"q": {"A": [1]}}, Weights()), SETTINGS, Told(1, 0))
    said = [" ".join(gap.what for gap in one.gaps) for one in (found, alone)]
    assert ["nothing to be compared with" in one for one in said] == [False, True]


def test_a_baseline_knows_a_summary_by_its_lines_and_where_they_stand():
    told = SGSS.contents(inputs({"p": {"A": [1, 2]}}, Weights()), "A")["p"]
    lines = [(str(kind), section) for kind, _, _, section in told.answer]
    assert lines[:2] == [("overview", -1), ("heading", 0)]
    assert lines[2:] == [("statement", 0), ("heading", 1), ("statement", 1), ("statement", 1)]
