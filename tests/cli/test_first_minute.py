"""The first minute: a folder that evaluates at once, and what comes next."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from assay.ledger import claims
from assay.ledger.ledger import Ledger
from assay.protocols.registry import OWN
from tests.conftest import Assay


@pytest.mark.parametrize("protocol", OWN)
def test_a_new_folder_evaluates_at_once(protocol: str, tmp_path: Path, assay: Assay):
    place = tmp_path / "eval"
    done = assay("init", place, "--protocol", protocol)
    assert done.returncode == 0, done.stderr
    text = (place / "assay.toml").read_text()
    assert f'protocol = "{protocol}"' in text
    assert "# seed = 20251210" in text
    files = [path for path in place.rglob("*") if path.suffix in (".jsonl", ".tsv", ".txt")]
    known = [path for path in files if path.name != "passages.jsonl"]
    checked = assay("validate", *known)
    assert (checked.returncode, "querie," in checked.stdout) == (0, False), checked.stdout
    if protocol == "battles":  # which takes a language model, or people
        assert "cannot do battles.battle" in " ".join(done.stdout.split())
        assert f"assay ui {place}"[:30] in done.stdout
        done = assay("judge", place, "--dry-run", "--labeller", "openai:m@http://127.0.0.1:9/v1")
        assert (done.returncode, "battles" in done.stdout) == (0, True), done.stderr
        return
    done = assay("evaluate", place)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (place / "out" / "report.html").exists()
    # What is commented out is what holds: with all of it the settings are the same.
    plain = text.replace("# seed", "seed").replace("# level", "level")
    (place / "assay.toml").write_text(plain)
    assert assay("score", place).returncode == 0
    assert assay("init", place, "--protocol", protocol).returncode == 2


def test_the_baseline_that_comes_next_names_a_run_of_several(tmp_path: Path, assay: Assay):
    assay("init", tmp_path, "--protocol", "sgss")
    assay("evaluate", tmp_path)
    next_ = [one for one, _ in json.loads(assay("status", tmp_path, "--json").stdout)["next"]]
    (saving,) = (one for one in next_ if "--save" in one)
    assert assay(*shlex.split(saving)[1:]).returncode == 0
    assert (tmp_path / "baseline.json").is_file()  # in the folder, from wherever
    next_ = [one for one, _ in json.loads(assay("status", tmp_path, "--json").stdout)["next"]]
    (gate,) = (one for one in next_ if one.startswith("assay gate"))
    assert gate.endswith(f"--baseline {tmp_path / 'baseline.json'}")


def test_a_ledger_that_cannot_be_used_says_itself_what_to_do(
    tmp_path: Path, assay: Assay, monkeypatch: pytest.MonkeyPatch
):
    assay("init", tmp_path, "--protocol", "sgss")
    assay("judge", tmp_path)
    with Ledger.open(tmp_path / "labels.sqlite"):
        monkeypatch.setattr(claims, "_machine", lambda: "another")
        found = json.loads(assay("status", tmp_path, "--json").stdout)
    assert "is in use on another machine" in found["lacks"][0]
    assert found["next"] == []


def test_what_is_there_is_not_overwritten(tmp_path: Path, assay: Assay):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "main.jsonl").write_text("mine")
    done = assay("init", tmp_path, "--protocol", "rag", "--labeller", "openai:m@http://x/v1")
    assert done.returncode == 0
    assert (tmp_path / "runs" / "main.jsonl").read_text() == "mine"
    assert 'default = "openai:m@http://x/v1"' in (tmp_path / "assay.toml").read_text()


def test_assay_alone_says_what_comes_next(tmp_path: Path, assay: Assay):
    place = tmp_path / "eval"
    assay("init", place, "--protocol", "rag")
    done = assay(cwd=place)
    assert done.returncode == 1
    assert "Missing: about 7 labels to ask" in done.stdout
    assert "assay evaluate ." in done.stdout
    assert not (place / "labels.sqlite").exists()  # nothing is written
    assay("judge", place)
    found = json.loads(assay("status", place, "--json").stdout)
    assert found["lacks"] == []
    assert found["next"][0][0].startswith("assay report")
    assay("report", place)
    assert "assay gate . --save baseline.json" in assay(cwd=place, env={"COLUMNS": "80"}).stdout
    scores = place / "out" / "scores.csv"
    scores.unlink()
    os.mkfifo(scores)  # nobody writes to it, and nobody waits
    assert "assay gate . --save baseline.json" in assay(cwd=place, env={"COLUMNS": "80"}).stdout
    (place / "runs" / "main.jsonl").write_text("{")
    done = assay(cwd=place)
    assert done.returncode == 1
    assert "assay judge . --dry-run" in done.stdout
    (place / "assay.toml").write_text("[evaluation]")
    assert assay(cwd=place).returncode == 2


def test_elsewhere_assay_alone_is_its_help(tmp_path: Path, assay: Assay):
    done = assay(cwd=tmp_path)
    assert done.returncode == 0
    assert "Usage: assay" in done.stdout
    done = assay("score", tmp_path)
    assert f"assay init {tmp_path} --protocol rag" in done.stderr


def test_a_misspelt_command_is_guessed(assay: Assay):
    done = assay("evalute", "x")
    assert (done.returncode, "Did you mean 'evaluate'?" in done.stderr) == (2, True)


def test_the_shell_completes_commands_and_options(assay: Assay):
    def complete(words: str, at: int) -> set[str]:
        env = {"_ASSAY_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(at)}
        return set(assay(env=env).stdout.split())

    assert complete("assay ga", 1) == {"gate"}
    assert {"--no-worse"} <= complete("assay gate --no", 2)


def test_without_a_protocol_the_protocols_are_named(tmp_path: Path, assay: Assay):
    done = assay("init", tmp_path / "new")
    assert done.returncode == 2
    assert all(f"--protocol {name}" in done.stderr for name in OWN)
    assert not (tmp_path / "new").exists()


def test_within_a_folder_its_name_is_said(tmp_path: Path, assay: Assay):
    assert "pass '.' as its name" not in assay("evaluate", cwd=tmp_path).stderr
    assay("init", tmp_path, "--protocol", "rag")
    done = assay("evaluate", cwd=tmp_path)
    assert (done.returncode, "pass '.' as its name" in done.stderr) == (2, True)
    assert "pass '.' as its name" not in assay("labels", "show", ".", cwd=tmp_path).stderr


@pytest.mark.parametrize("protocol", OWN)
def test_every_input_that_is_misspelt_is_told(protocol: str, tmp_path: Path, assay: Assay):
    assay("init", tmp_path, "--protocol", protocol)
    file = tmp_path / "assay.toml"
    right = file.read_text()
    assert f"{tmp_path}" not in assay("doctor", tmp_path).stderr
    file.write_text(right.replace("[inputs]", '[inputs]\nrunss = "a"\nqestions = "b"', 1))
    for command in ("score", "judge"):
        done = assay(command, tmp_path)
        assert done.returncode == 2
        assert "runss: no such entry; " in done.stderr
        assert "qestions: no such entry; " in done.stderr


def test_inputs_of_other_protocols_may_stand_in_a_folder(tmp_path: Path, assay: Assay):
    assay("init", tmp_path, "--protocol", "exam")
    file = tmp_path / "assay.toml"
    file.write_text(file.read_text().replace("[inputs]", '[inputs]\npr_runs = "none"', 1))
    assert assay("evaluate", tmp_path).returncode == 0
    file.write_text(file.read_text().replace("pr_runs", "pr_run"))
    assert "pr_run: no such entry; did you mean runs?" in assay("score", tmp_path).stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('protocol = "rag"', "protocol: no such entry here; it belongs in [evaluation]"),
        ('[evaluation]\ntilte = "x"', "evaluation.tilte: no such entry; did you mean title?"),
        ("[judgin]\nbudget = 1", "judgin: no such entry; did you mean judging?"),
        ("[audits]", "audits: no such entry; did you mean audit?"),
        ("[colours]", "colours: no such entry; there are audit, ensembles, evaluation, gate"),
        ("[ensembles.a]\nmember = []", "ensembles.a.member: no such entry"),
        ("", "evaluation: missing"),
    ],
)
def test_what_may_be_meant_is_said(text: str, told: str, tmp_path: Path, assay: Assay):
    (tmp_path / "assay.toml").write_text(text)
    done = assay("status", tmp_path)
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr


def test_many_wrong_entries_are_told_in_part_and_at_once(tmp_path: Path, assay: Assay):
    many = "".join(f"n{n} = 'x'\n" for n in range(20_000))
    (tmp_path / "assay.toml").write_text(many + "[evaluation]\nprotocol = 'rag'\n[inputs]\n")
    done = assay("status", tmp_path)
    assert (done.returncode, len(done.stderr) < 20_000) == (2, True)
    assert "and 19,900 more" in done.stderr
    (tmp_path / "assay.toml").write_text("[evaluation]\nprotocol = 'rag'\n[inputs]\n" + many)
    assert len(assay("score", tmp_path).stderr) < 20_000
