"""Requests to a server, of this process and of others that may be killed. It imports no more than
they need."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from assay.judging.engine import judge, plan
from assay.labellers.base import Request
from assay.labellers.openai import OpenAILabeller, OpenAISettings
from assay.labellers.pace import Limits
from assay.labellers.prices import Price
from assay.ledger import Ledger, NewLabel
from assay.ledger.store import Place
from assay.model.errors import LedgerError
from assay.model.labels import LabellerId, Status
from assay.tasks.base import unit_hash
from assay.tasks.r2c2 import ENTAILMENT, EntailmentUnit
from assay.tasks.rendering import Renderer
from tests.apart import CONTEXT


def requests(count: int) -> list[Request]:
    return [
        Request(ENTAILMENT, EntailmentUnit(passage=f"passage {n}", nugget=f"nugget {n}"))
        for n in range(count)
    ]


def labeller(url: str, **settings) -> OpenAILabeller:
    limits = Limits(settings.pop("concurrency", 32))
    urls = (url, *settings.pop("more_urls", ()))
    return OpenAILabeller(OpenAISettings("m", urls, limits=limits, **settings), Renderer())


def run(path: Place, url: str, wanted, **more):
    with Ledger.open(path) as ledger:
        made = labeller(url, price=Price(1.0, 1.0), **more.pop("settings", {}))
        return judge([("t", plan(ledger, made, wanted, **more.pop("plan", {})))], ledger, **more)


def label(n: int, key: str) -> NewLabel:
    content = {"n": n}
    return NewLabel(
        key=key, task="t", version="1", unit=unit_hash("t", content), content=content,
        labeller=LabellerId("m", "model"), status=Status.OK, verdict={},
    )  # fmt: skip


# -- what processes do, which may be killed -------------------------------------------------------


def ask(path: Place, url: str, count: int) -> None:
    run(path, url, requests(count), settings={"concurrency": 4})


def keep(path: Place, name: str, count: int) -> None:
    """Write labels one by one."""
    with Ledger.open(path) as ledger:
        for n in range(count):
            ledger.add([label(n, f"{name}{n}")])


def keep_under_one_key(path: Place, key: str, count: int) -> None:
    """Every second one only where the ledger has none."""
    with Ledger.open(path) as ledger:
        for n in range(count):
            ledger.add([label(n, key)], fresh=n % 2 == 0)


def keep_and_die(path: Place, count: int) -> None:
    """Write labels and end before anything is closed."""
    ledger = Ledger.open(path)
    for n in range(count):
        ledger.add([label(n, f"k{n}")])
    os.kill(os.getpid(), signal.SIGKILL)


def read(path: Place) -> None:
    """Print how many labels there are, counted in three ways."""
    with Ledger.open(path) as ledger:
        last = [block.numbers[-1] for block in ledger.lines()]
        print(ledger.checked().labels, len(list(ledger.labels())), *last)


def ask_until_full(path: Place, url: str, count: int) -> None:
    """Print how many were asked, or what kept from it."""
    try:
        print(run(path, url, requests(count)).asked)
    except LedgerError as error:
        print(error)


def with_small_files(most: int, work: Callable[..., None], *given: object) -> None:
    """No file that is written has more than ``most`` bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    work(*given)


def meekly(work: Callable[..., None], *given: object) -> None:
    """Root may write anywhere, unless it gives that up, as it does here."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        about, able = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        assert libc.capget(about, able) == 0
        for kind in (0, 1):  # what counts, and what may come to count
            able[kind] &= ~(1 << 1)  # CAP_DAC_OVERRIDE
        assert libc.capset(about, able) == 0
    work(*given)


def aloud(told: Path, work: Callable[..., None], *given: object) -> None:
    """What is printed, and what is wrong, goes to a file."""
    with told.open("w") as file, redirect_stdout(file), redirect_stderr(file):
        try:
            work(*given)
        except Exception:  # noqa: BLE001 (as Python itself would end)
            traceback.print_exc()
            sys.exit(1)


def forked(work: Callable[..., None], *given: object) -> ForkServerProcess:
    """A process that does this, from one that has imported everything: many begin quickly."""
    process = CONTEXT.Process(target=work, args=given)
    process.start()
    return process


def ended(process: ForkServerProcess) -> int | None:
    """The status with which a process ends by itself."""
    process.join(60)
    return process.exitcode
