"""Which battles to judge, and which answer is shown first.

The order and the samplers are those of RAGDoll's arena, but a pair has no order here: runs named in
another order fight the same battles. Adaptive choice is a D-optimal design: the next battle is the
one whose verdict takes most from the volume of the ratings' joint uncertainty.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import combinations

import numpy as np

from assay.statistics.battle_counts import Battles
from assay.statistics.pair_models import BradleyTerry, fit

SEED = 13
"""RAGDoll's own."""

Match = tuple[str, str, str]
"""Topic, and two runs by name."""

_LEAST_PRIOR = 1.0
"""Virtual drawn battles of each run while choosing: a new run's rating is unknown, not infinite."""


def _bits(*parts: object) -> bytes:
    return sha256("\0".join(map(str, parts)).encode()).digest()


def swapped(first: str, second: str, topic: str, seed: int = SEED) -> bool:
    """Whether a battle shows the answers in the other order than the pair is named in: whether the
    first byte of SHA-256 over seed, both runs by name and topic is odd."""
    return bool(_bits(seed, *sorted((first, second)), topic)[0] % 2)


def shown(first: str, second: str, topic: str, seed: int = SEED) -> tuple[str, str]:
    """The two runs by the order in which a battle shows them, drawn from their names and the
    topic, see :func:`swapped`; named the other way round, they are shown alike."""
    low, high = sorted((first, second))
    return (high, low) if swapped(low, high, topic, seed) else (low, high)


def battles_per_topic(runs: int, per_run: float) -> int:
    """How many battles a topic needs so that each run fights ``per_run`` on average."""
    return math.ceil(runs * per_run / 2)


def all_battles(answered: Mapping[str, Sequence[str]]) -> list[Match]:
    """Every pair of runs on every topic that both have. ``answered``: the runs that have each
    topic."""
    return [
        (topic, *pair) for topic, runs in answered.items() for pair in combinations(sorted(runs), 2)
    ]


def drawn(
    answered: Mapping[str, Sequence[str]],
    *,
    topics_per_pair: int | None = None,
    per_topic: int | None = None,
    per_run: float | None = None,
    seed: int = SEED,
) -> list[Match]:
    """A sample of battles; asking for more than there are takes all.

    ``answered``: the runs that have each topic. ``topics_per_pair``: so many topics of each pair,
    drawn without replacement. ``per_topic``: so many battles of each topic. No run is left out
    where they are enough: a ring of all runs in random order, else every run against one other, and
    the rest at random. ``per_run``: battles of each run and topic on average, see
    :func:`battles_per_topic`. ``seed``: of the draw. Raises ValueError if not exactly one way is
    chosen, or it asks for nothing.
    """
    ways = [one for one in (topics_per_pair, per_topic, per_run) if one is not None]
    if len(ways) != 1 or ways[0] <= 0:
        raise ValueError("choose one of topics per pair, battles per topic and per run, above 0")
    if topics_per_pair is not None:
        shared: dict[tuple[str, str], list[str]] = {}
        for topic, *pair in all_battles(answered):
            shared.setdefault((pair[0], pair[1]), []).append(topic)
        return [
            (topic, *pair)
            for pair, topics in shared.items()
            for topic in _sample(sorted(topics), topics_per_pair, seed, *pair)
        ]
    found: list[Match] = []
    for topic, runs in answered.items():
        n = per_topic if per_topic is not None else battles_per_topic(len(runs), ways[0])
        found += [(topic, *pair) for pair in _of_topic(sorted(runs), int(n), seed, topic)]
    return found


def _generator(seed: int, *parts: str) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(_bits(seed, *parts)[:8]))


def _sample(items: Sequence[str], n: int, seed: int, *parts: str) -> list[str]:
    if n >= len(items):
        return list(items)
    return [items[one] for one in sorted(_generator(seed, *parts).permutation(len(items))[:n])]


def _of_topic(runs: Sequence[str], n: int, seed: int, topic: str) -> list[tuple[str, str]]:
    every = list(combinations(runs, 2))
    if n >= len(every):
        return every
    generator = _generator(seed, topic)
    mixed = [runs[one] for one in generator.permutation(len(runs))]
    first: list[tuple[str, str]] = []
    if n >= len(runs) > 2:
        first = list(zip(mixed, [*mixed[1:], mixed[0]], strict=True))
    elif n >= (len(runs) + 1) // 2:
        first = list(zip(mixed[::2], mixed[1::2], strict=False))
        if len(runs) % 2:
            first.append((mixed[-1], mixed[0]))
    fixed = {(min(pair), max(pair)) for pair in first}
    rest = [pair for pair in every if pair not in fixed]
    more = generator.permutation(len(rest))[: n - len(fixed)]
    return sorted(fixed | {rest[one] for one in more})


def next_battles(
    battles: Battles,
    n: int,
    *,
    possible: Callable[[int, int], Sequence[int]],
    prior: float = _LEAST_PRIOR,
) -> list[tuple[int, int, int]]:
    """The battles that tell most, each chosen as if those before it were judged.

    By the ratings so far (Bradley–Terry), a battle of i and j adds p(1 − p) of information on their
    difference, whose variance is v: the log of the volume of what is not known falls by
    log(1 + p(1 − p)v). Close runs that have fought little, each directly or through others, come
    first.

    ``battles``: those judged so far. ``n``: how many to choose; fewer where no more are possible.
    ``possible``: of two runs the topics, by number, on which they can still fight, the most wanted
    first. ``prior``: virtual drawn battles of each run. Returns topic, run and other run, by
    number.
    """
    runs = battles.runs
    found = fit(battles.total[None], battles.first, battles.second, runs, BradleyTerry(), prior)
    # (The prior makes it regular, whoever has fought whom.)
    covariance = np.linalg.inv(found.hessian[0, :runs, :runs])
    first, second = np.triu_indices(runs, 1)
    p = 1 / (1 + np.exp(found.strength[0, second] - found.strength[0, first]))
    information = p * (1 - p)
    open_topics = [
        list(possible(i, j)) for i, j in zip(first.tolist(), second.tolist(), strict=True)
    ]
    left = np.array([bool(topics) for topics in open_topics])
    chosen: list[tuple[int, int, int]] = []
    while len(chosen) < n and left.any():
        spread = np.diag(covariance)
        variance = spread[first] + spread[second] - 2 * covariance[first, second]
        pair = int(np.argmax(np.where(left, information * variance, -1.0)))
        i, j = int(first[pair]), int(second[pair])
        chosen.append((open_topics[pair].pop(0), i, j))
        left[pair] = bool(open_topics[pair])
        apart = covariance[:, i] - covariance[:, j]
        gain = information[pair] / (1 + information[pair] * variance[pair])
        covariance = covariance - gain * np.outer(apart, apart)  # Sherman & Morrison 1950
    return chosen
