"""The labellers ``embedded`` and ``embedded:large``: Assay's own judges, encoders in this process.

They need no internet connection and no download. Waiting requests are answered together.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from assay.labellers.base import BaseLabeller, ByTask, Estimate, Labeller, Outcome, Request
from assay.labellers.denials import VERSION
from assay.labellers.judge.answers import ruled
from assay.labellers.judge.levels import Levels
from assay.labellers.judge.local import Local
from assay.labellers.judge.model import (
    CERTAIN,
    JudgeQuestion,
    Network,
    Ruling,
    missing,
    rule,
    size_ahead,
    unasked,
)
from assay.labellers.judge.packages import SMALL, JudgePackage, Settings
from assay.labellers.judge.texts import TEXTS_VERSION, Ability
from assay.labellers.judge.verdicts import UNFITTED, WAYS, abilities_of, refusal, unit_questions
from assay.model.labels import LabellerId, Status
from assay.tasks.base import AnyTask, Verdict

AT_ONCE = 64
"""Most requests answered together."""


@dataclass(slots=True)
class _Waiting:
    request: Request
    answer: asyncio.Future[Outcome]


class _Loading:
    """Loads the network of a judge once, for all variants of its labeller."""

    def __init__(self, judge: JudgePackage, threads: int | None, network: Network | None) -> None:
        self._judge, self._threads, self._network = judge, threads, network
        self._lock = threading.Lock()

    def network(self) -> Network:
        with self._lock:
            if self._network is None:
                self._network = Network.of(self._judge, self._threads)
            return self._network


class JudgeLabeller(BaseLabeller, ByTask):
    """Judges with the encoder of ``judge``, by default the small one.

    ``threads`` limits the threads (default: all). ``local`` is the calibration by people's labels;
    :meth:`for_task` gives the variant with only the part that concerns a task. With ``abstains``,
    the label of a unit fails if the judge is too unsure. ``network`` is for tests. The first
    ``label`` loads the model; it raises PrerequisiteError if onnxruntime or tokenizers is missing.
    """

    def __init__(
        self,
        judge: JudgePackage = SMALL,
        *,
        threads: int | None = None,
        network: Network | None = None,
        local: Local | None = None,
        abstains: bool = False,
    ) -> None:
        self._judge = judge
        self._loading = _Loading(judge, threads, network)
        self._local = local
        self._abstains = abstains
        self._parts: dict[frozenset[Ability], JudgeLabeller] = {}
        self._worker: ThreadPoolExecutor | None = None
        self._waiting: list[_Waiting] = []
        self._busy: asyncio.Task[None] | None = None

    @cached_property
    def id(self) -> LabellerId:
        learnt = self._local and self._local.name
        params = {
            "model": self._judge.title,
            "sha256": self._judge.settings.sha256,
            "settings": self._judge.settings_hash,
            "texts": TEXTS_VERSION,
            "denials": VERSION,
            **({} if learnt is None else {"calibration": learnt}),
            **({"abstains": True} if self._abstains else {}),
        }
        return LabellerId(self._judge.labeller, "model", params)

    def for_task(self, task: AnyTask) -> Labeller:
        if self._local is None:
            return self
        abilities = abilities_of(task.name)
        if abilities not in self._parts:
            taught = self._local.only(abilities)
            own = JudgeLabeller(self._judge, local=taught, abstains=self._abstains)
            own._loading = self._loading
            self._parts[abilities] = own
        return self._parts[abilities]

    @property
    def concurrency(self) -> int:
        return AT_ONCE

    def refusal(self, task: AnyTask) -> str | None:
        return refusal(task) or missing() or self._judge.missing()

    def estimate(self, request: Request) -> Estimate:
        """One call, with the tokens of all windows and sentences that will be read."""
        questions, _ = unit_questions(request.task, request.unit)
        return Estimate(1, sum(map(size_ahead, questions)), 0)

    async def label(self, request: Request) -> Outcome:
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(request, answer))
        if self._busy is None or self._busy.done():
            self._busy = asyncio.create_task(self._answer_waiting())
        return await answer

    async def close(self) -> None:
        if self._busy is not None:
            self._busy.cancel()
            await asyncio.gather(self._busy, return_exceptions=True)
            self._busy = None
        if self._worker is not None:
            worker, self._worker = self._worker, None
            await asyncio.to_thread(worker.shutdown, wait=True, cancel_futures=True)

    async def _answer_waiting(self) -> None:
        """Answer waiting requests, ``AT_ONCE`` at a time, until there are none."""
        await asyncio.sleep(0)  # let requests of the same loop iteration join
        loop = asyncio.get_running_loop()
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="assay-judge")
        while self._waiting:
            batch, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
            requests = [one.request for one in batch]
            done = loop.run_in_executor(self._worker, self._answer, requests)
            try:
                await asyncio.wait([done])
                failure = done.exception()
                for at, one in enumerate(batch):
                    if one.answer.done():  # nobody waits for it any more
                        continue
                    if failure is None:
                        one.answer.set_result(done.result()[at])
                    else:
                        one.answer.set_exception(failure)
            finally:  # if this task is cancelled, so are those who wait
                for one in batch:
                    one.answer.cancel()

    def _answer(self, requests: Sequence[Request]) -> list[Outcome]:
        network = self._loading.network()
        started = time.perf_counter()
        asked = [unit_questions(request.task, request.unit) for request in requests]
        together = [question for questions, _ in asked for question in questions]
        rulings = iter(rule(network, together, self._judge.settings))
        each = (time.perf_counter() - started) / len(requests)
        outcomes = []
        for request, (questions, problem) in zip(requests, asked, strict=True):
            own = [next(rulings) for _ in questions]
            outcomes.append(self._outcome(request, questions, own, problem, each))
        return outcomes

    def _outcome(
        self,
        request: Request,
        questions: Sequence[JudgeQuestion],
        rulings: Sequence[Ruling],
        problem: str | None,
        seconds: float,
    ) -> Outcome:
        """The outcome of a request; ``seconds`` is its share of its batch's time."""
        settings, local = self._judge.settings, self._local
        detail: dict[str, Any] = {"model": self._judge.title, "sha256": settings.sha256}
        if problem:
            return Outcome(Status.FAILED, error=problem, cost=0.0, seconds=seconds, detail=detail)
        way = WAYS[request.task.name]
        levels = way.settled(
            request.unit,
            [
                levelled(settings, question, ruling, local)
                for question, ruling in zip(questions, rulings, strict=True)
            ],
        )
        verdict: Verdict = way.verdict(request.unit, levels)
        detail["rulings"] = [
            {
                "ability": one.ability.value,
                "no": round(one.ruling.no, 4),
                "partly": round(one.ruling.partly, 4),
                "yes": round(one.ruling.yes, 4),
                "threshold": one.threshold,
                "windows": one.ruling.windows,
                **({} if local is None else {"unfitted": round(one.first.yes, 4)}),
                **_by_what(question, one),
            }
            for question, one in zip(questions, levels, strict=False)
        ]
        by_rule = ruled(request.unit, levels)
        if by_rule is not None:
            detail["rule"] = by_rule.reason
            detail.update({} if by_rule.correct else {"by_rule": True})
        if request.task.name in UNFITTED:
            detail["calibrated"] = False
        read = sum(ruling.tokens for ruling in rulings)
        found = Outcome(
            Status.OK,
            verdict,
            tokens_in=read,
            tokens_out=0,
            cost=0.0,
            seconds=seconds,
            detail=detail,
        )
        # Verdicts by rules need no probability.
        decided = by_rule is not None or not self._abstains
        doubt = None if decided else _doubt(settings, levels[: way.deciding], way.distinguished)
        if doubt is None:
            return found
        return replace(found, status=Status.FAILED, verdict=None, error=doubt)


