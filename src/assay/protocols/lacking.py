"""The labels that an evaluation lacks, in words: what is missing, and why labels failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from assay.model.wording import named
from assay.page.page import Gap
from assay.protocols.labels import LabelBook
from assay.protocols.results import RETRY
from assay.tasks.base import AnyTask

_REASONS = 3
"""Reasons that are told; of what is left the number is."""


def label_gaps(book: LabelBook, tasks: Iterable[AnyTask]) -> list[Gap]:
    """What labels that scores wanted are missing, or failed."""
    titles = {task.name: task.title for task in tasks}
    gaps = []
    for task, count in book.missing.items():
        asked = book.asked[task]
        of = f"of {asked:,} labels" if asked > count else "label" if count == 1 else "labels"
        what = f"{of} {named(count, 'is', 'are')} missing: {titles[task]}"
        gaps.append(Gap(count, what, "“assay judge” asks for the labels that are missing."))
    for task, count in book.failed.items():
        what = f"of {book.asked[task]:,} labels failed: {titles[task]}"
        gaps.append(Gap(count, what, RETRY))
    return gaps


def why_failed(book: LabelBook, tasks: Iterable[AnyTask]) -> Iterator[str]:
    """Why labels in the ledger failed, the most frequent reasons first, of units that have no
    usable label by anybody who counts here: one by others, or by the labeller with former settings,
    is none. Units that are not asked any more may be among them."""
    for task in tasks:
        if book.by_unit is None or not book.failed[task.name]:
            continue
        own, ledger = book.by_unit.configured[task.name], book.by_unit.ledger
        who = ledger.labellers().items()
        counts = [n for n, one in who if book.by_unit.policy.counts(one, task.name, own)]
        why = ledger.why_failed(task.name, counts) if counts else Counter[str]()
        first = why.most_common(_REASONS)
        told = [f"{reason} ({count:,})" for reason, count in first]
        rest = why.total() - sum(count for _, count in first)
        told += [f"other reasons ({rest:,})"] if rest else []
        if told:
            yield f"Failed labels in the ledger ({task.title}): {'; '.join(told)}"
