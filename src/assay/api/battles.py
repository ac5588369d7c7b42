"""Rate runs from files of judged battles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from assay.api.reading import Note, all_used
from assay.api.undefined import LEVEL, RESAMPLES
from assay.formats.battles import DIMENSIONS as DIMENSIONS
from assay.formats.battles import Crowd as Crowd
from assay.formats.battles import read_battle_responses, read_battles
from assay.measures.bootstrap import ends_of
from assay.model.battles import Battle, BattleVerdict, all_agree, group_by_pair, merge_battles
from assay.model.errors import SettingsError
from assay.model.options import Option
from assay.model.wording import counted, joined, natural_key
from assay.statistics.battle_counts import Battles, tally
from assay.statistics.battles import BattleRatings, WinRates, error_interval, rate, win_rates
from assay.statistics.checks import defined
from assay.statistics.pair_models import MODELS, BradleyTerry, Davidson, Model, RaoKupper
from assay.statistics.pairing import next_battles, shown

COLUMNS = ("run", "topic", "measure", "value", "low", "high")
NEXT_COLUMNS = ("topic", "run_a", "run_b")
"""A battle to be judged; ``run_a`` is shown first."""
_MOST_PARTS = 10


class BattleOptions(NamedTuple):
    """How battles are counted and rated.

    ``model`` is a name of :data:`assay.statistics.pair_models.MODELS`, ``theta`` fixes the tie
    parameter of rao-kupper, ``merge`` makes one battle of a pair's two orders, ``win_rate`` is
    ``half`` or ``opponents``.
    """

    model: Annotated[str, Option(f"{', '.join(MODELS[:-1])} or {MODELS[-1]}.")] = MODELS[0]
    theta: Annotated[float | None, Option("Fix the tie parameter of rao-kupper (above 1).")] = None
    prior: Annotated[
        float,
        Option(
            "Add N virtual drawn battles of each run against a run rated 1000, so that all "
            "ratings are finite.",
            metavar="N",
            least=0,
        ),
    ] = 0.0
    merge: Annotated[
        bool, Option("Count the two orders of a pair as one battle, and as a tie if they disagree.")
    ] = False
    win_rate: Annotated[
        WinRates,
        Option(
            "'half': ties count as half a win, over all battles. 'opponents': the mean over "
            "opponents; ties do not count as wins."
        ),
    ] = "half"
    resamples: int = RESAMPLES
    seed: int = 0

    def chosen(self) -> Model:
        """The model. Raises SettingsError for a θ that it does not have."""
        if self.theta is not None and (self.model != "rao-kupper" or self.theta <= 1):
            raise SettingsError(
                "theta must be a number above 1, and only works with the model rao-kupper."
            )
        if self.model == "rao-kupper":
            return RaoKupper(self.theta)
        return Davidson() if self.model == "davidson" else BradleyTerry()


@dataclass(frozen=True, slots=True)
class Orders:
    """The effect of the order in which two answers are shown.

    ``first_won``: decided battles won by the answer shown first. ``decided``: battles with a
    winner. ``both``: pairs on a topic that a judge saw in both orders. ``disagree``: those of them
    with different verdicts.
    """

    first_won: int
    decided: int
    both: int
    disagree: int


@dataclass(frozen=True, eq=False)
class BattleScores:
    """Runs rated by their battles.

    ``runs``: their names, in the order of the arrays. ``topics``: names of topics. ``table``: the
    battles that count. ``rated``: what came of them. ``settings``: how. ``failed``: battles without
    a verdict, which enter nothing. ``both_bad``: ties in which both answers were bad. ``orders``:
    of the judgments as they stand in the files. ``by_battle``: whether the files have no topics, so
    that each battle is one.
    """

    runs: Sequence[str]
    topics: Sequence[str]
    table: Battles
    rated: BattleRatings
    settings: BattleOptions
    failed: int
    both_bad: int
    orders: Orders
    by_battle: bool

    def order(self) -> list[int]:
        """The runs by rating, best first, then by name; unrated ones by win rate."""
        rated = np.nan_to_num(np.stack([self.rated.rating, self.rated.rate]), nan=-np.inf)
        return sorted(range(len(self.runs)), key=lambda one: (*-rated[:, one], self.runs[one]))

    def rank_range(self, place: int) -> tuple[int, int] | None:
        """Simultaneous bounds on a run's rank."""
        if self.rated.ranks is None or np.isnan(self.rated.rating[place]):
            return None
        among = int((~np.isnan(self.rated.rating[:place])).sum())
        return int(self.rated.ranks.best[among]), int(self.rated.ranks.worst[among])

    def errors(self, place: int) -> tuple[float, float] | None:
        """The interval of a run's rating from the sandwich estimator."""
        value, error = self.rated.rating[place], self.rated.errors[place]
        return None if np.isnan(error) else error_interval(float(value), float(error), LEVEL)

    def rows(self, *, per_topic: bool) -> Iterator[tuple[object, ...]]:
        """Rows under :data:`COLUMNS`, best run first."""
        order, fought = self.order(), self.table.fought
        for place in order:
            run, rated = self.runs[place], self.rated
            rating, share = defined(rated.rating[place]), defined(rated.rate[place])
            yield (run, "all", "Rating", rating, *ends_of(rated.intervals[place]))
            yield (run, "all", "WinRate", share, *ends_of(rated.rate_intervals[place]))
            yield (run, "all", "Battles", int(fought[place]), None, None)
        if per_topic and not self.by_battle:
            rates = win_rates(self.table, self.table.counts, self.settings.win_rate)
            for place in order:
                for number, topic in enumerate(self.topics):
                    single = self.table.of_topics([number])
                    count = int(single.fought[place])
                    if count:
                        share = float(rates[number, place])
                        yield (self.runs[place], topic, "WinRate", share, None, None)
                        yield (self.runs[place], topic, "Battles", count, None, None)

    def pairs(self) -> Iterator[dict[str, Any]]:
        """Every pair of runs with a battle."""
        for first, second, (wins, ties, losses), topics in zip(
            self.table.first.tolist(),
            self.table.second.tolist(),
            self.table.total.T.astype(int).tolist(),
            self.table.counts.any(axis=1).sum(axis=0).tolist(),
            strict=True,
        ):
            battles = wins + ties + losses
            yield {
                "run_a": self.runs[first],
                "run_b": self.runs[second],
                "topics": topics,
                "battles": battles,
                "run_a_wins": wins,
                "run_b_wins": losses,
                "ties": ties,
                "run_a_rate": (wins + ties / 2) / battles,
                "run_b_rate": (losses + ties / 2) / battles,
            }

    def next(self, n: int) -> list[tuple[str, str, str]]:
        """The ``n`` most informative battles to judge next (:func:`next_battles`), under
        :data:`NEXT_COLUMNS`: pairs of runs, on topics where they have no battle yet."""
        table = self.table
        fought = np.zeros((len(self.runs), len(self.runs), len(self.topics)), dtype=np.int64)
        fought[table.first, table.second] = table.counts.sum(axis=1).T  # runs × runs × topics
        prior = max(self.settings.prior, 1.0)
        found = next_battles(
            table,
            n,
            possible=lambda i, j: np.flatnonzero(fought[i, j] == 0).tolist(),
            prior=prior,
        )
        return [
            (self.topics[topic], *shown(self.runs[i], self.runs[j], self.topics[topic]))
            for topic, i, j in found
        ]

    def document(self, *, per_topic: bool) -> dict[str, Any]:
        """The JSON document."""
        runs = []
        for place in self.order():
            interval, ranks = self.rated.intervals[place], self.rank_range(place)
            runs.append(
                {
                    "run": self.runs[place],
                    "part": int(self.rated.parts[place]),
                    "sandwich": self.errors(place),
                    "ranks": ranks,
                    "undefined_resamples": interval.undefined if interval else 0,
                }
            )
        return {
            "rows": [
                dict(zip(COLUMNS, row, strict=True)) for row in self.rows(per_topic=per_topic)
            ],
            "runs": runs,
            "pairs": list(self.pairs()),
            "topics": None if self.by_battle else len(self.topics),
            "battles": int(self.table.counts.sum()),
            "failed": self.failed,
            "both_bad": self.both_bad,
            "tie_parameter": self.rated.tie,
            "orders": self.orders,
            "reason": self.rated.reason,
            "settings": {**self.settings._asdict(), "level": LEVEL},
        }

    def findings(self) -> Iterator[str]:
        """Sentences on what the numbers leave out, and what they are based on."""
        orders = self.orders
        if self.failed:
            yield f"{counted(self.failed, 'battle')} without a verdict: not counted."
        if orders.decided:
            share = orders.first_won / orders.decided
            yield (
                f"The answer shown first won {share:.1%} of "
                f"{counted(orders.decided, 'decided judgment')}."
            )
        if orders.both:
            so = "a tie" if self.settings.merge else "both counted; --merge makes it a tie"
            yield (
                f"In both orders: {counted(orders.both, 'pair')}, of which {orders.disagree:,} "
                f"({orders.disagree / orders.both:.1%}) with different verdicts: {so}."
            )
        if self.rated.reason is not None:
            yield f"No ratings: {self.rated.reason}. {' '.join(self._parts())}"
        if self.by_battle:
            yield "The files have no topics: intervals are over battles, as if each were a topic."
        elif len(self.topics) < 2:
            yield "No intervals over topics: there is only one topic."
        dropped = max((one.undefined for one in self.rated.intervals if one), default=0)
        if dropped:
            yield (
                f"{dropped:,} of {self.settings.resamples:,} resamples of topics have no finite "
                "ratings and are left out of the intervals; --prior 1 keeps them."
            )

    def _parts(self) -> Iterator[str]:
        """Sentences on the results between parts of the graph of battles, and what to do."""
        parts = self.rated.parts
        numbers = sorted(set(parts[parts >= 0].tolist()))
        if len(numbers) < 2:
            return
        first, second = parts[self.table.first], parts[self.table.second]
        wins, _, losses = self.table.total
        for number in numbers[:_MOST_PARTS]:
            names = joined((self.runs[one] for one in np.flatnonzero(parts == number).tolist()), 5)
            apart = (first == number) != (second == number)
            won = int(np.where(first == number, wins, losses)[apart].sum())
            lost = int(np.where(first == number, losses, wins)[apart].sum())
            done = "fought no other" if not won + lost else f"won {won:,} and lost {lost:,} others"
            yield f"[{names}] {done}."
        if len(numbers) > _MOST_PARTS:
            yield f"And {len(numbers) - _MOST_PARTS} more parts."
        yield (
            "Judge more battles between these, or add virtual drawn battles for each run: --prior "
            "1."
        )


