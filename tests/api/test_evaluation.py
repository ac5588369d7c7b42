"""Evaluation folders from Python: ``assay.open`` and ``assay.evaluate``, beside the commands."""

from __future__ import annotations

import asyncio
import copy
import gc
import json
import os
import pickle
import re
import shutil
import threading
import time
import warnings
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import assay as package
from assay.labellers import endpoints
from assay.model.errors import (
    AssayError,
    FormatError,
    LabellerFailed,
    LabellerUnreachable,
    LedgerError,
    SettingsError,
)
from tests.cli.ground import QUESTION, make, toml
from tests.cli.ground import judge as ground_judge
from tests.command import run_here
from tests.conftest import ROOT, Assay, copy_example
from tests.engine.server import completion

SLIDE = ROOT / "examples" / "slide"
SETTINGS = """
[settings.trec-rag]
relevance = "none"
nuggets = false
mapping = false
[settings.exam]
grading = "qa"
"""
ALL = ["r2c2", "trec-rag", "sgss", "exam"]


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    folder = make(tmp_path / "ground")
    toml(folder, ALL, SETTINGS)
    return folder


class Judge:
    """Every nugget follows and every answer is right; counts what it is asked."""

    version = "1"

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, task: str, unit: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked[task] += 1
        if task == "r2c2.entailment":
            return {"reason": "", "entailed": True}
        helped = [{"nugget": n, "helped": True} for n, _ in enumerate(unit["nuggets"], 1)]
        return {"reason": "", "correct": True, "nuggets": helped}


def csv(path: Path) -> list[tuple[Any, ...]]:
    return pl.read_csv(path, infer_schema_length=None, null_values=[""]).rows()


def value(scores: pl.DataFrame, measure: str) -> float | None:
    found: float | None = scores.filter(measure=measure)["value"].item()
    return found


def tree(out: Path) -> dict[str, bytes]:
    return {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}


def test_scores_are_those_of_the_ledger_as_it_is(slide: Path, assay: Assay):
    found = package.open(slide)
    assert found.missing["missing"].to_list() == [5, 1, 1]
    before = found.scores
    assert value(before, "HMR") is None
    assert not (slide / "labels.sqlite").exists(), "looking makes no ledger"
    tally = found.judge()
    assert (tally.asked, tally.known) == (7, 0)
    assert found.missing.is_empty()
    assert value(found.scores, "HMR") == pytest.approx(0.947, abs=1e-3)
    assert value(before, "HMR") is None, "what was given does not change"
    assert found.judge().known == 7
    # What others put into the ledger is seen, too.
    (slide / "say.jsonl").write_text(
        json.dumps(
            {
                **found.units.filter(task="r2c2.answer").select("task").to_dicts()[0],
                "unit": json.loads(found.units.filter(task="r2c2.answer")["content"].item()),
                "verdict": {"reason": "no", "correct": False, "nuggets": []},
            }
        )
    )
    done = assay("labels", "import", slide, slide / "say.jsonl", "--by", "human:KIM")
    assert done.returncode == 0, done.stderr
    assert value(found.scores, "Accuracy") == 0


def test_frames_and_files_are_those_of_the_commands(ground: Path, tmp_path: Path, assay: Assay):
    other = Path(shutil.copytree(ground, tmp_path / "other" / "ground"))
    assert assay("evaluate", other).returncode in (0, 1)
    found = package.evaluate(ground)
    assert found.protocols == tuple(ALL)
    shown = json.loads(assay("score", other, "--json").stdout)
    assert found.scores.to_dicts() == [
        {name: score[name] for name in found.scores.columns} for score in shown["scores"]
    ]
    assert list(found.remarks) == shown["warnings"]
    assert found.scores["missing"].sum() == sum(one["missing"] for one in shown["scores"])
    assert assay("score", other).returncode == int(not found.missing.is_empty())
    for protocol in ALL:
        rows = csv(ground / "out" / protocol / "scores.csv")
        own = found.scores.filter(pl.col("measure").str.starts_with(f"{protocol}: "))
        assert [row[0] for row in rows] == own["run"].to_list()
        topics = csv(ground / "out" / protocol / "per_topic.csv")
        own = found.per_topic.filter(pl.col("measure").str.starts_with(f"{protocol}: "))
        assert [row[:2] for row in topics] == own.select("run", "topic").rows()
        assert [row[3] for row in topics] == own["value"].to_list()
    ours, theirs = tree(ground / "out"), tree(other / "out")
    assert ours.keys() == theirs.keys()
    for name in ours:
        if name.endswith((".csv", ".txt", ".res")):
            assert ours[name] == theirs[name], name
    assert found.manifest["protocol"] == ALL
    assert str(ground / "out" / "manifest.json") in map(str, found.write())


