"""``out/`` holds the results of one policy, and nothing of an evaluation before it."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import unicodedata
from pathlib import Path

import pytest

from assay.labellers import rules
from assay.protocols.output import file_name, write_bytes
from tests.conftest import ROOT, copy_example


@pytest.fixture
def example(tmp_path: Path):
    """Copies an example, which has its recorded labels where it comes with some."""
    return lambda name: copy_example(name, tmp_path / name, recorded=True)


def files(out: Path) -> dict[str, bytes]:
    return {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()}


def set_policy(folder: Path, policy: str) -> None:
    """Give the example's own ``[settings] policy``."""
    text = (folder / "assay.toml").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("policy =")]
    if "[settings]" not in lines:
        lines.append("[settings]")
    lines.insert(lines.index("[settings]") + 1, f'policy = "{policy}"')
    (folder / "assay.toml").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("name", ["slide", "trec-rag", "exam", "sgss"])
def test_another_policy_has_a_folder_of_its_own(example, assay, name):
    folder = example(name)
    assert assay("evaluate", folder).returncode in (0, 1)
    before = files(folder / "out")
    done = assay("evaluate", folder, "--policy", "machine")
    assert f"Report: {folder}/out/machine/report.html" in done.stdout
    apart = files(folder / "out" / "machine")
    assert apart.keys() >= {"scores.csv", "labels.jsonl", "manifest.json", "report.html"}
    assert json.loads(apart["manifest.json"])["policy"] == "machine"
    assert "out/machine/scores.csv" in apart["report.html"].decode()
    for path in apart:
        (folder / "out" / "machine" / path).unlink()
    shown = assay("score", folder, "--policy", "machine", "--json")
    listed = json.loads(shown.stdout)["files"]
    assert {Path(one).parents[0] for one in listed if one.endswith(".csv")} == {
        folder / "out" / "machine"
    }
    assert assay("report", folder, "--policy", "machine").returncode in (0, 1)
    assert files(folder / "out" / "machine") == apart
    shutil.rmtree(folder / "out" / "machine")
    assert files(folder / "out") == before
    # The folder's own policy, given by name, is no other one.
    assert assay("score", folder, "--policy", "people").returncode in (0, 1)
    assert files(folder / "out") == before


@pytest.mark.parametrize("command", ["score", "report", "evaluate"])
def test_a_changed_policy_of_the_folder_leaves_nothing_of_the_one_before(example, assay, command):
    folder = example("slide")
    with (folder / "assay.toml").open("a") as file:
        file.write("[settings]\nrelevance_check = false\n")
    assert assay("evaluate", folder).returncode == 0
    out = folder / "out"
    (out / "my notes.txt").write_text("mine")
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["outputs"] |= {"relevance.csv": None, "../assay.toml": None, "gone/old.csv": None}
    (out / "manifest.json").write_text(json.dumps(manifest))
    (out / "relevance.csv").write_text("of an evaluation before")
    set_policy(folder, "machine")
    assert assay(command, folder).returncode == 0
    assert not (out / "relevance.csv").exists()
    assert (out / "my notes.txt").read_text() == "mine"
    assert (folder / "assay.toml").exists()
    assert json.loads((out / "manifest.json").read_text())["policy"] == "machine"
    report = out / "report.html"
    assert report.exists() == (command != "score")
    if report.exists():
        assert "only the machine’s labels count" in report.read_text()


def test_files_of_a_run_that_is_gone_go_unless_a_person_changed_them(example, assay):
    folder = example("slide")
    for name in ("GONE", "EDITED"):
        text = (folder / "ac" / "SLIDE.txt").read_text()
        (folder / "ac" / f"{name}.txt").write_text(text)
    assert assay("evaluate", folder).returncode == 0
    marked = folder / "out" / "marked"
    (marked / "EDITED.txt").write_text("by hand")
    for name in ("GONE", "EDITED"):
        (folder / "ac" / f"{name}.txt").unlink()
    assert assay("score", folder).returncode == 0
    assert sorted(path.name for path in marked.iterdir()) == ["EDITED.txt", "SLIDE.txt"]


