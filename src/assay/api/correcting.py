"""Scores from people's labels of a drawn sample and a machine's labels of everything.

The interval holds whatever errors the machine makes: a bad machine makes it wide, never wrong
(:mod:`assay.statistics.corrected`). If people's labels are not those of a draw, there is no
interval, and the reason is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from assay.api.by_items import ByItems, linear_of
from assay.api.by_topics import ByTopics, of_people
from assay.api.corrected import Basis, Corrected, off_by_family
from assay.api.results import prefix_of
from assay.labellers.base import Request
from assay.ledger import Ledger
from assay.ledger.draws import TOPICS, Draw
from assay.ledger.policy import Policy, for_all
from assay.model.errors import SettingsError
from assay.model.labels import Label, Status, is_independent, without_reasons
from assay.model.wording import and_list, counted, joined, noun
from assay.protocols.evaluation import Evaluation
from assay.protocols.results import Findings
from assay.statistics.corrected import Population
from assay.tasks.base import canonical

COLUMNS = (
    "run", "measure", "value", "low", "high", "judge_alone", "human_only", "human_low",
    "human_high", "labels", "design", "population", "level", "draw",
)  # fmt: skip


_FEW_TOPICS = 5

Evaluations = Mapping[str, Evaluation]
"""The evaluation under each of a folder's protocols."""


@dataclass(frozen=True)
class DrawProgress:
    """How far a draw is labelled: of the ``units`` known to belong to it so far, people have
    labelled ``labelled`` without seeing anybody else's label. ``new`` if it was just made."""

    draw: Draw
    units: int
    labelled: int
    new: bool = False

    @classmethod
    def of(cls, evaluations: Evaluations, ledger: Ledger, draw: Draw, *, new: bool = False) -> Self:
        """The current progress of a draw."""
        done = [labelled for _, labelled in open_units(evaluations, ledger, draw)]
        return cls(draw, len(done), sum(done), new)

    @property
    def is_whole(self) -> bool:
        """Whether the draw has units, and all of them are labelled."""
        return 0 < self.units == self.labelled

    @property
    def may_grow(self) -> bool:
        """Whether labels under one of its tasks may add units under another."""
        return self.draw.design == TOPICS and len(self.draw.tasks) > 1


@dataclass(frozen=True)
class TrustBoard:
    """A leaderboard's corrected measures, and why others could not be corrected. ``people`` is the
    number of people's labels in the draw that belong to its protocol."""

    title: str
    found: tuple[Corrected, ...]
    refused: Mapping[str, str]
    people: int = 0


