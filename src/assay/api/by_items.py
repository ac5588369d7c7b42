"""Units of a measure that is a sum over labels, as arrays: weights and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.api.corrected import SAME, Basis, Corrected, ranked
from assay.api.results import prefix_of
from assay.labellers.base import Request
from assay.ledger import Ledger
from assay.ledger.draws import TOPICS, Draw
from assay.ledger.policy import Policy
from assay.measures.arrays import Bools, Floats, Integers
from assay.measures.scores import Scores
from assay.model.errors import SettingsError
from assay.model.labels import LabellerId
from assay.model.wording import as_sentence, counted
from assay.page.page import Board
from assay.protocols.evaluation import Evaluation
from assay.protocols.labels import LabelBook
from assay.protocols.linear import LinearMeasure
from assay.protocols.results import Findings
from assay.statistics import corrected
from assay.statistics.corrected import Estimates, Population
from assay.statistics.corrected.calibration import grade_means, grades
from assay.statistics.corrected.draws import Design
from assay.statistics.corrected.inputs import LEAST_LABELS
from assay.tasks.base import AnyTask

_MACHINE = Policy.parse("machine")
_Verdict = Mapping[str, Any] | None


@dataclass(frozen=True, eq=False)
class Items:
    """The units of a linear measure: I ``units`` by hash, the index of each unit's ``topic`` in
    ``topics``, R × I ``weights`` in the scores of the ``runs``, and J × I values from the
    ``judges``, the folder's own first. ``people`` are I values from people, NaN if there is none.
    ``offset`` is the part of the R scores that depends on no unit."""

    measure: str
    task: str
    runs: tuple[str, ...]
    units: tuple[str, ...]
    topic: Integers
    weights: Floats
    judges: tuple[str, ...]
    judge: Floats
    people: Floats
    offset: Floats
    topics: tuple[str, ...]

    def of(self, draw: Draw, known: Bools) -> tuple[Floats, Bools]:
        """Each unit's probability of being drawn, and whether it was drawn. The probability is 0 if
        the unit is newer than the draw or was ``known`` before."""
        by_unit = dict(zip(draw.names, zip(draw.pi, draw.drawn, strict=True), strict=True))
        rows = [by_unit.get(one, (0.0, False)) for one in self.units]
        pi = np.array([0.0 if was else row[0] for row, was in zip(rows, known, strict=True)])
        drawn = np.array([row[1] for row in rows], dtype=np.bool_) & ~known
        return pi, drawn


def linear_of(part: Evaluation, ledger: Ledger) -> list[LinearMeasure]:
    """The measures of a protocol that are sums over labels."""
    book = replace(part, policy=_MACHINE).book(ledger)
    return list(part.protocol.linear(part.inputs, part.settings, book))


class Voices:
    """The verdicts on a protocol's units, looked up only once for all measures."""

    def __init__(self, part: Evaluation, ledger: Ledger) -> None:
        self._part, self._ledger = part, ledger
        self._machine = replace(part, policy=_MACHINE).book(ledger)
        self._people: dict[str, LabelBook] = {}
        self._said: dict[str, tuple[_Verdict, _Verdict, Mapping[str, _Verdict]]] = {}

    def own(self, task: AnyTask) -> LabellerId | None:
        """The evaluation's own labeller of a task."""
        return (
            None if self._machine.by_unit is None else self._machine.by_unit.configured[task.name]
        )

    def of(self, request: Request) -> tuple[_Verdict, _Verdict, Mapping[str, _Verdict]]:
        """The verdicts on a unit: the machine's, people's, and other machines' by exact name."""
        unit = request.unit_hash
        if unit not in self._said:
            self._said[unit] = self._looked_up(request)
        return self._said[unit]

    def _looked_up(self, request: Request) -> tuple[_Verdict, _Verdict, Mapping[str, _Verdict]]:
        task, content = request.task, request.content
        if task.name not in self._people:
            policy = self._part.policy.of_drawn([task.name])
            self._people[task.name] = replace(self._part, policy=policy).book(self._ledger)
        own = self.own(task)
        others = {
            one.labeller.exact_name: one.verdict
            for one in self._machine.history(task, content)
            if not (one.labeller.is_human or one.labeller.is_audited or one.labeller == own)
            and one.verdict is not None
        }
        machine = self._machine.find(task, content)
        person = self._people[task.name].find(task, content)
        return machine and machine.verdict, person and person.verdict, others


