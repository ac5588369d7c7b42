"""Fixtures of the measures' tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder ``shared`` beside the repository; its ``data/`` holds reference data."""
    folder = Path(__file__).parents[2].parent / "shared"
    if not folder.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"the shared data are missing: {folder}")
        pytest.skip(f"the shared data are not here: {folder}")
    return folder
