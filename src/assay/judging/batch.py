"""Judging with batch files: write the open questions to files, import files of replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from assay.judging.engine import Plan, TitledPlans, join_votes
from assay.judging.todo import KeySet
from assay.judging.writer import new_label
from assay.labellers.batch import BatchLine, BatchReply, batch_lines, read_replies, reply_outcome
from assay.labellers.guarded import unwrapped
from assay.labellers.openai import OpenAILabeller
from assay.ledger import Ledger
from assay.model.errors import SettingsError
from assay.model.labels import Status


@dataclass(frozen=True, slots=True)
class BatchImport:
    """The result of an import. ``added`` labels, of which ``failed`` are unusable or refused;
    replies ``known`` before; questions that the server left ``unanswered`` (``errors`` counts the
    reasons); replies to ``unasked`` questions."""

    added: int = 0
    failed: int = 0
    known: int = 0
    unanswered: int = 0
    unasked: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchExport:
    """The result of an export: its ``files``, the ``count`` of their questions, and how many
    questions of each labeller (by name) cannot go into a file."""

    files: tuple[Path, ...]
    count: int
    left_out: Mapping[str, int]


MOST_QUESTIONS = 50_000
"""Most questions per file of OpenAI's batch service (Anthropic's takes twice as many)."""
MOST_BYTES = 200_000_000
"""Most bytes per file of OpenAI's batch service."""


def unexportable(plans: TitledPlans) -> dict[str, int]:
    """How many questions of each labeller (by name) cannot go into a batch file. Raises
    SettingsError if none can."""
    parts = [part for _, each in plans for part in each.parts]
    others = [part for part in parts if not isinstance(unwrapped(part.labeller), OpenAILabeller)]
    if len(others) == len(parts):
        raise SettingsError(
            "Batch files only work with 'openai:' and 'anthropic:' labellers, and no task has one."
        )
    left_out: Counter[str] = Counter()
    for part in others:
        left_out[part.labeller.id.name] += len(part.todo)
    return dict(+left_out)


def split_into_files(
    plans: TitledPlans,
    *,
    most: int = MOST_QUESTIONS,
    most_bytes: int = MOST_BYTES,
) -> Iterator[tuple[int, BatchLine]]:
    """The questions for endpoints, each with the number of its file (from 1). Members of ensembles
    are included. The services want one model per file, which holds at most ``most`` questions and
    ``most_bytes`` as JSON lines."""
    by_model: dict[str, list[tuple[OpenAILabeller, Plan]]] = {}
    for endpoint, part in _endpoints(plans):
        by_model.setdefault(endpoint.id.name, []).append((endpoint, part))
    written = KeySet()  # a question of several protocols is written once
    number = 0
    for parts in by_model.values():
        count, size = most, 0  # starts a new file
        for line in chain.from_iterable(
            batch_lines(labeller, (item for item in part.todo if written.add(item[0])))
            for labeller, part in parts
        ):
            length = len(line.json)
            if count == most or size + length > most_bytes:
                number, count, size = number + 1, 0, 0
            count, size = count + 1, size + length
            yield number, line


def import_batch(plans: TitledPlans, ledger: Ledger, *paths: Path) -> BatchImport:
    """Import the replies of result files into the ledger, each file in one transaction. A reply
    becomes a label as in live judging, except that there is no repair turn. Questions that the
    server did not reach stay missing. Joint labels of ensembles are made once all members have
    answered. Raises FormatError if a file is not a result file."""
    taken_keys: set[str] = set()
    errors: Counter[str] = Counter()
    added = failed = unanswered = unasked = repeated = 0
    for path in paths:
        replies: dict[str, list[BatchReply]] = {}
        for reply in read_replies(path):
            replies.setdefault(reply.key, []).append(reply)
        labels = []
        todo = ((labeller, *item) for labeller, part in _endpoints(plans) for item in part.todo)
        for labeller, key, request in todo:
            for reply in replies.pop(key, ()):
                if key in taken_keys:  # twice in the files; counts once
                    repeated += 1
                    continue
                outcome = reply_outcome(labeller, request, reply)
                if outcome is None:
                    unanswered += 1
                    errors[reply.error or ""] += 1
                    continue
                taken_keys.add(key)
                failed += outcome.status is Status.FAILED
                labels.append(new_label(labeller, key, request, outcome))
        known = ledger.known_keys(list(replies))
        for key, others in replies.items():
            if key in known:
                repeated += len(others)
            else:
                unasked += len(others)
        ledger.add(labels)
        added += len(labels)
    for _, each in plans:
        join_votes(ledger, each)
    return BatchImport(added, failed, repeated, unanswered, unasked, dict(errors))


def _endpoints(plans: TitledPlans) -> Iterator[tuple[OpenAILabeller, Plan]]:
    """The endpoints with open questions, and their plans."""
    for part in (part for _, each in plans for part in each.parts if part.todo):
        endpoint = unwrapped(part.labeller)
        if isinstance(endpoint, OpenAILabeller):
            yield endpoint, part
