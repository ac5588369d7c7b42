"""Judging on a real Ray cluster of two processors: the same labels, whatever dies."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from assay.labellers.on_ray import _lost
from assay.ledger import Ledger
from tests.cli.test_judging import verdict
from tests.command import run_here, without_keys
from tests.conftest import ROOT
from tests.engine.server import Drip, Server, ask_of, serve
from tests.films import FILMS
from tests.golden.stage import Stage

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
KEY = "sk-not-for-the-dashboard-4711"


@dataclass
class Cluster:
    address: str
    folder: Path
    env: dict[str, str]
    pid: int

    def processes(self, name: bytes = b"") -> list[int]:
        """What it has started, and no other cluster has, whose command begins with ``name``."""
        children: dict[int, list[int]] = {}
        commands: dict[int, bytes] = {}
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has just ended
                parent = (place / "stat").read_text().rpartition(")")[2].split()[1]
                children.setdefault(int(parent), []).append(int(place.name))
                commands[int(place.name)] = (place / "cmdline").read_bytes()
        found = [self.pid]
        for one in found:
            found += children.get(one, [])
        return [one for one in found if commands.get(one, b"").startswith(name)]

    def actors(self) -> list[int]:
        return self.processes(b"ray::Host")

    def end(self) -> None:
        for process in self.processes():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One for all processes that run tests: the first starts it, the last ends it."""
    shared = _shared(tmp_path_factory)
    with _locked(shared):
        state = _state(shared) or _started()
        state["users"] += 1
        (shared / "ray.json").write_text(json.dumps(state))
    env = {**os.environ, **state["env"]}
    made = Cluster(state["address"], Path(state["folder"]), env, state["pid"])
    try:
        yield made
    finally:
        with _locked(shared):
            state = _state(shared)
            state["users"] -= 1
            (shared / "ray.json").write_text(json.dumps(state))
            if not state["users"]:
                (shared / "ray.json").unlink()
                made.end()


