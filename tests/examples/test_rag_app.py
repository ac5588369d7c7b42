"""The example of an application: its change for the worse does not get past the gate."""

from __future__ import annotations

import runpy
import shutil
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, Assay

SOME = ["q01", "q03", "q04", "q05", "q09", "q10", "q12", "q16", "q18", "q20", "q22", "q25", "q26"]


def test_the_gate_catches_the_change_for_the_worse(
    tmp_path: Path, assay: Assay, monkeypatch: pytest.MonkeyPatch
):
    ignore = shutil.ignore_patterns("out", "labels.sqlite*", "baseline.json")
    place = Path(
        shutil.copytree(ROOT / "examples" / "rag-app", tmp_path / "rag-app", ignore=ignore)
    )
    committed = (place / "runs" / "main.jsonl").read_bytes()
    monkeypatch.setattr(sys, "argv", ["app.py"])
    runpy.run_path(str(place / "app.py"), run_name="__main__")
    assert (place / "runs" / "main.jsonl").read_bytes() == committed
    # Half of the questions show it as well, and are judged in half of the time.
    asked = (place / "questions.jsonl").read_text().splitlines(keepends=True)
    (place / "questions.jsonl").write_text("".join(one for one in asked if one[8:11] in SOME))
    runpy.run_path(str(place / "app.py"), run_name="__main__")
    done = assay("judge", place)
    assert done.returncode == 0, done.stderr
    assert assay("gate", place, "--save", place / "baseline.json").returncode == 0
    assert assay("gate", place).returncode == 0

    monkeypatch.setattr(sys, "argv", ["app.py", "--lean"])
    runpy.run_path(str(place / "app.py"), run_name="__main__")
    assay("judge", place)
    done = assay("gate", place)
    assert done.returncode == 1
    assert "Gate failed: run main, Correct, ContextRecall" in done.stdout
    assert "Bound broken: Correct" in done.stdout
