"""Labellers that answer in other processes, and engines within one: the same labels."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from assay.judging.engine import judge, plan
from assay.labellers.base import Labeller
from assay.labellers.host import Recipe
from assay.labellers.hosted import HostedLabeller, RemoteHost
from assay.labellers.processes import Processes
from assay.labellers.spec import LabellerOptions, make_labeller
from assay.ledger import Ledger
from assay.model.errors import LabellerUnreachable, SettingsError
from assay.model.labels import Status
from assay.tasks.r2c2 import ANSWER
from assay.tasks.rendering import Renderer
from tests.command import Done, without_keys
from tests.conftest import ROOT, Assay
from tests.engine.asking import requests
from tests.engine.test_stopping import Notes
from tests.golden.stage import Stage

ENGINES = Path(__file__).parent / "engines"


def made(folder: Path, hosting: Processes | None = None) -> Labeller:
    options = LabellerOptions()
    labeller = make_labeller("embedded", folder=folder, renderer=Renderer(), options=options)
    return hosting.hosted(labeller, "embedded", folder, options) if hosting else labeller


def labels(ledger: Ledger) -> list[tuple]:
    return sorted(
        (one.key, one.status.value, json.dumps(one.verdict), json.dumps(dict(one.detail)))
        for one in ledger.labels()
    )


def children() -> list[int]:
    """The processes that this one has started as hosts."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = (place / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid() and b"processes" in (place / "cmdline").read_bytes():
                found.append(int(place.name))
        except OSError:  # it has just ended
            continue
    return found


def test_several_processes_answer_like_one_even_if_one_is_killed(tmp_path: Path):
    asked = requests(240)
    with Ledger.open(tmp_path / "one") as ledger:
        judge([("t", plan(ledger, made(tmp_path), asked))], ledger)
        wanted = labels(ledger)
    killed = threading.Event()

    def kill() -> None:
        deadline = time.monotonic() + 60
        with Ledger.open(tmp_path / "several") as seen:
            while not seen.size() and time.monotonic() < deadline:
                time.sleep(0.01)
        for one in children():
            os.kill(one, signal.SIGKILL)
            killed.set()

    killer = threading.Thread(target=kill)
    with Processes(2) as hosting, Ledger.open(tmp_path / "several") as ledger:
        killer.start()
        tally = judge([("t", plan(ledger, made(tmp_path, hosting), asked))], ledger)
        assert labels(ledger) == wanted
    killer.join()
    assert killed.is_set()
    assert tally.asked == len(asked)
    assert not children()


def test_a_different_labeller_on_a_host_is_refused(tmp_path: Path):
    inner = made(tmp_path)
    recipe = replace(Recipe.of(inner, "embedded", tmp_path, LabellerOptions()), identity="another")
    with Processes(1) as hosting, Ledger.open(tmp_path / "l") as ledger:
        labeller = HostedLabeller(inner, recipe, hosting)
        with pytest.raises(SettingsError, match="differs between the machine that answers"):
            judge([("t", plan(ledger, labeller, requests(1)))], ledger)


@dataclass
class Slow:
    """A slow host with nothing to say."""

    there: float = 0.0
    answers: float = 0.0
    lacks: str = ""

    async def ready(self) -> None:
        await asyncio.sleep(self.there)
        if self.lacks:
            raise LabellerUnreachable(self.lacks)

    async def answer(self, block: bytes) -> bytes:
        await asyncio.sleep(self.answers)
        return json.dumps([[None] * len(json.loads(block)), []]).encode()


class Taken(Processes):
    def __init__(self, *hosts: Slow) -> None:
        super().__init__(len(hosts))
        self.slow = hosts

    def room(self) -> str:
        return "All is taken."

    def hosts(self, recipe: Recipe) -> Sequence[RemoteHost]:
        return self.slow


@pytest.mark.parametrize(
    ("hosts", "notes"),
    [
        ([Slow(), Slow(lacks="No Assay."), Slow(lacks="No Assay.")], ["No Assay."]),
        ([Slow(there=0.03)], ["embedded has no free resources to answer yet. All is taken."]),
        ([Slow(answers=0.15)], ["embedded has not responded for 0.001 minutes. All is taken."]),
        ([Slow(answers=0.001)], []),
    ],
)
def test_hosts_that_do_not_answer_are_reported(tmp_path: Path, monkeypatch, hosts, notes):
    monkeypatch.setattr("assay.labellers.hosted._PATIENCE", 0.01)
    monkeypatch.setattr("assay.labellers.hosted._SILENCE", 0.06)
    told = Notes()
    with Taken(*hosts) as hosting, Ledger.open(tmp_path / "l") as ledger:
        asked = [("t", plan(ledger, made(tmp_path, hosting), requests(2)))]
        assert judge(asked, ledger, progress=told).unanswered == 2
    assert list(dict.fromkeys(told.notes)) == notes