def items_of(voices: Voices, linear: LinearMeasure, scores: Scores) -> Items | str:
    """The units of a measure with the labels on them, given the runs' ``scores`` by the machine's
    labels alone, or why they are unavailable."""
    runs = tuple(run for run, by in scores.items() if linear.measure in by)
    weights, requests = _weights(linear, runs)
    if not requests:
        return f"No label under {linear.task.name} has any weight in it."
    said = [voices.of(one) for one in requests]
    own = _worth(linear, requests, [machine for machine, _, _ in said])
    whole = np.array([_number(scores[run][linear.measure].value) for run in runs])
    if np.isnan(own).any() or np.isnan(whole).any():
        return (
            f"The machine's labels under {linear.task.name}, or before it, are missing: 'assay "
            "judge FOLDER --policy machine' asks for them, including where people labelled."
        )
    named = sorted({name for _, _, others in said for name in others})
    rows = {
        name: _worth(linear, requests, [others.get(name) for _, _, others in said])
        for name in named
    }
    complete = {name: row for name, row in rows.items() if not np.isnan(row).any()}
    configured = voices.own(linear.task)
    topics = {name: at for at, name in enumerate(sorted({one.topic for one in requests}))}
    judges = ["machine" if configured is None else configured.name]
    plain = [name.rpartition("#")[0] for name in complete]
    judges += [
        exact if [*judges, *plain].count(name) > 1 else name
        for exact, name in zip(complete, plain, strict=True)
    ]
    return Items(
        linear.measure, linear.task.name, runs, tuple(one.unit_hash for one in requests),
        np.array([topics[one.topic] for one in requests]), weights,
        tuple(judges),
        np.stack([own, *complete.values()]),
        _worth(linear, requests, [person for _, person, _ in said]),
        whole - weights @ own, tuple(topics),
    )  # fmt: skip


def _weights(linear: LinearMeasure, runs: tuple[str, ...]) -> tuple[Floats, list[Request]]:
    """The weights, runs × units, and the units in the order of their hashes."""
    shares = [one for one in linear.shares if one.run in runs and one.weight]
    by_hash = {one.request.unit_hash: one.request for one in shares}
    units = sorted(by_hash)
    place = {unit: at for at, unit in enumerate(units)}
    row = {run: at for at, run in enumerate(runs)}
    weights = np.zeros((len(runs), len(units)))
    for run, request, weight in shares:
        weights[row[run], place[request.unit_hash]] += weight
    return weights, [by_hash[unit] for unit in units]


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _worth(
    linear: LinearMeasure, requests: Sequence[Request], verdicts: Sequence[_Verdict]
) -> Floats:
    """The values of verdicts; NaN if there is none."""
    return np.array(
        [
            np.nan if verdict is None else linear.worth(request, verdict)
            for request, verdict in zip(requests, verdicts, strict=True)
        ]
    )


def linear_in(
    parts: Mapping[str, Evaluation], ledger: Ledger, task: str = ""
) -> Mapping[str, Items | str]:
    """The measures that are sums over labels of ``task`` (default: any) with their units, or why
    these are unavailable."""
    found: dict[str, Items | str] = {}
    for name, part in parts.items():
        prefix = prefix_of(name, parts)
        linear = [one for one in linear_of(part, ledger) if task in ("", one.task.name)]
        if linear:
            scores, voices = part.quick().by_machine(ledger).findings.scores, Voices(part, ledger)
            for one in linear:
                found.setdefault(prefix + one.measure, items_of(voices, one, scores))
    return found


