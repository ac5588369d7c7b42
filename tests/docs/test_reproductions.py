"""The published figures that docs/reproductions.md rebuilds are those that the commands print."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from tests.conftest import ROOT


def test_the_tables_are_what_the_commands_print(shared_data: Path):
    made = runpy.run_path(str(ROOT / "docs" / "make_reproductions.py"))["page"](
        shared_data / "data"
    )
    shown = (ROOT / "docs" / "reproductions.md").read_text(encoding="utf-8")
    assert made == shown, "run: python docs/make_reproductions.py ../shared/data"


def test_every_figure_agrees():
    shown = (ROOT / "docs" / "reproductions.md").read_text(encoding="utf-8")
    counts = re.findall(r"^(\d+) of (\d+) figures? agrees?", shown, re.MULTILINE)
    assert [int(all_) for _, all_ in counts] == [60, 1, 36, 5]
    assert all(same == all_ for same, all_ in counts)
