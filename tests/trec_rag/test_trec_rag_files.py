"""Topics, sub-narratives, segments, candidates, RJ runs, nuggets, assignments, support labels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.formats import trec_rag_nuggets as nuggets
from assay.formats import trec_rag_passages as passages
from assay.formats import trec_rag_support as support
from assay.formats import trec_rag_topics as topics
from assay.formats.registry import FORMATS
from assay.formats.trec import read_trec_run
from assay.formats.trec_writing import run_lines
from assay.formats.validate import guess_format
from assay.model.errors import AssayError
from assay.model.trec_rag import (
    Assigned,
    CitedSupport,
    Importance,
    JudgmentRun,
    RagAnswer,
    RelevanceGuess,
    Sentence,
    SubNarrative,
    Support,
    sub_narrative_key,
    sub_narrative_name,
)
from tests.trec_rag.test_trec_rag_answers import write


@pytest.mark.parametrize(
    "text",
    [
        "14\twhy rivers bend\n",
        '{"id": 14, "title": "why rivers bend"}\n',
        '{"id": "14", "title": "why rivers bend"}\n',
        '{"request_id": "14", "title": "why rivers bend"}\n',
        '{"id": "14", "title": "rivers", "narrative": "why rivers bend"}\n',
    ],
)
def test_topics_of_all_years(tmp_path: Path, text: str):
    path = tmp_path / "topics"
    path.write_text(text)
    [found] = topics.read_topics(path).require()
    assert (found.id, found.text) == ("14", "why rivers bend")


def test_retrieval_runs_are_written_and_read(tmp_path: Path):
    path = tmp_path / "run.txt"
    path.write_bytes(b"".join(run_lines("r", {"14": ["d2", "d1"]})()))
    run = read_trec_run(path).require()
    assert (run.name, run.ranked("14")) == ("r", ("d2", "d1"))
    path.write_bytes(b"".join(run_lines("r r", {"14": ["d1"]})()))  # with tabs between the columns
    assert read_trec_run(path).require().name == "r r"
    with pytest.raises(AssayError, match="cannot stand"):
        run_lines("r\nr", {"14": ["d1"]})


def test_faults_of_topics(tmp_path: Path):
    path = tmp_path / "topics"
    path.write_text("1\tone\n1\tagain\n2\n\ttext\n")
    assert [fault.line for fault in topics.read_topics(path).errors] == [2, 3, 4]
    write(path, {"id": 1}, {"title": "x"}, {"id": 2, "queries": "x"}, {"id": 3, "queries": ["q"]})
    parsed = topics.read_topics(path)
    assert [fault.line for fault in parsed.errors] == [1, 2, 3]
    assert parsed.value[0].queries == ("q",)


def test_sub_narratives_in_all_shapes(tmp_path: Path):
    path = tmp_path / "subs.jsonl"
    write(
        path,
        {"id": 1, "title": "n", "sub_narratives": [{"text": "a", "importance": "Vital"}, "b"]},
        {"qid": "1", "nuggets": [{"text": "x", "mapped_sub_narrative": "c"}, {"text": "y"}]},
    )
    found = topics.read_sub_narratives(path).require()
    assert found["1"] == (
        SubNarrative("a", Importance.VITAL),
        SubNarrative("b"),
        SubNarrative("c"),
    )
    path.write_text("1\ta\n1\tb\n")
    assert [one.text for one in topics.read_sub_narratives(path).require()["1"]] == ["a", "b"]


def test_narratives_and_sub_narratives_of_one_list(tmp_path: Path):
    path = tmp_path / "narratives.json"
    aspects = [{"text": "why", "importance": "vital"}, "how"]
    path.write_text(
        json.dumps(
            [{"id": 14, "narrative": "why rivers bend", "sub_narratives": aspects}], indent=1
        )
    )
    [narrative] = topics.read_topics(path).require()
    assert narrative.text == "why rivers bend"
    found = topics.read_sub_narratives(path).require()["14"]
    assert [one.text for one in found] == ["why", "how"]
    path.write_text('[{"id": 14, "title": "a"}, 3]')
    assert [str(one.why) for one in topics.read_topics(path).errors] == [
        "Item 2 of the list is not a JSON object."
    ]
    path.write_text('[{"id": 14,\n "title": }]')
    assert topics.read_topics(path).errors[-1].line == 2


def test_segments_and_candidates_are_read(tmp_path: Path):
    doc = {"docid": "d#1", "url": "u", "title": "t", "headings": "h", "segment": "s",
           "start_char": 0, "end_char": 1}  # fmt: skip
    path = write(tmp_path / "segments.jsonl", doc)
    found = passages.read_segments(path).require()
    assert found["d#1"].text == "s"
    inner = {name: value for name, value in doc.items() if name != "docid"}
    lists = {
        "query": {"qid": "14", "text": "why"},
        "candidates": [{"docid": "d#1", "score": 2.5, "doc": inner}],
    }
    path = write(tmp_path / "candidates.jsonl", lists)
    listed = passages.read_candidates(path).require()
    assert listed["14"][0] == found["d#1"]
    # ClimbMix: the document is its text.
    lists["candidates"] = [{"docid": "shard_1_2", "score": 1, "doc": "text"}]
    write(path, lists)
    assert passages.read_candidates(path).require()["14"][0].text == "text"
    other = {"query": {"qid": "15"}, "candidates": [{"docid": "shard_1_2", "doc": "more"}]}
    write(path, lists, other)
    (fault,) = passages.read_texts(path).errors
    assert "different text in another topic" in str(fault)


def test_judgment_runs(tmp_path: Path):
    path = tmp_path / "rj.txt"
    run = JudgmentRun("r", {"14": {"d1": RelevanceGuess("d1", 4, 0.5)}})
    path.write_bytes(passages.write_judgment_run(run))
    assert path.read_text() == "14 Q0 d1 4 0.5 r\n"
    assert passages.read_judgment_run(path).require() == run
    path.write_text("14\tQ0\td1\tx\t1\tr\n14 Q0 d2 5 nan r\n14 Q0 d3 7 1 r\n14 Q0 d3 1 1 q\n1 2\n")
    parsed = passages.read_judgment_run(path)
    assert [fault.line for fault in parsed.errors] == [1, 2, 4, 4, 5]
    assert "outside 0-4: 7" in str(parsed.warnings[0])


ASSIGNED = {
    "query": "why",
    "qid": "14",
    "answer_text": "Because.",
    "response_length": 1,
    "run_id": "r",
    "nuggets": [
        {"text": "a", "importance": "vital", "assignment": "support"},
        {"text": "b", "importance": "okay", "assignment": "Partial Support"},
        {"text": "c", "importance": "okay", "assignment": None},
    ],
}


def test_nuggets_and_assignments(tmp_path: Path):
    record = {
        "query": "why",
        "qid": "14",
        "nuggets": [
            {"text": "a", "importance": "vital", "mapped_sub_narrative": "s", "source": ["d1"]},
            {"text": "b"},
        ],
    }
    path = write(tmp_path / "nuggets.jsonl", record)
    found = nuggets.read_nuggets(path).require()
    assert json.loads(nuggets.write_nuggets(found.values())) == record
    path = write(tmp_path / "assignments.jsonl", ASSIGNED)
    [answer] = nuggets.read_assignments(path).require()
    assert [one.assigned for one in answer.nuggets] == [Assigned.SUPPORT, Assigned.PARTIAL, None]
    written = RagAnswer("r", "14", (Sentence("Because of that."),))
    known = [one.nugget for one in answer.nuggets], [one.assigned for one in answer.nuggets]
    again = json.loads(next(nuggets.write_assignments([(written, "why", *known)])))
    assert again.pop("nuggets")[1:] == [
        {"text": "b", "importance": "okay", "assignment": "partial_support"},
        {"text": "c", "importance": "okay", "assignment": None},
    ]
    assert again == {
        "query": "why", "qid": "14", "answer_text": "Because of that.", "response_length": 3,
        "run_id": "r",
    }  # fmt: skip


def test_an_assignment_without_a_run_has_the_files_name(tmp_path: Path):
    record = {name: value for name, value in ASSIGNED.items() if name != "run_id"}
    path = write(tmp_path / "ours.jsonl", record)
    assert nuggets.read_assignments(path).require()[0].run == "ours"


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": "a", "importance": "vital"},
        {"text": "a", "importance": "vital", "assignment": "yes"},
        {"text": "a", "importance": "big", "assignment": "support"},
        {"text": "a", "assignment": "support"},
        {"importance": "vital", "assignment": "support"},
        3,
    ],
)
def test_faults_of_assignments(tmp_path: Path, wrong: object):
    path = write(tmp_path / "a.jsonl", {**ASSIGNED, "nuggets": [wrong]})
    assert len(nuggets.read_assignments(path).errors) == 1


def test_failed_is_a_label_that_is_missing(tmp_path: Path):
    given = [
        {"text": "a", "importance": "failed", "assignment": "support"},
        {"text": "b", "importance": "okay", "assignment": "failed"},
        {"text": "c", "importance": "vital", "assignment": "Fail"},
    ]
    path = write(tmp_path / "a.jsonl", {**ASSIGNED, "nuggets": given})
    parsed = nuggets.read_assignments(path)
    [answer] = parsed.require()
    assert [one.assigned for one in answer.nuggets] == [Assigned.SUPPORT, None, None]
    assert [one.nugget.importance for one in answer.nuggets] == [
        None, Importance.OKAY, Importance.VITAL,
    ]  # fmt: skip
    assert [fault.why for fault in parsed.warnings] == [
        "The importance of 1 nugget failed (line 1).",
        "The assignment of 2 nuggets failed (line 1).",
    ]
    assert nuggets.read_nuggets(path).require()["14"].nuggets[0].importance is None


@pytest.mark.parametrize(
    "text",
    ["Why  rivers bend", '"Why rivers bend"', 'New: "Why rivers bend"', '"new: Why rivers bend" '],
)
def test_a_sub_narrative_is_the_same_with_quotes_and_new(text: str):
    assert sub_narrative_name(text) == "Why rivers bend"
    assert sub_narrative_key(text) == sub_narrative_key("why rivers bend?")


def test_marks_tell_sub_narratives_apart_and_signs_alone_stay():
    assert sub_narrative_key("कि") != sub_narrative_key("की")
    assert sub_narrative_key("?!") == "?!"
    assert sub_narrative_name('"A" or "B"') == '"A" or "B"'


@pytest.mark.parametrize("code", ["2", 2, "FS", "full support", "Full_Support"])
@pytest.mark.parametrize("spelling", ["ID", "Id"])
def test_support_labels_in_both_spellings(tmp_path: Path, code: object, spelling: str):
    record = {
        "topic_id": "14",
        "run_id": "r",
        "sentences": [
            {
                f"sentence{spelling}": "0",
                "text": "Because.",
                "citations": [
                    {f"citation{spelling}": "0", "reference": "d1", "support": code},
                    {f"citation{spelling}": "1", "reference": "d2", "support": "-1"},
                ],
            },
            {f"sentence{spelling}": "1", "text": "So.", "citations": []},
        ],
    }
    path = write(tmp_path / "support.jsonl", record)
    [answer] = support.read_support(path).require()
    assert answer.sentences[0].citations == (
        CitedSupport("d1", Support.FULL),
        CitedSupport("d2", None, unjudged=True),
    )
    cited = [
        (one.text, tuple(each.reference for each in one.citations)) for one in answer.sentences
    ]
    written = RagAnswer("r", "14", tuple(Sentence(*one) for one in cited))
    said = [(each.support, each.unjudged) for one in answer.sentences for each in one.citations]
    path.write_bytes(b"".join(support.write_support([written], said)))
    assert support.read_support(path).require()[0].sentences == answer.sentences


def test_a_support_label_that_is_none_is_a_fault(tmp_path: Path):
    cited = [{"reference": "d", "support": code} for code in ("3", "yes", True, 0.5, [])]
    sentences = [{"text": "a", "citations": cited}]
    path = write(tmp_path / "s.jsonl", {"topic_id": 1, "run_id": "r", "sentences": sentences})
    assert len(support.read_support(path).errors) == 5


GOOD: dict[str, Callable[[], object]] = {
    "trec-rag-topics": lambda: {"id": "1", "title": "t"},
    "segments": lambda: {"docid": "d", "segment": "s"},
    "candidates": lambda: {"query": {"qid": 1}, "candidates": []},
    "sub-narratives": lambda: {"id": 1, "sub_narratives": ["a"]},
    "nuggets": lambda: {"qid": 1, "nuggets": [{"text": "a"}]},
    "assignments": lambda: ASSIGNED,
    "support": lambda: {"topic_id": 1, "run_id": "r", "sentences": []},
}


@pytest.mark.parametrize("name", GOOD)
def test_formats_are_recognised(tmp_path: Path, name: str):
    path = write(tmp_path / "file", GOOD[name]())
    assert name in FORMATS
    assert guess_format(path) == name
    path.write_text(json.dumps([GOOD[name]()], indent=1), encoding="utf-8")
    assert guess_format(path) == name
