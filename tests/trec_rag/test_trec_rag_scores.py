"""The worked examples of the paper and the spec, the measures' properties, and the commands."""

from __future__ import annotations

import csv
import io
import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.measures.nuggets import NUGGET_MEASURES, coverage_ends, nugget_ends
from assay.measures.support import SUPPORT_MEASURES, support_scores
from assay.model.trec_rag import Assigned, AssignedAnswer, AssignedNugget, Importance, RagNugget
from assay.protocols.label_sheets import nugget_sheet
from assay.protocols.means import score_table
from tests.conftest import Assay
from tests.trec_rag.cases import tables
from tests.trec_rag.test_trec_rag_answers import write

# --- the paper's examples ------------------------------------------------------------------------

# Table 3: (importance, sub-narrative, assignment) of five nuggets of narrative 14. The last two
# have no "(vital)" beside them.
TABLE_3 = [
    ("vital", "Athlete compensation issues", "support"),
    ("vital", "Sports and cultural influence", "partial_support"),
    ("vital", "Business influences in sports", "partial_support"),
    ("okay", "Societal impact of sports", "support"),
    ("okay", "Business influences in sports", "not_support"),
]
# Figure 4: the sub-narratives of narrative 14.
FIGURE_4 = [
    "Societal impact of sports", "Athlete compensation issues", "Business influences in sports",
    "Sports and cultural influence", "Inclusion in sports", "Advancements in sports equipment",
    "Innovations in athlete training", "Role of athlete mindset changes",
    "How equipment affects sport popularity",
]  # fmt: skip
WORTH = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0}


def nugget_ranges(values, vital) -> dict[str, tuple[float, float, bool] | None]:
    """Floor, ceiling and whether it is surely defined of each measure of one answer."""
    found = nugget_ends(np.array([values], float), np.array(vital, float))
    rows = zip(*(one[:, 0].tolist() for one in found), strict=True)
    return {
        name: None if row[0] != row[0] else row
        for name, row in zip(NUGGET_MEASURES, rows, strict=True)
    }


def nugget_scores(values, vital) -> dict[str, float | None]:
    """The measures of one answer whose labels are all there."""
    return {name: one and one[0] for name, one in nugget_ranges(values, vital).items()}


def coverage_range(values, groups, every=()) -> tuple[float, float] | None:
    low, high = (float(one[0]) for one in coverage_ends(np.array([values], float), groups, every))
    return None if low != low else (low, high)


def coverage(values, groups, every=()) -> float | None:
    found = coverage_range(values, groups, every)
    return None if found is None else found[0]


def test_table_3_scores():
    values = [WORTH[assigned] for _, _, assigned in TABLE_3]
    found = nugget_scores(values, [importance == "vital" for importance, _, _ in TABLE_3])
    assert found == pytest.approx(
        {
            "strict_vital": 1 / 3,
            "vital": 2 / 3,
            "strict_all": 2 / 5,
            "all": 3 / 5,
            "weighted": (2 + 0.5 * 1) / (3 + 0.5 * 2),
        }
    )


def test_table_3_coverage():
    # Covered: athlete compensation and societal impact; cultural influence and business are not.
    values = [WORTH[assigned] for _, _, assigned in TABLE_3]
    groups = [group for _, group, _ in TABLE_3]
    assert coverage(values, groups) == 2 / 4
    assert coverage(values, groups, FIGURE_4) == pytest.approx(2 / 9)


def test_section_3_3_support():
    # s1 is supported in part by p1, s2 fully by p2, s3 has no citation.
    found = support_scores([[0.5], [1.0], []]).values
    assert found["weighted_precision"] == 1.5 / 2
    assert found["weighted_recall"] == 1.5 / 3
    assert found["hard_precision"] == 1 / 2
    assert found["hard_recall"] == 1 / 3


# --- the measures' edges -------------------------------------------------------------------------


def test_no_vital_nuggets_is_undefined_and_not_zero():
    found = nugget_scores([1.0, 0.0], [False, False])
    assert found["strict_vital"] is None
    assert found["vital"] is None
    assert found["strict_all"] == 0.5
    assert nugget_scores([], []) == dict.fromkeys(NUGGET_MEASURES)