def test_labels_and_units_say_who_said_what_of_what(slide: Path):
    found = package.open(slide)
    assert found.labels.is_empty()
    units = found.units
    assert units["status"].unique().to_list() == ["missing"]
    found.judge()
    labels = found.labels
    assert labels.height == 7
    answer = labels.filter(task="r2c2.answer").row(0, named=True)
    assert json.loads(answer["verdict"])["correct"] is True
    assert answer["places"] == [{"run": "SLIDE", "topic": "0001", "position": "answer"}]
    assert answer["labeller"] == "recorded:recorded.jsonl"
    units = found.units
    assert units["status"].unique().to_list() == ["ok"]
    assert set(units["uid"]) == set(labels["uid"])
    assert "Captain America" in json.loads(units["content"][0])["question"]
    assert labels.to_pandas()["task"].tolist() == labels["task"].to_list()


def test_a_labeller_of_ones_own_is_asked_and_counts(slide: Path):
    judge = Judge()
    found = package.open(slide)
    found.judge()
    assert value(found.scores, "NuggetPrecision") == 0.4
    assert found.judge(labeller=judge).asked == 6
    assert judge.asked == {"r2c2.entailment": 5, "r2c2.answer": 1}
    assert value(found.scores, "NuggetPrecision") == 1
    assert value(package.open(slide).scores, "NuggetPrecision") == 0.4, "the folder's own counts"
    again = package.open(slide, labeller=judge)
    assert again.judge().known == 7
    assert value(again.scores, "NuggetPrecision") == 1


def test_judging_beside_a_running_loop(slide: Path):
    found = package.open(slide)
    ticks = 0

    async def cell() -> None:
        nonlocal ticks

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        ticking = asyncio.create_task(tick())
        assert (await found.judge_async()).asked == 7
        ticking.cancel()
        assert found.judge().known == 7  # in the loop, as a notebook's cell does

    asyncio.run(cell())
    assert ticks > 1
    assert found.missing.is_empty()


def test_judging_that_is_cancelled_keeps_what_was_answered(slide: Path):
    begun, go_on = threading.Event(), threading.Event()
    judge = Judge()

    def slow(task: str, unit: Mapping[str, Any]) -> Mapping[str, Any]:
        if sum(judge.asked.values()) == 2:
            begun.set()
            go_on.wait(10)
        return judge(task, unit)

    found = package.open(slide, labeller=slow)

    async def cell() -> None:
        judging = asyncio.create_task(found.judge_async())
        await asyncio.to_thread(begun.wait, 10)
        judging.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await judging
        del judging
        gc.collect()

    complaints: list[Any] = []

    async def notebook() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, about: complaints.append(about["message"]))
        await cell()

    asyncio.run(notebook())
    assert complaints == []
    asked = sum(judge.asked.values())
    assert asked < 6
    time.sleep(0.1)
    assert sum(judge.asked.values()) == asked, "nobody is asked behind anybody's back"
    kept = found.units["status"].to_list().count("ok")
    assert kept >= 3
    assert package.open(slide, labeller=slow).judge().known == kept


