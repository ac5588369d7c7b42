"""The slides' worked example as a folder of its own for each test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture
def slide(tmp_path: Path) -> Path:
    """A copy of ``examples/slide``: judged by a file of recorded labels, nothing judged yet."""
    folder = tmp_path / "slide"
    ignore = shutil.ignore_patterns("out", "labels.sqlite*")
    shutil.copytree(ROOT / "examples" / "slide", folder, ignore=ignore)
    return folder