def test_a_missing_label_makes_a_range_of_what_needs_it():
    found = nugget_ranges([1.0, None], [True, False])
    assert found == {
        "strict_vital": (1.0, 1.0, True), "vital": (1.0, 1.0, True),
        "strict_all": (0.5, 1.0, True), "all": (0.5, 1.0, True),
        "weighted": (pytest.approx(2 / 3), 1.0, True),
    }  # fmt: skip
    assert coverage_range([1.0, None], ["a", "a"]) == (1.0, 1.0)
    assert coverage_range([1.0, None], ["a", "b"]) == (0.5, 1.0)
    assert coverage_range([0.5, 0.0], [None, None]) is None
    assert coverage([], [], ["a", "b"]) == 0.0


def test_where_nothing_is_surely_vital_there_may_be_no_score():
    found = nugget_ranges([1.0, 0.5], [None, False])
    assert (found["strict_all"], found["all"]) == ((0.5, 0.5, True), (0.75, 0.75, True))
    assert found["weighted"] == (0.75, pytest.approx(1.25 / 1.5), True)
    assert found["strict_vital"] == found["vital"] == (1.0, 1.0, False)


nuggets_with_gaps = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.5, 1.0, None]),
        st.sampled_from([True, False, None]),
        st.sampled_from(["a", "b", "c", None]),
    ),
    max_size=9,
).filter(lambda rows: sum((v is None) + (b is None) for v, b, _ in rows) <= 7)


@settings(max_examples=60)
@given(nuggets_with_gaps)
def test_nugget_ranges_are_the_outermost_of_every_completion(rows: list):
    values, vital, groups = ([row[place] for row in rows] for place in range(3))
    every: dict[str, list[float | None]] = {name: [] for name in (*NUGGET_MEASURES, "coverage")}
    for worth in product(*([0.0, 0.5, 1.0] if one is None else [one] for one in values)):
        every["coverage"].append(coverage(worth, groups))
        for weight in product(*([True, False] if one is None else [one] for one in vital)):
            for name, value in nugget_scores(worth, weight).items():
                every[name].append(value)
    found = {**nugget_ranges(values, vital), "coverage": coverage_range(values, groups)}
    for name, completions in every.items():
        known = [one for one in completions if one is not None]
        if not known:
            assert found[name] is None
            continue
        assert found[name][:2] == pytest.approx((min(known), max(known))), name
        assert found[name][2:] in ((), (None not in completions,)), name


importances = st.lists(st.sampled_from([Importance.VITAL, Importance.OKAY, None]), max_size=3)
given_labels = st.sampled_from([*Assigned, None])


@given(st.data())
def test_the_mean_holds_that_of_every_completion(data: st.DataObject):
    """Whichever nuggets turn out to be vital; an answer never has less than silence."""
    topics = data.draw(st.lists(importances, min_size=1, max_size=3))
    labels = [[data.draw(given_labels) for _ in topic] for topic in topics]
    silent = data.draw(st.sets(st.integers(0, len(topics) - 1)))
    places = [(t, n) for t, topic in enumerate(topics) for n in range(len(topic))]

    def scores(importance: dict, said: dict, left_out: set) -> dict:
        banks = {
            str(t): [RagNugget(f"n{n}", importance[t, n]) for n in range(len(topic))]
            for t, topic in enumerate(topics)
        }
        answers = [
            AssignedAnswer("run", t, tuple(
                AssignedNugget(one, said[int(t), n]) for n, one in enumerate(bank)
            ))
            for t, bank in banks.items() if int(t) not in left_out
        ]  # fmt: skip
        sheet = nugget_sheet(tables(answers, banks), runs=["run"])
        return score_table(sheet.per_topic(), None)["run"]

    open_labels = {(t, n): labels[t][n] for t, n in places}
    open_importance = {(t, n): topics[t][n] for t, n in places}
    ends, whole = (scores(open_importance, open_labels, one) for one in (silent, set()))
    for name, score in ends.items():
        if score.ends is not None:
            assert score.floor <= whole[name].floor + 1e-12
            assert score.ceiling <= whole[name].ceiling + 1e-12
    for _ in range(5):
        importance = {
            at: one or data.draw(st.sampled_from(list(Importance)))
            for at, one in open_importance.items()
        }
        said = {
            at: one or data.draw(st.sampled_from(list(Assigned))) for at, one in open_labels.items()
        }
        for name, score in scores(importance, said, silent).items():
            if score.value is not None:
                assert ends[name].floor - 1e-12 <= score.value <= ends[name].ceiling + 1e-12, name


