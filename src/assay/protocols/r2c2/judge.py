"""What must be asked of labellers for an R2C2 evaluation: dialogue acts and step 3, then step 4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from assay.judging.again import why_again
from assay.judging.engine import Plan, judge, plan
from assay.judging.progress import Progress, Tally
from assay.labellers.base import Labeller, Request
from assay.ledger import Ledger
from assay.ledger.policy import Policy
from assay.model.errors import SettingsError
from assay.protocols.folder import Folder
from assay.protocols.r2c2.acts import is_asked
from assay.protocols.r2c2.inputs import Inputs, R2C2Settings
from assay.protocols.r2c2.labels import (
    LabelBook,
    act_given,
    act_unit,
    answer_unit,
    entail,
    entailment_unit,
    passages_by_key,
)
from assay.protocols.r2c2.relevance import CHECKS, relevance_unit
from assay.protocols.r2c2.step3 import Step3, asks_support, keeps_to_yes_no
from assay.tasks.base import AnyTask
from assay.tasks.r2c2 import ANSWER, DIALOGUE_ACT, ENTAILMENT
from assay.tasks.trec_rag import SUPPORT

T = TypeVar("T")

ENTAILED_SHARE = 0.75
"""Share of nuggets taken as entailed where nothing is known yet, for estimates."""

BOGUS = "bogus nuggets"


@dataclass(frozen=True)
class Ahead:
    """What a judging run would ask, for ``--dry-run``. While step 3 is not done, step 4 is
    foretold: ``ENTAILED_SHARE`` of an answer's unlabelled nuggets are taken as entailed."""

    plans: tuple[tuple[str, Plan], ...]
    answers_assumed: bool


def active_tasks(folder: Folder) -> list[AnyTask]:
    """The tasks that the folder's settings ask for. ``r2c2.entailment`` is among them even where
    step 3 is asked as ``trec_rag.support``: labels of it count."""
    check = folder.settings(R2C2Settings).relevance_check
    tasks: list[AnyTask] = [ENTAILMENT, ANSWER, DIALOGUE_ACT]
    if asks_support(folder):
        tasks.append(SUPPORT)
    if check:
        tasks.append(CHECKS[check])
    return tasks


def labellers_for(folder: Folder) -> dict[str, Labeller]:
    """The labeller of each active task, as ``assay.toml`` or ``--labeller`` says. Dialogue acts
    are by ``rules`` unless named."""
    return folder.labellers(active_tasks(folder), partial(_spec, folder))


def labellers_for_scoring(folder: Folder) -> tuple[dict[str, Labeller | None], list[str]]:
    """As ``labellers_for``, for those who only need to know who they are."""
    return folder.labellers_for_scoring(active_tasks(folder), partial(_spec, folder))


def _spec(folder: Folder, task: AnyTask) -> str:
    entries = folder.config.labellers
    short = task.name.rpartition(".")[2]
    if task is DIALOGUE_ACT and task.name not in entries and short not in entries:
        return "rules"
    if task is DIALOGUE_ACT:
        return entries.get(task.name) or entries[short]
    if task is ENTAILMENT and asks_support(folder):
        return folder.labeller_spec(SUPPORT)
    return folder.labeller_spec(task)


def step3_requests(inputs: Inputs) -> Iterator[Request]:
    """One request a nugget of every AC run (equal ones are asked once)."""
    for question in inputs.questions:
        passages = passages_by_key(inputs.pr_runs, question.id)
        for file in inputs.ac_files.values():
            answer = file.run.answers.get(question.id)
            for nugget in answer.nuggets if answer else ():
                yield Request(ENTAILMENT, entailment_unit(nugget, passages[nugget.key]))


def act_requests(inputs: Inputs) -> Iterator[Request]:
    """One dialogue act an answer."""
    for question in inputs.questions:
        for file in inputs.ac_files.values():
            answer = file.run.answers.get(question.id)
            if answer is not None:
                yield Request(DIALOGUE_ACT, act_unit(question, answer))


def relevance_requests(inputs: Inputs, task: AnyTask) -> Iterator[Request]:
    """One request a passage of every PR run (equal ones are asked once)."""
    for question in inputs.questions:
        for run in inputs.pr_runs.values():
            for passage in run.passages.get(question.id, ()):
                yield Request(task, relevance_unit(task, question, passage))


def _independent(
    inputs: Inputs,
    labellers: Mapping[str, Labeller],
    step3: Step3,
    ledger: Ledger | None,
    retry_failed: bool,
) -> list[tuple[str, Plan]]:
    """Everything that can be asked before step 3 is known."""

    def planned(task: AnyTask, requests: Iterator[Request]) -> Plan:
        return plan(ledger, labellers[task.name], requests, retry_failed=retry_failed)

    parts = [
        ("dialogue acts", planned(DIALOGUE_ACT, act_requests(inputs))),
        (BOGUS, step3.plan(ledger, step3_requests(inputs), retry_failed=retry_failed)),
    ]
    for task in CHECKS.values():
        if task.name in labellers:
            parts.append(("relevance", planned(task, relevance_requests(inputs, task))))
    return parts


