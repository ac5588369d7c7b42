"""Judging by batch files: what must be asked goes out as a file, replies come in as files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.judging.engine import Plan, new_label
from assay.labellers.base import Request
from assay.labellers.batch import batch_lines, outcome_of, read_replies
from assay.labellers.openai import OpenAILabeller
from assay.ledger import Ledger
from assay.model.errors import SettingsError
from assay.model.labels import Status


@dataclass(frozen=True, slots=True)
class Taken:
    """What an import did: labels ``added`` (``failed`` of them unusable), replies ``known`` from
    before, questions that the server left ``unanswered`` and replies that nobody ``asked`` for."""

    added: int = 0
    failed: int = 0
    known: int = 0
    unanswered: int = 0
    unasked: int = 0


def export_batch(plans: Sequence[tuple[str, Plan]]) -> tuple[bytes, int]:
    """The batch file of all plans whose labeller is an endpoint, and how many questions it holds.

    Raises SettingsError where none is.
    """
    lines: list[bytes] = []
    written: set[str] = set()  # what several protocols want stands in the file once
    able = False
    for _, plan in plans:
        if isinstance(plan.labeller, OpenAILabeller):
            able = True
            todo = [(key, request) for key, request in plan.todo if key not in written]
            written.update(key for key, _ in todo)
            lines.extend(batch_lines(plan.labeller, todo))
    if not able:
        raise SettingsError("Batch files are for 'openai:' labellers, and no task has one.")
    return b"".join(lines), len(lines)


def import_batch(plans: Sequence[tuple[str, Plan]], ledger: Ledger, path: Path) -> Taken:
    """Take the replies of a result file into the ledger, all in one go.

    A reply is kept as if it had been got live, but for the repair turn. What the server did not
    answer stays missing. Raises FormatError where the file is no result file.
    """
    wanted: dict[str, tuple[OpenAILabeller, Request]] = {
        key: (plan.labeller, request)
        for _, plan in plans
        if isinstance(plan.labeller, OpenAILabeller)
        for key, request in plan.todo
    }
    replies = read_replies(path)
    known = ledger.known_keys([reply.key for reply in replies])
    labels = []
    failed = unanswered = unasked = again = 0
    for reply in replies:
        if reply.key in known:
            again += 1
            continue
        if reply.key not in wanted:
            unasked += 1
            continue
        labeller, request = wanted[reply.key]
        outcome = outcome_of(labeller, request, reply)
        if outcome is None:
            unanswered += 1
            continue
        del wanted[reply.key]  # a reply that stands twice in the file counts once
        failed += outcome.status is Status.FAILED
        labels.append(new_label(labeller, reply.key, request, outcome))
    ledger.add(labels)
    return Taken(len(labels), failed, again, unanswered, unasked)
