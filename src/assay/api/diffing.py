"""``assay diff``: compare two evaluations topic by topic, and find what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np

from assay.formats.out_folders import Cell, Outcome, read_labels_at, read_outcome
from assay.measures.bootstrap import ends_of
from assay.measures.confidence import LOWER_IS_BETTER as LOWER_CONFIDENCE
from assay.measures.confidence import MEASURES
from assay.model.errors import SettingsError
from assay.model.wording import joined
from assay.page.wording import shortened
from assay.protocols.rag.scoring import LOWER as LOWER_RAG
from assay.statistics.confidence import compare_confidence
from assay.statistics.significance import bootstrap_difference, holm, randomisation_test
from assay.statistics.worsening import detectable_loss

LOWER_IS_BETTER = LOWER_CONFIDENCE | LOWER_RAG
"""Names in files of measures of which lower is better."""

_ALWAYS_DIFFERENT = {
    "outputs",
    "ledger",
    "labels_sha256",
    "reproduce",
    "report",
    "stands_on",
    "warnings",
}
"""Entries of a manifest that differ whenever anything does."""

MOST_TEXT = 160
"""Number of characters shown of a text or an entry of the manifest."""
_LEVEL = 0.05
"""Greatest corrected p-value of a significant difference."""


@dataclass(frozen=True, slots=True)
class ChangedEntry:
    """An entry of the manifest that differs; None if one has no such entry."""

    what: str
    first: str | None
    second: str | None


@dataclass(frozen=True, slots=True)
class Move:
    """A topic whose value changed. ``why`` is ``texts`` if what was labelled changed, ``labels`` if
    only the labels did, and empty if unknown."""

    run: str
    topic: str
    measure: str
    first: float
    second: float
    flip: bool
    why: str = ""
    question: str = ""
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """A run's measure in both evaluations, over the ``n`` topics with a certain value in both
    (``open`` topics depend on missing labels). ``p`` is from a two-sided sign-flip test (for HMR
    and its parts, by swapping answers), or None if no value differs; ``p_holm`` is corrected over
    all tests. ``detectable`` is the difference that a two-sided t-test would detect with power 0.8.
    ``same``: whether the score and all its topics have the same values and ranges."""

    run: str
    measure: str
    first: float | None
    second: float | None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    detectable: float | None = None
    n: int
    open: int
    flips: int = 0
    same: bool

    @property
    def differs(self) -> bool:
        """Whether anything differs."""
        return self.p is not None or not self.same

    @property
    def has_moved(self) -> bool:
        """Whether the score is known in both and differs by more than rounding."""
        if self.first is None or self.second is None:
            return False
        return not _equal(self.first, self.second)

    @property
    def is_real(self) -> bool:
        """Whether the difference is significant."""
        return self.p_holm is not None and self.p_holm <= _LEVEL


@dataclass(frozen=True, slots=True)
class BoardOrder:
    """The order of the runs by a measure: the number of ``pairs`` with different values in both
    evaluations, and which of these changed places, the run that is better now first."""

    measure: str
    pairs: int
    turned: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Difference:
    """The difference between two evaluations. ``relabelled`` counts by task the units labelled in
    both, and those with a different verdict. ``apart`` are runs that only one has; ``topics_apart``
    are topics that only the first, and only the second, has values for. ``orders`` covers each
    measure of several runs."""

    first: Outcome
    second: Outcome
    changed: tuple[ChangedEntry, ...]
    moves: tuple[Move, ...]
    tests: tuple[Paired, ...]
    relabelled: Mapping[str, tuple[int, int]]
    apart: tuple[str, ...]
    topics_apart: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    orders: tuple[BoardOrder, ...] = ()

    @cached_property
    def flips(self) -> tuple[Move, ...]:
        """Moves between yes and no."""
        return tuple(one for one in self.moves if one.flip)

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "first": str(self.first.path),
            "second": str(self.second.path),
            "orders": self.orders,
            "flips": self.flips,
            "tests": self.tests,
            "changed": self.changed,
            "relabelled": {
                task: {"labelled_in_both": both, "another_verdict": other}
                for task, (both, other) in self.relabelled.items()
            },
            "moves": [one for one in self.moves if not one.flip],
            "runs_of_one_alone": list(self.apart),
            "topics_of_one_alone": dict(zip(("first", "second"), self.topics_apart, strict=True)),
        }


def diff(first: Path, second: Path, measures: Sequence[str] = ()) -> Difference:
    """Compare two evaluations by ``measures`` (default: all that both have). Runs are matched by
    name; if both have just one run, these are compared. Raises FormatError if one is not an
    ``out/``, SettingsError for a measure that is not in both."""
    a, b = read_outcome(first), read_outcome(second)
    runs = {run: run for run in a.runs if run in b.runs}
    if not runs and len(a.runs) == len(b.runs) == 1:
        runs = {a.runs[0]: b.runs[0]}
    known = {measure for _, measure in a.scores} & {measure for _, measure in b.scores}
    for name in measures:
        if name not in known:
            there = joined(sorted(known), 60) or "none"
            raise SettingsError(f"{name} is not in both evaluations. In both: {there}.")
    wanted = [
        (run, other, measure)
        for run, other in runs.items()
        for measure in dict.fromkeys(m for r, m in a.scores if r == run)
        if (other, measure) in b.scores and (not measures or measure in measures)
    ]
    moves = [move for one in wanted for move in _moves(a, b, *one)]
    tests = [_paired(a, b, *one) for one in wanted]
    adjusted = holm([one.p for one in tests])
    tests = [replace(one, p_holm=p) for one, p in zip(tests, adjusted, strict=True)]
    apart = [f"{run} (first)" for run in a.runs if run not in runs]
    apart += [f"{run} (second)" for run in b.runs if run not in runs.values()]
    reasons, relabelled = _why(a, b, moves, runs)
    reasons.sort(key=lambda one: (not one.flip, -abs(one.second - one.first)))
    return Difference(
        a, b, tuple(_manifests(a.manifest, b.manifest)), tuple(reasons), tuple(tests), relabelled,
        tuple(apart), _topics_apart(a, b, wanted), tuple(_orders(tests)),
    )  # fmt: skip


def _topics_apart(
    a: Outcome, b: Outcome, wanted: Sequence[tuple[str, str, str]]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Topics with values only in the first, and only in the second."""
    first = dict.fromkeys(t for run, _, name in wanted for t in a.values.get((run, name), {}))
    second = dict.fromkeys(t for _, run, name in wanted for t in b.values.get((run, name), {}))
    return tuple(t for t in first if t not in second), tuple(t for t in second if t not in first)


