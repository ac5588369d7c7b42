"""Scores from labels that people gave to what was drawn, and a machine's of everything.

Whatever errors the machine makes, the interval holds: a bad machine makes it wide, never wrong
(:mod:`assay.statistics.corrected`). Where people's labels were not drawn there is none, and it is
said why.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from assay.api.corrected import Corrected, ranked
from assay.api.linear_items import ByItems
from assay.labellers.base import Request
from assay.ledger import Ledger
from assay.ledger.draws import TOPICS, Draw
from assay.ledger.policy import Policy
from assay.measures.confidence import Floats
from assay.measures.scores import PerTopic
from assay.model.errors import SettingsError
from assay.model.labels import Status, is_independent, without_reasons
from assay.model.wording import counted, listed
from assay.page.page import Board
from assay.protocols.evaluation import Evaluation
from assay.protocols.results import Findings
from assay.statistics import corrected
from assay.statistics.corrected import Population
from assay.statistics.corrected.modesty import MEASURES
from assay.tasks.base import canonical

__all__ = [
    "COLUMNS",
    "Corrected",
    "Drawn",
    "Evaluations",
    "TrustBoard",
    "Trusted",
    "correct",
    "of_people",
    "open_units",
    "quick",
    "topic_values",
]

COLUMNS = (
    "run", "measure", "value", "low", "high", "judge_alone", "human_only", "human_low",
    "human_high", "labels", "design", "population", "level",
)  # fmt: skip
_SAME = 1e-9
_FEW_RESAMPLES = 100  # the bootstrap of single scores is not used here


Evaluations = Mapping[str, Evaluation]
"""A folder under each of its protocols."""


@dataclass(frozen=True)
class Drawn:
    """A draw with how far it is labelled: of ``units`` that are known to belong to it now, people
    have labelled ``labelled`` with nobody else's label in sight. ``new`` unless it was there."""

    draw: Draw
    units: int
    labelled: int
    new: bool = False


@dataclass(frozen=True)
class TrustBoard:
    """A leaderboard: what could be corrected, and of the other measures why not. ``people`` is how
    many of its protocol's labels by people are of the draw."""

    title: str
    found: tuple[Corrected, ...]
    refused: Mapping[str, str]
    people: int = 0


@dataclass(frozen=True)
class Trusted:
    """What the scores of a folder stand on. ``draw`` is what they were corrected by, with how far
    it is labelled; None, like no ``boards``, where they could not be: ``why`` then says so.
    ``people`` is how many people's labels of the draw there are."""

    basis: str
    draw: Drawn | None
    population: Population
    level: float
    boards: tuple[TrustBoard, ...] = ()
    people: int = 0
    why: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def corrects(self) -> bool:
        """Whether there is any corrected score."""
        return any(board.found for board in self.boards)

    def rows(self) -> Iterator[tuple[object, ...]]:
        """The rows of ``trust.csv``."""
        design = "" if self.draw is None else self.draw.draw.design
        for board in self.boards:
            for one in board.found:
                human = [
                    [None] * len(one.runs) if values is None else values.tolist()
                    for values in (one.human, one.human_low, one.human_high)
                ]
                for at, run in enumerate(one.runs):
                    yield (
                        run, one.measure, float(one.value[at]), float(one.low[at]),
                        float(one.high[at]), float(one.judge[at]), *(v[at] for v in human),
                        board.people, design, self.population, self.level,
                    )  # fmt: skip


