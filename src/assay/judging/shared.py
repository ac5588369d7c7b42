"""Questions that need not be asked, as a label of another task answers them (tasks.shared)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from assay.labellers.base import Labeller, Request, request_key
from assay.ledger import Ledger, QuestionKey
from assay.model.labels import Label, Status
from assay.tasks.base import AnyTask
from assay.tasks.shared import Source, sources


def asked_under(task: AnyTask, request: Request) -> Request:
    """The same question as ``task`` asks it, whose verdict tells the request's."""
    return _under(next(one for one in sources(request.task) if one.task is task), request)


def _under(source: Source, request: Request) -> Request:
    unit = source.task.unit.model_validate(source.content(request.content))
    return Request(source.task, unit, request.sample)


def _asked_of(
    ledger: Ledger, labeller: Labeller, requests: Mapping[str, Request]
) -> dict[str, list[tuple[Source, Label]]]:
    """What the labeller said to those of ``requests`` (by key) under the tasks that tell theirs."""
    known = ledger.tasks()
    tasks = {request.task.name: request.task for request in requests.values()}
    used = {
        name: [source for source in sources(task) if source.task.name in known]
        for name, task in tasks.items()
    }
    asked: list[QuestionKey] = []
    others: dict[str, list[tuple[str, Source]]] = {}
    if any(used.values()):
        for key, request in requests.items():
            for source in used[request.task.name]:
                like = _under(source, request)
                other = request_key(labeller, like)
                asked.append((like.unit_hash, other))
                others.setdefault(other, []).append((key, source))
    found: dict[str, list[tuple[Source, Label]]] = {}
    for other, label in ledger.by_key(asked).items():
        for key, source in others[other]:
            found.setdefault(key, []).append((source, label))
    return found


def told_elsewhere(ledger: Ledger, labeller: Labeller, requests: Mapping[str, Request]) -> set[str]:
    """Keys of the requests whose verdict a label by the same labeller under another task tells."""
    return {
        key
        for key, found in _asked_of(ledger, labeller, requests).items()
        if any(
            label.status is Status.OK
            and source.told(label, requests[key].task, requests[key].unit_hash) is not None
            for source, label in found
        )
    }


def left_open(
    ledger: Ledger, labeller: Labeller, requests: Mapping[str, Request]
) -> Mapping[tuple[str, str], int]:
    """How many of the requests are asked although the labeller was asked something alike, by
    (task, what its label leaves open)."""
    return Counter(
        (requests[key].task.name, f"{label.task} was asked, and {source.leaves_open}")
        for key, found in _asked_of(ledger, labeller, requests).items()
        for source, label in found
        if label.status is Status.OK and source.leaves_open
    )
