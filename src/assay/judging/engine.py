"""The engine: from requests to labels in the ledger.

What the ledger holds is never asked again. Each answer is committed before its worker asks the next
question, so a kill at any moment loses at most the answers in flight.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from assay.judging.asking import GIVE_UP_AFTER, INTERRUPTED, AskingRun
from assay.judging.other_tasks import answered_elsewhere
from assay.judging.progress import Progress, SilentProgress, Tally, cache_savings
from assay.judging.shards import Shard
from assay.judging.todo import Item, KeySet, chunks, collect, task_names
from assay.judging.writer import LabelWriter, new_label
from assay.labellers.base import Estimate, Labeller, Request, request_key
from assay.labellers.ensemble import EnsembleLabeller
from assay.labellers.guarded import unwrapped
from assay.ledger import Ledger, QuestionKey
from assay.model.errors import SettingsError
from assay.model.labels import LabellerId, Status
from assay.model.wording import joined
from assay.tasks.base import canonical

LARGE = 100_000
"""From this many labels on, little of the ledger is kept in memory while judging."""

_JOINED = 5000  # joint labels made in one transaction


@dataclass(frozen=True, slots=True)
class Plan:
    """What one labeller will be asked: distinct keys with their requests, and what is known. For an
    ensemble, ``todo`` are the joint labels to make and ``members`` the plans of its members; if
    these are all known, nothing is asked. ``seen`` is the number of labels in the ledger when the
    plan was made."""

    labeller: Labeller
    todo: Sequence[Item]
    known: int
    known_failed: int
    members: tuple[Plan, ...] = ()
    seen: int = 0

    @property
    def parts(self) -> tuple[Plan, ...]:
        """The plans that ask somebody: those of the members, or this one."""
        return self.members or (self,)

    def estimate(self) -> Estimate:
        """Predicted calls, tokens and US dollars."""
        total = Estimate()
        for part in self.parts:
            for _, request in part.todo:
                total += part.labeller.estimate(request)
        return total


TitledPlans = Sequence[tuple[str, Plan]]
"""Plans, each with a title for people."""


def plan(
    ledger: Ledger | None,
    labeller: Labeller,
    requests: Iterable[Request],
    *,
    retry_failed: bool = False,
    across_tasks: bool = True,
) -> Plan:
    """Plan which of ``requests`` must be asked; without a ``ledger``, nothing is known yet. With
    ``across_tasks``, a label of the same labeller for another task that answers a request counts
    too (:mod:`assay.tasks.shared`). Raises SettingsError if the labeller cannot do a task."""
    seen = 0 if ledger is None else ledger.size()  # before anything is looked up
    distinct = KeySet()
    failed = 0
    members: tuple[Plan, ...] = ()

    def missing(
        some: Mapping[str, Request], failed_before: Set[str] = frozenset()
    ) -> Iterator[Item]:
        nonlocal failed
        known = _known(ledger, labeller, some, across_tasks=across_tasks)
        failed += sum(status is Status.FAILED for status in known.values())
        for key, request in some.items():
            status = known.get(key)
            if status is None or key in failed_before or (retry_failed and status is Status.FAILED):
                yield key, request

    keyed = ((key, request) for key, request in _with_keys(labeller, requests) if distinct.add(key))
    ensemble = unwrapped(labeller)
    if isinstance(ensemble, EnsembleLabeller):
        joint = dict(keyed)
        answered = _answered_elsewhere(ledger, ensemble, joint) if across_tasks else set()
        open_ = {key: request for key, request in joint.items() if key not in answered}
        members = _members(ledger, ensemble, open_.values(), retry_failed=retry_failed)
        # If a member that failed is asked again, the joint label is made again too.
        renewed = {key for each in members for key, _ in each.todo} if retry_failed else set()
        failed_before = {
            key
            for key, request in open_.items()
            if renewed and any(one in renewed for _, _, one in ensemble.keys(request))
        }
        # Requests answered elsewhere have been removed already.
        across_tasks = False
        todo = collect(missing(open_, failed_before))
    else:
        todo = collect(item for some in chunks(keyed) for item in missing(dict(some)))
    return Plan(
        labeller, todo, len(distinct) - len(todo), 0 if retry_failed else failed, members, seen
    )


def _with_keys(labeller: Labeller, requests: Iterable[Request]) -> Iterator[Item]:
    """The requests with their keys. Raises SettingsError if the labeller cannot do a task."""
    able: set[str] = set()
    for request in requests:
        if request.task.name not in able:
            refusal = labeller.refusal(request.task)
            if refusal:
                raise SettingsError(refusal)
            able.add(request.task.name)
        yield request_key(labeller, request), request


def _known(
    ledger: Ledger | None, labeller: Labeller, some: Mapping[str, Request], *, across_tasks: bool
) -> dict[str, Status]:
    """The status of each known request, by key."""
    if ledger is None:
        return {}
    known = ledger.statuses(map(_question_key, some.items()))
    if across_tasks:
        unknown = {k: r for k, r in some.items() if known.get(k) is not Status.OK}
        known |= dict.fromkeys(_answered_elsewhere(ledger, labeller, unknown), Status.OK)
    return known


def _answered_elsewhere(
    ledger: Ledger | None, labeller: Labeller, some: Mapping[str, Request]
) -> set[str]:
    return set() if ledger is None else answered_elsewhere(ledger, labeller, some)


def _members(
    ledger: Ledger | None,
    labeller: EnsembleLabeller,
    requests: Collection[Request],
    *,
    retry_failed: bool,
) -> tuple[Plan, ...]:
    return tuple(
        plan(
            ledger,
            member,
            (each for request in requests for each in labeller.member_requests(request)),
            retry_failed=retry_failed,
            across_tasks=False,  # joint labels are made from the members' labels for this very task
        )
        for member in labeller.members
    )


def _still_open(plan_: Plan, ledger: Ledger) -> Plan:
    """The plan without questions that others have answered in the ledger since it was made."""
    members = tuple(_still_open(member, ledger) for member in plan_.members)
    if members or ledger.size() == plan_.seen:
        return replace(plan_, members=members)

    def unanswered() -> Iterator[Item]:
        for some in chunks(plan_.todo):
            known = ledger.statuses(map(_question_key, some))
            yield from (item for item in some if known.get(item[0]) is not Status.OK)

    todo = collect(unanswered())
    return replace(plan_, todo=todo, known=plan_.known + len(plan_.todo) - len(todo))


def _question_key(item: Item) -> QuestionKey:
    key, request = item
    return request.unit_hash, key


def join_votes(ledger: Ledger, plan_: Plan) -> int:
    """Make the joint labels of an ensemble's plan from its members' labels; return how many. A unit
    that some member has not answered yet is left for later."""
    ensemble = unwrapped(plan_.labeller)
    if not isinstance(ensemble, EnsembleLabeller):
        return 0
    made = 0
    for start in range(0, len(plan_.todo), _JOINED):
        part = plan_.todo[start : start + _JOINED]
        votes = ledger.by_key(
            (request.unit_hash, key) for _, request in part for _, _, key in ensemble.keys(request)
        )
        joint = ((key, request, ensemble.from_labels(request, votes)) for key, request in part)
        labels = [
            new_label(ensemble, key, request, outcome)
            for key, request, outcome in joint
            if outcome is not None
        ]
        made += len(ledger.add(labels))
    return made


def _execute(plan_: Plan, ledger: Ledger, run: AskingRun, title: str) -> None:
    parts = plan_.parts
    todo = sum(len(part.todo) for part in parts)
    known = sum(part.known for part in parts)
    run.tally.wanted, run.tally.known = todo + known, known
    run.tally.known_failed = sum(part.known_failed for part in parts)
    run.progress.begin(title, run.tally.wanted, known)
    try:
        run.ask(parts)
    finally:
        run.progress.end()
    # After an interrupt, stop quickly: the next run makes the joint labels, asking nobody.
    if run.stop != INTERRUPTED:
        join_votes(ledger, plan_)
    run.tally.skipped = todo - run.tally.asked - run.tally.unanswered
    run.tally.stopped = run.stop


def judge(
    plans: TitledPlans,
    ledger: Ledger,
    *,
    progress: Progress | None = None,
    budget: float | None = None,
    give_up_after: int = GIVE_UP_AFTER,
    shard: Shard | None = None,
) -> Tally:
    """Carry out plans one after another and return what was done.

    If the plans hold only the questions of a ``shard``, other processes may ask those of other
    shards at the same time. ``budget`` is in US dollars for this call; each request's highest
    possible cost is set aside before it is sent, so the budget is not exceeded. The run ends after
    the same fault for ``give_up_after`` questions in a row without an answer between them; these
    stay open (0 never gives up). On Ctrl-C or SIGTERM, all answers so far are kept and the tally
    says ``interrupted``.

    Raises LedgerError if another process is asking the same labeller the same, LabellerUnreachable
    (after all answers are stored), KeyboardInterrupt on a second Ctrl-C, and SettingsError for a
    budget of NaN, which would stop nothing.
    """
    if budget is not None and math.isnan(budget):
        raise SettingsError(f"The budget is {budget!r}: it must be a number of US dollars.")
    wanted = [
        (part.labeller.id, task)
        for _, each in plans
        for part in each.parts
        for task in task_names(part.todo)
    ]
    if ledger.size() + sum(len(part.todo) for _, each in plans for part in each.parts) > LARGE:
        ledger.use_less_memory()
    with claimed(ledger, wanted, shard):
        if wanted:
            ledger.check_writable()  # before paying for answers that could not be stored
        now = [(title, _still_open(each, ledger)) for title, each in plans]
        return _execute_all(now, ledger, progress or SilentProgress(), budget, give_up_after)


def _execute_all(
    plans: TitledPlans,
    ledger: Ledger,
    progress: Progress,
    budget: float | None,
    give_up_after: int,
) -> Tally:
    total = Tally()
    models: dict[int, dict[str, None]] = {}
    made: Counter[str] = Counter()
    for title, each in plans:
        left = None if budget is None else budget - total.spent
        if total.stopped:
            for part in each.parts:
                total += Tally(
                    wanted=len(part.todo) + part.known,
                    known=part.known,
                    known_failed=part.known_failed,
                    skipped=len(part.todo),
                )
            continue
        run = AskingRun(Tally(), LabelWriter(ledger), progress, left, give_up_after, models)
        _execute(each, ledger, run, title)
        total += run.tally
        made[each.labeller.id.name] += run.tally.asked
        if run.unreachable is not None and total.stopped != INTERRUPTED:
            by = joined((f"{count:,} by {name}" for name, count in made.items() if count), 5)
            saved = f"{total.asked} labels of this run are kept ({by})" if by else "Nothing lost"
            raise type(run.unreachable)(
                f"{run.unreachable}\n{saved}{_spent(total)}; run again to continue."
            )
    return total


def _spent(tally: Tally) -> str:
    """What a run has cost, including failures, in words."""
    cost = f", ${tally.cost:.4f}" if tally.cost else ""
    cost += f", {cache_savings(tally.cache_saved)}" if tally.cache_saved else ""
    used = f"{tally.tokens_in:,} tokens read, {tally.tokens_out:,} written{cost}"
    return f" ({used})" if tally.tokens_in or tally.tokens_out else ""


@contextmanager
def claimed(
    ledger: Ledger, wanted: Iterable[tuple[LabellerId, str]], shard: Shard | None = None
) -> Iterator[None]:
    """Claim the (labeller, task name) pairs ``wanted``, or a shard of them, while asking. Two
    processes that asked the same would pay twice. Free labellers need no claim. Raises LedgerError,
    which names the other process, if one of the pairs is claimed already."""
    named = {_name(who, task): (who, task) for who, task in wanted if not who.is_free}
    with ExitStack() as stack:
        # In the same order everywhere: of two processes, one gets all claims instead of each a
        # part.
        for name, (who, task) in sorted(named.items()):
            what = f"{ledger.name}: {who.name} is being asked for '{task}'"
            stack.enter_context(ledger.claim(name, what, shards=shard.count if shard else 0))
            if shard is not None:
                own = f"{name}-{shard.number}of{shard.count}"
                stack.enter_context(ledger.claim(own, f"{what}, shard {shard},"))
        yield


def _name(who: LabellerId, task: str) -> str:
    parts = canonical([who.name, who.kind, dict(who.params), task])
    return hashlib.sha256(parts).hexdigest()[:12]
