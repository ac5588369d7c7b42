"""Shared fixtures. The network is closed but for this machine (see pyproject.toml)."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from assay.ledger.store import Place
from tests.command import Done, run_apart, run_here, without_keys
from tests.postgres import Server, served
from tests.remembering import remembering

# Workers, servers and commands that tests start would each compile all of Assay anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What is imported and collected stays to the end: to look through it for garbage time and again
# takes two fifths of the time that collecting takes.
gc.disable()

ROOT = Path(__file__).parents[1]
Assay = Callable[..., Done]

# How long an example takes says more of the machine than of what is tested.
settings.register_profile(
    "assay", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("assay"), max_examples=1000)
settings.load_profile("assay")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def judge_remembers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The embedded judge reads nothing twice: several tests judge the same examples."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent  # that of all workers
    with remembering(place / "judge.sqlite"):
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder ``shared`` beside the checkout; its ``data/`` holds real, human-labelled data."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"{folder} is missing")
        pytest.skip(f"{folder} is missing: real data that is not part of the project")
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server, for all tests of a process."""
    with served() as server:
        yield server


_numbers = count()


@pytest.fixture
def on_postgres(postgres: Server) -> str:
    """The URL of a ledger that is not there yet."""
    return postgres.url(f"test_{next(_numbers)}")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where a ledger can be made: in a file, and on a server."""
    if request.param == "sqlite":
        return tmp_path / "l"
    url: str = request.getfixturevalue("on_postgres")
    return url


@pytest.fixture
def assay() -> Assay:
    """Runs the command within this process, without keys from the environment."""
    return partial(_run, run_here)


@pytest.fixture
def assay_process() -> Assay:
    """Runs the command in a process of its own: for what only a process can show."""
    return partial(_run, run_apart)


def _run(run: Assay, *arguments: object, env: dict[str, str] | None = None, **more: Any) -> Done:
    given = {**without_keys(), "NO_COLOR": "1", "COLUMNS": "160", **(env or {})}
    return run(*arguments, env=given, **more)