def test_policies_of_several_protocols(assay, tmp_path):
    """What is apart is apart as a whole: the page over all protocols links the right reports."""
    shutil.copy(ROOT / "tests" / "cli" / "test_several_protocols.py", tmp_path / "source.py")
    (tmp_path / "mine.py").write_text((tmp_path / "source.py").read_text().split('"""')[3])
    folder = tmp_path / "folder"
    folder.mkdir()
    toml = (
        '[evaluation]\nprotocol = ["mine:ONE", "mine:TWO"]\n[inputs]\n'
        '[labellers]\ndefault = "mine:judge"\n[settings."mine:ONE"]\npolicy = "people"\n'
    )
    (folder / "assay.toml").write_text(toml)
    env = {"PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"}
    assert assay("evaluate", folder, env=env).returncode == 0
    before = files(folder / "out")
    assert set(before) >= {"manifest.json", "report.html", "agreement.csv"}
    assert {"mine_ONE/scores.csv", "mine_TWO/report.html"} <= set(before)
    done = assay("evaluate", folder, "--policy", "machine", env=env)
    assert f"Report: {folder}/out/machine/report.html" in done.stdout
    assert files(folder / "out" / "machine").keys() == before.keys()
    assert "./mine_TWO/report.html" in (folder / "out" / "machine" / "report.html").read_text()
    shutil.rmtree(folder / "out" / "machine")
    assert files(folder / "out") == before

    # One of them has this policy, the other not: both stand apart.
    (folder / "assay.toml").write_text(toml.replace('"people"', '"machine"'))
    assert assay("score", folder, "--policy", "machine", env=env).returncode == 0
    apart = set(files(folder / "out" / "machine"))
    assert {"mine_ONE/scores.csv", "mine_TWO/scores.csv", "agreement.csv"} <= apart

    # One protocol instead of two: what the others left is named by the manifest, and goes.
    shutil.rmtree(folder / "out" / "machine")
    (folder / "assay.toml").write_text(
        '[evaluation]\nprotocol = "mine:ONE"\n[inputs]\n[labellers]\ndefault = "mine:judge"\n'
    )
    assert assay("evaluate", folder, env=env).returncode == 0
    assert set(files(folder / "out")) == {
        "scores.csv", "per_topic.csv", "labels.jsonl", "manifest.json", "report.html"
    }  # fmt: skip


def test_results_are_for_whom_the_umask_lets_read_them(tmp_path):
    before = os.umask(0o027)
    try:
        write_bytes(tmp_path / "labels.jsonl", b"{}")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "labels.jsonl").stat().st_mode) == 0o640
    assert [one.name for one in tmp_path.iterdir()] == ["labels.jsonl"]


def test_names_of_policies_are_safe_names_of_folders():
    assert file_name("only:human:KIM") == "only-human-KIM"
    assert file_name("only:../../etc/x y") == "only-..-..-etc-x-y"
    assert file_name("..") == "-."
    assert file_name("only:human:金") == "only-human-金"
    assert file_name(unicodedata.normalize("NFD", "équipe が")) == "équipe-が"
    assert file_name("हिन्दी") == "हिन्दी"
    long = file_name("only:openai:" + "ü" * 200)
    assert len(long.encode()) <= 120
    assert long != file_name("only:openai:" + "ü" * 201)


def test_scoring_says_whether_files_are_as_before_and_what_changed(example, assay):
    folder = example("slide")
    assert "•" not in assay("evaluate", folder).stdout
    (run,) = (folder / "ac").iterdir()
    run.write_bytes(run.read_bytes().replace(b"\n", b"\r\n"))  # as git may write it
    scores = (folder / "out" / "scores.csv").read_bytes()

    def said() -> str:
        done = assay("score", folder)
        assert done.returncode == 0, done.stderr
        return " ".join(done.stdout.split()).partition("• ")[2]

    changed = f"What changed: inputs ac/{run.name}."
    assert said() == f"1 file not as before: marked/{run.name}. {changed}"
    assert (folder / "out" / "scores.csv").read_bytes() == scores
    assert said() == "as before, to the last byte."
    run.write_bytes(run.read_bytes().replace(b";90", b";91"))
    toml = folder / "assay.toml"
    toml.write_text(toml.read_text() + "\n[settings]\nlevel = 0.9\n")
    assert said().endswith(f"What changed: settings level, inputs ac/{run.name}.")
    manifest = folder / "out" / "manifest.json"
    manifest.write_text(re.sub(r'("scores.csv": ")\w', r"\1-", manifest.read_text()))
    assert said().endswith("What changed: no input or setting: perhaps Python or a package.")


def test_results_give_way_to_no_labeller_who_was_not_asked_yet(example, assay, monkeypatch):
    """A later judge, or another one, would leave ranges in the place of scores."""
    folder = example("slide")
    assay("evaluate", folder)
    assay("labels", "export", folder, "--task", "entailment", "-o", folder / "said.jsonl")
    one = json.loads((folder / "said.jsonl").read_text().splitlines()[0])
    said = {key: one[key] for key in ("task", "unit", "verdict")}
    (folder / "said.jsonl").write_text(json.dumps(said))
    assay("labels", "import", folder, folder / "said.jsonl", "--by", "human:KIM")
    assay("score", folder)
    before = files(folder / "out")
    (folder / "none.jsonl").write_text("")
    done = assay("report", folder, "--labeller", "recorded:none.jsonl")
    assert (done.returncode, files(folder / "out")) == (2, before)
    assert "If they were made with --labeller, give that again" in done.stderr
    monkeypatch.setattr(rules, "VERSION", 99)
    done = assay("score", folder)
    assert (done.returncode, files(folder / "out")) == (2, before)
    assert "of rules; rules as it is now has not been asked yet" in done.stderr
    assay("labels", "export", folder, "-o", folder / "all.jsonl")  # as the message says
    assert assay("evaluate", folder, "--labeller", "recorded:all.jsonl").returncode == 0
    assert files(folder / "out")["scores.csv"] == before["scores.csv"]
    assert assay("evaluate", folder).returncode == 0
