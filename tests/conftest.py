"""Shared fixtures. The network is closed but for this machine (see pyproject.toml)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
Assay = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder ``shared`` beside the checkout; its ``data/`` holds real, human-labelled data."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"{folder} is missing")
        pytest.skip(f"{folder} is missing: real data that is not part of the project")
    return folder


@pytest.fixture
def assay(tmp_path: Path) -> Assay:
    """Runs the command in a process of its own, without keys from the environment."""

    def run(*arguments: object, env: dict[str, str] | None = None, **more: object):
        clean = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
        return subprocess.run(
            [sys.executable, "-m", "assay.cli.main", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**clean, "NO_COLOR": "1", "COLUMNS": "160", **(env or {})},
            **more,
        )

    return run