def test_silence_is_0_where_it_is_not_known_whether_anything_is_vital():
    nuggets = [RagNugget("n", None)]
    every = tables([], {"1": nuggets, "2": []})
    sheet = nugget_sheet(every, runs=["run"], unknown=["2"], unmapped=["1"])
    for name, by_topic in sheet.completed("run").items():
        for value in by_topic.values():
            assert value is None or value == (0.0, 0.0), name


def test_unjudged_sentences_leave_both_denominators():
    found = support_scores([[None], [1.0], [], [None, 0.0]])
    assert found.values["weighted_precision"] == 1.0
    assert found.values["weighted_recall"] == 0.5
    assert (found.sentences, found.uncited, found.unjudged) == (4, 1, 2)


def test_all_citations_count_by_their_mean():
    found = support_scores([[None, 0.0, 1.0], [0.5, 1.0]], citations="all").values
    assert found["weighted_precision"] == pytest.approx((0.5 + 0.75) / 2)
    assert found["hard_precision"] == 0.5


def test_an_answer_that_cites_nothing_counts_0():
    assert support_scores([[], []]).values == dict.fromkeys(SUPPORT_MEASURES, 0.0)
    assert support_scores([]).values == dict.fromkeys(SUPPORT_MEASURES, 0.0)


def test_an_answer_that_the_track_left_unjudged_has_no_scores():
    assert support_scores([[None], [None, 1.0]]).values == dict.fromkeys(SUPPORT_MEASURES)


def test_other_values_are_refused():
    with pytest.raises(ValueError, match=r"0, 0\.5 or 1"):
        support_scores([[2.0]])


worth = st.sampled_from([0.0, 0.5, 1.0])


@given(st.lists(st.tuples(worth, st.booleans()), min_size=1))
def test_nugget_scores_lie_in_order(nuggets: list[tuple[float, bool]]):
    values, vital = [v for v, _ in nuggets], [b for _, b in nuggets]
    found = nugget_scores(values, vital)
    assert 0 <= found["strict_all"] <= found["all"] <= 1
    assert any(vital) == (found["vital"] is not None)
    if found["vital"] is not None:
        assert found["strict_vital"] <= found["vital"]
        okay = [v for v, b in nuggets if not b]
        ends = [found["vital"], *([sum(okay) / len(okay)] if okay else [])]
        assert min(ends) - 1e-12 <= found["weighted"] <= max(ends) + 1e-12


@given(st.lists(st.lists(st.one_of(worth, st.none()), max_size=4), max_size=8))
def test_support_recall_is_precision_times_the_cited_share(sentences: list):
    for citations in ("first", "all"):
        found = support_scores(sentences, citations=citations)
        judged = found.sentences - found.uncited - found.unjudged
        for kind in ("weighted", "hard"):
            precision = found.values[f"{kind}_precision"]
            recall = found.values[f"{kind}_recall"]
            assert (precision is None) == (judged == 0 and found.unjudged > 0)
            if judged:
                assert recall == pytest.approx(precision * judged / (judged + found.uncited))


# --- the commands --------------------------------------------------------------------------------


def assigned(run: str, topic: str, rows: list[tuple[str, str, str | None]]) -> dict:
    return {
        "query": "q",
        "qid": topic,
        "answer_text": "a",
        "response_length": 1,
        "run_id": run,
        "nuggets": [
            {"text": f"n{number}", "importance": importance, "mapped_sub_narrative": group,
             "assignment": label}
            for number, (importance, group, label) in enumerate(rows)
        ],
    }  # fmt: skip


def table(text: str) -> dict[tuple[str, str, str], str]:
    rows = csv.DictReader(io.StringIO(text))
    return {(row["run"], row["topic"], row["measure"]): row["value"] for row in rows}


