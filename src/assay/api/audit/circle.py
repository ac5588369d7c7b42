"""A run that the judge makes: what all runs hold, ranked by the judge, and submitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from assay.api.by_items import Items, Voices, batches, estimated, is_whole, items_of, linear_of
from assay.api.by_topics import by_machine
from assay.api.corrected import Corrected
from assay.api.correcting import Evaluations, whole_draw
from assay.ledger import Ledger
from assay.ledger.draws import TOPICS, Draw
from assay.measures.confidence import Floats
from assay.statistics import corrected
from assay.statistics.corrected import Estimates

JUDGED = "its own run"
_SAME = 1e-9


def judged_runs(evaluations: Evaluations, ledger: Ledger, *, level: float) -> Iterator[Corrected]:
    """Of each protocol the first measure under which its runs fill places that all weigh alike, as
    P@k and accuracy: its runs, and last one that the judge makes of what they hold. By the draw
    that counts, or people's labels of everything; nothing where there is neither."""
    draws = ledger.draws()
    draw = whole_draw(evaluations, ledger, draws)
    if isinstance(draw, str):
        return
    for name, part in evaluations.items():
        judge = by_machine(part, ledger)
        voices = Voices(part, ledger)
        prefix = f"{name}: " if len(evaluations) > 1 else ""
        for linear in linear_of(part, ledger):
            items = items_of(voices, linear, judge.scores)
            weights = None if isinstance(items, str) else judged_weights(items)
            if isinstance(items, str) or weights is None:
                continue
            more = replace(
                items, runs=(*items.runs, JUDGED), weights=np.vstack([items.weights, weights]),
                offset=np.append(items.offset, 0.0),
            )  # fmt: skip
            found = _estimated(more, draw, draws, judge.topics, level)
            if found is not None:
                yield Corrected(
                    prefix + items.measure, False, more.runs, found.value, found.low, found.high,
                    more.weights @ more.judge[0], estimates=found,
                )  # fmt: skip
                break


def judged_weights(items: Items) -> Floats | None:
    """The weights of a run that holds, of each topic, as many units as the longest run, those that
    the judge likes best; units that it likes alike share the places that are left. None where the
    places of a topic do not weigh alike, or scores hang on more than these units."""
    if (np.abs(items.offset) > _SAME).any():
        return None
    found = np.zeros(len(items.units))
    for topic in range(len(items.topics)):
        inside = np.flatnonzero(items.topic == topic)
        held = items.weights[:, inside]
        each = held[held > 0]
        if np.ptp(each) > _SAME:
            return None
        left = int((held > 0).sum(axis=1).max())
        said = items.judge[0, inside]
        for value in np.unique(said)[::-1]:
            same_value = inside[said == value]
            found[same_value] = each[0] * min(left, len(same_value)) / len(same_value)
            left -= min(left, len(same_value))
    return found


def _estimated(
    items: Items, draw: Draw | None, draws: Sequence[Draw], topics: Sequence[str], level: float
) -> Estimates | None:
    """The corrected scores; None where the draw does not correct this measure."""
    try:
        if draw is None or draw.design == TOPICS:
            said = {} if draw is None else dict(zip(draw.names, draw.drawn, strict=True))
            drawn = np.array([draw is None or said.get(one, False) for one in topics])
            people, judge = (_by_topic(items, worth, topics)
                             for worth in (items.people, items.judge[0]))  # fmt: skip
            people[:, ~drawn] = np.nan
            return corrected.topics(people, judge, drawn, level=level)
        if draw.tasks != (items.task,):
            return None
        whole = [one for one in batches(draws, draw) if is_whole(items, one)]
        return estimated(items, whole, level=level, population="these")
    except ValueError:
        return None


def _by_topic(items: Items, worth: Floats, topics: Sequence[str]) -> Floats:
    """The runs' scores topic by topic, of which their scores are the means."""
    place = {name: at for at, name in enumerate(topics)}
    at = np.array([place[name] for name in items.topics])[items.topic]
    found: Floats = np.array([np.bincount(at, row, len(topics)) for row in items.weights * worth])
    return len(topics) * found
