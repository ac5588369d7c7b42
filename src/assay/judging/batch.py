"""Judging by batch files: what must be asked goes out as a file, replies come in as files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from assay.judging.engine import Plan, TitledPlans, join_votes
from assay.judging.keeper import new_label
from assay.judging.todo import Distinct
from assay.labellers.batch import BatchLine, BatchReply, batch_lines, outcome_of, read_replies
from assay.labellers.guarded import behind
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
    """What an export wrote: its ``files``, how many questions they hold, and how many questions to
    which labellers (by name) cannot go into one."""

    files: tuple[Path, ...]
    count: int
    left_out: Mapping[str, int]


MOST_QUESTIONS = 50_000
"""Questions that OpenAI's batch service takes in a file (Anthropic's takes twice as many)."""
MOST_BYTES = 200_000_000
"""Bytes that it takes in a file."""


def cannot_go_out(plans: TitledPlans) -> dict[str, int]:
    """How many questions, by name of their labeller, cannot go into a batch file. Raises
    SettingsError where no labeller's can."""
    asked = [part for _, each in plans for part in each.asked]
    others = [part for part in asked if not isinstance(behind(part.labeller), OpenAILabeller)]
    if len(others) == len(asked):
        raise SettingsError(
            "Batch files are for 'openai:' and 'anthropic:' labellers, and no task has one."
        )
    left_out: Counter[str] = Counter()
    for part in others:
        left_out[part.labeller.id.name] += len(part.todo)
    return dict(+left_out)


def in_batches(
    plans: TitledPlans,
    *,
    most: int = MOST_QUESTIONS,
    most_bytes: int = MOST_BYTES,
) -> Iterator[tuple[int, BatchLine]]:
    """What plans ask endpoints, members of ensembles included, each with the number of the file
    (from 1) that it goes into. A file is one model's, as the services want it, and holds ``most``
    questions at most, and ``most_bytes`` as JSON lines."""
    by_model: dict[str, list[tuple[OpenAILabeller, Plan]]] = {}
    for endpoint, part in _endpoints(plans):
        by_model.setdefault(endpoint.id.name, []).append((endpoint, part))
    written = Distinct()  # what several protocols want goes out once
    number = 0
    for parts in by_model.values():
        count, size = most, 0  # as if the file of another model were full
        for line in chain.from_iterable(
            batch_lines(labeller, (item for item in part.todo if written.new(item[0])))
            for labeller, part in parts
        ):
            length = len(line.json)
            if count == most or size + length > most_bytes:
                number, count, size = number + 1, 0, 0
            count, size = count + 1, size + length
            yield number, line


def import_batch(plans: TitledPlans, ledger: Ledger, *paths: Path) -> Taken:
    """Take the replies of result files into the ledger, those of a file in one go.

    A reply is kept as if it had been got live, but for the repair turn. What the server did not
    get to stays missing. Joint labels of ensembles are made where all members have answered.
    Raises FormatError where a file is no result file.
    """
    taken: set[str] = set()
    errors: Counter[str] = Counter()
    added = failed = unanswered = unasked = repeated = 0
    for path in paths:
        replies: dict[str, list[BatchReply]] = {}
        for reply in read_replies(path):
            replies.setdefault(reply.key, []).append(reply)
        labels = []
        asked = ((labeller, *item) for labeller, part in _endpoints(plans) for item in part.todo)
        for labeller, key, request in asked:
            for reply in replies.pop(key, ()):
                if key in taken:  # it stands twice in the files and counts once
                    repeated += 1
                    continue
                outcome = outcome_of(labeller, request, reply)
                if outcome is None:
                    unanswered += 1
                    errors[reply.error or ""] += 1
                    continue
                taken.add(key)
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
    return Taken(added, failed, repeated, unanswered, unasked, dict(errors))


def _endpoints(plans: TitledPlans) -> Iterator[tuple[OpenAILabeller, Plan]]:
    """The endpoints that plans ask something, with what is asked of each."""
    for part in (part for _, each in plans for part in each.asked if part.todo):
        endpoint = behind(part.labeller)
        if isinstance(endpoint, OpenAILabeller):
            yield endpoint, part