def items_for(
    parts: Mapping[str, Evaluation], ledger: Ledger, task: str = "", measure: str = ""
) -> Items:
    """The units of ``measure`` (default: the measure with the most units of the task). Raises
    SettingsError if there are none."""
    every = linear_in(parts, ledger, task)
    found = {name: one for name, one in every.items() if not isinstance(one, str)}
    of = f" under {task}" if task else ""
    if not found:
        why = " ".join(dict.fromkeys(one for one in every.values() if isinstance(one, str)))
        raise SettingsError(
            f"No measure here can be corrected by single labels{of}. "
            + (why or "None is a sum over labels, so draw whole topics: 'assay draw FOLDER --n N'.")
        )
    if measure and measure not in found:
        raise SettingsError(
            f"{measure} is not a sum over labels{of}. These are: {', '.join(sorted(found))}."
        )
    return found[measure] if measure else max(found.values(), key=lambda one: len(one.units))


def batches(draws: Sequence[Draw], chosen: Draw) -> Iterator[Draw]:
    """The draws of units of the same task up to ``chosen``, oldest first."""
    for draw in draws:
        if draw.design != TOPICS and draw.tasks == chosen.tasks:
            yield draw
        if draw.uid == chosen.uid:
            return


def is_whole(items: Items, draw: Draw) -> bool:
    """Whether people labelled every unit of a draw that has weight in the measure."""
    return not np.isnan(items.people[np.isin(items.units, draw.chosen)]).any()


def estimated(
    items: Items, draws: Sequence[Draw], *, level: float, population: Population
) -> Estimates:
    """The scores corrected by all draws together (:func:`batch_weights`), each used for the units
    that earlier ones left open. If none are left open, people's own scores. Raises ValueError if
    no interval is known, or if units could not be drawn."""
    judge = items.judge if len(items.judge) > 1 else items.judge[0]
    everything = np.isin(items.units, [name for draw in draws for name in draw.chosen])
    if len(draws) > 1 and everything.all():
        return corrected.items(
            items.weights, items.people, judge, everything.astype(float), everything, items.topic,
            offset=items.offset, level=level, population=population,
        )  # fmt: skip
    known = np.zeros(len(items.units), dtype=np.bool_)
    found, sizes = [], []
    if population != "these" and (len(draws) > 1 or (np.abs(items.offset) > SAME).any()):
        raise ValueError(
            "for topics like these, no interval is known from several draws, or if part of a "
            "score depends on no label: use --population these, or draw whole topics"
        )
    for draw in draws:
        pi, drawn = items.of(draw, known)
        weights = np.where(known, 0.0, items.weights)
        never = int((weights.any(axis=0) & (pi == 0)).sum())
        if never:
            raise ValueError(
                f"{counted(never, 'unit')} could not be drawn, as what is asked was added after "
                "the draw, or the draw was for another measure. Draw again with another "
                f"--seed: 'assay draw FOLDER --task {items.task} --measure {items.measure}'"
            )
        offset = items.offset + items.weights[:, known] @ items.people[known]
        people = np.where(drawn, items.people, np.nan)
        found.append(
            corrected.items(
                weights, people, judge, pi, drawn, items.topic, offset=offset, level=level,
                population=population,
            )
        )  # fmt: skip
        sizes.append(draw.size)
        known |= drawn
    if len(found) == 1:
        return found[0]
    return corrected.combine(found, batch_weights(len(items.units), sizes), level=level)


def batch_weights(units: int, sizes: Sequence[int]) -> Floats:
    """The weight of each batch of planned ``sizes``: n/(M (M − n)) for n of the M units that
    earlier batches were planned to leave. This is the precision of a total from a simple random
    sample: a batch that takes all that is left gets all the weight. Labels do not affect it."""
    n = np.array(sizes, dtype=np.float64)
    left = np.maximum(units - (np.cumsum(n) - n), 1.0)
    weights: Floats = n / (left * np.maximum(left - n, 1e-6 * left))
    return weights