def correct(
    evaluations: Evaluations,
    ledger: Ledger,
    *,
    measures: Sequence[str] = (),
    population: Population = "these",
    level: float = 0.95,
    wanted: str = "",
) -> Trusted:
    """Correct the scores of a folder's protocols by the newest draw of which all is labelled, else
    the newest, or the one whose id begins with ``wanted``. Raises SettingsError for a draw or a
    measure that there is not."""
    draws = [one for one in ledger.draws() if one.uid.startswith(wanted)]
    if wanted and len(draws) != 1:
        which = f"{len(draws)} draws begin with" if draws else "There is no draw"
        raise SettingsError(f"{which} {wanted}. 'assay draw FOLDER' lists them.")
    if not draws:
        by_hand = _by_hand(ledger, evaluations)
        why = (
            f"People gave {counted(by_hand, 'label')}, but to nothing that was drawn: nobody knows "
            "how likely each unit was to be chosen, so no interval can be had from them. "
            if by_hand
            else ""
        )
        basis = (
            f"judge and {counted(by_hand, 'label')} by people, picked by hand: not to be corrected"
            if by_hand
            else "judge alone, never checked here"
        )
        why += "Draw what people label, 'assay draw FOLDER --n N', and label it in 'assay ui'."
        return Trusted(basis, None, population, level, why=why)
    for chosen in reversed(draws):
        units = list(open_units(evaluations, ledger, chosen))
        done = sum(labelled for _, labelled in units)
        if units and done == len(units):
            break
    else:
        chosen = draws[-1]
        units = list(open_units(evaluations, ledger, chosen))
        done = sum(labelled for _, labelled in units)
    drawn = Drawn(chosen, len(units), done)
    if not units:
        why = (
            f"Nothing is asked yet of what draw {chosen.uid[:8]} drew: labels that come before are "
            "missing. 'assay judge' asks for them."
        )
        return Trusted("judge alone; nothing drawn is labelled", drawn, population, level, why=why)
    if done < len(units):
        topics = dict.fromkeys(request.topic for request, labelled in units if not labelled)
        why = (
            f"{len(units) - done} of {counted(len(units), 'label')} of draw {chosen.uid[:8]} are "
            f"not there yet (topics {listed(list(topics), 8)}). What is skipped is not missing at "
            "random, so all of it is wanted: 'assay ui' has the queue."
        )
        return Trusted(f"judge alone; a draw is labelled in part ({done} of {len(units)})",
                       drawn, population, level, why=why)  # fmt: skip
    boards = tuple(
        board
        for name, part in evaluations.items()
        for board in _boards(
            f"{name}: " if len(evaluations) > 1 else "", part, ledger, chosen, draws, measures,
            population, level,
        )
    )  # fmt: skip
    known = {m for one in boards for m in (*(c.measure for c in one.found), *one.refused)}
    remarks = tuple(_remarks(ledger, chosen, units))
    unknown = [name for name in measures if name not in known]
    if unknown:
        raise SettingsError(
            f"No leaderboard here has {', '.join(unknown)}. There are {', '.join(sorted(known))}."
        )
    if not any(one.found for one in boards):
        why = (
            "No measure could be corrected. Where it says that labels are missing, 'assay judge' "
            "asks for them: what people said may lead to questions that nobody was asked yet."
        )
        basis = "a draw is labelled, but corrects nothing"
        return Trusted(basis, drawn, population, level, boards, done, why, remarks)
    return Trusted(
        f"judge corrected by {counted(done, 'drawn label')} by people "
        f"({len(chosen.chosen)} of {counted(len(chosen.names), chosen.unit_name)})",
        drawn, population, level, boards, done, remarks=remarks,
    )  # fmt: skip


def _remarks(ledger: Ledger, draw: Draw, units: Iterable[tuple[Request, bool]]) -> Iterator[str]:
    """What should be known of the labels of a draw: people who differ, labels older than it."""
    of_draw = {request.unit_hash for request, _ in units}
    said: dict[str, dict[str, bytes]] = {}
    early = set()
    for one in ledger.by_people():
        if one.unit in of_draw and is_independent(one) and one.status is Status.OK:
            verdict = canonical(without_reasons(one.verdict))
            said.setdefault(one.unit, {})[one.labeller.name] = verdict
            if one.created < draw.created:
                early.add(one.unit)
    differ = sum(len(set(by.values())) > 1 for by in said.values())
    if differ:
        yield (
            f"People differ on {counted(differ, 'drawn unit')}: the newest label of each counts. "
            "'assay agree' says how far they agree."
        )
    if early:
        yield (
            f"{counted(len(early), 'drawn unit')} had people's labels before the draw was made: "
            "the intervals hold only where the draw was not chosen by them."
        )


def _by_hand(ledger: Ledger, evaluations: Evaluations) -> int:
    tasks = {task.name: task.version for one in evaluations.values() for task in one.tasks}
    return sum(
        tasks.get(one.task) == one.version and is_independent(one) for one in ledger.by_people()
    )


def of_people(part: Evaluation, draw: Draw) -> Evaluation:
    """The evaluation as people's labels of what was drawn have it; of tasks that were not drawn
    for, the machine's."""
    return replace(part, policy=Policy.of_drawn(draw.tasks))


def open_units(
    evaluations: Evaluations, ledger: Ledger, draw: Draw
) -> Iterator[tuple[Request, bool]]:
    """The units of a draw, each once, with whether a person has labelled it."""
    chosen, seen = set(draw.chosen), set()
    by_topic = draw.design == TOPICS
    for part in evaluations.values():
        own = of_people(part, draw)
        book = own.book(ledger)
        for step in own.steps:
            for request in step.requests(book):
                unit = request.unit_hash
                if request.task.name not in draw.tasks or unit in seen:
                    continue
                if (request.topic if by_topic else unit) not in chosen:
                    continue
                seen.add(unit)
                label = book.find(request.task, request.content)
                yield request, label is not None and label.status is Status.OK


_ELSEWHERE = ", or it hangs on topics that were not drawn, as a highest grade of all does (g_max)"


@dataclass(frozen=True)
class _Both:
    """Findings by the machine's labels, and by people's on what was drawn."""

    judge: Findings
    people: Findings
    topics: tuple[str, ...]
    drawn: tuple[bool, ...]
    population: Population
    level: float


def quick(part: Evaluation) -> Evaluation:
    """The evaluation with few resamples, where its own intervals are not used."""
    settings = part.settings.model_copy(update={"resamples": _FEW_RESAMPLES})
    return replace(part, settings=settings)


