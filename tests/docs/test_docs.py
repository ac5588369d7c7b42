"""What the documentation says is so: its commands run, its output is what they print."""

from __future__ import annotations

import doctest
import importlib.util
import re
import runpy
import shlex
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from assay.model.version import __version__
from tests.command import Done, run_here, without_keys
from tests.conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def examples(page: Path) -> list[tuple[str, str]]:
    """Each ``$ command`` of the page's console blocks with the output shown below it."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output.strip("\n")))
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples, that of the films judged, and ``FOLDER``: the slide example,
    evaluated."""
    folder = tmp_path_factory.mktemp("made")
    ignore = shutil.ignore_patterns("out", "labels.sqlite*")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=ignore)
    shutil.copytree(folder / "examples" / "slide", folder / "FOLDER")
    run("assay evaluate FOLDER", folder)
    run("assay judge examples/films", folder)
    return folder


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(made, tmp_path / "place"))


def run(command: str, folder: Path) -> Done:
    words = shlex.split(command)
    assert words[0] == "assay", command
    env = {**without_keys(), "COLUMNS": "80", "NO_COLOR": "1"}
    return run_here(*words[1:], cwd=folder, env=env)


@pytest.mark.parametrize("page", [*filter(examples, PAGES)], ids=lambda page: page.name)
def test_the_commands_of_a_page_run_and_print_what_it_shows(page: Path, place: Path):
    for command, output in examples(page):
        done = run(command, place)
        assert done.returncode in (0, 1), f"{command}\n{done.stderr}"
        if output:
            shown = "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip("\n")
            wanted = "\n".join(line.rstrip() for line in output.splitlines())
            if "…\n" in wanted:  # a part of it is shown
                assert wanted.strip("…\n") in shown, command
            else:
                assert shown == wanted, command


def test_the_pages_have_examples_at_all():
    assert sum(len(examples(page)) for page in PAGES) >= 6


def test_the_command_line_page_is_what_help_says():
    locked = re.search(r"^typer==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    if locked is None or version("typer") != locked[1]:
        pytest.skip("the page is what the typer of the lock prints")
    page = runpy.run_path(str(ROOT / "docs" / "make_cli.py"))["page"]
    made = (ROOT / "docs" / "cli.md").read_text()
    assert made == page(), "run: python docs/make_cli.py"


def test_the_changes_begin_with_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    said = re.search(r"^## (\S+) \((?:unreleased|\d{4}-\d\d-\d\d)\)$", text, re.MULTILINE)
    assert said
    assert said[1] == __version__


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_example_of_ranges_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]):
    text = (ROOT / "docs/ranges.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    exec(code, {})
    assert capsys.readouterr().out.strip() == re.search(r"# (.*)", code)[1]


@pytest.mark.parametrize("name", ["corrected.md", "label.md", "python.md"])
def test_the_python_of_a_page_gives_what_it_shows(
    name: str, place: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(place)
    failed, tried = doctest.testfile(
        str(ROOT / "docs" / name), module_relative=False, encoding="utf-8"
    )
    assert tried
    assert not failed


def test_duckdb_reads_labels_as_the_page_says(place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(place)
    run("assay labels export FOLDER -o labels --parquet", place)
    page = str(ROOT / "docs" / "ledger.md")
    failed, tried = doctest.testfile(page, module_relative=False, encoding="utf-8")
    assert tried
    assert not failed


def test_the_rooms_that_the_architecture_names_are_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = set(re.findall(r"`(assay(?:\.[a-z0-9_]+)+)", text)) - {"assay.measure"}
    assert len(named) > 30
    for name in named:
        assert importlib.util.find_spec(name) is not None, name


def test_the_recipes_log_numbers_under_names_that_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run("assay init FOLDER --protocol rag", tmp_path)
    run("assay evaluate FOLDER", tmp_path)
    scores = tmp_path / "FOLDER" / "out" / "scores.csv"
    more = "main,nDCG(g=1)@20,,,,2,1,0.25,0.75\nmain,AP,0.5,0.25,0.75,2,0,0.5,0.5\n"
    scores.write_text(scores.read_text() + more)
    text = (ROOT / "docs/elsewhere.md").read_text()
    code: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        exec(block, code)
    mlflow, wandb = MagicMock(), MagicMock()
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    code["to_mlflow"](tmp_path / "FOLDER")
    code["to_wandb"](tmp_path / "FOLDER", "mine")
    (metrics,) = mlflow.log_metrics.call_args.args
    assert metrics["Faithfulness"] == 1.0
    assert "Faithfulness/low" not in metrics  # of one topic
    assert (metrics["AP/low"], metrics["AP/high"]) == (0.25, 0.75)
    assert metrics["nDCG_g_1__at_20/floor"] == 0.25
    assert "nDCG_g_1__at_20" not in metrics
    assert all(re.fullmatch(r"[\w. /-]+", name) for name in metrics)
    assert all(Path(one.args[0]).is_file() for one in mlflow.log_artifact.call_args_list)
    assert wandb.init.call_args.kwargs["name"] == "main"
    wandb.init().__enter__().summary.update.assert_called_with(metrics)