def test_assay_nuggets(assay: Assay, tmp_path: Path):
    okay = [("okay", "x", "support")]
    file = write(
        tmp_path / "assignments.jsonl",
        assigned("one", "14", TABLE_3),
        assigned("one", "15", okay),
        assigned("two", "15", okay),
    )
    aspects = write(tmp_path / "s.jsonl", {"id": "14", "sub_narratives": FIGURE_4})
    done = assay("nuggets", file, "--csv", "--per-topic")
    found = table(done.stdout)
    assert done.returncode == 0
    assert float(found["one", "all", "strict_vital"]) == pytest.approx(1 / 3)
    assert float(found["one", "14", "weighted"]) == pytest.approx(0.625)
    assert float(found["one", "all", "coverage"]) == pytest.approx((2 / 4 + 1) / 2)
    # Topic 15 has no vital nuggets: undefined for both, and run two is silent on topic 14.
    assert found["one", "15", "strict_vital"] == found["two", "15", "strict_vital"] == ""
    assert float(found["two", "all", "strict_vital"]) == 0.0
    assert float(found["two", "all", "strict_all"]) == 0.5
    assert "strict_vital and vital are undefined for 1 of 2 topics" in done.stderr
    assert "Run two has no answer to 1 of 2 topics; these are counted as 0: 14" in done.stderr
    found = table(assay("nuggets", file, "--csv", "--topics", "answered").stdout)
    assert found["two", "all", "strict_vital"] == ""
    assert float(found["two", "all", "strict_all"]) == 1.0
    found = table(assay("nuggets", file, "--sub-narratives", aspects, "--csv").stdout)
    assert float(found["one", "all", "coverage"]) == pytest.approx((2 / 9 + 1) / 2)


def test_assay_nuggets_takes_the_mapping_from_a_nugget_file(assay: Assay, tmp_path: Path):
    record = assigned("one", "14", TABLE_3)
    groups = [nugget.pop("mapped_sub_narrative") for nugget in record["nuggets"]]
    file = write(tmp_path / "assignments.jsonl", record)
    mapping = [
        {"text": nugget["text"], "mapped_sub_narrative": group}
        for nugget, group in zip(record["nuggets"], groups, strict=True)
    ]
    aspects = write(tmp_path / "nuggets.jsonl", {"qid": "14", "nuggets": mapping})
    done = assay("nuggets", file, "--csv")
    assert table(done.stdout)["one", "all", "coverage"] == ""
    assert "Mapped to no" not in done.stderr  # none is mapped: coverage is undefined
    found = table(assay("nuggets", file, "--sub-narratives", aspects, "--csv").stdout)
    assert float(found["one", "all", "coverage"]) == 0.5
    del mapping[0]["mapped_sub_narrative"]
    aspects = write(tmp_path / "nuggets.jsonl", {"qid": "14", "nuggets": mapping})
    done = assay("nuggets", file, "--sub-narratives", aspects, "--csv")
    assert "coverage ignores what they support: 1 nugget (topics: 14)" in done.stderr