@dataclass(frozen=True)
class Trusted:
    """The corrected scores of a folder, and their ``basis`` in words. ``draw`` is the draw they
    were corrected by, with its progress, or None if there is none. If nothing could be corrected,
    ``why`` says why. ``people`` is the number of people's labels in the draw."""

    basis: str
    draw: DrawProgress | None
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
        made = None if self.draw is None else self.draw.draw
        design, uid = ("", "") if made is None else (made.design, made.uid)
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
                        board.people, design, self.population, self.level, uid,
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
    """Correct the scores of a folder's protocols by the newest fully labelled draw (if none is, the
    newest), or by the draw whose id begins with ``wanted``. Raises SettingsError for an unknown
    draw or measure."""
    every = ledger.draws()
    draws = [one for one in every if one.uid.startswith(wanted)]
    if wanted and len(draws) != 1:
        which = f"{len(draws)} draws begin with" if draws else "There is no draw"
        raise SettingsError(f"{which} {wanted}. 'assay draw FOLDER' lists them.")
    if not draws:
        tasks = {task.name: task.version for one in evaluations.values() for task in one.tasks}
        by_hand = sum(
            tasks.get(one.task) == one.version and is_independent(one) for one in ledger.by_people()
        )
        why = (
            f"People gave {counted(by_hand, 'label')}, but not to units of a draw. How likely "
            "each unit was to be chosen is unknown, so they give no interval. If people labelled "
            "everything, draw all topics: the scores are then theirs. "
            if by_hand
            else ""
        )
        basis = (
            f"judge and {counted(by_hand, 'label')} by people on units picked by hand: cannot be "
            "corrected"
            if by_hand
            else "judge alone, never checked here"
        )
        why += (
            "Draw units for people to label with 'assay draw FOLDER --n N', and label them in "
            "'assay ui'."
        )
        return Trusted(basis, None, population, level, why=why)
    chosen, units = _counting(evaluations, ledger, draws)
    policy = for_all([one.policy for one in evaluations.values()])
    said = _said(ledger, {one.unit_hash: one.task.version for one, _ in units}, policy)
    by_most = policy.rule == "majority"
    done = sum(labelled for _, labelled in units)
    drawn = DrawProgress(chosen, len(units), done)
    if not units:
        why = (
            f"Draw {chosen.uid[:8]} asks nothing yet, because earlier labels are missing. 'assay "
            "judge' asks for them."
        )
        return Trusted("judge alone; nothing drawn is labelled", drawn, population, level, why=why)
    if done < len(units):
        topics = dict.fromkeys(request.topic for request, labelled in units if not labelled)
        why = (
            f"{len(units) - done} of {counted(len(units), 'label')} of draw {chosen.uid[:8]} are "
            f"still missing (topics {joined(list(topics), 8)}). Skipped units are not missing at "
            "random, so all are needed: label them in 'assay ui'."
        )
        left = [request.unit_hash for request, labelled in units if not labelled]
        tied = sum(len(said.get(unit, ())) > 1 for unit in left) if by_most else 0
        if tied:
            why += (
                f" {counted(tied, 'unit')} of these {noun(tied, 'has', 'have')} no majority "
                "verdict: one more person decides each or, once 'passes' in [ui] have labelled "
                "it, whoever settles it ('assay ui' lists the disagreements)."
            )
        return Trusted(f"judge alone; a draw is partly labelled ({done} of {len(units)})",
                       drawn, population, level, why=why)  # fmt: skip
    by = Basis(ledger, chosen, every, population, level)
    boards = tuple(
        board
        for name, part in evaluations.items()
        for board in _boards(
            prefix_of(name, evaluations), part, by, measures,
            done if len(evaluations) == 1 else _done({name: part}, ledger, chosen),
        )
    )  # fmt: skip
    found = {m for one in boards for m in (*(c.measure for c in one.found), *one.refused)}
    if not found.issuperset(measures):
        check_measures(evaluations, ledger, measures)
    rivals = [one for one in every if one.design == TOPICS and one.tasks == chosen.tasks]
    remarks = tuple(_remarks(chosen, said, len(rivals), by_most=by_most))
    if not any(one.found for one in boards):
        why = (
            "No measure could be corrected. If labels are reported missing, 'assay judge' asks "
            "for them, and with --policy machine for the machine's own: people's labels may lead "
            "to questions nobody was asked yet, and away from those the machine's labels led to."
        )
        basis = "a draw is labelled, but corrects nothing"
        return Trusted(basis, drawn, population, level, boards, done, why, remarks)
    one_of = f"; one of {len(rivals)} draws" if chosen.design == TOPICS and rivals[1:] else ""
    return Trusted(
        f"judge corrected by {counted(done, 'drawn label')} by people "
        f"({len(chosen.chosen)} of {counted(len(chosen.names), chosen.unit_name)}{one_of})",
        drawn, population, level, boards, done, remarks=remarks,
    )  # fmt: skip


def _counting(
    evaluations: Evaluations, ledger: Ledger, draws: Sequence[Draw]
) -> tuple[Draw, list[tuple[Request, bool]]]:
    """The newest fully labelled draw, or the newest if none is, with its units."""
    looked = []
    for draw in reversed(draws):
        units = list(open_units(evaluations, ledger, draw))
        if units and all(labelled for _, labelled in units):
            return draw, units
        looked.append((draw, units))
    return looked[0]


