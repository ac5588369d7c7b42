"""How long work tells that it goes on: lines in a pipe, a line written over on a terminal."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path

import orjson
import pytest
from rich.console import Console

from assay.api import telling
from assay.api.telling import ProgressLines
from assay.cli import judging
from assay.cli.judging import JudgingBar
from assay.labellers.base import Outcome
from assay.model.labels import Status
from assay.model.progress import with_progress
from assay.reports.general import render_folder
from tests.command import run_here
from tests.conftest import Assay


class Clock:
    """Seconds as a test has them go by."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(telling, "time", made)
    monkeypatch.setattr(judging, "time", made)
    return made


def told(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_who_judges_without_locks_is_told(monkeypatch, capsys):
    monkeypatch.setattr(judging, "NO_LOCKS_WARNING", "start no second one")
    judging.judging_bar()
    assert told(capsys) == ["Note: start no second one"]


def test_judging_says_its_rate_what_is_left_and_the_cost(clock, capsys):
    lines = ProgressLines()
    lines.begin("support", 420, 100)
    for _ in range(60):
        clock.now += 0.125
        lines.step(Outcome(Status.OK, cost=0.001))
    assert told(capsys) == [
        "support: 320 to ask, 100 known",
        "support: 40/320, 8.0/s, 35 seconds left, $0.0400",
    ]


def test_work_that_is_done_at_once_says_nothing(clock, capsys):
    lines = ProgressLines()
    for done in range(5):
        clock.now += 0.5
        lines.at("pages", done, (done + 1) / 5)
    assert told(capsys) == []


def test_what_was_there_before_counts_for_no_rate(clock, capsys):
    lines = ProgressLines()
    lines.at("vectors", 900, 0.9)
    clock.now += 10
    lines.at("vectors", 950, 0.95)
    clock.now += 10
    lines.at("vectors", 1000, 1.0)
    assert told(capsys) == [
        "vectors: 950, 95%, 5.0/s, 10 seconds left",
        "vectors: 1,000, 100%, 5.0/s",
    ]


def test_where_nobody_knows_how_much_there_is_nothing_is_said_to_be_left(clock, capsys):
    lines = ProgressLines()
    for _ in with_progress(range(1200), "passages", None, lines.at):
        clock.now += 1 / 64
    assert told(capsys) == ["passages: 1,000, 64/s", "passages: 1,200, 100%, 64/s"]


def test_one_work_after_the_other_begins_anew(clock, capsys):
    lines = ProgressLines()
    lines.at("texts", 1, 0.5)
    clock.now += 6
    lines.at("labels", 0, 0.0)
    clock.now += 6
    lines.at("labels", 3, 0.25)
    assert told(capsys) == ["labels: 3, 25%, 0.5/s, 18 seconds left"]


def screen(monkeypatch: pytest.MonkeyPatch, width: int = 80, term: str = "xterm") -> io.StringIO:
    monkeypatch.setenv("TERM", term)
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=width, highlight=False)
    monkeypatch.setattr(judging, "err", lambda: console)
    return file


def test_on_a_terminal_one_line_is_written_over(clock, monkeypatch):
    file = screen(monkeypatch)
    with judging.going() as shown:
        assert isinstance(shown, JudgingBar)
        shown.at("passages indexed", 0, 0.0)
        clock.now += 0.5
        shown.at("passages indexed", 500, 0.05)
        assert shown._bar is not None
        shown._bar.refresh()
        assert "indexed" not in file.getvalue()  # it may be done in a moment
        clock.now += 1.5
        shown.at("passages indexed", 2000, 0.2)
        shown._bar.refresh()
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue())
    shown_lines = [part for part in re.split(r"[\r\n]+", plain) if part.strip()]
    assert shown_lines[0].startswith("passages indexed ")
    assert "2,000, 20%, 1,000/s, 8 seconds left" in shown_lines[0]
    assert max(map(len, shown_lines)) <= 80


def test_on_a_terminal_for_a_screen_reader_lines_follow_each_other(clock, monkeypatch, capsys):
    file = screen(monkeypatch, term="dumb")
    with judging.going() as shown:
        shown.begin("support", 320, 0)
        clock.now += 6
        shown.step(None)
    assert told(capsys)[0] == "support: 320 to ask, 0 known"
    assert file.getvalue() == ""


def test_a_long_title_leaves_a_line_one_line(clock, monkeypatch):
    file = screen(monkeypatch, 60)
    with judging.going() as shown:
        shown.begin("support by openai:a-model-with-a-long-name-of-its-own-that-goes-on", 9, 0)
        clock.now += 2
        shown.step(Outcome(Status.OK, cost=0.5))
        assert shown._bar is not None
        shown._bar.refresh()
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue())
    assert max(map(len, re.split(r"[\r\n]+", plain))) <= 60


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders and a corpus that commands work on, which nobody changes."""
    place = tmp_path_factory.mktemp("made")
    run_here("init", place / "eval", "--protocol", "rag")
    run_here("judge", place / "eval")
    run_here("init", place / "other", "--protocol", "rag")
    rows = [{"id": f"d{n}", "title": f"t{n}", "text": f"text of {n}"} for n in range(1200)]
    (place / "docs.jsonl").write_bytes(b"\n".join(map(orjson.dumps, rows)))
    run_here("corpus", "build", place / "docs.jsonl", place / "corpus", "--processes", 1)
    return place


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of them."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


COMMANDS = {
    "passages made": ("corpus", "build", "docs.jsonl", "made", "--processes", 1),
    "passages indexed": ("index", "build", "corpus", "index"),
    "labels copied": ("labels", "copy", "eval", "copy.sqlite"),
    "labels merged": ("labels", "merge", "other", "eval"),
    "labels checked": ("report", "eval"),
    "scores": ("score", "eval"),
    "report.html": ("evaluate", "eval"),
    "pages of report.html": ("report", "eval"),
}


@pytest.mark.parametrize("what", COMMANDS)
def test_commands_tell_how_they_go_on_unless_they_are_to_be_quiet(
    what: str, folder: Path, assay: Assay, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(telling, "_EVERY", -1.0)  # as if all took long
    monkeypatch.setattr("assay.model.progress._EVERY", 1)
    monkeypatch.setattr(render_folder, "__kwdefaults__", {"most": 0})  # a folder of pages
    command = COMMANDS[what]
    loud = assay(*command, cwd=folder)
    lines = [line for line in loud.stderr.splitlines() if line.startswith(what)]
    assert lines, loud.stderr
    if what not in ("scores", "report.html"):
        assert "100%" in lines[-1]
    for name in ("made", "index"):
        if (folder / name).is_dir():
            (folder / name).rename(folder / f"{name}-before")
    quiet = assay("--quiet", *command, cwd=folder)
    assert quiet.returncode == loud.returncode
    assert not any(line.startswith(what) for line in quiet.stderr.splitlines())
