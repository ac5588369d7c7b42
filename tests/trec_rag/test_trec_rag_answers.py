"""Runs of answers of every year: one answer type, all faults, and what --fix mends."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.formats.jsonl import read_json
from assay.formats.text import read_text
from assay.formats.trec_rag_answers import read_answers
from assay.formats.trec_rag_fix import fix_answers
from assay.formats.trec_rag_rules import RULES
from assay.formats.trec_rag_writing import write_answers
from assay.model.trec_rag import RagAnswer, Sentence, words
from tests.conftest import Assay

DOCS = [f"msmarco_v2.1_doc_00_{n}#{n}_{n}" for n in range(6)]


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def record_2024(**changes: object) -> dict[str, object]:
    return {
        "run_id": "r1",
        "topic_id": "2024-1",
        "topic": "why rivers bend",
        "references": DOCS[:3],
        "response_length": 4,
        "answer": [
            {"text": "Rivers bend slowly.", "citations": [2, 0]},
            {"text": "Always.", "citations": []},
        ],
        **changes,
    }


def record_2025(answer: object = None, references: object = None, **metadata: object) -> dict:
    return {
        "metadata": {
            "team_id": "t",
            "run_id": "r1",
            "type": "automatic",
            "narrative_id": 14,
            "narrative": "why rivers bend",
            "prompt": "p",
            **metadata,
        },
        "references": DOCS[:3] if references is None else references,
        "answer": [{"text": "Rivers bend.", "citations": [2, 0]}] if answer is None else answer,
    }


@pytest.mark.parametrize(
    "record",
    [
        record_2024(topic_id="14"),
        record_2025(),
        record_2025([{"text": "Rivers bend.", "citations": [DOCS[2], DOCS[0]]}]),
        record_2025(run_desc="d"),
        {
            "metadata": {"team_id": "t", "run_id": "r1", "topic_id": "14"},
            "references": DOCS[:3],
            "responses": [{"text": "Rivers bend.", "citations": [DOCS[2], DOCS[0]]}],
        },
        {
            "metadata": {"team_id": "t", "run_id": "r1", "request_id": "14"},
            "responses": [{"text": "Rivers bend.", "citations": {DOCS[0]: 0.3, DOCS[2]: 0.9}}],
        },
    ],
)
def test_every_format_comes_out_as_one_answer_type(tmp_path: Path, record: dict):
    run = read_answers(write(tmp_path / "run.jsonl", record), limits=False).require()
    answer = run.answers["14"]
    assert run.name == answer.run == "r1"
    assert answer.sentences[0].citations == (DOCS[2], DOCS[0])
    assert answer.text.startswith("Rivers bend")


def faults_of(tmp_path: Path, *records: object, **options: object) -> str:
    parsed = read_answers(write(tmp_path / "run.jsonl", *records), **options)
    return "\n".join(map(str, parsed.faults))


ANSWER = [{"text": "Rivers bend.", "citations": [0]}]
TOPICS = {"2024-1": "why rivers bend", "14": "why rivers bend", "15": "why lakes freeze"}


def swapped(record: dict) -> dict:
    """The record with its sentences where another track would have them."""
    return {("responses" if key == "answer" else key): one for key, one in record.items()}


# What the validators of 2024, 2025 and 2026 look at, one by one.
@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([record_2024(run_id=None)], "'run_id' is missing"),
        ([record_2024(topic_id=None)], "'topic_id' is missing"),
        ([record_2024(topic="")], "'topic' is missing"),
        ([record_2024(references=None)], "'references' is missing"),
        ([record_2024(response_length=None)], "'response_length' is missing"),
        ([record_2024(answer=None)], "'answer' is missing"),
        ([record_2024(), record_2024(topic_id="14", run_id="r2")], "several run_ids: r1, r2"),
        ([record_2024(topic_id="2024-9")], "not in the topic file"),
        ([record_2024(topic="why lakes bend")], "not the official one"),
        ([record_2024(references=["d1", *DOCS[:2]])], "Not in the form of 2024's document ids: "),
        ([record_2024(references=[DOCS[0], DOCS[1], DOCS[0]])], "Reference 2 is listed before"),
        ([record_2024(references=[f"{DOCS[0]}{n}" for n in range(21)])], "2024 allows 20"),
        ([record_2024(response_length=401)], "response_length is 401, but the sentences have 4"),
        ([record_2024(answer=[{"text": "a", "citations": [3]}])], "cites reference 3, but there"),
        ([record_2024(answer=[{"text": "a", "citations": [-1]}])], "cites reference -1"),
        ([record_2024(answer=[{"text": "a", "citations": [1, 1]}])], "cites a document twice"),
        ([record_2024(answer=[{"text": "w " * 401, "citations": []}])], "has 401 words"),
        ([record_2024(), record_2024()], "already answered on line 1"),
        ([record_2024()], "2 of 3 topics are not answered"),
        ([{**record_2025(), "metadata": 3}], "'metadata' is missing or not an object"),
        ([record_2025(team_id=None)], "'team_id' of 'metadata' is missing"),
        ([record_2025(type="robot")], "type “robot” is unknown"),
        ([record_2025(narrative_id=99)], "not in the topic file"),
        ([record_2025(references="d")], "'references' is not a list"),
        ([record_2025(references=[1, DOCS[0]])], "Reference 0 is not a document id"),
        ([record_2025(references=[f"{DOCS[0]}{n}" for n in range(101)])], "2025 allows 100"),
        ([record_2025(answer={})], "'answer' is not a list"),
        ([record_2025(["a"])], "Sentence 1 has no text"),
        ([record_2025([{"text": 3, "citations": []}])], "Sentence 1 has no text"),
        ([record_2025([{"text": "a"}])], "Sentence 1 has no citations"),
        ([record_2025([{"text": "a", "citations": "d"}])], "citations that are not a list"),
        ([record_2025([{"text": "a", "citations": [True]}])], "has the citation “True”"),
        ([record_2025([{"text": "a", "citations": ["d9"]}])], "cites “d9”, which is not in"),
        ([record_2025([{"text": "a", "citations": ["1"]}])], "write 1 without quotes"),
        ([record_2025([{"text": " ", "citations": []}])], "warning|Sentence 1 is blank"),
        ([record_2025([])], "warning|The answer holds no sentence"),
        (
            [{k: v for k, v in record_2025().items() if k != "references"}],
            "'references' is missing",
        ),
        ([record_2025(run_desc="")], "'run_desc' of 'metadata' is missing"),
        ([record_2025(ANSWER, run_desc="d")], "Not in the form of 2026's document ids: "),
        ([record_2025(run_desc="d", run_id=".r")], "run_id “.r” breaks the rules of 2026"),
        ([record_2025(run_desc="d", run_id="r" * 21)], "breaks the rules of 2026"),
        (
            [record_2025([{"text": "a", "citations": [0, 1, 2, 3]}], DOCS, run_desc="d")],
            "Sentence 1 has 4 citations; 2026 asks for 3",
        ),
        ([record_2025([{"text": "w " * 1025, "citations": []}], run_desc="d")], "2026 allows 1024"),
        ([record_2025(run_desc="d", narrative="why rivers  bend")], "not the official one"),
        ([record_2025(narrative="")], "'narrative' of 'metadata' is not given"),
        ([record_2024(run_id=7)], "'run_id' is not a string"),
        ([record_2025(team_id=["t"])], "'team_id' of 'metadata' is not a string"),
        ([record_2025(narrative_id=["14"])], "'narrative_id' of 'metadata' is not a topic id"),
        ([record_2025(run_desc=7)], "'run_desc' of 'metadata' is not a string"),
        (
            [record_2024(answer=[{"text": "a", "citations": [DOCS[0]]}])],
            "Citations are document ids; 2024 takes positions",
        ),
        (
            [record_2025([{"text": "a", "citations": {DOCS[0]: 0.5}}])],
            "Citations are {document id: score}; 2025 takes positions or document ids",
        ),
        (
            [record_2025([*ANSWER, {"text": "a", "citations": [DOCS[0]]}])],
            "Some citations are positions and others document ids",
        ),
        ([swapped(record_2024())], "The sentences are under 'responses'"),
        ([swapped(record_2025(narrative_id="rag2026-4"))], "The sentences are under 'responses'"),
    ],
)
def test_what_the_public_validators_find_is_found(tmp_path: Path, records: list, said: str):
    found = faults_of(tmp_path, *records, topics=TOPICS)
    assert said.removeprefix("warning|") in found


def test_optional_metadata_is_one_warning_a_file(tmp_path: Path):
    records = [record_2025(), record_2025(narrative_id=15)]
    for record in records:
        del record["metadata"]["prompt"]
    parsed = read_answers(write(tmp_path / "run.jsonl", *records))
    assert parsed.ok
    assert [fault.why for fault in parsed.warnings] == [
        "'prompt' of 'metadata' is not given (in 2 records)."
    ]


def test_all_faults_of_a_file_come_at_once_with_their_lines(tmp_path: Path):
    path = write(tmp_path / "run.jsonl", record_2025([{"text": "a", "citations": [7, 8]}]))
    path.write_text(path.read_text() + "{\n[1]\n" + json.dumps(record_2025()) + "\n")
    faults = read_answers(path).errors
    assert [fault.line for fault in faults] == [1, 1, 2, 3, 4]
    assert faults[0].topic == "14"


def test_a_document_over_several_lines_is_one_fault(tmp_path: Path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps([record_2025()], indent=1))
    assert [fault.line for fault in read_answers(path).errors][:1] == [0]
    assert len(read_answers(path).errors) == 2  # and that there is no answer


@pytest.mark.parametrize(
    "record",
    [
        record_2025([{"text": "w " * 401, "citations": []}]),
        record_2025([*ANSWER, {"text": "a", "citations": [DOCS[0]]}]),
        record_2024(answer=[{"text": "a", "citations": {DOCS[0]: 1}}]),
        record_2024(run_id=7),
        swapped(record_2024()),
    ],
)
def test_without_limits_what_breaks_the_rules_can_be_used(tmp_path: Path, record: dict):
    path = write(tmp_path / "run.jsonl", record)
    assert not read_answers(path).ok
    read = read_answers(path, limits=False)
    assert read.ok
    assert len(read.require().answers) == 1
    assert read.require().name in ("r1", "7")


def test_more_citations_than_the_track_judges_are_a_warning(tmp_path: Path):
    shards = [f"shard_0_{n}" for n in range(4)]
    answer = [{"text": "a", "citations": [3, 2, 1, 0]}]
    path = write(tmp_path / "run.jsonl", record_2025(answer, shards, run_desc="d"))
    read = read_answers(path)
    assert read.ok
    assert "The track judges the first 3 alone" in read.warnings[0].cure
    assert len(read.require().answers["14"].sentences[0].citations) == 4


@pytest.mark.parametrize(
    ("text", "before", "in_2026"),
    [("a\u00a0b", 2, 2), ("a\u200bb", 1, 1), ("a\x1cb", 2, 2), ("a\u00a8b", 2, 1),
     ("well-known \u2014  yes", 3, 3)],
)  # fmt: skip
def test_words_of_2026_are_counted_without_nfkc(text: str, before: int, in_2026: int):
    assert (RULES["2025"].words(text), RULES["2026"].words(text)) == (before, in_2026)


def test_words_are_counted_as_the_track_counts():
    # U+FF21 is A under NFKC, U+00A0 splits words, the ligature stays in one word.
    assert words("  \uff21 b\u00a0c \ufb01n ") == 4


# --- --fix --------------------------------------------------------------------------------------


def mended(tmp_path: Path, record: object, **options: object) -> tuple[dict, str]:
    source = read_text(write(tmp_path / "run.jsonl", record))
    fixed = fix_answers(source, **options)
    return json.loads(fixed.data), "\n".join(one.what for one in fixed.changes)


def test_duplicate_references_go_and_citations_are_renumbered_in_order(tmp_path: Path):
    references = [DOCS[0], DOCS[1], DOCS[0], DOCS[2]]
    answer = [{"text": "a", "citations": [3, 2, 1]}, {"text": "b", "citations": [0, 3]}]
    record, said = mended(tmp_path, record_2025(answer, references))
    assert record["references"] == DOCS[:3]
    assert [one["citations"] for one in record["answer"]] == [[2, 0, 1], [0, 2]]
    assert said == "1 duplicate reference taken out"


def test_sentences_are_cut_from_the_end(tmp_path: Path):
    answer = [{"text": "w " * 200, "citations": [2, 0]}] * 3
    record, said = mended(tmp_path, record_2024(answer=answer, response_length=600))
    assert len(record["answer"]) == 2
    assert record["response_length"] == 400
    assert "1 sentence cut from the end: 600 words are now 400" in said


def test_an_answer_of_one_sentence_is_not_cut_to_nothing(tmp_path: Path):
    answer = [{"text": "w " * 500, "citations": [0]}, {"text": "more"}]
    record, said = mended(tmp_path, record_2024(answer=answer, response_length=501))
    assert record["answer"] == answer[:1]
    assert "501 words are now 500" in said


def test_references_past_the_limit_go_with_their_citations(tmp_path: Path):
    references = [f"{DOCS[0]}{n}" for n in range(22)]
    answer = [{"text": "a b c d", "citations": [21, 3, 20, 1]}]
    record, said = mended(tmp_path, record_2024(references=references, answer=answer))
    assert record["references"] == references[:20]
    assert record["answer"][0]["citations"] == [3, 1]
    assert "2 citations of dropped references removed" in said


def test_2026_keeps_three_citations_and_every_reference(tmp_path: Path):
    answer = [{"text": "a", "citations": [5, DOCS[1], 4, 0]}]
    record, said = mended(tmp_path, record_2025(answer, DOCS, run_desc="d"))
    assert record["references"] == DOCS
    assert record["answer"][0]["citations"] == [5, DOCS[1], 4]
    assert said == "sentence 1: the first 3 of 4 citations kept"


def test_2026_takes_positions_and_ids_in_one_answer_and_leaves_references_uncited(tmp_path: Path):
    shards = [f"shard_0_{n}" for n in range(4)]
    answer = [{"text": "## Costs", "citations": []}, {"text": "a", "citations": [0, shards[2]]}]
    path = write(tmp_path / "run.jsonl", record_2025(answer, shards, run_desc="d"))
    parsed = read_answers(path)
    assert [fault.why for fault in parsed.faults] == [
        "Some citations are positions and others document ids."
    ]
    assert parsed.require().answers["14"].sentences[1].citations == (shards[0], shards[2])
    assert not fix_answers(read_text(path)).changes


def test_blank_sentences_and_nan_keep_their_places(tmp_path: Path):
    answer = [
        {"text": "Rivers bend.", "citations": [0]},
        {"text": "", "citations": [1]},
        {"text": float("nan"), "citations": [2]},
        {"text": 'NaN, said "NaN".', "citations": []},
    ]
    path = write(tmp_path / "run.jsonl", record_2025(answer), record_2025(narrative_id=15))
    parsed = read_answers(path)
    assert [(fault.line, fault.severity, fault.why) for fault in parsed.faults] == [
        (1, "warning", "Sentences 2, 3 are blank."),
        (1, "warning", "NaN is not JSON (line 1)."),
    ]
    found = parsed.require().answers["14"].sentences
    assert [one.text for one in found] == ["Rivers bend.", "", "", 'NaN, said "NaN".']
    assert [one.citations for one in found] == [(DOCS[0],), (DOCS[1],), (DOCS[2],), ()]
    fixed = fix_answers(read_text(path))
    assert [one.what for one in fixed.changes] == ["NaN is now null"]
    assert json.loads(fixed.data.splitlines()[0])["answer"][2]["text"] is None


@pytest.mark.parametrize("text", ["[Infinity]", '{"a": NaN', "[-NaN]", "[nan]", "[NaNs]"])
def test_other_words_are_no_json(text: str):
    with pytest.raises(orjson.JSONDecodeError):
        read_json(text)


@pytest.mark.parametrize(
    "record",
    [
        record_2025([{"text": "a", "citations": [2, 0]}, {"text": "b", "citations": [DOCS[1]]}]),
        record_2025(
            [
                {"text": "a", "citations": {DOCS[0]: 0.2, DOCS[2]: 0.9}},
                {"text": "b", "citations": {DOCS[1]: 1}},
            ]
        ),
        swapped(
            record_2025([{"text": "a", "citations": [DOCS[2], 0]}, {"text": "b", "citations": [1]}])
        ),
    ],
)
def test_citations_of_several_ways_become_positions(tmp_path: Path, record: dict):
    fixed, _ = mended(tmp_path, record, year="2025")
    assert [one["citations"] for one in fixed["answer"]] == [[2, 0], [1]]
    assert not faults_of(tmp_path, fixed, year="2025")
    again, said = mended(tmp_path, fixed, year="2025")
    assert (again, said) == (fixed, "")


def test_what_needs_no_mending_keeps_its_bytes(tmp_path: Path):
    good = json.dumps(record_2025(narrative="caf\u00e9"), indent=None, ensure_ascii=False)
    bad = json.dumps(record_2025([{"text": "a", "citations": [0, 0]}], narrative_id=15))
    path = tmp_path / "run.jsonl"
    path.write_text(f"{good}\nnot json\n{bad}\n", encoding="utf-8")
    fixed = fix_answers(read_text(path))
    lines = fixed.data.decode().splitlines()
    assert lines[:2] == [good, "not json"]
    assert json.loads(lines[2])["answer"][0]["citations"] == [0]
    assert [one.line for one in fixed.changes] == [3]


@given(
    st.lists(st.sampled_from(DOCS), min_size=1, max_size=12),
    st.lists(st.lists(st.integers(0, 11), max_size=5), max_size=5),
    st.sampled_from(["2024", "2025", "2026"]),
)
def test_mended_citations_name_the_same_documents_in_the_same_order(
    references: list[str], cited: list[list[int]], year: str
):
    answer = [{"text": "w", "citations": places} for places in cited]
    record = record_2025(answer, references, run_desc="d")
    if year == "2024":
        record = record_2024(references=references, answer=answer)
    line = json.dumps(record)
    source = _Source(line)
    fixed = json.loads(fix_answers(source, year=year).data)
    for before, after in zip(cited, fixed["answer"], strict=True):
        named = [references[place] for place in before if place < len(references)]
        wanted = list(dict.fromkeys(named))[: 3 if year == "2026" else None]
        assert [fixed["references"][place] for place in after["citations"]] == wanted
    assert len(set(fixed["references"])) == len(fixed["references"])


class _Source:
    """As much of a SourceText as fixing needs, without a file."""

    def __init__(self, line: str) -> None:
        self.data = line.encode() + b"\n"
        self.line = line

    def numbered(self):
        yield 1, self.line


text = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=1).filter(
    lambda one: one.strip() != ""
)


@given(
    sentences=st.lists(
        st.builds(Sentence, text, st.lists(st.sampled_from(DOCS), unique=True).map(tuple)),
        max_size=4,
    ),
    year=st.sampled_from(["2024", "2025", "2026", "other"]),
)
def test_what_is_written_is_read_back(sentences: list[Sentence], year: str, tmp_path_factory):
    answer = RagAnswer("r1", "t1", tuple(sentences), (), "why", "team", None, None, "d")
    path = tmp_path_factory.mktemp("w") / "run.jsonl"
    path.write_bytes(write_answers([answer], year))
    found = read_answers(path, year=year, limits=False).require().answers["t1"]
    assert found.sentences == answer.sentences
    assert (found.run, found.topic) == ("r1", "t1")


# --- the command --------------------------------------------------------------------------------


def test_validate_lists_faults_and_fix_writes_a_new_file(assay: Assay, tmp_path: Path):
    topics = tmp_path / "topics.tsv"
    topics.write_text("14\twhy rivers bend\n15\twhy lakes freeze\n")
    answer = [{"text": "a", "citations": [2, 2, 1]}]
    run = write(tmp_path / "run.jsonl", record_2025(answer, [DOCS[0], DOCS[0], DOCS[1]]))
    before = run.read_bytes()
    done = assay("validate", run, "--format", "trec-rag", "--topics", topics, "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert [one["role"] for one in report["files"]] == ["topics", "checked"]
    assert report["files"][1]["warnings"] == 3
    done = assay("validate", run, "--fix", "--json")
    report = json.loads(done.stdout)
    fixed = tmp_path / "run.fixed.jsonl"
    assert report["fixes"][0]["fixed"] == str(fixed)
    assert report["files"][0]["warnings"] == 0
    assert json.loads(fixed.read_text())["answer"][0]["citations"] == [1, 0]
    assert run.read_bytes() == before
    again = assay("validate", run, "--fix")
    assert again.returncode == 2
    assert "already exists" in again.stderr


def test_validate_checks_retrieval_runs_of_the_track(assay: Assay, tmp_path: Path):
    run = tmp_path / "r.txt"
    run.write_text("".join(f"14 Q0 d{n} {n} {-n} r\n" for n in range(1, 102)))
    done = assay("validate", run, "--format", "trec-rag", "--json")
    assert done.returncode == 1
    assert "More than 100 documents" in done.stdout


@pytest.mark.parametrize(
    ("topic", "doc", "year", "said"),
    [
        (
            "rag2026-1",
            "msmarco_v2.1_doc_00_1#1_1",
            None,
            "Not in the form of 2026's ids: 1 document (",
        ),
        ("rag2026-1", "shard_00001_1", None, ""),
        ("14", "d1", None, ""),
        ("14", "d1", "2025", "Not in the form of 2025's ids: 1 document ("),
        ("2024-7", "shard_00001_1", None, "Not in the form of 2024's ids: 1 document ("),
    ],
)
def test_documents_of_retrieval_runs_are_of_the_years_collection(
    assay: Assay, tmp_path: Path, topic: str, doc: str, year: str | None, said: str
):
    run = tmp_path / "r.txt"
    run.write_text(f"{topic} Q0 {doc} 1 1.5 r\n")
    more = ["--year", year] if year else []
    done = assay("validate", run, "--format", "trec-rag", *more)
    assert said in done.stdout
    assert ("good" in done.stdout) is not bool(said)


def test_strict_makes_warnings_findings(assay: Assay, tmp_path: Path):
    answer = [{"text": "a", "citations": [1, 1]}]
    run = write(tmp_path / "run.jsonl", record_2025(answer))
    assert assay("validate", run).returncode == 0
    done = assay("validate", run, "--strict", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["ok"] is False