def check_measures(evaluations: Evaluations, ledger: Ledger, measures: Sequence[str]) -> None:
    """Raise SettingsError for measures that no leaderboard has. With several protocols, names may
    be prefixed by the protocol's."""
    known = {
        f"{prefix}{measure}": None
        for name, part in evaluations.items()
        for board in part.quick().score(ledger).findings.boards
        for measure in board.measures
        for prefix in dict.fromkeys(("", prefix_of(name, evaluations)))
    }
    unknown = [name for name in measures if name not in known]
    if unknown:
        raise SettingsError(
            f"No leaderboard here has {', '.join(unknown)}. Available: {', '.join(known)}."
        )


def _said(
    ledger: Ledger, units: Mapping[str, str], policy: Policy
) -> dict[str, dict[str, list[Label]]]:
    """Unit → person → usable labels, for ``units`` (unit → current version of its task): those that
    the policy admits and that were given without seeing anybody else's label."""
    said: dict[str, dict[str, list[Label]]] = {}
    for one in ledger.by_people():
        if one.version != units.get(one.unit) or not policy.hears(one.labeller.name):
            continue
        if is_independent(one) and one.status is Status.OK:
            said.setdefault(one.unit, {}).setdefault(one.labeller.name, []).append(one)
    return said


def _remarks(
    draw: Draw, said: Mapping[str, Mapping[str, list[Label]]], rivals: int, *, by_most: bool
) -> Iterator[str]:
    """Remarks on the labels of a draw: disagreements between people, labels older than the draw,
    several draws of topics to choose from, and very few topics."""
    differ = sum(
        len({canonical(without_reasons(one[-1].verdict)) for one in by.values()}) > 1
        for by in said.values()
    )
    if differ:
        counts = (
            "for each, the verdict most people gave counts, or, if there is a tie, the verdict of "
            "the adjudicator, who has seen their labels and may have looked at the judge's"
            if by_most
            else (
                'for each, the newest label counts, whoever gave it (policy = "majority" in '
                "[settings] uses what most people say)"
            )
        )
        yield (
            f"People differ on {counted(differ, 'drawn unit')}: {counts}. The intervals treat the "
            "labels that count as the truth. 'assay labels people' says how far people agree."
        )
    early = {
        unit
        for unit, by in said.items()
        if any(one[0].created < draw.created for one in by.values())
    }
    if early and min(draw.pi) < 1.0:
        yield (
            f"{counted(len(early), 'drawn unit')} had people's labels before the draw was made: "
            "the intervals hold only if those labels did not influence the choice of the draw."
        )
    if draw.design != TOPICS:
        return
    if rivals > 1:
        yield (
            f"{rivals} draws of topics were made for these labels, and the newest labelled one is "
            "used: the intervals hold only if its labels did not influence that choice."
        )
    if len(draw.chosen) < min(_FEW_TOPICS, len(draw.names)):
        yield (
            f"{counted(len(draw.chosen), 'topic')} can settle next to nothing: the intervals are "
            "necessarily wide. 'assay plan' says what more labels would gain."
        )


def open_units(
    evaluations: Evaluations, ledger: Ledger, draw: Draw
) -> Iterator[tuple[Request, bool]]:
    """Yield each unit of a draw once, with whether a person has labelled it."""
    chosen, seen = set(draw.chosen), set()
    by_topic = draw.design == TOPICS
    for part in evaluations.values():
        own = of_people(part, draw)
        book = own.book(ledger)
        for step in own.steps:
            for request in step.people_requests(book):
                if request.task.name not in draw.tasks:
                    continue
                if by_topic and request.topic not in chosen:
                    continue
                unit = request.unit_hash
                if unit in seen or not (by_topic or unit in chosen):
                    continue
                seen.add(unit)
                label = book.find(request.task, request.content)
                yield request, label is not None and label.status is Status.OK


def _done(evaluations: Evaluations, ledger: Ledger, draw: Draw) -> int:
    """Number of units of a draw that people have labelled."""
    return sum(labelled for _, labelled in open_units(evaluations, ledger, draw))


