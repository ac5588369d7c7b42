"""Handing in less never pays, and the ends hold whatever a missing label turns out to be."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.measures.ranges import Range
from assay.measures.scores import Score
from assay.model.trec_rag import (
    Assigned,
    AssignedAnswer,
    AssignedNugget,
    CitedSupport,
    Importance,
    JudgedSentence,
    JudgmentRun,
    RagNugget,
    RelevanceGuess,
    Support,
    SupportAnswer,
)
from assay.protocols.judgment_runs import judgment_scores
from assay.protocols.label_sheets import (
    citations_of,
    nugget_sheet,
    support_sheet,
)
from assay.protocols.means import score_table
from assay.protocols.ranked import Ranked
from assay.protocols.ranked_scores import score_rankings
from assay.protocols.sheets import Sheet
from assay.protocols.trec_rag.inputs import TrecRagSettings
from assay.statistics.relevance_agreement import RJ_NAMES
from tests.trec_rag.cases import lines, make, tables
from tests.trec_rag.test_trec_rag_protocol import judged, opened, rows_of

TOPICS = ("1", "2", "3")
DOCS = ("a", "b", "c")
SETTINGS = TrecRagSettings(
    resamples=100,
    measures=("nDCG@2", "Recall@2", "AP", "RR", "P@2", "Rprec", "ERR@2", "RBP(p=0.5)"),
)


def floors(sheet: Sheet | None, run: str = "r") -> dict[str, Range | None]:
    assert sheet is not None
    return {name: one.ends for name, one in score_table(sheet.per_topic(), SETTINGS)[run].items()}


def worse(before: Range | None, after: Range | None, *, lower: bool = False) -> bool:
    if before is None or after is None:
        return True  # nothing to rank by
    return (after.floor >= before.floor - 1e-9) if lower else (after.floor <= before.floor + 1e-9)


def holds(ends: Range | None, full: Range | None) -> bool:
    if full is None:
        return True
    assert ends is not None
    low, high = sorted(ends)
    return low - 1e-9 <= min(full) and max(full) <= high + 1e-9


# --- nuggets and support -------------------------------------------------------------------------

importance = st.sampled_from([*Importance, None])
banks = st.fixed_dictionaries(
    {
        topic: st.lists(st.tuples(importance, st.sampled_from(["x", "y", None])), max_size=4)
        for topic in TOPICS
    }
)
assigned = st.lists(st.sampled_from([*Assigned, None]), min_size=4, max_size=4)
answered = st.dictionaries(st.sampled_from(TOPICS), assigned)


def nuggets_of(bank: list) -> list[RagNugget]:
    return [RagNugget(f"n{place}", *one) for place, one in enumerate(bank)]


def sheet_of(answers: dict, bank: dict) -> Sheet:
    mine = {topic: nuggets_of(one) for topic, one in bank.items()}
    records = [
        AssignedAnswer("r", topic, tuple(map(AssignedNugget, mine[topic], labels)))
        for topic, labels in answers.items()
    ]
    return nugget_sheet(tables(records, mine), runs=["r"])


@given(banks, answered, st.sampled_from(TOPICS))
def test_an_answer_taken_away_never_raises_a_nugget_floor(bank: dict, answers: dict, topic: str):
    less = {name: labels for name, labels in answers.items() if name != topic}
    empty = {**answers, topic: [Assigned.NONE] * 4}
    before = floors(sheet_of(answers, bank))
    for after in (floors(sheet_of(less, bank)), floors(sheet_of(empty, bank))):
        assert topic not in answers or all(worse(before[name], after[name]) for name in before)


@given(banks, answered, st.data())
def test_nugget_means_with_labels_removed_hold_the_full_ones(bank: dict, answers: dict, data):
    full = {
        topic: [(one[0] or Importance.OKAY, one[1]) for one in nuggets]
        for topic, nuggets in bank.items()
    }
    complete = {
        topic: [one or Assigned.PARTIAL for one in labels] for topic, labels in answers.items()
    }
    hidden = {
        topic: [(None if data.draw(st.booleans()) else one[0], one[1]) for one in nuggets]
        for topic, nuggets in full.items()
    }
    fewer = {
        topic: [None if data.draw(st.booleans()) else one for one in labels]
        for topic, labels in complete.items()
    }
    known = floors(sheet_of(complete, full))
    ends = floors(sheet_of(fewer, hidden))
    assert all(holds(ends[name], one) for name, one in known.items())


cited = st.sampled_from([*Support, None, "unjudged"])
sentences = st.lists(st.lists(cited, max_size=2), max_size=3)


def support_record(topic: str, answer: list) -> SupportAnswer:
    return SupportAnswer(
        "r",
        topic,
        tuple(
            JudgedSentence(
                "s",
                tuple(
                    CitedSupport("d", None, unjudged=True)
                    if one == "unjudged"
                    else CitedSupport("d", one)
                    for one in each
                ),
            )
            for each in answer
        ),
    )


@given(
    st.dictionaries(st.sampled_from(TOPICS), sentences, min_size=1),
    st.sampled_from(TOPICS),
    st.sampled_from(["first", "all"]),
    st.data(),
)
def test_support_never_rises_by_less_and_ranges_hold(answers: dict, topic: str, which, data):
    def ends(every: dict) -> dict[str, Range | None]:
        records = [support_record(*one) for one in every.items()]
        return floors(support_sheet(citations_of(records), which, TOPICS, runs=["r"])[0])

    before = ends(answers)
    if topic in answers:
        for after in (ends({**answers, topic: []}), ends({**answers, topic: [[], []]})):
            assert all(worse(before[name], after[name]) for name in before)
    fewer = {
        one: [
            [None if label != "unjudged" and data.draw(st.booleans()) else label for label in each]
            for each in answer
        ]
        for one, answer in answers.items()
    }
    found = ends(fewer)
    assert all(holds(found[name], full) for name, full in before.items())


# --- retrieval and judgment runs -----------------------------------------------------------------

grades = st.fixed_dictionaries(
    {topic: st.dictionaries(st.sampled_from(DOCS), st.integers(0, 4)) for topic in TOPICS}
)
rankings = st.dictionaries(st.sampled_from(TOPICS), st.permutations([*DOCS, "z"]))
guesses = st.dictionaries(
    st.sampled_from(TOPICS),
    st.dictionaries(st.sampled_from(DOCS), st.integers(0, 4), min_size=1),
    min_size=1,
)


def pool_of(known: dict, hidden: dict) -> Ranked:
    qrels = {
        topic: {doc: grade for doc, grade in known[topic].items() if doc not in hidden[topic]}
        for topic in TOPICS
    }
    grades = (grade for judged in qrels.values() for grade in judged.values())
    return Ranked(
        TOPICS,
        qrels,
        {},
        {name: name for name in SETTINGS.measures},
        g_max=float(max(1, max(grades, default=0))),
        rising={
            topic: dict.fromkeys(sorted(hidden[topic] & known[topic].keys()), 4.0)
            for topic in TOPICS
        },
    )


hidings = st.fixed_dictionaries({topic: st.sets(st.sampled_from(DOCS)) for topic in TOPICS})
NOTHING_HIDDEN: dict = {topic: set() for topic in TOPICS}


@given(grades, hidings, rankings, st.sampled_from(TOPICS))
def test_retrieval_never_rises_by_less_and_ranges_hold(known, hidden, ranking, topic):
    def ends(docs: dict, pool: Ranked) -> dict[str, Range | None]:
        values = score_rankings(replace(pool, runs={"r": docs}))
        return {name: one.ends for name, one in score_table(values, SETTINGS)["r"].items()}

    pool = pool_of(known, hidden)
    before = ends(ranking, pool)
    less = {one: docs for one, docs in ranking.items() if one != topic}
    assert all(worse(before[name], after) for name, after in ends(less, pool).items())
    full = ends(ranking, pool_of(known, NOTHING_HIDDEN))
    assert all(holds(before[name], one) for name, one in full.items())


def agreement(labels: dict, pool: Ranked) -> dict[str, Score]:
    run = JudgmentRun(
        "r",
        {
            topic: {doc: RelevanceGuess(doc, label, 1.0) for doc, label in docs.items()}
            for topic, docs in labels.items()
        },
    )
    return judgment_scores({"r": run}, pool, SETTINGS.highest, SETTINGS.resampling)[0]["r"]


@given(grades, hidings, guesses, st.sampled_from(TOPICS))
def test_agreement_never_rises_by_less_and_ranges_hold(known, hidden, labels, topic):
    pool = pool_of(known, hidden)
    before = agreement(labels, pool)
    after = agreement({one: docs for one, docs in labels.items() if one != topic}, pool)
    full = agreement(labels, pool_of(known, NOTHING_HIDDEN))
    for name in RJ_NAMES:
        lower = name == "pairs_disagree"
        assert worse(before[name].ends, after[name].ends, lower=lower), name
        assert holds(before[name].ends, full[name].ends), name


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from([None, 0, 1, 2])), min_size=2, max_size=5)
)
def test_kappa_of_undecided_documents_is_the_least_of_every_way_to_label_them(rows):
    known = {"1": {f"d{place}": grade for place, (grade, _) in enumerate(rows)}}
    pool = Ranked(("1",), known, {}, {}, 4.0)
    mine = {f"d{place}": label for place, (_, label) in enumerate(rows)}
    undecided = [doc for doc, label in mine.items() if label is None]
    assume(len(undecided) <= 3)
    ways = {}  # documents of the same grade may be labelled in any order
    for filled in product(range(5), repeat=len(undecided)):
        made = dict(zip(undecided, filled, strict=True))
        ways[tuple(sorted((known["1"][doc], label) for doc, label in made.items()))] = made
    every = [agreement({"1": {**mine, **made}}, pool)["kappa"].value for made in ways.values()]
    defined = [one for one in every if one is not None]
    decided = {doc: label for doc, label in mine.items() if label is not None}
    found = agreement({"1": decided}, pool)["kappa"].value
    if defined:
        assert found == pytest.approx(min(defined))


def test_undecided_documents_count_against_a_judgment_run():
    """By hand: of four documents one agrees, one does not, two are undecided."""
    pool = Ranked(("1",), {"1": {"a": 2, "b": 1, "c": 0, "d": 0}}, {}, {}, 4.0)
    found = {name: one.value for name, one in agreement({"1": {"a": 2, "b": 0}}, pool).items()}
    assert found["agreement"] == 0.25
    # c and d are 0, which is the commonest; the worst for κ is another that is common: 1 or 2.
    # Labels 2, 0, 1, 1 against 2, 1, 0, 0: p_e = (1·1 + 1·2 + 2·1) / 16.
    assert found["kappa"] == pytest.approx((1 / 4 - 5 / 16) / (1 - 5 / 16))
    # Of six pairs a > b agrees, c = d is tied, the four between them are undecided.
    assert found["pairs_agree"] == pytest.approx(1 / 6)
    assert found["pairs_tie"] == pytest.approx(1 / 6)
    assert found["pairs_disagree"] == pytest.approx(4 / 6)


# --- whole folders -------------------------------------------------------------------------------


def scores_of(folder: Path):
    evaluation = opened(folder)
    with evaluation.folder.open_ledger() as ledger:
        return evaluation.score(ledger)


def test_nothing_in_place_of_a_submission_raises_no_floor_of_a_folder(tmp_path: Path):
    folder = make(tmp_path / "e")
    _, full = judged(folder)
    runs = {"r/ret.txt": "ret", "rag/good.jsonl": "good", "rj/rj.txt": "rj"}
    boards = {board.title: board for board in full.findings.boards}
    assert set(boards) == {
        "Retrieval runs", "Answers: nuggets", "Answers: support", "Judgment runs",
    }  # fmt: skip
    for (name, run), topic in product(runs.items(), ("1", "2")):
        path = folder / name
        before = path.read_text()
        if name.startswith("rag"):
            rows = rows_of(path)
            rest = [row for row in rows if row["metadata"]["narrative_id"] != topic]
            emptied = [
                {**row, "answer": []} if row["metadata"]["narrative_id"] == topic else row
                for row in rows
            ]
            versions = [rest, emptied]
        else:
            kept = [line for line in before.splitlines() if line.split()[0] != topic]
            versions = ["\n".join(kept) + "\n"]
        for version in versions:
            if isinstance(version, str):
                path.write_text(version)
            else:
                lines(path, version)
            less = scores_of(folder).findings.scores[run]
            for board in boards.values():
                for measure in board.measures:
                    if measure in less:
                        lower = measure in board.lower_is_better
                        ends = full.findings.scores[run][measure].ends
                        assert worse(ends, less[measure].ends, lower=lower), (run, topic, measure)
        path.write_text(before)


@pytest.mark.parametrize("before_judging", [True, False])
def test_labels_that_are_not_there_leave_ranges_and_every_topic(
    tmp_path: Path, before_judging: bool
):
    folder = make(tmp_path / "e")
    _, full = judged(folder)
    if before_judging:
        (folder / "labels.sqlite").unlink()
    else:  # the ledger has labels of other texts
        rows = rows_of(folder / "segments.jsonl")
        lines(folder / "segments.jsonl", [replace_text(row) for row in rows])
    result = scores_of(folder)
    for run, by_measure in full.findings.scores.items():
        for name, one in by_measure.items():
            now = result.findings.scores[run][name]
            assert (now.topics, now.value is None) == (one.topics, True), (run, name)
            assert holds(now.ends, one.ends), (run, name)
    assert result.lacking > 0
    said = " ".join(gap.so for gap in result.gaps)
    assert "All nugget scores range from 0 to 1" in said
    assert "leave" not in said


def replace_text(row: dict) -> dict:
    return {**row, "segment": row["segment"] + " Further words."}


def test_topics_without_qrels_are_no_gap_in_labels(tmp_path: Path):
    """Where nobody is asked, a document without a line is not relevant, and a topic without any is
    scored for no run."""
    folder = make(tmp_path / "e", inputs='qrels = "qrels.txt"', settings='relevance = "none"')
    (folder / "qrels.txt").write_text("1 0 d1 3\n1 0 d9 1\n")
    found = scores_of(folder).findings
    assert found.scores["ret"]["Recall@100"].ends == (0.5, 0.5)
    assert found.scores["ret"]["Recall@100"].topics == 1
    assert any("without qrels (2)" in gap.what for gap in found.gaps)
    assert replace(found.scores["bad"]["Recall@100"], run="").value == 0.0