def test_what_fails_says_what_the_command_says(
    slide: Path, assay: Assay, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(endpoints, "_LONGEST_WAIT", 0.01)

    def told(*words: object) -> str:
        return str(assay(*words).stderr).partition("assay: ")[2].strip()

    def raised(kind: type[AssayError], what: Any) -> str:
        with pytest.raises(kind) as caught:
            what()
        # "No running event loop" is how one finds out where a script is, and no fault of it.
        assert not isinstance(caught.value.__context__, RuntimeError)
        return str(caught.value).strip()

    assert raised(LedgerError, package.open(slide).write) == told("score", slide)
    assert raised(SettingsError, lambda: package.open(slide / "none")) == told(
        "score", slide / "none"
    )
    gone = "openai:m@http://127.0.0.1:9/v1"
    says = raised(LabellerUnreachable, lambda: package.open(slide, labeller=gone).judge())
    assert says.split("\n")[0] == told("judge", slide, "--labeller", gone).split("\n")[0]
    priced = raised(SettingsError, lambda: package.open(slide, labeller=gone).judge(budget=1))
    assert priced == told("judge", slide, "--labeller", gone, "--budget", 1)
    (slide / "ac" / "SLIDE.txt").write_text("nonsense\n")
    assert raised(AssayError, lambda: package.open(slide)) == told("judge", slide)


def test_places_and_keys_that_only_a_file_names_are_not_trusted(
    slide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-person")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.move(slide / "questions.tsv", elsewhere)
    text = (slide / "assay.toml").read_text()
    (slide / "assay.toml").write_text(
        text.replace('"questions.tsv"', '"../elsewhere/questions.tsv"')
    )
    with pytest.raises(SettingsError, match=r"trust=\[DIRECTORY\]"):
        package.open(slide)
    found = package.open(slide, trust=[elsewhere])
    found.judge()
    assert found.missing.is_empty()
    with pytest.raises(SettingsError, match="outside"):
        package.open(slide)  # what one call trusts the next one does not
    shutil.move(elsewhere / "questions.tsv", slide)
    foreign = "openai:m@https://llm.example.org/v1"
    (slide / "assay.toml").write_text(text.replace("recorded:recorded.jsonl", foreign))
    with pytest.raises(SettingsError, match="which is named only in a file"):
        package.open(slide).dry_run()
    with pytest.warns(UserWarning, match="are judged after"):
        named = package.open(slide, labeller=foreign).dry_run()
    assert named["to_ask"].to_list() == [0, 5, 1]


@pytest.mark.filterwarnings("ignore:Answers are judged after")
def test_a_dry_run_asks_nobody(slide: Path, assay: Assay):
    judge = Judge()
    found = package.open(slide, labeller=judge).dry_run()
    assert not judge.asked
    assert not (slide / "labels.sqlite").exists()
    shown = json.loads(assay("judge", slide, "--dry-run", "--json").stdout)["ahead"]
    mine = package.open(slide).dry_run().to_dicts()
    assert mine == shown
    assert found["to_ask"].sum() == 7
    (prompt, *_) = package.open(slide, labeller="openai:m").prompts()
    assert prompt["messages"][0]["role"] == "system"


def test_batch_files_go_out_and_come_back(slide: Path, tmp_path: Path, assay: Assay):
    labeller = "openai:m@http://127.0.0.1:9/v1"
    found = package.open(slide, labeller=labeller)
    made = found.export_batch(tmp_path / "a.jsonl")
    assert (made.count, made.left_out) == (5, {})
    other = ["judge", slide, "--labeller", labeller, "--export-batch", tmp_path / "b.jsonl"]
    assert assay(*other).returncode == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    replies = [
        {
            "custom_id": json.loads(line)["custom_id"],
            "response": {
                "status_code": 200,
                "body": completion(json.dumps({"reason": "", "entailed": True})),
            },
        }
        for line in (tmp_path / "a.jsonl").read_text().splitlines()
    ]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(one) + "\n" for one in replies))
    taken = found.import_batch(tmp_path / "r.jsonl")
    assert (taken.added, taken.failed) == (5, 0)
    assert found.missing["task"].to_list() == ["r2c2.answer"]
    assert found.export_batch(tmp_path / "a.jsonl").count == 1, "the answer can be asked now"


