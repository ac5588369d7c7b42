"""Questions that need not be asked because a label of another task answers them.

Which tasks answer each other is defined in :mod:`assay.tasks.shared`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from assay.labellers.base import Labeller, Request, request_key
from assay.ledger import Ledger, QuestionKey
from assay.model.labels import Label, Status
from assay.tasks.base import AnyTask
from assay.tasks.shared import Source, sources


def request_under(task: AnyTask, request: Request) -> Request:
    """The same question under ``task``, whose verdict implies the request's."""
    return _under(next(each for each in sources(request.task) if each.task is task), request)


def _under(source: Source, request: Request) -> Request:
    unit = source.task.unit.model_validate(source.content(request.content))
    return Request(source.task, unit, request.sample)


def _labels_elsewhere(
    ledger: Ledger, labeller: Labeller, requests: Mapping[str, Request]
) -> dict[str, list[tuple[Source, Label]]]:
    """The labeller's labels of the same questions under other tasks, by key of the request."""
    known = ledger.tasks()
    tasks = {request.task.name: request.task for request in requests.values()}
    used = {
        name: [source for source in sources(task) if source.task.name in known]
        for name, task in tasks.items()
    }
    question_keys: list[QuestionKey] = []
    others: dict[str, list[tuple[str, Source]]] = {}
    if any(used.values()):
        for key, request in requests.items():
            for source in used[request.task.name]:
                under = _under(source, request)
                other = request_key(labeller, under)
                question_keys.append((under.unit_hash, other))
                others.setdefault(other, []).append((key, source))
    found: dict[str, list[tuple[Source, Label]]] = {}
    for other, label in ledger.by_key(question_keys).items():
        for key, source in others[other]:
            found.setdefault(key, []).append((source, label))
    return found


def answered_elsewhere(
    ledger: Ledger, labeller: Labeller, requests: Mapping[str, Request]
) -> set[str]:
    """Keys of the requests that the same labeller has answered under another task."""
    return {
        key
        for key, labels in _labels_elsewhere(ledger, labeller, requests).items()
        if any(
            label.status is Status.OK
            and source.derive(label, requests[key].task, requests[key].unit_hash) is not None
            for source, label in labels
        )
    }


def left_open(
    ledger: Ledger, labeller: Labeller, requests: Mapping[str, Request]
) -> Mapping[tuple[str, str], int]:
    """Count the requests that are asked although the labeller has answered a similar one, by (task,
    what its label leaves open)."""
    return Counter(
        (requests[key].task.name, f"{label.task} was asked, and {source.leaves_open}")
        for key, labels in _labels_elsewhere(ledger, labeller, requests).items()
        for source, label in labels
        if label.status is Status.OK and source.leaves_open
    )
