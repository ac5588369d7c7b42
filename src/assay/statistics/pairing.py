"""The choice of battles to judge, and of which answer is shown first.

Both follow RAGDoll's arena, except that the order in which runs are named makes no difference.
Adaptive choice is a D-optimal design: the next battle is the one whose verdict most reduces the
volume of the joint uncertainty of the ratings.
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
"""RAGDoll's default seed."""

Match = tuple[str, str, str]
"""A topic and the names of two runs."""

_LEAST_PRIOR = 1.0
"""Virtual ties of each run, which make the rating of a new run uncertain, but not infinitely so."""


def _bits(*parts: object) -> bytes:
    return sha256("\0".join(map(str, parts)).encode()).digest()


def swapped(first: str, second: str, topic: str, seed: int = SEED) -> bool:
    """Whether a battle shows the two answers in swapped order: whether the first byte of SHA-256
    over the seed, the sorted names of the runs, and the topic is odd."""
    return bool(_bits(seed, *sorted((first, second)), topic)[0] % 2)


def shown(first: str, second: str, topic: str, seed: int = SEED) -> tuple[str, str]:
    """The two runs in the order in which a battle shows them, which does not depend on the order of
    the arguments. See :func:`swapped`."""
    low, high = sorted((first, second))
    return (high, low) if swapped(low, high, topic, seed) else (low, high)


def battles_per_topic(runs: int, per_run: float) -> int:
    """The number of battles on a topic with which each run has ``per_run`` on average."""
    return math.ceil(runs * per_run / 2)


def all_battles(answered: Mapping[str, Sequence[str]]) -> list[Match]:
    """Every pair of runs on each topic that both answered. ``answered``: the runs of each topic."""
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
    """Draw a sample of battles, or all if there are fewer than requested.

    ``answered``: the runs that answered each topic. Exactly one of the following is required.
    ``topics_per_pair``: the number of topics for each pair, drawn without replacement.
    ``per_topic``: the number of battles on each topic. If possible, every run has one: battles
    first form a ring of all runs in random order, or else pair each run with another, and the rest
    are random. ``per_run``: the mean number of battles of each run on each topic, see
    :func:`battles_per_topic`. ``seed``: of the draw. Raises ValueError if not exactly one of the
    three is given, or it is not above 0.
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
    chosen = sorted(_generator(seed, *parts).permutation(len(items))[:n])
    return [items[number] for number in chosen]


def _of_topic(runs: Sequence[str], n: int, seed: int, topic: str) -> list[tuple[str, str]]:
    all_pairs = list(combinations(runs, 2))
    if n >= len(all_pairs):
        return all_pairs
    generator = _generator(seed, topic)
    shuffled = [runs[number] for number in generator.permutation(len(runs))]
    first: list[tuple[str, str]] = []
    if n >= len(runs) > 2:
        first = list(zip(shuffled, [*shuffled[1:], shuffled[0]], strict=True))
    elif n >= (len(runs) + 1) // 2:
        first = list(zip(shuffled[::2], shuffled[1::2], strict=False))
        if len(runs) % 2:
            first.append((shuffled[-1], shuffled[0]))
    fixed = {(min(pair), max(pair)) for pair in first}
    rest = [pair for pair in all_pairs if pair not in fixed]
    more = generator.permutation(len(rest))[: n - len(fixed)]
    return sorted(fixed | {rest[number] for number in more})


def next_battles(
    battles: Battles,
    n: int,
    *,
    possible: Callable[[int, int], Sequence[int]],
    prior: float = _LEAST_PRIOR,
) -> list[tuple[int, int, int]]:
    """The most informative battles, each chosen as if those before it had been judged.

    With the ratings so far (Bradley–Terry), a battle of i and j adds p(1 − p) of information about
    their difference, whose variance is v, and reduces the log volume of the joint uncertainty by
    log(1 + p(1 − p)v). So close runs with few battles, directly or through others, come first.

    ``battles``: those judged so far. ``n``: the number to choose; fewer are returned if no more are
    possible. ``possible``: a function from two runs to the topics, by number, on which they can
    still be compared, best first. ``prior``: the number of virtual ties of each run. Returns topic,
    run and other run, by number.
    """
    runs = battles.runs
    fitted = fit(battles.total[None], battles.first, battles.second, runs, BradleyTerry(), prior)
    # The prior makes the matrix invertible.
    covariance = np.linalg.inv(fitted.hessian[0, :runs, :runs])
    first, second = np.triu_indices(runs, 1)
    p = 1 / (1 + np.exp(fitted.strength[0, second] - fitted.strength[0, first]))
    information = p * (1 - p)
    open_topics = [
        list(possible(i, j)) for i, j in zip(first.tolist(), second.tolist(), strict=True)
    ]
    available = np.array([bool(topics) for topics in open_topics])
    chosen: list[tuple[int, int, int]] = []
    while len(chosen) < n and available.any():
        spread = np.diag(covariance)
        variance = spread[first] + spread[second] - 2 * covariance[first, second]
        pair = int(np.argmax(np.where(available, information * variance, -1.0)))
        i, j = int(first[pair]), int(second[pair])
        chosen.append((open_topics[pair].pop(0), i, j))
        available[pair] = bool(open_topics[pair])
        difference = covariance[:, i] - covariance[:, j]
        gain = information[pair] / (1 + information[pair] * variance[pair])
        # Sherman & Morrison 1950
        covariance = covariance - gain * np.outer(difference, difference)
    return chosen
