"""Shared fixtures. The network is closed but for this machine (see pyproject.toml)."""

from __future__ import annotations

import gc
import importlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from typer import testing
from typer.main import get_command

from assay.cli import commands
from assay.labellers import gguf
from assay.labellers.judge import LARGE
from assay.labellers.judge.packages import JUDGES, SMALL, JudgePackage
from assay.ledger.store import Place
from assay.systems.retrieval import embedders
from tests.command import Done, loaded, run_apart, run_here, without_keys
from tests.postgres import Server, served
from tests.remembering import remembering

if TYPE_CHECKING:
    from tests.chromium import Chromium

# Ledgers wait for their disk at every write, and tests make thousands: where memory is given as a
# folder (Linux) and has room, all that tests write lies there.
_MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 4e9:
    os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)

ROOT = Path(__file__).parents[1]
Assay = Callable[..., Done]
_MADE = shutil.ignore_patterns("out", "*.sqlite*", "build", "wiki")


def copy_example(name: str, folder: Path, *, recorded: bool = False) -> Path:
    """Copy an example without what was made in it; ``recorded`` has it take the labels that it
    comes with, if any, in place of the embedded judge's."""
    shutil.copytree(ROOT / "examples" / name, folder, ignore=_MADE)
    if recorded and (folder / "recorded.jsonl").exists():
        toml = folder / "assay.toml"
        toml.write_text(toml.read_text().replace('"embedded"', '"recorded:recorded.jsonl"'))
    return folder


# How long an example takes says more of the machine than of what is tested.
settings.register_profile(
    "assay", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("assay"), max_examples=1000)
settings.load_profile("assay")


def pytest_xdist_auto_num_workers() -> int | None:
    """One process more than there are processors: tests wait for servers, browsers and others."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Where nothing is compiled yet, each worker begins with modules of its own, and finds the
    others' compiled when it comes to them. A module that cannot be imported is told of later."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    asked = [Path(one.partition("::")[0]) for one in session.config.args]
    found = [path for one in asked for path in (sorted(one.rglob("test_*.py")) or [one])]
    own = len(found) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for path in (*found[own:], *found[:own]):
        with suppress(Exception, pytest.skip.Exception):
            name = path.resolve().relative_to(ROOT).with_suffix("")
            importlib.import_module(".".join(name.parts))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in a browser come first: one process is given them all, and those that take tests from
    others take what comes last, so that one browser is started."""
    items.sort(key=lambda item: "chromium" not in getattr(item, "fixturenames", ()))


def pytest_collection_finish() -> None:
    """To look for garbage as seldom as the command does saves a twentieth of the tests' time."""
    gc.freeze()
    gc.set_threshold(1_000_000, 100, 100)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def judge_remembers(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """The embedded judge reads nothing twice: several tests judge the same examples, and so do
    those of the next run, which has what it said for as long as it would say the same."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent  # that of all workers
    if pytestconfig.pluginmanager.has_plugin("cacheprovider"):
        place = pytestconfig.cache.mkdir("judge")
    with remembering(place):
        yield


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Language models run in one thread: others are at the other cores, and threads that wait for
    one that has no core spin, which takes ten times as long and more."""
    with mock.patch.object(gguf, "usable_cores", return_value=1):
        yield


@pytest.fixture(scope="session", autouse=True)
def loaded_once() -> Iterator[None]:
    """MiniLM is loaded once: it takes longer than most texts that it reads."""
    with mock.patch.object(embedders, "MiniLM", cache(embedders.MiniLM)):
        yield


@pytest.fixture(scope="session", autouse=True)
def made_once() -> Iterator[None]:
    """Commands are made of their functions once, for typer's own runner too."""
    with (
        mock.patch.object(commands, "_load", loaded),
        mock.patch.object(testing, "_get_command", cache(get_command)),
    ):
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
def large_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a stand-in for the large judge, which nobody changes: the small one's network,
    in pieces, and settings of a version of its own."""
    folder = tmp_path_factory.mktemp("large")
    network, size = SMALL.network(), 16_000_000
    for number, start in enumerate(range(0, len(network), size)):
        (folder / f"judge.onnx.{number:02}").write_bytes(network[start : start + size])
    about = SMALL.settings
    said = {"version": "0.1", "sha256": about.sha256, "calibration": about.calibration}
    (folder / "judge.json").write_text(json.dumps(said))
    return folder


@pytest.fixture
def large_judge(large_files: Path, monkeypatch: pytest.MonkeyPatch) -> JudgePackage:
    """``embedded:large``, which the stand-in is."""
    judge = replace(JUDGES[LARGE], place=large_files)
    monkeypatch.setitem(JUDGES, LARGE, judge)
    return judge


@pytest.fixture(scope="session")
def evaluated_slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``examples/slide``, judged and scored, which nobody changes: tests copy it."""
    folder = copy_example("slide", tmp_path_factory.mktemp("slide") / "slide")
    done = run_here("evaluate", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def slide(tmp_path: Path) -> Path:
    """``examples/slide`` in a folder of the test's own, before anything is judged."""
    return copy_example("slide", tmp_path / "slide")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server, for all tests of a process."""
    with served() as server:
        yield server


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """Headless Chromium, for all tests of a process."""
    from tests.chromium import FOUND, Chromium  # Playwright takes half a second

    if FOUND is None:
        if os.environ.get("CI"):
            pytest.fail("Chromium is missing")
        pytest.skip("Chromium is missing")
    opened = Chromium()
    yield opened
    opened.close()


@pytest.fixture
def tabs(chromium: Chromium) -> Iterator[Chromium]:
    """Gives empty tabs. No command that has an event loop runs in a test that has them."""
    with chromium.lending() as lent:
        yield lent


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