def test_a_notebook_shows_leaderboards_and_what_is_missing(ground: Path):
    toml(ground, ["r2c2"])
    run = ground / "ac" / "ACX.txt"
    run.rename(run.with_name("A&B.txt"))
    found = package.open(ground)
    html = found._repr_html_()
    assert "A&amp;B" in html
    assert "A&B" not in html
    assert re.search(r"<p>3 .*their answers’ are missing", html)
    found.judge(labeller=ground_judge)
    html = found._repr_html_()
    assert "missing" not in html
    assert "<td>1</td><td>A&amp;B</td>" in html
    assert "1 question" in repr(found)


def test_a_report_lies_where_it_is_wanted(ground: Path, tmp_path: Path):
    found = package.open(ground)
    page = found.report(tmp_path / "r" / "report.html")
    assert page == tmp_path / "r" / "report.html"
    links = re.findall(r'href="([^"#]+/report\.html)"', page.read_text())
    assert len(links) == len(ALL)
    for link in links:
        assert QUESTION in (page.parent / link).read_text() or (page.parent / link).stat().st_size
    assert not (ground / "out").exists()
    assert found.report() == ground / "out" / "report.html"


def test_progress_is_told_when_it_is_wanted(slide: Path, capsys: pytest.CaptureFixture[str]):
    package.open(slide).judge()
    assert capsys.readouterr().err == ""
    package.open(slide, labeller=Judge()).judge(progress=True)
    assert "bogus nuggets: 5 to ask, 0 known\nbogus nuggets: 5/5\n" in capsys.readouterr().err


def test_the_names_of_the_package():
    names: dict[str, Any] = {}
    exec("from assay import *", names)
    assert names["evaluate"] is package.evaluate
    assert "open" not in names, "Python's own stays"
    assert "open" in dir(package)
    assert [name for name in dir(package) if not name.startswith("__")] == sorted(
        {*package.__all__, "open"} - {"__version__"}
    )
    with pytest.raises(AttributeError) as failed:
        _ = package.lable  # type: ignore[attr-defined]
    assert (failed.value.name, failed.value.obj) == ("lable", package)  # "Did you mean: 'label'?"


def test_a_single_place_is_trusted_whole(slide: Path, tmp_path: Path) -> None:
    inside = package.open(slide, trust=str(tmp_path))
    assert inside._trust == (tmp_path,)
    for odd in (5, [5], b"/", [b"/"]):
        with pytest.raises(TypeError, match="trust must be a path"):
            package.open(slide, trust=odd)  # type: ignore[arg-type]
    for odd in (None, 3, b"x"):
        with pytest.raises(TypeError, match="folder must be a path"):
            package.open(odd)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="path must be a path"):
        inside.report(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("odd", ["openai:", "nothing:m", ""])
def test_a_labeller_that_is_refused_does_not_stay(slide: Path, odd: str) -> None:
    found = package.open(slide)
    before = found.prompts(1)
    with pytest.raises(SettingsError):
        found.judge(labeller=odd)
    assert found.prompts(1) == before


def test_a_corpus_that_is_not_there_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="There is no corpus"):
        package.corpus.open(tmp_path / "nope")
    with pytest.raises(TypeError, match="folder must be a path"):
        package.corpus.open(None)  # type: ignore[arg-type]