@pytest.fixture
def alone(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One test at a time has the cluster, so that all actors are its own; they end with it."""
    with _locked(_shared(tmp_path_factory), "turn"):
        yield
        until(lambda: not cluster.actors(), every=0.2)


def _shared(factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes that run tests have in common."""
    own = factory.getbasetemp()
    return own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own


@contextmanager
def _locked(shared: Path, name: str = "lock") -> Iterator[None]:
    with (shared / f"ray.{name}").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _state(shared: Path) -> dict:
    file = shared / "ray.json"
    return json.loads(file.read_text()) if file.exists() else {}


def _started() -> dict:
    folder = tempfile.mkdtemp(prefix="ray")  # short: paths of sockets are
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {
        "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": os.urandom(16).hex(),
        "RAY_USAGE_STATS_ENABLED": "0", "RAY_prestart_worker_first_driver": "0",
        "RAY_enable_worker_prestart": "0", "PYTHONPATH": f"{ROOT / 'src'}",
        "ASSAY_127_0_0_1_API_KEY": KEY,
    }  # fmt: skip
    command = [
        sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block",
        "--node-ip-address=127.0.0.1", f"--port={port}", "--num-cpus=2", f"--temp-dir={folder}",
        "--include-dashboard=false", "--object-store-memory=80000000",
        "--no-monitor", "--include-log-monitor=false",  # nobody asks them, and they take time
    ]  # fmt: skip
    log = Path(folder) / "started"
    with log.open("w") as told:
        process = subprocess.Popen(command, env={**without_keys(), **own}, stdout=told, stderr=told)
    until(lambda: "Ray runtime started" in log.read_text() or process.poll() is not None)
    assert process.poll() is None, log.read_text()
    return {
        "address": f"127.0.0.1:{port}", "folder": folder, "users": 0, "env": own,
        "pid": process.pid,
    }  # fmt: skip


def until(check: Callable[[], object], every: float = 0.02) -> None:
    deadline = time.monotonic() + 90
    while not check():
        assert time.monotonic() < deadline
        time.sleep(every)


def folder_of(place: Path, server: Server) -> Path:
    for name in ("pr", "ac"):
        shutil.copytree(FILMS / name, place / name)
    shutil.copy(FILMS / "questions.tsv", place)
    (place / "assay.toml").write_text(
        '[evaluation]\nprotocol = "r2c2"\n[inputs]\nquestions = "questions.tsv"\n'
        'pr_runs = ["pr/*.txt"]\nac_runs = ["ac/*.txt"]\n[labellers]\n'
        f'default = "openai:m@{server.url}"\n'
    )
    return place


def begun(folder: Path, env: dict[str, str], *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "assay.cli.main", "judge", str(folder), *more]
    with (folder / "told").open("w") as told:
        return subprocess.Popen(command, env=env, stdout=told, stderr=told)


def labels(folder: Path) -> list[tuple]:
    with Ledger.open(folder / "labels.sqlite", create=False) as ledger:
        found = [
            (one.key, one.unit, one.labeller.name, one.status.value, json.dumps(one.verdict),
             one.reason, one.error)
            for one in ledger.labels()
        ]  # fmt: skip
    assert len(found) == len({one[0] for one in found}), "nothing is kept twice"
    return sorted(found, key=str)


def slowly(body: dict, number: int) -> Drip:
    return Drip(verdict(body, number), 0.4)


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> list[tuple]:
    """The answers of an endpoint without Ray, regardless of its address."""
    with serve(verdict) as server:
        folder = folder_of(tmp_path_factory.mktemp("here") / "f", server)
        assert run_here("judge", folder).returncode == 0
    return labels(folder)


@pytest.mark.usefixtures("alone")
def test_the_embedded_judge_says_the_same(cluster: Cluster, tmp_path: Path):
    here, there = (
        Stage(tmp_path / name, "slide", labellers={"default": "embedded"}).folder
        for name in ("here", "there")
    )
    run_here("judge", here)
    process = begun(there, cluster.env, "--on", f"ray:{cluster.address}")
    process.wait(120)
    assert labels(there) == labels(here), (there / "told").read_text()
    assert "Traceback" not in (there / "told").read_text()


@pytest.mark.usefixtures("alone")
def test_drivers_and_actors_that_are_killed(cluster: Cluster, wanted: list[tuple], tmp_path: Path):
    with serve(slowly) as server:
        folder = folder_of(tmp_path / "there", server)
        process = begun(folder, cluster.env, "--on", f"ray:{cluster.address}")
        until(lambda: len(server.requests) > 100)
        process.kill()
        process.wait()
        kept = len(labels(folder))
        assert 0 < kept < len(wanted)
        until(lambda: not cluster.actors(), every=0.2)
        before = len(server.requests)
        process = begun(folder, cluster.env, "--on", f"ray:{cluster.address}")
        for count in (30, 90):
            until(lambda count=count: len(server.requests) > before + count)
            (actor,) = cluster.actors()
            os.kill(actor, signal.SIGKILL)
        assert process.wait(120) == 0, (folder / "told").read_text()
        asked = Counter(ask_of(body) for body in server.requests[before:])
        assert {one["Authorization"] for one in server.headers} == {f"Bearer {KEY}"}
    assert max(asked.values()) > 1, "a block ran twice"
    assert len(asked) <= len(wanted) - kept, "what the first run kept is asked again"
    assert labels(folder) == wanted
    logs = [path for path in cluster.folder.rglob("*") if path.is_file()]
    assert len(logs) > 5
    for path in logs:
        assert KEY.encode() not in path.read_bytes(), path


def test_why_an_actor_is_lost():
    raised = "It died (ip=192.0.2.7):\nTraceback (most recent call last)\nModuleNotFoundError: No x"
    assert "on 192.0.2.7 cannot answer: ModuleNotFoundError: No x. Install" in _lost("m", raised)
    killed = "Task was killed due to the node running low on memory.\nMemory: 1 GB"
    assert "is lost: Task was killed due to the node" in _lost("openai:m", killed)


def test_a_cluster_that_is_not_there_is_told(tmp_path: Path):
    with serve(verdict) as server:
        folder = folder_of(tmp_path / "f", server)
    done = run_here("judge", folder, "--on", "ray:127.0.0.1:9")
    assert done.returncode == 3
    assert "no Ray cluster at 127.0.0.1:9" in done.stderr
    done = run_here("judge", folder, "--on", "slurm")
    assert done.returncode == 2
    assert "is not valid" in done.stderr