def _orders(tests: Sequence[Paired]) -> Iterator[BoardOrder]:
    """The order of runs by each measure that several runs have."""
    by_measure: dict[str, list[Paired]] = {}
    for one in tests:
        if one.first is not None and one.second is not None:
            by_measure.setdefault(one.measure, []).append(one)
    for measure, known in by_measure.items():
        pairs, turned = 0, []
        for x, y in combinations(known, 2):
            before, now = _sign(x.first, y.first), _sign(x.second, y.second)
            pairs += before != 0 != now
            if before * now < 0:
                better = now > 0 if measure not in LOWER_IS_BETTER else now < 0
                turned.append((x.run, y.run) if better else (y.run, x.run))
        if len(known) > 1:
            yield BoardOrder(measure, pairs, tuple(turned))


def _sign(one: float | None, other: float | None) -> int:
    """The sign of the difference between two values; 0 if one is unknown."""
    if one is None or other is None or _equal(one, other):
        return 0
    return (one > other) - (one < other)


def _equal(one: float, other: float) -> bool:
    """Whether two sums differ only by rounding."""
    return isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)


# -- topics ---------------------------------------------------------------------------------------


def _cells(
    a: Outcome, b: Outcome, run: str, other: str, measure: str
) -> Iterator[tuple[str, Cell, Cell]]:
    """Topics with a value in both, with both values."""
    there = b.values.get((other, measure), {})
    for topic, cell in a.values.get((run, measure), {}).items():
        if topic in there:
            yield topic, cell, there[topic]


def _moves(a: Outcome, b: Outcome, run: str, other: str, measure: str) -> Iterator[Move]:
    cells = list(_cells(a, b, run, other, measure))
    ends = {one for _, x, y in cells for one in (x.value, y.value)} - {None}
    yes_no = ends <= {0.0, 1.0}
    for topic, x, y in cells:
        if x.value is not None and y.value is not None and x.value != y.value:
            yield Move(run, topic, measure, x.value, y.value, yes_no)


