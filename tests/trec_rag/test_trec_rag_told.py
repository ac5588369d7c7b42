"""What a TREC RAG evaluation says beside its scores: facts, marks of sentences, labels missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.page.parts import Marked, made
from tests.trec_rag.cases import ANSWERS, make
from tests.trec_rag.test_trec_rag_protocol import given, judged, opened, scored


def marked_answers(folder: Path) -> dict[str, Marked]:
    """The answers to topic 1 as the report shows them, by run."""
    evaluation = opened(folder)
    with evaluation.folder.open_ledger() as ledger:
        every = [
            item
            for part in evaluation.score(ledger).findings.parts()
            for title, items in part.groups
            if title.startswith("1:")
            for item in made(items)
        ]
    return {item.title: item for item in every if isinstance(item, Marked)}


@pytest.mark.parametrize(
    ("citations", "second", "precision"), [("first", "unjudged", "1.00"), ("all", "none", "0.75")]
)
def test_sentences_are_marked_by_what_they_cite(
    tmp_path: Path, citations: str, second: str, precision: str
):
    folder = make(tmp_path, settings=f'citations = "{citations}"')
    judged(folder)
    shown = marked_answers(folder)
    good = shown["good"].sentences
    assert [one.text for one in good] == [text for text, _ in ANSWERS["good"]["1"]]
    assert [one.mark for one in good] == ["full", "full", "uncited"]
    assert [[each.label for each in one.cited] for one in good] == [["full"], ["full", second], []]
    assert (good[0].cited[0].who, good[0].cited[0].why) == (
        "tests.trec_rag.judge:judge",
        "level 2",
    )
    assert shown["good"].note.startswith(f"13 words, 3 sentences; weighted precision {precision};")
    assert [one.mark for one in shown["poor"].sentences] == ["partial"]


def test_who_gave_a_label_is_said_where_there_is_one(tmp_path: Path):
    first, second, _ = marked_answers(given(tmp_path))["good"].sentences
    assert [one.who for one in first.cited] == ["given, by people"]
    assert [one.who for one in second.cited] == ["given, by people", ""]  # nobody was asked


def test_the_report_is_headed_by_what_there_is(tmp_path: Path):
    judged(make(tmp_path))
    assert dict(scored(tmp_path, "people").findings.facts) == {
        "Narratives": "2", "Retrieval runs": "2", "Runs of answers": "2", "Judgment runs": "1",
        "Segments": "4", "Nuggets": "6",
    }  # fmt: skip


def test_labels_that_equal_answers_lack_are_missing_once_an_answer(tmp_path: Path):
    judged(make(tmp_path / "source"))
    nuggets = (tmp_path / "source" / "out" / "nuggets.jsonl").read_text()
    folder = make(tmp_path / "e", inputs='nuggets = "nuggets.jsonl"')
    (folder / "nuggets.jsonl").write_text(nuggets)
    counts = {one["qid"]: len(one["nuggets"]) for one in map(json.loads, nuggets.splitlines())}
    # Of topic 1 both runs' answers are lacking, of topic 2 that of one.
    lacking = 2 * counts["1"] + counts["2"]
    assert scored(folder, "people").missing["trec_rag.assignment"] == lacking
    for run in ("good", "poor"):
        twin = (folder / "rag" / f"{run}.jsonl").read_text().replace(f'"{run}"', f'"{run} 2"')
        (folder / "rag" / f"{run}2.jsonl").write_text(twin)
    assert scored(folder, "people").missing["trec_rag.assignment"] == lacking


def test_labels_of_which_none_was_given_are_not_so_many_of_as_many(tmp_path: Path):
    """Given labels are not among those that were asked: 27 of 27 would look as if none counted."""
    gaps = scored(make(tmp_path), "people").gaps
    told = [gap.what for gap in gaps if "missing: " in gap.what]
    assert told
    assert all(what.startswith(("labels are missing", "label is missing")) for what in told)