def _by_what(question: JudgeQuestion, level: Levels) -> dict[str, Any]:
    """Detail of a ruling: the rule that decided instead of the network, if any, and whether the
    network saw less than the whole passage."""
    if level.ability is not question.ability:  # the sentences of a long gold answer
        return {}
    rule = None if level.read else unasked(question)
    less = question.less or (question.whole is not None and level.first.yes <= CERTAIN)
    return {**({"rule": rule} if rule else {}), **({"less": True} if less else {})}


def _doubt(
    settings: Settings, deciding: Sequence[Levels], distinguished: Sequence[str]
) -> str | None:
    """Why the judge abstains, or None: a probability that decides its verdict is in a range where
    it cannot exclude either of two levels at the fitted coverage.

    The probability is the one before the folder's own calibration, which changes the threshold but
    not what the judge knows.
    """
    for one in deciding:
        for level in distinguished:
            low, high = settings.unsure(one.ability, level)
            p = one.first.yes if level == "yes" else one.first.yes + one.first.partly
            if one.read and low < p < high:
                what, less = _LEVELS[level]
                return (
                    f"the judge abstains: {what} has the probability {p:.2f}, and between "
                    f"{low:.2f} and {high:.2f} it can rule out neither {what} nor {less}. Have "
                    "people or another labeller label it, or judge without abstain in [judging]"
                )
    return None


_LEVELS = {"yes": ("yes", "less"), "partly": ("yes or partly", "no")}


def levelled(
    settings: Settings, question: JudgeQuestion, ruling: Ruling, local: Local | None = None
) -> Levels:
    """The ruling with its verdicts by the calibrated thresholds, or by those of ``local``."""
    own = settings.calibration[question.ability]
    threshold, partly = own["threshold"], own["partly"]
    first = ruling
    if local is not None:
        ruling, cut = local.apply(question.ability, ruling)
        threshold, partly = (threshold, partly) if cut is None else (cut, cut)
    yes = ruling.yes > threshold
    partly_so = yes or ruling.yes + ruling.partly > partly
    return Levels(
        ruling, yes, partly_so, threshold, first, question.ability, ruling.windows > 0
    )  # fmt: skip
