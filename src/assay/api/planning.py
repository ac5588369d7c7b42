"""Plan what to label next, and forecast the gain: narrower intervals, settled pairs of runs."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Annotated

import numpy as np

from assay.api.by_items import (
    Items,
    batch_weights,
    estimated,
    expectation,
    items_for,
    linear_in,
    next_drawn,
)
from assay.api.corrected import Corrected, check_level, settled_pairs
from assay.api.correcting import DrawProgress, check_measures, correct
from assay.api.opened import Opened
from assay.api.trust import LEAST_DRAWN
from assay.ledger import Ledger
from assay.ledger.draws import TOPICS, Draw
from assay.measures.arrays import Floats
from assay.model.errors import SettingsError
from assay.model.labels import seconds_of
from assay.model.options import Option
from assay.model.wording import as_sentence, counted, noun
from assay.statistics import corrected
from assay.statistics.corrected import Estimates
from assay.statistics.corrected.draws import Design
from assay.statistics.corrected.estimates import half_widths, satterthwaite
from assay.statistics.corrected.inputs import LEAST_TOPICS
from assay.statistics.corrected.leaderboard import score_differences

COLUMNS = ("design", "labels", "topics", "width", "decided", "pairs", "hours", "cost")

_ENOUGH = 0.9
"""Share of the pairs that can be settled at all that ``to_decide`` asks for."""


@dataclass(frozen=True)
class Purchase:
    """The expected gain from ``labels`` more labels by people, drawn by a ``design``: the ``width``
    of the widest run's interval, and the number of pairs of runs whose order is ``decided``.
    ``topics`` is the number of whole topics, if these are drawn. ``hours`` (at people's pace) and
    ``cost`` (in US dollars, if a model gave the labels) are None if unknown."""

    design: str
    labels: int
    topics: int | None
    width: float
    decided: float
    hours: float | None
    cost: float | None


@dataclass(frozen=True)
class LabelPlan:
    """A plan for one ``measure``: ``offers`` by design and number of labels, the ``cheapest`` that
    reaches the aim (None if none does or there is no aim), and the ``command`` that draws it. With
    existing labels, ``settled`` of all ``pairs`` are settled and the widest run's interval is
    ``width`` wide (None: nothing that was drawn is labelled). ``notes`` explain what the
    expectations are based on."""

    measure: str
    task: str
    runs: tuple[str, ...]
    pairs: int
    settled: int
    offers: tuple[Purchase, ...]
    cheapest: Purchase | None
    command: str
    notes: tuple[str, ...]
    width: float | None = None

    def rows(self) -> Iterator[tuple[object, ...]]:
        """The offers under :data:`COLUMNS`."""
        for one in self.offers:
            yield (one.design, one.labels, one.topics, one.width, one.decided, self.pairs,
                   one.hours, one.cost)  # fmt: skip


@dataclass(frozen=True)
class Aim:
    """What more labels are to reach."""

    to_decide: Annotated[
        bool, Option("Plan until the order of 9 of 10 pairs of runs is settled.")
    ] = False
    width: Annotated[
        float | None, Option("Plan until no run's interval is wider than this, e.g. .1.")
    ] = None
    n: Annotated[int | None, Option("Show what this many labels gain.", least=10)] = None
    looks: Annotated[
        int,
        Option("How many times at most you will look at the order; fix this beforehand.", least=1),
    ] = 1
    level: Annotated[float, Option("Confidence level of the intervals.")] = 0.95

    @property
    def deciding(self) -> float:
        """The level at which a pair counts as settled at each look, rounded up as it is printed.
        Raises SettingsError if it is too high."""
        exact = 1.0 - (1.0 - check_level(self.level)) / self.looks
        return check_level(math.ceil(exact * 1e6 - 1e-3) / 1e6)

    def reached(self, one: Purchase, most: float) -> bool:
        """Whether a purchase reaches the aim if ``most`` pairs can be settled at all."""
        enough = not self.to_decide or one.decided >= _ENOUGH * most
        return enough and (self.width is None or one.width <= self.width)


AGREEMENT = 0.8
"""Assumed agreement of people with the machine before anything is labelled."""

_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
"""Shares of what could be drawn for which a plan shows the gain."""

_Offer = Callable[[int], Purchase]
"""The gain from a number of labels or topics."""


def plan_labels(
    opened: Opened, aim: Aim, *, task: str = "", measure: str = "", agreement: float = AGREEMENT
) -> LabelPlan:
    """Plan what people should label next in a folder, writing nothing. Raises SettingsError if
    nothing can be planned."""
    with opened.ledger(create=False) as ledger:
        ledger.checked()
        if measure:
            check_measures(opened.parts, ledger, [measure])
        every = linear_in(opened.parts, ledger, task)
        if measure and isinstance(every.get(measure, ""), str):
            return _by_topics(opened, ledger, aim, measure)
        items = items_for(opened.parts, ledger, task, measure)
        if (there := len(items.topics)) < LEAST_TOPICS:
            raise SettingsError(
                f"{opened.folder.path}: {counted(there, 'topic')} {noun(there, 'is', 'are')} too "
                f"few to correct scores with people's labels: at least {LEAST_TOPICS} are needed. "
                f"Have people label all of it: 'assay draw FOLDER --n {there}'."
            )
        draws = [one for one in ledger.draws() if items.task in one.tasks]
        done = [one for one in draws if DrawProgress.of(opened.parts, ledger, one).is_whole]
        if done and done[-1].design == TOPICS:
            return _by_topics(opened, ledger, aim, measure or items.measure)
        return _by_items(opened, ledger, aim, items, agreement)


# -- measures that are sums over labels --------------------------------------------------------


def _by_items(
    opened: Opened, ledger: Ledger, aim: Aim, items: Items, agreement: float
) -> LabelPlan:
    draws = [one for one in ledger.draws() if one.tasks == (items.task,) and one.design != TOPICS]
    done = [one for one in draws if DrawProgress.of(opened.parts, ledger, one).is_whole]
    known = np.isin(items.units, [name for one in done for name in one.chosen])
    alone = items.offset + items.weights @ items.judge[0]
    so_far = None
    if done:
        try:
            so_far = estimated(items, done, level=aim.level, population="these")
        except ValueError as error:
            raise SettingsError(as_sentence(error)) from None
    value = alone if so_far is None else corrected.shrink(so_far, alone)[0]
    said = ~np.isnan(items.people)
    m = expectation(items, said)
    basis = f"people's labels of {counted(int(said.sum()), 'unit')}"
    if m is None:
        f = items.judge[0]
        m = agreement * f + (1.0 - agreement) * (1.0 - f)
        basis = f"the assumption that people agree with the machine on {agreement:.0%} of the units"
    price = _Price.of(ledger, items.task)
    seed = max((one.seed for one in draws), default=0) + 1
    sizes = [one.size for one in done]
    weights = np.where(known, 0.0, items.weights)
    left = int(weights.any(axis=0).sum())
    settled = 0
    if so_far is not None:
        settled = settled_pairs(corrected.rank_sets(so_far, level=aim.deciding).decided)

    def units(design: Design) -> _Offer:
        def offer(n: int) -> Purchase:
            pi = next_drawn(items, so_far, known, n, design=design, seed=seed).pi
            covariance, df = corrected.items_covariance(weights, m, pi)
            if so_far is not None and n < left:
                every = batch_weights(len(items.units), [*sizes, n])
                covariance, df = _together(so_far, every, covariance, df)
            return _purchase(design, n, None, value, covariance, df, aim, price)

        return offer

    def topics(n: int) -> Purchase:
        covariance, df = corrected.topics_covariance(items.weights, m, items.topic, n)
        labels = round(n * asked / topic_count)
        return _purchase(TOPICS, labels, n, value, covariance, df, aim, price)

    topic_count, asked = int(items.topic.max()) + 1, _asked(opened, ledger, items.task)
    runs = len(items.runs)
    pairs = runs * (runs - 1) // 2
    open_pairs = settled < pairs
    offers: list[tuple[_Offer, int, int]] = []
    if left:
        least = min(LEAST_DRAWN, left)
        offers += [(units("leverage"), least, left)]
        offers += [(units("pairs"), least, left)] if open_pairs and runs > 1 else []
    if topic_count >= LEAST_TOPICS and not done:
        offers.append((topics, LEAST_TOPICS, topic_count))
    found, cheapest = _offered(offers, aim, value)
    start = f"Expected from {basis}; runs are assumed to differ as they do now."
    return LabelPlan(
        items.measure, items.task, items.runs, pairs, settled, tuple(found), cheapest,
        _command(opened, cheapest, items, seed),
        (start, *_notes(aim, pairs, settled, nothing_left=not offers)), _widest(so_far, aim),
    )  # fmt: skip


def _widest(so_far: Estimates | None, aim: Aim) -> float | None:
    """The current width of the widest run's interval."""
    if so_far is None:
        return None
    return float(2.0 * half_widths(np.diag(so_far.covariance), so_far.df, aim.level).max())


def _asked(opened: Opened, ledger: Ledger, task: str) -> int:
    """Number of units people label under a task if they label whole topics, including those the
    measure does not depend on."""
    books = [(part, part.book(ledger)) for part in opened.parts.values()]
    steps = ((step, book) for part, book in books for step in part.steps)
    requests = (one for step, book in steps for one in step.people_requests(book))
    return len({one.unit_hash for one in requests if one.task.name == task})


def _together(
    so_far: Estimates, weights: Floats, covariance: Floats, df: Floats
) -> tuple[Floats, Floats]:
    """The covariance and degrees of freedom after adding a batch to the earlier ones, given the
    ``weights`` of all."""
    shares = weights / weights.sum()
    old, new = shares[:-1].sum(), shares[-1]
    parts = np.stack([old**2 * np.diag(so_far.covariance), new**2 * np.diag(covariance)])
    both = old**2 * so_far.covariance + new**2 * covariance
    return both, satterthwaite(parts, np.stack([so_far.df, df]))


# -- other measures: whole topics --------------------------------------------------------------


def _by_topics(opened: Opened, ledger: Ledger, aim: Aim, measure: str) -> LabelPlan:
    """A plan based on the variation between the topics of a labelled draw."""
    draw, one = _corrected(opened, ledger, aim, measure)
    found = one.estimates
    runs = len(one.runs)
    if found is None or draw is None:
        raise SettingsError(
            f"{measure}: its runs are estimated separately, so nothing is known about pairs. Plan "
            "for a measure that is a mean over topics, e.g. -m Accuracy."
        )
    total, before = len(draw.names), len(draw.chosen)
    per_topic = DrawProgress.of(opened.parts, ledger, draw).units / before
    price = _Price.of(ledger, *draw.tasks)
    value = corrected.shrink(found, one.judge)[0]

    def topics(n: int) -> Purchase:
        scale = (1.0 / n - 1.0 / total) / (1.0 / before - 1.0 / total)
        df = np.full(runs, n - 1.0)
        return _purchase(
            TOPICS, round(n * per_topic), n, value, found.covariance * scale, df, aim, price
        )

    left = [(topics, before + 1, total)] if before < total else []
    offers, cheapest = _offered(left, aim, value)
    seed = max(one.seed for one in ledger.draws()) + 1
    tasks = "".join(f" --task {name}" for name in draw.tasks)
    command = ""
    if cheapest is not None:
        command = f"assay draw {_quoted(opened)} --n {cheapest.topics}{tasks} --seed {seed}"
    note = (
        f"Expected from how the {counted(before, 'topic')} of draw {draw.uid[:8]} vary; runs are "
        "assumed to differ as they do now. Existing labels count if they are drawn again."
    )
    settled = settled_pairs(corrected.rank_sets(found, level=aim.deciding).decided)
    return LabelPlan(
        measure, ", ".join(draw.tasks), one.runs, one.pairs, settled, tuple(offers), cheapest,
        command, (note, *_notes(aim, one.pairs, settled, nothing_left=not left)),
        _widest(found, aim),
    )  # fmt: skip


def _corrected(
    opened: Opened, ledger: Ledger, aim: Aim, measure: str
) -> tuple[Draw | None, Corrected]:
    for draw in reversed([one for one in ledger.draws() if one.design == TOPICS]):
        if not DrawProgress.of(opened.parts, ledger, draw).is_whole:
            continue
        found = correct(opened.parts, ledger, measures=(measure,), level=aim.level, wanted=draw.uid)
        for board in found.boards:
            for one in board.found:
                return draw, one
            for why in board.refused.values():
                raise SettingsError(f"{measure}: {why}")
    raise SettingsError(
        f"{measure} is not a sum over labels, so only whole topics correct it. What they gain is "
        "known once a first draw of them is labelled: 'assay draw FOLDER --n 10'."
    )


# -- what is offered ---------------------------------------------------------------------------


def _notes(aim: Aim, pairs: int, settled: int, *, nothing_left: bool) -> Iterator[str]:
    """Remarks on repeated looks, and on what is already settled."""
    if aim.looks > 1:
        yield (
            f"Look at most {aim.looks} times, each time when all of a draw is labelled: a pair is "
            f"settled at a level of {aim.deciding} ('assay trust --level {aim.deciding}')."
        )
    if pairs and settled == pairs:
        yield "The order of all pairs is settled: more labels change no rank."
    elif nothing_left:
        yield "Everything that could be drawn is labelled: more labels can gain nothing."


def _purchase(
    design: str,
    labels: int,
    topics: int | None,
    value: Floats,
    covariance: Floats,
    df: Floats,
    aim: Aim,
    price: _Price,
) -> Purchase:
    found = corrected.expected(value, covariance, df, level=aim.level, deciding=aim.deciding)
    return Purchase(
        design, labels, topics, float(2.0 * found.half.max()), found.decided,
        None if price.seconds is None else labels * price.seconds / 3600,
        None if price.dollars is None else labels * price.dollars,
    )  # fmt: skip


def _offered(
    offers: Sequence[tuple[_Offer, int, int]], aim: Aim, value: Floats
) -> tuple[list[Purchase], Purchase | None]:
    """Every offer at some sizes (only at ``aim.n`` labels if given), and the cheapest that reaches
    the aim. The order of runs with the same ``value`` can never be settled."""
    most = float(np.count_nonzero(np.triu(score_differences(value))))
    found: list[Purchase] = []
    enough: list[Purchase] = []
    for offer, least, total in offers:
        if aim.n is not None:
            per = offer(total).labels / total
            found.append(offer(min(total, max(least, round(aim.n / per)))))
            continue
        sizes = sorted({max(least, math.ceil(share * total)) for share in _SHARES})
        found += [offer(size) for size in sizes]
        if (aim.to_decide or aim.width is not None) and aim.reached(offer(total), most):
            low, high = least, total
            while low < high:
                middle = (low + high) // 2
                if aim.reached(offer(middle), most):
                    high = middle
                else:
                    low = middle + 1
            enough.append(offer(high))
    if aim.n is not None:
        return found, max(found, key=lambda one: one.decided, default=None)
    return found, min(enough, key=lambda one: one.labels, default=None)


@dataclass(frozen=True)
class _Price:
    """The price of a label: people's median seconds, and a model's mean dollars, if known."""

    seconds: float | None
    dollars: float | None

    @classmethod
    def of(cls, ledger: Ledger, *tasks: str) -> _Price:
        times: list[float] = []
        prices: list[float] = []
        for label in ledger.whole(ledger.labels(list(tasks))):
            if label.labeller.is_human:
                seconds = seconds_of(label)
                times += [] if seconds is None else [seconds]
            elif not label.labeller.is_audited and label.cost is not None:
                prices.append(label.cost)
        return cls(median(times) if times else None, mean(prices) if prices else None)


def _quoted(opened: Opened) -> str:
    return shlex.quote(str(opened.folder.path))


def _command(opened: Opened, one: Purchase | None, items: Items, seed: int) -> str:
    if one is None:
        return ""
    start = f"assay draw {_quoted(opened)} --task {items.task}"
    if one.topics is not None:
        return f"{start} --n {one.topics} --seed {seed}"
    return f"{start} --design {one.design} --measure {items.measure} --n {one.labels} --seed {seed}"
