"""The film pages, which many tests read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import run_here


@pytest.fixture(scope="session")
def film_corpus(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their corpus, made by the command, which nobody changes."""
    folder = tmp_path_factory.mktemp("films") / "corpus"
    done = run_here("corpus", "build", shared_data / "data" / "films", folder, "--ids", "title")
    assert done.returncode == 0, done.stderr
    return folder