def step4_requests(inputs: Inputs, book: LabelBook, *, assume: bool = False) -> Iterator[Request]:
    """One request an answer whose nuggets have all been through step 3, and that does not decline
    (:func:`assay.protocols.r2c2.acts.is_asked`).

    A nugget whose label failed is left out of what the answer rests on, and stays unmarked. With
    ``assume``, a share of the unlabelled nuggets is taken as entailed (for estimates only).
    """
    likely = Likely()
    for question in inputs.questions:
        passages = passages_by_key(inputs.pr_runs, question.id)
        for file in inputs.ac_files.values():
            answer = file.run.answers.get(question.id)
            if answer is None:
                continue
            step3 = entail(book, answer, passages)
            if step3.pending and not assume:
                continue
            chosen = set(step3.entailed)
            if assume:
                chosen.update(likely.of(step3.unlabelled()))
            texts = tuple(n.text for i, n in enumerate(answer.nuggets) if i in chosen)
            act, _ = act_given(book, question, answer)
            if not is_asked(act, question, len(texts)):
                continue
            yield Request(ANSWER, answer_unit(question, answer, texts))


def run_judging(
    folder: Folder,
    inputs: Inputs,
    ledger: Ledger,
    policy: Policy,
    *,
    progress: Progress | None = None,
    budget: float | None = None,
    retry_failed: bool = False,
) -> Tally:
    """Fill the ledger with what is missing. Raises as ``assay.judging.engine.judge`` does."""
    labellers = labellers_for(folder)
    # Every refusal shows before anything is paid for.
    step3 = Step3(labellers, keeps_to_yes_no(folder))
    for task in active_tasks(folder):
        refusal = labellers[task.name].refusal(task)
        if refusal and not (task is ENTAILMENT and step3.as_support):
            raise SettingsError(refusal)
    first = _independent(inputs, labellers, step3, ledger, retry_failed)
    _tell_why(first, ledger, progress)
    give_up_after = folder.config.judging.give_up_after
    asked = partial(judge, progress=progress, give_up_after=give_up_after)
    tally = asked(first, ledger, budget=budget)
    if step3.as_support and tally.unanswered and not tally.stopped:
        rest = step3.unanswered(ledger, step3_requests(inputs))
        count = len(rest.todo)
        tally = replace(tally, wanted=tally.wanted - count, unanswered=tally.unanswered - count)
        left = None if budget is None else budget - tally.spent
        tally += asked([(f"{BOGUS}, yes or no", rest)], ledger, budget=left)
    if tally.stopped:
        return tally
    book = LabelBook(ledger, policy, _optional(labellers), strict=keeps_to_yes_no(folder))
    second = plan(
        ledger, labellers[ANSWER.name], step4_requests(inputs, book), retry_failed=retry_failed
    )
    _tell_why([("answers", second)], ledger, progress)
    left = None if budget is None else budget - tally.spent
    return tally + asked([("answers", second)], ledger, budget=left)


def _tell_why(plans: Sequence[tuple[str, Plan]], ledger: Ledger, progress: Progress | None) -> None:
    """Say where labels are paid for again, and why."""
    if progress is None:
        return
    for _, each in plans:
        for (task, why), count in why_again(ledger, each).items():
            progress.note(f"{task}: {count} of {len(each.todo)} are asked again because {why}.")


def plans_now(
    folder: Folder, inputs: Inputs, ledger: Ledger, policy: Policy, *, retry_failed: bool = False
) -> list[tuple[str, Plan]]:
    """All that can be asked before any further label is known: step 3, and step 4 of the answers
    whose nuggets are labelled (for batch files)."""
    labellers = labellers_for(folder)
    book = LabelBook(ledger, policy, _optional(labellers), strict=keeps_to_yes_no(folder))
    answers = plan(
        ledger, labellers[ANSWER.name], step4_requests(inputs, book), retry_failed=retry_failed
    )
    step3 = Step3(labellers, keeps_to_yes_no(folder))
    return [*_independent(inputs, labellers, step3, ledger, retry_failed), ("answers", answers)]


def look_ahead(folder: Folder, inputs: Inputs, ledger: Ledger | None, policy: Policy) -> Ahead:
    """What ``run_judging`` would ask now. Calls nothing."""
    labellers = labellers_for(folder)
    step3 = Step3(labellers, keeps_to_yes_no(folder))
    plans = _independent(inputs, labellers, step3, ledger, retry_failed=False)
    book = (
        LabelBook(ledger, policy, _optional(labellers), strict=keeps_to_yes_no(folder))
        if ledger is not None
        else None
    )
    requests = (
        step4_requests(inputs, book, assume=True) if book is not None else _all_answers(inputs)
    )
    answers = plan(ledger, labellers[ANSWER.name], requests)
    unlabelled = any(each.todo for title, each in plans if title == BOGUS)
    return Ahead((*plans, ("answers", answers)), answers_assumed=unlabelled)


def _all_answers(inputs: Inputs) -> Iterator[Request]:
    likely = Likely()
    for question in inputs.questions:
        for file in inputs.ac_files.values():
            answer = file.run.answers.get(question.id)
            if answer is not None:
                texts = tuple(nugget.text for nugget in likely.of(answer.nuggets))
                yield Request(ANSWER, answer_unit(question, answer, texts))


class Likely:
    """As many nuggets as are likely to be entailed: ``ENTAILED_SHARE`` of all those shown so far.
    What one answer's share is short of a whole nugget goes to the answers after it, so that
    answers of one or two nuggets do not make the estimate too high."""

    def __init__(self) -> None:
        self._owed = 0.0

    def of(self, nuggets: Sequence[T]) -> Sequence[T]:
        self._owed += len(nuggets) * ENTAILED_SHARE
        taken = min(len(nuggets), round(self._owed))
        self._owed -= taken
        return nuggets[:taken]


def _optional(labellers: Mapping[str, Labeller]) -> dict[str, Labeller | None]:
    return dict(labellers)