def test_the_caller_may_go_elsewhere(slide: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(slide.parent)
    found = package.open(slide.name)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    found.judge()
    assert all(path.is_file() for path in found.write())
    assert (slide / "out" / "scores.csv").is_file()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def same_cells(frame: pl.DataFrame, path: Path, measure: Any) -> None:
    """Every cell of a frame is that of a file, at full precision; ``measure`` names a measure of
    the file as the frame has it."""
    names, *lines = (line.split(",") for line in path.read_text().splitlines())
    assert set(names) <= set(frame.columns)
    assert len(frame) == len(lines) > 0
    for row, line in zip(frame.select(names).rows(), lines, strict=True):
        for name, ours, theirs in zip(names, row, line, strict=True):
            if name == "measure":
                assert ours == measure(theirs)
            elif isinstance(ours, float):
                assert ours == float(theirs), (row, name)
            else:
                assert ("" if ours is None else str(ours)) == theirs, (row, name)


def test_every_cell_is_that_of_the_files_under_several_protocols(ground: Path):
    found = package.open(ground)
    found.judge(labeller=ground_judge)
    found.write()
    for protocol in ALL:
        prefix = f"{protocol}: "
        own = pl.col("measure").str.starts_with(prefix)
        for frame, name in ((found.scores, "scores"), (found.per_topic, "per_topic")):
            path = ground / "out" / protocol / f"{name}.csv"
            same_cells(frame.filter(own), path, lambda theirs, prefix=prefix: prefix + theirs)


def test_a_folder_that_cannot_be_written_to_is_scored(slide: Path, monkeypatch: Any):
    found = package.open(slide)
    found.judge(labeller=Judge())
    found.write()
    out = slide / "out"
    for path in (slide, *slide.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = {path: path.stat().st_mtime_ns for path in slide.rglob("*")}
    try:
        again = package.open(slide, policy=found.policy, labeller=Judge())
        same_cells(again.scores, out / "scores.csv", str)
        same_cells(again.per_topic, out / "per_topic.csv", str)
        assert not again.labels.is_empty()
        assert {path: path.stat().st_mtime_ns for path in slide.rglob("*")} == before
    finally:
        for path in (slide, *slide.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_notebook_runs_nothing_that_files_hold(ground: Path):
    """Markup of names is shown, not acted on; names with controls are refused."""
    toml(ground, ["r2c2"])
    run = ground / "ac" / "ACX.txt"
    run = run.rename(run.with_name("<img src=x onerror=alert(1)>.txt"))
    found = package.open(ground)
    for html in (found._repr_html_(), found.judge(labeller=ground_judge) and found._repr_html_()):
        assert "&lt;img src=x onerror=alert(1)&gt;" in html
        assert "<img" not in html
    for control in "\x1b[31m", "\u202e":
        run = run.rename(run.with_name(f"{control}.txt"))
        with pytest.raises(FormatError) as caught:
            package.open(ground)
        assert control not in str(caught.value)


def test_a_labeller_of_ones_own_that_fails_is_told(slide: Path):
    def broken(task: str, unit: Mapping[str, Any]) -> Mapping[str, Any]:
        return {}[task]

    def silent(task: str, unit: Mapping[str, Any]) -> None:
        """Has nothing to say."""

    found = package.open(slide)
    with pytest.raises(LabellerFailed, match=r"broken raised KeyError: .r2c2"):
        found.judge(labeller=broken)
    with pytest.warns(UserWarning, match=r"gave no answer \(None\) to \d+ questions"):
        tally = found.judge(labeller=silent)
    assert tally.unanswered > 0
    assert not found.missing.is_empty()
    records = [{"claim": "a", "passage": "a"}]
    with pytest.warns(UserWarning, match=r"gave no answer \(None\) for 1 pair"):
        package.label("support", records, silent)


def test_what_is_no_setting_is_told(slide: Path):
    """A budget that is no number would stop nothing."""
    found = package.open(slide, labeller=Judge())
    with pytest.raises(SettingsError, match="it must be a number of US dollars"):
        found.judge(budget=float("nan"))
    with pytest.raises(SettingsError, match="is not valid"):
        found.judge(shard=2)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="There is no policy '3'"):
        package.open(slide, policy=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the frame has no column 'label'"):
        package.agree(found.labels, found.labels)


def test_a_file_that_is_no_evaluation_is_told(tmp_path: Path, assay: Assay):
    (tmp_path / "a.py").write_text("x = 1\n")
    with pytest.raises(SettingsError, match=r"a\.py is not an evaluation: give a folder"):
        package.open(tmp_path / "a.py")
    assert "is not an evaluation" in assay("score", tmp_path / "a.py").stderr


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("budget", "1", "a number of US dollars"),
        ("budget", True, "a number of US dollars"),
        ("on", 1, "'ray' or 'ray:ADDRESS'"),
        ("progress", "x", "True, False or a Progress"),
    ],
)
def test_arguments_of_another_kind_are_told_by_their_names(
    slide: Path, name: str, given: Any, says: str
):
    found = package.open(slide)
    wanted = f"{name} must be {says}"
    for call in (found.judge, partial(package.evaluate, slide)):
        with pytest.raises(TypeError, match=re.escape(wanted)):
            call(**{name: given})
    assert not found.folder.joinpath("labels.sqlite").exists(), "nothing was begun"


def test_every_function_tells_its_arguments_by_their_names(slide: Path):
    found = package.open(slide)
    pairs = [{"claim": "A film.", "passage": "It is a film."}]
    support = partial(package.label, "support", pairs, lambda _task, _unit: {"support": "full"})
    answered = partial(package.answer, {"1": "who?"}, model="m")
    retrieved = partial(package.retrieve, "none", {"1": "who?"})
    scored = {"A": {"1": 1.0, "2": 0.5}, "B": {"1": 0.5, "2": 0.2}}
    judged = {"1": {"d": 1}}
    for name, given, call in (
        ("count", "x", found.prompts),
        ("count", 1.5, found.prompts),
        ("ledger", 1, lambda given: support(ledger=given)),
        ("budget", "1", lambda given: support(budget=given)),
        ("price", "1/2", lambda given: support(price=given)),
        ("price", (1, None), lambda given: support(price=given)),
        ("progress", 1, lambda given: support(progress=given)),
        ("pr_runs", 1, lambda given: answered(pr_runs=given)),
        ("output", 1, lambda given: answered(output=given)),
        ("price", 1, lambda given: answered(price=given)),
        ("budget", "1", lambda given: answered(budget=given)),
        ("topics", 1, lambda given: package.answer(given, model="m")),
        ("index", 1, lambda given: package.retrieve(given, {"1": "who?"})),
        ("k", "1", lambda given: retrieved(k=given)),
        ("topic 1", None, lambda given: package.retrieve("none", {"1": given})),
        ("topic 1", 5, lambda given: package.answer({"1": given}, model="m")),
        ("words", "x", lambda given: package.corpus.build("a", "b", words=given)),
        ("overlap", "x", lambda given: package.corpus.build("a", "b", overlap=given)),
        ("source", None, lambda given: package.corpus.build(given, "b")),
        ("budget", "1", lambda given: retrieved(budget=given)),
        ("path", 1, package.read_run),
        ("path", 1, package.read_qrels),
        ("g_max", "3", lambda given: package.measure(judged, {"A": judged}, g_max=given)),
        ("scores", 1, package.compare),
        ("measures", 1, lambda given: package.compare(scored, given)),
        ("alpha", "1", lambda given: package.compare(scored, alpha=given)),
        ("a", 1, lambda given: package.correlate(given, scored)),
        ("b", 1, lambda given: package.correlate(scored, given)),
        ("score", ("x",), lambda given: package.correlate(scored, scored, score=given)),
    ):
        with pytest.raises(TypeError, match=rf"^{name} must be ") as caught:
            call(given)
        assert repr(given)[:20] in str(caught.value)
    with pytest.raises(SettingsError, match=r"There is no policy '\[\]'"):
        package.open(slide, policy=[])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="count must be how many prompts"):
        found.prompts(-1)
    assert package.compare(scored, []).height == 1, "all measures"