def expectation(items: Items, known: Bools) -> Floats | None:
    """The expected value of people's label on each unit: the mean over ``known`` units to which the
    machine gives the same value, shrunk to the overall mean; None if too few are known."""
    if known.sum() < LEAST_LABELS:
        return None
    grade, seen = grades(items.judge[0]), np.flatnonzero(known)
    means, _ = grade_means(grade, seen, items.people[seen], np.ones(len(seen)))
    return means[grade]


def next_drawn(
    items: Items, so_far: Estimates | None, known: Bools, n: int, *, design: Design, seed: int
) -> corrected.Draw:
    """Draw about ``n`` units that are not ``known`` yet. Once enough is known, units with uncertain
    labels are more likely: u = √(m (1 − m)) for the expected value m. ``so_far`` are the estimates
    of earlier draws, required by ``pairs``. Raises the ValueErrors of drawing."""
    m = expectation(items, ~np.isnan(items.people))
    unsure = None if m is None else np.sqrt(m * (1.0 - m))
    if so_far is not None and design == "pairs":
        return corrected.next_batch(items.weights, so_far, unsure, known, n, seed=seed)
    weights = np.where(known, 0.0, items.weights)
    return corrected.draw(weights, n, uncertainty=unsure, design=design, seed=seed)


class ByItems:
    """Corrects the measures of a protocol by draws of single units."""

    def __init__(self, part: Evaluation, judge: Findings, basis: Basis) -> None:
        ledger, draw = basis.ledger, basis.draw
        self._judge, self._voices = judge, Voices(part, ledger)
        self._draws, self._basis = list(batches(basis.draws, draw)), basis
        self._task = draw.tasks[0]
        self._linear = {
            one.measure: one for one in linear_of(part, ledger) if one.task.name == self._task
        }
        mixed = replace(part.policy.of_drawn(draw.tasks), machine=True)
        scored = replace(part, policy=mixed)
        self._mixed = scored.score(ledger).findings.scores if self._linear else {}

    def together(self, measure: str) -> bool:
        """Whether the runs are estimated together: a measure that is a sum over these labels."""
        return measure in self._linear

    def measure(self, board: Board, measure: str) -> Corrected | str:
        """A measure of a leaderboard, or why it cannot be corrected."""
        linear = self._linear.get(measure)
        if linear is None:
            return (
                f"It is not a sum over labels under {self._task}, so single labels cannot correct "
                "it. Draw whole topics: 'assay draw FOLDER --n N'."
            )
        items = items_of(self._voices, linear, self._judge.scores)
        if isinstance(items, str):
            return items
        said = np.where(np.isnan(items.people), items.judge[0], items.people)
        scores = [_number(self._mixed[run][measure].value) for run in items.runs]
        if np.isnan(scores).any():
            return "With people's labels, it depends on labels that are missing."
        if not np.allclose(items.offset + items.weights @ said, scores, rtol=0, atol=SAME):
            return (
                "People's labels changed what is asked next, so it is not a sum over labels under "
                f"{self._task} here. Draw whole topics: 'assay draw FOLDER --n N'."
            )
        level = self._basis.level
        open_draws = [one for one in self._draws[:-1] if not is_whole(items, one)]
        draws = [one for one in self._draws if one not in open_draws]
        try:
            found = estimated(items, draws, level=level, population=self._basis.population)
        except ValueError as error:
            return as_sentence(error)
        alone = items.offset + items.weights @ items.judge[0]
        lower = measure in board.lower_is_better
        one = ranked(measure, items.runs, found, alone, lower=lower, level=level)
        remarks = []
        if len(items.judges) > 1:
            judges = ", ".join(items.judges)
            remarks.append(f"{len(items.judges)} judges are used together: {judges}.")
        if open_draws:
            remarks.append(
                f"Not all of {', '.join(f'draw {one.uid[:8]}' for one in open_draws)} is "
                "labelled, so it is left out with all its labels."
            )
        return replace(one, warnings=tuple(remarks))
