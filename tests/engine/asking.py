"""Requests to a server, of this process and of others that may be killed. It imports no more than
they need."""

from __future__ import annotations

from multiprocessing.context import ForkServerProcess
from pathlib import Path

from assay.judging.engine import judge, plan
from assay.labellers.base import Request
from assay.labellers.openai import OpenAILabeller, OpenAISettings
from assay.labellers.pace import Limits
from assay.labellers.prices import Price
from assay.ledger import Ledger
from assay.ledger.store import Place
from assay.tasks.r2c2 import ENTAILMENT, EntailmentUnit
from assay.tasks.rendering import Renderer
from tests.apart import CONTEXT


def requests(count: int) -> list[Request]:
    return [
        Request(ENTAILMENT, EntailmentUnit(passage=f"passage {n}", nugget=f"nugget {n}"))
        for n in range(count)
    ]


def placed(text: str) -> Place:
    """What a command line calls a place."""
    return text if "://" in text else Path(text)


def labeller(url: str, **settings) -> OpenAILabeller:
    limits = Limits(settings.pop("concurrency", 32))
    urls = (url, *settings.pop("more_urls", ()))
    return OpenAILabeller(OpenAISettings("m", urls, limits=limits, **settings), Renderer())


def run(path: Place, url: str, wanted, **more):
    with Ledger.open(path) as ledger:
        made = labeller(url, price=Price(1.0, 1.0), **more.pop("settings", {}))
        return judge([("t", plan(ledger, made, wanted, **more.pop("plan", {})))], ledger, **more)


def work(path: Place, url: str, count: int) -> None:
    """What a process does that may be killed."""
    run(path, url, requests(count), settings={"concurrency": 4})


def forked(path: Place, url: str, count: int) -> ForkServerProcess:
    """A process that asks, from one that has imported everything: many begin quickly."""
    process = CONTEXT.Process(target=work, args=(path, url, count))
    process.start()
    return process


def ended(process: ForkServerProcess) -> int | None:
    """The status with which a process ends by itself."""
    process.join(60)
    return process.exitcode