def test_neither_a_ledger_nor_an_input_is_written_over(slide: Path, assay: Assay):
    ev = package.open(slide)
    ev.judge()
    made_of = [slide / "labels.sqlite", slide / "assay.toml", *sorted((slide / "ac").iterdir())]
    before = [path.read_bytes() for path in made_of]
    for path in made_of:
        with pytest.raises(SettingsError, match=r"never overwritten\. Name another"):
            ev.report(path)
    asking = ("--labeller", "openai:m@http://127.0.0.1:9/v1", "--export-batch")
    for command in (("labels", "export", slide, "-o"), ("judge", slide, *asking)):
        for path in made_of:
            done = assay(*command, path)
            assert (done.returncode, "another file" in done.stderr) == (2, True)
    assert [path.read_bytes() for path in made_of] == before


def test_pipes_and_devices_are_written_to_not_replaced(slide: Path, tmp_path: Path):
    ev = package.open(slide)
    ev.judge()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as beside:
        read = beside.submit(pipe.read_bytes)
        ev.report(pipe)
        assert read.result(60).startswith(b"<!DOCTYPE html>")
        assert pipe.is_fifo()
        out, into = os.pipe()  # without a name
        with open(out, "rb") as file:
            read = beside.submit(file.read)
            done = run_here("labels", "export", slide, "-o", f"/dev/fd/{into}")
            os.close(into)
            assert (done.returncode, read.result(60)[:7]) == (0, b'{"uid":')
    with (tmp_path / "out.txt").open("wb") as file:
        done = run_here("labels", "export", slide, "-o", f"/dev/fd/{file.fileno()}")
    assert (done.returncode, "Name the file itself" in done.stderr) == (2, True)