def _boards(
    prefix: str,
    part: Evaluation,
    ledger: Ledger,
    draw: Draw,
    draws: Sequence[Draw],
    measures: Sequence[str],
    population: Population,
    level: float,
) -> Iterator[TrustBoard]:
    """The leaderboards of a protocol."""
    part = quick(part)
    judge = replace(part, policy=Policy.parse("machine")).score(ledger).findings
    given = sum(labelled for _, labelled in open_units({"": part}, ledger, draw))
    correct_one: Callable[[Board, str], Corrected | str]
    if draw.design == TOPICS:
        both = _both(part, ledger, judge, draw, population, level)
        correct_one = partial(_measure, both)
    else:
        correct_one = ByItems(part, ledger, judge, draw, draws, population, level).measure
    for board in judge.boards:
        found, refused = [], {}
        for measure in board.measures:
            name = prefix + measure
            if measures and measure not in measures and name not in measures:
                continue
            one = correct_one(board, measure)
            if isinstance(one, str):
                refused[name] = one
            else:
                found.append(replace(one, measure=name))
        if found or refused:
            yield TrustBoard(prefix + board.title, tuple(found), refused, given)


def _both(
    part: Evaluation,
    ledger: Ledger,
    judge: Findings,
    draw: Draw,
    population: Population,
    level: float,
) -> _Both:
    said = dict(zip(draw.names, draw.drawn, strict=True))
    topics = tuple(judge.topics)
    strange = [topic for topic in topics if topic not in said]
    if strange:
        raise SettingsError(
            f"{part.folder.path}: {counted(len(strange), 'topic')} came after draw "
            f"{draw.uid[:8]} and could not be drawn ({listed(strange, 8)}). Draw anew."
        )
    people = of_people(part, draw).score(ledger).findings
    return _Both(judge, people, topics, tuple(said[one] for one in topics), population, level)


def _measure(both: _Both, board: Board, measure: str) -> Corrected | str:
    """A measure of a leaderboard, or why it cannot be corrected."""
    lower = measure in board.lower_is_better
    runs = tuple(run for run, by in both.judge.scores.items() if measure in by)
    if all(measure in both.judge.per_topic.get(run, {}) for run in runs):
        return _mean(both, runs, measure, lower=lower)
    if measure in MEASURES:
        return _confidence(both, runs, measure)
    return "It is no mean over topics, and not smooth: no interval of this kind is known."


def topic_values(table: PerTopic, run: str, measure: str, topics: Sequence[str]) -> Floats:
    """A run's value on each topic; NaN where there is none, or not a single one."""
    by_topic = table.get(run, {}).get(measure, {})
    found = [by_topic.get(topic) for topic in topics]
    return np.array([np.nan if one is None or one.value is None else one.value for one in found])


def _mean(both: _Both, runs: tuple[str, ...], measure: str, *, lower: bool) -> Corrected | str:
    drawn = np.array(both.drawn)
    judge = np.stack(
        [topic_values(both.judge.per_topic, run, measure, both.topics) for run in runs]
    )
    people = np.stack(
        [topic_values(both.people.per_topic, run, measure, both.topics) for run in runs]
    )
    people[:, ~drawn] = np.nan
    for what, table, or_else in (
        ("the machine's", judge, ""),
        ("people's", people[:, drawn], _ELSEWHERE),
    ):
        if np.isnan(table).any():
            count = int(np.isnan(table).any(axis=0).sum())
            return (
                f"It has no value on {counted(count, 'topic')} by {what} labels: one is missing, "
                f"or it is not defined there{or_else}."
            )
    whole = [both.judge.scores[run][measure].value for run in runs]
    if any(value is None or abs(value - mean) > _SAME
           for value, mean in zip(whole, judge.mean(axis=1), strict=True)):  # fmt: skip
        return "It is no mean over all topics."
    try:
        found = corrected.topics(people, judge, drawn, level=both.level, population=both.population)
    except ValueError as error:
        return f"{str(error)[:1].upper()}{str(error)[1:]}."
    return ranked(measure, runs, found, judge.mean(axis=1), lower=lower, level=both.level)


def _confidence(both: _Both, runs: tuple[str, ...], measure: str) -> Corrected | str:
    """HMR and its parts, run by run."""
    drawn, place = np.array(both.drawn), MEASURES.index(measure)
    rows, told = [], []
    for run in runs:
        p, judge = (
            topic_values(both.judge.per_topic, run, one, both.topics)
            for one in ("Confidence", "Accuracy")
        )
        people = topic_values(both.people.per_topic, run, "Accuracy", both.topics)
        if np.isnan(p).any():
            return f"{run} leaves questions out, with an unknown confidence."
        if np.isnan(judge).any() or np.isnan(people[drawn]).any():
            return f"Labels of {run} are missing."
        people[~drawn] = np.nan
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                one = corrected.hmr(
                    p, people, judge, drawn, level=both.level, population=both.population
                )
            except ValueError as error:
                return f"{run}: {error}."
        told += [f"{run}: {warning.message}." for warning in caught]
        alone = both.judge.scores[run][measure].value
        rows.append((one.value[place], one.low[place], one.high[place],
                     np.nan if alone is None else alone))  # fmt: skip
    value, low, high, judge = np.array(rows).T
    return Corrected(measure, False, runs, value, low, high, judge, warnings=tuple(told))