def test_assay_nuggets_counts_missing_labels(assay: Assay, tmp_path: Path):
    file = write(tmp_path / "a.jsonl", assigned("one", "14", [("vital", "x", None)]))
    done = assay("nuggets", file, "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    row = next(row for row in document["scores"] if row["measure"] == "strict_vital")
    assert row["value"] is None
    assert (row["floor"], row["ceiling"], row["missing"]) == (0.0, 1.0, 1)
    assert "lacks labels in 1 topic:" in done.stderr


def test_faults_of_all_files_come_at_once(assay: Assay, tmp_path: Path):
    good = write(tmp_path / "a.jsonl", assigned("one", "14", TABLE_3))
    bad = write(tmp_path / "b.jsonl", {"qid": "1"}, {"nuggets": []})
    done = assay("nuggets", good, bad)
    assert done.returncode == 2
    assert f"{bad}:1" in done.stderr
    assert f"{bad}:2" in done.stderr
    twice = assay("nuggets", good, write(tmp_path / "c.jsonl", assigned("one", "14", TABLE_3)))
    assert twice.returncode == 2
    assert "is in two of the files" in twice.stderr
    other = write(tmp_path / "d.jsonl", assigned("two", "14", TABLE_3))
    third = assay("nuggets", good, tmp_path / "c.jsonl", other)
    assert f"{tmp_path / 'c.jsonl'}:1 [14]" in third.stderr  # not the last file, which is right


def labelled(run: str, topic: str, sentences: list[list[str]], spelling: str = "ID") -> dict:
    return {
        "narrative_id": topic,
        "run_id": run,
        "sentences": [
            {
                f"sentence{spelling}": number,
                "text": "s",
                "citations": [
                    {f"citation{spelling}": place, "reference": f"d{place}", "support": code}
                    for place, code in enumerate(codes)
                ],
            }
            for number, codes in enumerate(sentences)
        ],
    }


def test_assay_support(assay: Assay, tmp_path: Path):
    file = write(
        tmp_path / "labels.jsonl",
        labelled("one", "14", [["1"], ["2"], []]),
        labelled("one", "15", [["-1", "2"]], "Id"),
        labelled("two", "14", [["2", "0"]]),
    )
    done = assay("support", file, "--csv", "--per-topic")
    found = table(done.stdout)
    assert done.returncode == 0
    assert float(found["one", "14", "weighted_precision"]) == 0.75
    assert float(found["one", "14", "weighted_recall"]) == 0.5
    assert found["one", "15", "weighted_precision"] == ""
    assert float(found["one", "all", "weighted_precision"]) == 0.75
    assert float(found["two", "all", "weighted_precision"]) == 0.5
    assert "Run two has no answer to 1 of 2 topics" in done.stderr
    assert "No label of run one counts in 1 topic (-1, or failed)," in done.stderr
    found = table(assay("support", file, "--citations", "all", "--csv", "--per-topic").stdout)
    assert float(found["one", "15", "weighted_precision"]) == 1.0
    assert float(found["two", "14", "weighted_precision"]) == 0.5
    document = json.loads(assay("support", file, "--json").stdout)
    counted = {"sentences": 4, "uncited": 1, "unjudged": 1, "missing": 0}
    assert document["counts"]["one"] == counted
    assert document["runs"]["one"]["unjudged"] == ["15"]


def test_an_empty_answer_counts_0_whatever_the_topics(assay: Assay, tmp_path: Path):
    """The TREC 2025 table is the mean over answered topics, and has these as 0."""
    file = write(
        tmp_path / "labels.jsonl",
        labelled("one", "14", [["2"]]),
        labelled("one", "15", []),
        labelled("one", "16", [[], []]),
    )
    for topics in ("all", "answered"):
        found = table(assay("support", file, "--csv", "--topics", topics).stdout)
        assert [float(one) for one in found.values()] == pytest.approx([1 / 3] * 4)
    refused = assay("support", file, "--topics", "qrels")
    assert refused.returncode == 2
    assert "must be 'all' or 'answered'" in refused.stderr


def test_a_support_label_that_is_missing_makes_a_range(assay: Assay, tmp_path: Path):
    record = labelled("one", "14", [["1"], ["2"], []])
    record["sentences"][0]["citations"][0]["support"] = None
    file = write(tmp_path / "labels.jsonl", record)
    done = assay("support", file, "--csv")
    assert done.returncode == 1
    rows = {row["measure"]: row for row in csv.DictReader(io.StringIO(done.stdout))}
    assert rows["weighted_precision"]["value"] == ""
    assert [float(rows["weighted_precision"][end]) for end in ("floor", "ceiling")] == [0.5, 1.0]
    assert float(rows["weighted_recall"]["ceiling"]) == pytest.approx(2 / 3)
    assert ".50–1.00" in assay("support", file).stdout


def test_long_names_of_runs_have_room_at_80_columns(assay: Assay, tmp_path: Path):
    name = "webis-ragtime-llama3-70b_hybrid.v2"
    file = write(tmp_path / "labels.jsonl", labelled(name, "14", [["1"]]))
    for more in ((), ("--per-topic",)):
        shown = assay("support", file, *more, env={"COLUMNS": "80"}).stdout
        assert max(map(len, shown.split("Means")[0].splitlines())) <= 80
        assert "webis-ragtime-ll" in shown
        assert "0.5000" in shown
