"""Judging by batch files: what must be asked goes out as a file, replies come in as files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.judging.engine import Plan, join_votes
from assay.judging.keeper import new_label
from assay.labellers.base import Request
from assay.labellers.batch import batch_lines, outcome_of, read_replies
from assay.labellers.openai import OpenAILabeller
from assay.ledger import Ledger
from assay.model.errors import SettingsError
from assay.model.labels import Status


@dataclass(frozen=True, slots=True)
class Taken:
    """What an import did: labels ``added`` (``failed`` of them unusable or refused), replies
    ``known`` from before, questions that the server left ``unanswered`` (``errors`` says why, and
    how often) and replies that nobody ``asked`` for."""

    added: int = 0
    failed: int = 0
    known: int = 0
    unanswered: int = 0
    unasked: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Exported:
    """A batch file: its bytes, how many questions it holds, and how many questions to which
    labellers (by name) cannot go into one."""

    data: bytes
    count: int
    left_out: Mapping[str, int]


def export_batch(plans: Sequence[tuple[str, Plan]]) -> Exported:
    """The batch file of what plans ask endpoints, members of ensembles included.

    Raises SettingsError where none is asked.
    """
    lines: list[bytes] = []
    written: set[str] = set()  # what several protocols want stands in the file once
    left_out: Counter[str] = Counter()
    able = False
    for plan in (part for _, each in plans for part in each.asked):
        if isinstance(plan.labeller, OpenAILabeller):
            able = True
            todo = [(key, request) for key, request in plan.todo if key not in written]
            written.update(key for key, _ in todo)
            lines.extend(batch_lines(plan.labeller, todo))
        elif plan.todo:
            left_out[plan.labeller.id.name] += len(plan.todo)
    if not able:
        raise SettingsError(
            "Batch files are for 'openai:' and 'anthropic:' labellers, and no task has one."
        )
    return Exported(b"".join(lines), len(lines), left_out)


def import_batch(plans: Sequence[tuple[str, Plan]], ledger: Ledger, path: Path) -> Taken:
    """Take the replies of a result file into the ledger, all in one go.

    A reply is kept as if it had been got live, but for the repair turn. What the server did not
    get to stays missing. Joint labels of ensembles are made where all members have answered.
    Raises FormatError where the file is no result file.
    """
    wanted: dict[str, tuple[OpenAILabeller, Request]] = {
        key: (part.labeller, request)
        for _, each in plans
        for part in each.asked
        if isinstance(part.labeller, OpenAILabeller)
        for key, request in part.todo
    }
    replies = read_replies(path)
    known = ledger.known_keys([reply.key for reply in replies]) - wanted.keys()
    taken: set[str] = set()
    errors: Counter[str] = Counter()
    labels = []
    failed = unanswered = unasked = again = 0
    for reply in replies:
        if reply.key in known or reply.key in taken:
            again += 1
            continue
        if reply.key not in wanted:
            unasked += 1
            continue
        labeller, request = wanted[reply.key]
        outcome = outcome_of(labeller, request, reply)
        if outcome is None:
            unanswered += 1
            errors[reply.error or ""] += 1
            continue
        taken.add(reply.key)  # a reply that stands twice in the file counts once
        failed += outcome.status is Status.FAILED
        labels.append(new_label(labeller, reply.key, request, outcome))
    ledger.add(labels)
    for _, each in plans:
        join_votes(ledger, each)
    return Taken(len(labels), failed, again, unanswered, unasked, dict(errors))
