"""Corpora, indexes, runs and answers from Python, beside the commands of their names."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import assay as package
from assay.model.errors import AssayError, FormatError, SettingsError
from tests.conftest import ROOT, Assay
from tests.engine.server import completion, serve

WIKI = ROOT / "examples" / "films" / "wiki"
QUESTIONS = ROOT / "examples" / "films" / "questions.tsv"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("systems")
    corpus = package.corpus.build(WIKI, place / "corpus", words=80, processes=1)
    package.index.build(corpus, place / "index", progress=True)
    return place


def test_a_corpus_is_read_as_a_frame_and_one_by_one(place: Path):
    corpus = package.corpus.open(place / "corpus")
    frame = corpus.passages
    assert frame.height == len(list(corpus)) == 57
    assert frame.columns == [
        "id", "doc", "title", "number", "text", "words", "overlap", "start",
    ]  # fmt: skip
    (first, *_) = corpus
    assert frame.row(0) == tuple(first)
    assert corpus.document("F26").equals(frame.filter(doc="F26"))
    with pytest.raises(SettingsError, match="no document 'X'"):
        corpus.document("X")
    assert package.corpus.convert(corpus, place / "copy", layout="parquet") == 57
    assert package.corpus.open(place / "copy").passages.equals(frame)
    with pytest.raises(SettingsError, match="already exists"):
        package.corpus.convert(corpus, place / "copy")
    for wrong in ({"layout": "zip"}, {"format": "docx"}, {"ids": "number"}):
        with pytest.raises(SettingsError, match=r"'jsonl'|'wikitext'|'title'"):
            package.corpus.build(WIKI, place / "none", **wrong)  # type: ignore[arg-type]
    assert not (place / "none").exists()


def test_a_run_is_the_commands_and_its_frame(place: Path, assay: Assay):
    shown = assay("retrieve", place / "index", QUESTIONS, "-o", place / "B.txt", "--k", "5")
    assert shown.returncode == 0, shown.stderr
    found = package.retrieve(place / "index", QUESTIONS, k=5, output=place / "A.txt")
    assert (place / "A.txt").read_bytes() == (place / "B.txt").read_bytes()
    lines = [line.split(";", 3) for line in (place / "A.txt").read_text().splitlines()]
    assert found.select("topic", pl.col("rank").cast(pl.String), "doc").rows() == [
        tuple(line[:3]) for line in lines
    ]
    index = package.index.open(place / "index")
    assert len(index) == 57
    one = index.search("Who plays Apollo Creed?", k=3)
    topics = {"q": "Who plays Apollo Creed?"}
    same = package.retrieve(index, topics, k=3, format="trec", output=place / "r.run")
    assert same.drop("topic").equals(one)
    assert set(package.read_run(place / "r.run")["q"]) == set(one["id"])
    assert package.retrieve(index, {"q": "zzz"}).rows() == []
    with pytest.raises(SettingsError, match="at most 20"):
        package.retrieve(index, topics, k=21)
    with pytest.raises(SettingsError, match="at least one passage"):
        index.search("Who?", k=0)
    for odd in (None, 5):
        with pytest.raises(TypeError, match=r"^query must be a text"):  # it was said to be damaged
            index.search(odd)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="must be given together"):
        package.retrieve(index, topics, rerank="listwise")
    model = "openai:m@http://127.0.0.1:9/v1"  # of which nobody knows the price
    with pytest.raises(SettingsError, match="needs the price of 'm'"):
        package.retrieve(index, topics, rerank="listwise", rerank_with=model, budget=1)
    with pytest.raises(SettingsError, match="'fused'"):
        package.retrieve(index, topics, method="both")
    with pytest.raises(SettingsError, match="no index"):
        package.index.open(place)


def test_a_model_that_reranks_is_asked_once_also_in_a_notebook(place: Path, tmp_path: Path):
    def reply(body: Any, _n: int) -> Any:
        return completion(json.dumps({"order": [2, 1]}))

    async def cell(url: str) -> pl.DataFrame:
        return package.retrieve(
            place / "index", {"q": "Apollo Creed"}, k=2, rerank="listwise",
            rerank_with=f"openai:m@{url}", rerank_depth=2, ledger=tmp_path / "l.sqlite",
        )  # fmt: skip

    plain = package.retrieve(place / "index", {"q": "Apollo Creed"}, k=2)
    with serve(reply) as server:
        first = asyncio.run(cell(server.url))
        asked = len(server.requests)
        again = asyncio.run(cell(server.url))
    assert asked == len(server.requests) == 1
    assert first["id"].to_list() == plain["id"].to_list()[::-1]
    assert again.equals(first)


ANSWERS = {
    "Who played Apollo Creed?": {"nuggets": [{"passage": 1, "nugget": "Weathers played Creed."}],
                                 "answer": "Carl Weathers", "confidence": 90},
}  # fmt: skip


def test_answers_are_the_commands_and_their_frame(tmp_path: Path, assay: Assay):
    (tmp_path / "PR.txt").write_text("1;1;Rocky;Carl Weathers plays Apollo Creed.\n")
    (tmp_path / "q.tsv").write_text("1\tWho played Apollo Creed?\n2\tWhat else?\n")

    def reply(body: Any, _n: int) -> Any:
        text = body["messages"][-1]["content"]
        said = next((v for q, v in ANSWERS.items() if q in text), None)
        return completion("nothing" if said is None else json.dumps(said))

    with serve(reply) as server:
        model = f"openai:m@{server.url}"
        command = ["answer", tmp_path / "q.tsv", "-o", tmp_path / "B.txt", "--model", model]
        command += ["--pr-runs", tmp_path / "PR.txt", "--ledger", tmp_path / "b.sqlite"]
        assert assay(*command).returncode == 1
        with pytest.warns(UserWarning, match=r"No answer for: 2\."):
            found = package.answer(
                tmp_path / "q.tsv", tmp_path / "PR.txt", model=model, output=tmp_path / "A.txt"
            )
        asked = len(server.requests)
        with pytest.warns(UserWarning, match="No answer for"):
            package.answer(
                {"1": "Who played Apollo Creed?", "2": "What else?"},
                [tmp_path / "PR.txt"],
                model=model,
                ledger=tmp_path / "answers.sqlite",
            )
        assert len(server.requests) == asked, "what was asked is kept beside the run"
    assert found.rows(named=True) == [
        {"topic": "1", "answer": "Carl Weathers", "confidence": 90,
         "nuggets": [{"run": "PR", "rank": 1, "text": "Weathers played Creed."}]}
    ]  # fmt: skip
    assert (tmp_path / "A.txt").read_bytes() == (tmp_path / "B.txt").read_bytes()
    ours, theirs = (json.loads((tmp_path / f"{name}.manifest.json").read_text()) for name in "AB")
    assert ours["settings"] == theirs["settings"]
    assert ours["inputs"] == theirs["inputs"]
    assert list(tmp_path.glob("ANSWERS*")) == []


def test_reports_are_the_commands_and_their_frame(tmp_path: Path, assay: Assay):
    topics = tmp_path / "topics.jsonl"
    topics.write_text('{"id": "1", "title": "Who played Apollo Creed?"}\n')
    (tmp_path / "PR.txt").write_text("1;1;Rocky;Carl Weathers plays Apollo Creed.\n")
    said = {"sentences": [{"text": "Weathers played Creed.", "citations": [1]}]}
    with serve(lambda _body, _n: completion(json.dumps(said))) as server:
        model = f"openai:m@{server.url}"
        found = package.answer(
            topics, str(tmp_path / "PR.*"), model=model, protocol="trec-rag", words=50,
            output=tmp_path / "A.jsonl",
        )  # fmt: skip
        command = ["answer", topics, "-o", tmp_path / "B.jsonl", "--model", model, "--words", "50"]
        command += ["--protocol", "trec-rag", "--pr-runs", tmp_path / "PR.txt"]
        assert assay(*command).returncode == 0
        assert len(server.requests) == 1, "the command finds what was said beside the run"
    assert found.rows(named=True) == [
        {"topic": "1", "answer": "Weathers played Creed.",
         "sentences": [{"text": "Weathers played Creed.", "citations": ["Rocky"]}]}
    ]  # fmt: skip
    ours, theirs = ((tmp_path / f"{name}.jsonl").read_text() for name in "AB")
    assert ours == theirs.replace('"run_id":"B"', '"run_id":"A"')


def test_faults_come_before_anybody_is_asked(tmp_path: Path):
    (tmp_path / "PR.txt").write_text("1;1;Rocky;A text.\n")
    model = "openai:m@http://127.0.0.1:9/v1"
    for more, kind, says in [
        ({}, SettingsError, "--pr-runs"),
        (
            {"pr_runs": tmp_path / "PR.txt", "words": 9},
            SettingsError,
            "only work with --protocol trec-rag",
        ),
        ({"pr_runs": tmp_path / "PR.txt", "protocol": "r3"}, SettingsError, "'trec-rag'"),
        ({"pr_runs": tmp_path / "PR.txt", "budget": 1}, SettingsError, "--price IN/OUT"),
        ({"pr_runs": tmp_path / "none.txt"}, AssayError, "none.txt"),
        ({"pr_runs": tmp_path / "PR.txt", "output": tmp_path / "a;b.txt"}, FormatError, "';'"),
    ]:
        with pytest.raises(kind, match=says):
            package.answer({"1": "Who?"}, model=model, **more)  # type: ignore[arg-type]