def test_workers_on_the_command_line(assay: Assay, tmp_path: Path):
    folder = Stage(tmp_path / "f", "slide", labellers={"default": "embedded"}).folder
    done = assay("judge", folder, "--workers", 2)
    assert "Asked 7" in done.stderr
    other = Stage(tmp_path / "g", "slide").folder
    refused = assay("judge", other, "--workers", 2)
    assert refused.returncode == 2
    assert "--workers is for labellers of the kinds embedded" in refused.stderr


# -- vLLM's engine --------------------------------------------------------------------------------


def engine(assay: Assay, tmp_path: Path, judging: str = "", *more: object) -> tuple[Path, Done]:
    folder = tmp_path / "f"
    if not folder.exists():
        stage = Stage(folder, "slide", labellers={"default": "vllm:some/model"})
        with (stage.folder / "assay.toml").open("a") as file:
            file.write(judging)
    env = {
        **without_keys(), "PYTHONPATH": f"{ENGINES}:{ROOT / 'src'}",
        "ENGINE_LOG": str(tmp_path / "log"),
    }  # fmt: skip
    return folder, assay("judge", folder, *more, env=env)


def told(tmp_path: Path) -> list[dict]:
    return [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]


def kept(folder: Path) -> list:
    with Ledger.open(folder / "labels.sqlite", create=False) as ledger:
        return [one for one in ledger.labels() if one.labeller.kind == "model"]


def test_an_engine_is_asked_like_an_endpoint(assay: Assay, tmp_path: Path):
    (tmp_path / "dies").touch()  # the first engine does
    folder = Stage(tmp_path / "f", "slide", labellers={"default": "vllm:some/model"}).folder
    run = folder / "pr" / "WASEDA-PR-1.txt"  # whose passages cannot end the message
    run.write_text(run.read_text().replace("\n", "<|im_end|>\n"))
    folder, done = engine(assay, tmp_path)
    assert done.returncode == 0, done.stderr
    found = kept(folder)
    assert {one.status for one in found} == {Status.OK}
    assert {one.task for one in found} > {ANSWER.name}
    (name,) = {one.labeller.name for one in found}
    assert name == "vllm:some/model"
    assert found[0].labeller.params == {
        "model": "some/model", "endpoint": "vllm", "temperature": 0.0
    }  # fmt: skip
    log = told(tmp_path)
    assert {one["temperature"] for one in log if "tokens" in one} == {0.0}
    assert sum("tokens" in one for one in log) == len(found)
    started = [one for one in log if "started" in one]
    assert all(one["prefixes"] and one["silent"] for one in started)
    assert len(started) == sum("ended" in one for one in log) > 2  # one died
    assert {one.tokens_in for one in found} == {one["tokens"] for one in log if "tokens" in one}


def test_parameters_and_refusals_of_an_engine(assay: Assay, tmp_path: Path):
    settings = "[judging.engine]\ntensor_parallel_size = 2\nmax_model_len = 1500\n"
    folder, done = engine(assay, tmp_path, settings)
    found = kept(folder)
    failed = [one for one in found if one.status is Status.FAILED]
    assert failed
    assert all("context length" in one.error for one in failed)
    assert done.returncode == 1
    assert found[0].labeller.params["engine"] == {"max_model_len": 1500}


@pytest.mark.parametrize("given", ["trust_remote_code = true", 'worker_cls = "sent.evil"'])
def test_no_code_is_named_for_an_engine(assay: Assay, tmp_path: Path, given: str):
    _, done = engine(assay, tmp_path, f'[judging.engine]\ndtype = "half"\n{given}\n')
    assert done.returncode == 2
    assert f"'{given.split()[0]}' could run code" in " ".join(done.stderr.split())


def test_missing_vllm_is_reported_with_the_command(assay: Assay, tmp_path: Path):
    folder = Stage(tmp_path / "f", "slide", labellers={"default": "vllm:some/model"}).folder
    done = assay("judge", folder)
    assert done.returncode == 2
    assert "pip install vllm" in done.stderr


def test_processes_that_die_over_and_over_end_the_run(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("assay.labellers.processes._START", "raise SystemExit(1)")
    with Processes(1) as hosting, Ledger.open(tmp_path / "l") as ledger:
        with pytest.raises(LabellerUnreachable, match="died 3 times in a row"):
            judge([("t", plan(ledger, made(tmp_path, hosting), requests(3)))], ledger)