def _boards(
    prefix: str, part: Evaluation, basis: Basis, measures: Sequence[str], people: int
) -> Iterator[TrustBoard]:
    """The corrected leaderboards of a protocol; ``people`` is as in :class:`TrustBoard`."""
    part = part.quick()
    judge = part.quick().by_machine(basis.ledger).findings
    boards, by = judge.boards, _correcting(part, judge, basis)
    linear = linear_of(part, basis.ledger) if basis.draw.design == TOPICS else ()
    instead = {
        one.measure: " Single labels can correct it: 'assay draw FOLDER --task "
        f"{one.task.name} --design leverage --n N'."
        for one in linear
    }
    apart = _apart_from(part, basis)
    for board in boards:
        found, refused = [], {}
        for measure in board.measures:
            name = prefix + measure
            if measures and measure not in measures and name not in measures:
                continue
            one = apart.get(measure) or by.measure(board, measure)
            if isinstance(one, str):
                refused[name] = one + instead.get(measure, "")
            else:
                families = part.folder.config.audit.families
                off = (
                    tuple(off_by_family(one.runs, one.judge, one.estimates, families, basis.level))
                    if one.estimates is not None and basis.population == "these"
                    else ()
                )
                found.append(replace(one, measure=name, families=off))
        if found or refused:
            yield TrustBoard(prefix + board.title, tuple(found), refused, people)


def _apart_from(part: Evaluation, basis: Basis) -> dict[str, str]:
    """Measures that use no label under the tasks of a draw of topics, each with the reason why it
    is not corrected. They are known even without any such label."""
    draw = basis.draw
    if draw.design != TOPICS or set(draw.tasks) >= {task.name for task in part.tasks}:
        return {}
    nobody = replace(part.policy.of_drawn(draw.tasks), people=False)
    scores = replace(part, policy=nobody).score(basis.ledger).findings.scores.values()
    known = {name for of in scores for name in of}
    return {
        name: (
            f"The draw is of {and_list(list(draw.tasks))}, and nobody was asked about what this "
            "is based on: it uses only the machine's labels."
        )
        for name in known
        if all(name not in of or of[name].value is not None for of in scores)
    }


def _correcting(part: Evaluation, judge: Findings, basis: Basis) -> ByTopics | ByItems:
    """The corrector of the machine's findings for the design of the draw."""
    by = ByTopics.of if basis.draw.design == TOPICS else ByItems
    return by(part, judge, basis)


def _everything(part: Evaluation, judge: Findings) -> Draw:
    """People's labels of everything, as a draw of all topics."""
    count, tasks = len(judge.topics), tuple(task.name for task in part.tasks)
    return Draw(TOPICS, tasks, count, 0, tuple(judge.topics), (1.0,) * count, (True,) * count)


def whole_draw(
    evaluations: Evaluations, ledger: Ledger, draws: Sequence[Draw]
) -> Draw | str | None:
    """The draw that counts, or why it does not count yet; None if nothing was drawn."""
    if not draws:
        return None
    draw, units = _counting(evaluations, ledger, draws)
    missing = sum(not labelled for _, labelled in units)
    if missing:
        lack = f"{missing} of {counted(len(units), 'label')} of draw {draw.uid[:8]} by people"
        return f"{lack} are missing"
    return draw if units else f"draw {draw.uid[:8]} asks nothing yet"


def corrected_together(
    evaluations: Evaluations, ledger: Ledger, *, level: float
) -> Iterator[Corrected | str]:
    """The first measure of each leaderboard whose runs are estimated together, corrected by the
    draw that counts (people's labels of everything if nothing was drawn), or why there is none."""
    draws = ledger.draws()
    draw = whole_draw(evaluations, ledger, draws)
    if isinstance(draw, str):
        yield draw
        return
    for name, part in evaluations.items():
        prefix = prefix_of(name, evaluations)
        judge = part.quick().by_machine(ledger).findings
        basis = Basis(ledger, draw or _everything(part, judge), draws, "these", level)
        by = _correcting(part.quick(), judge, basis)
        for board in judge.boards:
            measure = next((one for one in board.measures if by.together(one)), None)
            if measure is None:
                yield f"{prefix}{board.title}: no measure can be corrected by this draw"
                continue
            one = by.measure(board, measure)
            yield (
                f"{prefix}{measure}: {one.removesuffix('.')}"
                if isinstance(one, str)
                else replace(one, measure=prefix + measure)
            )