def battle_scores(
    files: Sequence[Path],
    settings: BattleOptions,
    note: Note,
    *,
    crowd: Crowd | None = None,
    responses: Sequence[Path] = (),
) -> BattleScores:
    """Rate all runs in several files. Raises FormatError with the faults of all files,
    SettingsError for unsuitable settings."""
    runs: dict[str, str] = {}
    for found in all_used((partial(read_battle_responses, path) for path in responses), note):
        runs |= found
    chosen = replace(crowd or Crowd(), runs=runs)
    read = all_used((partial(read_battles, path, chosen) for path in files), note)
    return rate_battles([one for found in read for one in found], settings)


def rate_battles(battles: Sequence[Battle], settings: BattleOptions) -> BattleScores:
    """Rate all runs of some battles. Raises SettingsError for unsuitable settings, or if only some
    battles have a topic."""
    by_battle = battles[0].topic is None if battles else False
    if any((one.topic is None) != by_battle for one in battles):
        raise SettingsError(
            "Some battles have a topic and others have none. Score them separately."
        )
    model = settings.chosen()
    runs = sorted({run for one in battles for run in (one.a, one.b)})
    judged = [one for one in battles if one.verdict is not None]
    orders, counted_battles = _orders(judged), merge_battles(judged) if settings.merge else judged
    topics = [
        str(place) if one.topic is None else one.topic for place, one in enumerate(counted_battles)
    ]
    names = sorted(dict.fromkeys(topics), key=natural_key)  # drawn alike, however files are sorted
    run_number = {run: place for place, run in enumerate(runs)}
    topic_number = {topic: place for place, topic in enumerate(names)}
    table = tally(
        [run_number[one.a] for one in counted_battles],
        [run_number[one.b] for one in counted_battles],
        [one.verdict.outcome for one in counted_battles if one.verdict is not None],
        [topic_number[topic] for topic in topics],
        runs=len(runs),
        topics=len(names),
    )
    try:
        rated = rate(
            table,
            model,
            prior=settings.prior,
            win_rate=settings.win_rate,
            level=LEVEL,
            resamples=settings.resamples,
            seed=settings.seed,
        )
    except (ValueError, ArithmeticError) as error:
        raise SettingsError(f"{error}.") from None
    bad = sum(one.verdict is BattleVerdict.BOTH_BAD for one in counted_battles)
    failed = len(battles) - len(judged)
    return BattleScores(runs, names, table, rated, settings, failed, bad, orders, by_battle)


def _orders(battles: Sequence[Battle]) -> Orders:
    counts = Counter(one.verdict for one in battles)
    both = disagree = 0
    for (topic, *_), found in group_by_pair(battles).items():
        if topic is not None and len({one.a for one in found}) > 1:
            both += 1
            disagree += not all_agree(found)
    decided = counts[BattleVerdict.A] + counts[BattleVerdict.B]
    return Orders(counts[BattleVerdict.A], decided, both, disagree)