def _paired(a: Outcome, b: Outcome, run: str, other: str, measure: str) -> Paired:
    first, second = a.scores[run, measure].value, b.scores[other, measure].value
    cells = list(_cells(a, b, run, other, measure))
    pairs = [(x.value, y.value) for _, x, y in cells if None not in (x.value, y.value)]
    hanging = sum(None in (x.value, y.value) and None not in (x.floor, y.floor)
                  for _, x, y in cells)  # fmt: skip
    before, after = (np.array([one[k] for one in pairs], dtype=np.float64) for k in (0, 1))
    same = (a.scores[run, measure] == b.scores[other, measure]
            and a.values.get((run, measure)) == b.values.get((other, measure)))  # fmt: skip
    found = Paired(run=run, measure=measure, first=first, second=second, n=len(pairs),
                   open=hanging, same=same)  # fmt: skip
    if not cells and measure in MEASURES:
        return _by_confidence(found, a, b, run, other)
    if len(pairs) < 2:
        return found
    d = after - before
    interval = bootstrap_difference(after, before, seed=0)
    yes_no = set(np.unique([before, after])) <= {0.0, 1.0}
    return replace(
        found,
        difference=float(d.mean()),
        low=interval.low,
        high=interval.high,
        p=randomisation_test(after, before, seed=0) if d.any() else None,
        detectable=detectable_loss(float(d.std(ddof=1)), len(d), 0.025),
        flips=int((d != 0).sum()) if yes_no else 0,
    )


def _by_confidence(found: Paired, a: Outcome, b: Outcome, run: str, other: str) -> Paired:
    """Compare a measure of confidence over the questions with a certain answer in both. A question
    that is left out counts as wrong with confidence 1."""
    rows = []
    for topic, x, y in _cells(a, b, run, other, "Accuracy"):
        pair = [_answer(one, cell, name, topic) for one, cell, name in ((a, x, run), (b, y, other))]
        if None not in pair:
            rows.append([part for answer in pair if answer is not None for part in answer])
    if len(rows) < 2:
        return found
    p0, c0, p1, c1 = np.array(rows).T
    if (p0 == p1).all() and (c0 == c1).all():
        return replace(found, difference=0.0, n=len(rows))
    one = compare_confidence(p1, c1, p0, c0, measures=(found.measure,), seed=0)[found.measure]
    low, high = ends_of(one.interval)
    return replace(found, difference=one.difference, low=low, high=high, p=one.p, n=len(rows))


def _answer(outcome: Outcome, right: Cell, run: str, topic: str) -> tuple[float, float] | None:
    said = outcome.values.get((run, "Confidence"), {}).get(topic)
    if right.value is None:
        return None
    if said is None or said.value is None:
        return (1.0, 0.0) if not right.value else None
    return said.value, right.value


# -- why ------------------------------------------------------------------------------------------


def _why(
    a: Outcome, b: Outcome, moves: Sequence[Move], runs: Mapping[str, str]
) -> tuple[list[Move], dict[str, tuple[int, int]]]:
    """The moves with their causes, if known, and by task the counts of ``relabelled``."""
    wanted = {(one.run, one.topic) for one in moves}
    first, said = read_labels_at(a.path, wanted)
    second, says = read_labels_at(b.path, {(runs[run], topic) for run, topic in wanted})
    both: Counter[str] = Counter()
    other: Counter[str] = Counter()
    for key, label in said.items():
        if key in says:
            both[label.task] += 1
            other[label.task] += says[key].verdict != label.verdict
    found = []
    for one in moves:
        x, y = first[one.run, one.topic], second[runs[one.run], one.topic]
        why = ""
        if x.units or y.units:
            why = "texts" if x.units != y.units else "labels" if x.verdicts != y.verdicts else ""
        question = y.texts.get("question", x.texts.get("question", ""))
        found.append(replace(one, why=why, question=question, before=x.texts.get("answer", ""),
                             after=y.texts.get("answer", "")))  # fmt: skip
    return found, {task: (count, other[task]) for task, count in both.items()}


def _manifests(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[ChangedEntry]:
    """The entries of the manifests that differ, including prompts and labellers."""
    for name in dict.fromkeys((*first, *second)):
        a, b = first.get(name), second.get(name)
        if a == b or name in _ALWAYS_DIFFERENT:
            continue
        if isinstance(a, dict) and isinstance(b, dict):
            for key in dict.fromkeys((*a, *b)):
                if a.get(key) != b.get(key):
                    yield ChangedEntry(f"{name} {key}", _words(a.get(key)), _words(b.get(key)))
        else:
            yield ChangedEntry(name, _words(a), _words(b))


def _words(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, dict):
        parts = (f"{key} {_words(one)}" for key, one in value.items())
        return shortened(", ".join(parts), MOST_TEXT)
    text = str(value)
    return text[:12] + "…" if len(text) == 64 and text.isalnum() else shortened(text, MOST_TEXT)