def test_files_that_changed_since_they_were_read_are_not_said_to_have_been_scored(
    tmp_path: Path,
) -> None:
    folder = copy_example("exam", tmp_path / "exam")
    ev = package.evaluate(folder, labeller="recorded:recorded.jsonl")
    before, bank = tree(folder / "out"), folder / "bank.jsonl"
    said = bank.read_bytes()
    bank.write_bytes(said + b"\n")
    with pytest.raises(FormatError, match=r"bank\.jsonl The file changed after it was"):
        ev.write()
    bank.unlink()
    with pytest.raises(FormatError, match="open the folder again"):
        ev.write()
    assert tree(folder / "out") == before
    bank.write_bytes(said)
    assert package.open(folder, labeller="recorded:recorded.jsonl").write()


def test_a_copy_opens_the_folder_anew(slide: Path) -> None:
    found = package.open(slide, labeller="rules", policy="machine", trust=[slide.parent])
    again = pickle.loads(pickle.dumps(found))
    assert (again.folder, again.policy) == (slide, "machine")
    package.open(slide).judge()
    found = copy.deepcopy(package.open(slide))
    assert found.missing.is_empty()
    found.judge(labeller=Judge())
    assert pickle.loads(pickle.dumps(found)).labels.equals(found.labels)


def test_a_folder_that_is_gone_is_told_and_not_made_anew(slide: Path) -> None:
    found = package.evaluate(slide)
    slide.rename(slide.with_name("elsewhere"))
    for look in (lambda: found.scores, found.report, found._repr_html_):
        with pytest.raises(SettingsError, match="no longer exists"):
            look()
    assert not slide.exists()


def test_a_notebook_tells_what_is_alike_once_and_whose_labels_count(tmp_path: Path) -> None:
    folder = copy_example("exam", tmp_path / "exam")
    for number in range(5):
        (folder / "runs" / f"{number}.run").write_text(f"b Q0 bees-a 1 9 R{number}\n")
    found = package.open(folder, labeller="recorded:recorded.jsonl")
    found.judge()
    html = found._repr_html_()
    assert "<p>Based on: judge alone, never checked here.</p>" in html
    assert html.count("not in the bank") == 2
    assert (
        "R0: 1 query not in the bank, and not scored (the first is b). (see remarks for all.)"
        in html
    )
    assert len(found.remarks) == 5


def test_nothing_is_left_open(ground: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = package.open(ground)
        found.judge(labeller=ground_judge)
        assert found.units.height
        del found
        gc.collect()
