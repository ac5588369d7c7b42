"""Reranking by a language model, passage by passage (pointwise) or in windows (listwise)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.labellers.base import Request
from assay.model.errors import SettingsError
from assay.model.labels import Label
from assay.systems.asking import Asker, usable
from assay.systems.corpus.passages import CutPassage
from assay.tasks.r2c2 import RELEVANCE as YES_NO
from assay.tasks.r2c2 import PassageUnit
from assay.tasks.retrieval import MOST_ORDERED, ORDER, OrderUnit, in_order
from assay.tasks.trec_rag import RELEVANCE as GRADED
from assay.tasks.trec_rag import RelevanceUnit

WINDOW = 20
"""Passages sorted in one request."""

STRIDE = 10
"""Number of passages that the window moves up each time."""


class RankedPassage(NamedTuple):
    """A passage in a ranked list, with its score."""

    passage: CutPassage
    score: float


Lists = Mapping[str, Sequence[RankedPassage]]
"""Each topic's passages, best first."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """Lists after reranking. ``failed`` counts unusable replies, ``missing`` those that did not
    come (stopped, out of budget); both leave the earlier order."""

    lists: dict[str, list[RankedPassage]]
    asked: int
    failed: int
    missing: int


def pointwise(asker: Asker, topics: Mapping[str, str], lists: Lists, depth: int) -> Reranked:
    """Sort the first ``depth`` passages of each list by the model's grade for each (0-3, or yes/no
    if it cannot grade); ties keep their order. Passages without a usable grade follow in their old
    order, and are counted."""
    task: Any = GRADED
    if asker.labeller.refusal(GRADED) is not None:
        task = YES_NO
    pairs = [
        (topic, number, ranked)
        for topic, found in lists.items()
        for number, ranked in enumerate(found[:depth])
    ]
    unit = RelevanceUnit if task is GRADED else PassageUnit
    requests = [
        Request(task, unit(question=topics[topic], passage=ranked.passage.text))
        for topic, _, ranked in pairs
    ]
    labels = asker.ask("Relevance of passages", requests)
    failed, missing = _faults(labels)
    keyed: dict[str, list[tuple[float, int, RankedPassage]]] = {topic: [] for topic in lists}
    for (topic, number, ranked), label in zip(pairs, labels, strict=True):
        keyed[topic].append((_grade(label), number, ranked))
    made = {}
    for topic, found in lists.items():
        head = [row for _, _, row in sorted(keyed[topic], key=lambda key: (-key[0], key[1]))]
        made[topic] = _scored([*head, *found[depth:]])
    return Reranked(made, len(requests), failed, missing)


def _grade(label: Label | None) -> float:
    """A label's grade, or the margin of a yes/no label if known; -inf without a usable label."""
    verdict = usable(label)
    if verdict is None or label is None:
        return float("-inf")
    if "grade" in verdict:
        return float(verdict["grade"])
    probes = label.detail.get("probes") or ()
    if probes and "margin" in probes[0]:
        return float(probes[0]["margin"])
    return float(str(verdict["relevant"]).casefold() in ("true", "yes"))


def listwise(
    asker: Asker,
    topics: Mapping[str, str],
    lists: Lists,
    depth: int,
    *,
    window: int = WINDOW,
    stride: int = STRIDE,
) -> Reranked:
    """Sort the first ``depth`` passages of each list window by window, from the bottom to the top.
    Each window is ``stride`` further up, so that a good passage can rise all the way.

    An unusable reply leaves its window unchanged, and is counted. The windows of all topics at the
    same height are asked together. Method: Sun et al., *Is ChatGPT good at search?*, EMNLP 2023
    (RankGPT). Raises SettingsError if the stride is not between 1 and the window.
    """
    if not 1 <= stride <= window or not 2 <= window <= MOST_ORDERED:
        raise SettingsError(
            f"A window must hold 2 to {MOST_ORDERED} passages and move by 1 to its length."
        )
    now = {topic: list(found[:depth]) for topic, found in lists.items()}
    asked = failed = missing = 0
    longest = max((len(found) for found in now.values()), default=0)
    for end in _ends(longest, window, stride):
        part = {}
        for topic, found in now.items():
            # A shorter list has the same windows, counted from its own bottom.
            stop = end - (longest - len(found))
            if stop >= 2:
                part[topic] = (max(stop - window, 0), stop)
        requests = [
            Request(
                ORDER,
                OrderUnit(
                    question=topics[topic],
                    passages=tuple(row.passage.text for row in now[topic][start:stop]),
                ),
            )
            for topic, (start, stop) in part.items()
        ]
        labels = asker.ask(f"Order of passages up to rank {end}", requests)
        asked += len(requests)
        more_failed, more_missing = _faults(labels)
        failed, missing = failed + more_failed, missing + more_missing
        for (topic, (start, stop)), label in zip(part.items(), labels, strict=True):
            verdict = usable(label)
            if verdict is not None:
                old = now[topic][start:stop]
                now[topic][start:stop] = [
                    old[number - 1] for number in in_order(verdict["order"], len(old))
                ]
    made = {topic: _scored([*now[topic], *found[depth:]]) for topic, found in lists.items()}
    return Reranked(made, asked, failed, missing)


def _ends(length: int, window: int, stride: int) -> list[int]:
    """Where the windows over a list end, from the bottom up; the last window begins at the top."""
    if length < 2:
        return []
    ends = [length]
    while ends[-1] > window:
        ends.append(max(ends[-1] - stride, window))
    return ends


def _faults(labels: Sequence[Label | None]) -> tuple[int, int]:
    missing = sum(label is None for label in labels)
    return sum(usable(label) is None for label in labels) - missing, missing


def _scored(rows: Sequence[RankedPassage]) -> list[RankedPassage]:
    """Scores that fall with the rank, since the first-stage scores no longer apply."""
    return [RankedPassage(row.passage, 1.0 / rank) for rank, row in enumerate(rows, start=1)]
