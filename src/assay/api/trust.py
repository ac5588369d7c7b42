"""Draw random samples for people to label, and correct scores by their labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.api.by_items import estimated, items_for, next_drawn
from assay.api.corrected import check_level
from assay.api.correcting import COLUMNS, DrawProgress, Trusted, correct
from assay.api.opened import Opened
from assay.ledger import Ledger
from assay.ledger.draws import TOPICS, Draw
from assay.model.errors import SettingsError
from assay.model.wording import and_list, as_sentence, counted
from assay.protocols.folder import Folder
from assay.protocols.output import csv_bytes, write_bytes
from assay.protocols.results import Findings
from assay.statistics.corrected import Population, draw_topics, rogan_gladen
from assay.statistics.corrected.draws import Design
from assay.statistics.corrected.inputs import LEAST_LABELS

FILE = "trust.csv"
LEAST_DRAWN = 20
"""Least number of units in a draw of units, if that many are left."""


def draw_for_people(folder: Path, *, n: int, seed: int, tasks: Sequence[str] = ()) -> DrawProgress:
    """Draw ``n`` topics of a folder, all sets being equally likely. People then label all units of
    these topics under ``tasks`` (default: all). The draw is recorded in the ledger before anybody
    labels. Raises SettingsError if it cannot be made, or LedgerError."""
    opened = Opened.open(folder)
    asked = _tasks(opened, tasks)
    with opened.ledger() as ledger:
        ledger.checked()
        names = topics_of(opened, ledger)
        if not 0 < n <= len(names):
            raise SettingsError(
                f"{folder}: {n} of {len(names)} topics cannot be drawn. Give --n from 1 to "
                f"{len(names)}; an interval needs at least 3 (for HMR 10), or all."
            )
        drawn = draw_topics(len(names), n, seed)
        pi = (n / len(names),) * len(names)
        made = Draw(TOPICS, asked, n, seed, tuple(names), pi, tuple(map(bool, drawn)))
        new = ledger.add_draw(made)
        return DrawProgress.of(opened.parts, ledger, made, new=new)


def draw_units(
    folder: Path, *, n: int, seed: int, task: str, design: Design, measure: str = ""
) -> DrawProgress:
    """Draw about ``n`` units of a task, each independently, for a measure that is a sum over its
    labels (default: the one with the most units). People then label these units.

    Units drawn and labelled before are left out, and their labels guide the draw: with ``pairs``,
    towards the pairs of runs that are not settled yet. Raises SettingsError if the draw cannot be
    made, or LedgerError."""
    opened = Opened.open(folder)
    asked = (task,) = _tasks(opened, [task])
    with opened.ledger() as ledger:
        ledger.checked()
        items = items_for(opened.parts, ledger, task, measure)
        before = [one for one in ledger.draws() if one.design != TOPICS and one.tasks == asked]
        weighty = set(np.array(items.units)[items.weights.any(axis=0)])
        labelled: list[Draw] = []
        for one in before:
            same_draw = (one.design, one.size, one.seed) == (design, n, seed)
            before_it = {name for other in labelled for name in other.chosen}
            if same_draw and set(one.names) == weighty - before_it:
                return DrawProgress.of(opened.parts, ledger, one)
            so_far = DrawProgress.of(opened.parts, ledger, one)
            left = so_far.units - so_far.labelled
            if left and so_far.labelled:
                raise SettingsError(
                    f"{folder}: {counted(left, 'unit')} of draw {one.uid[:8]} are not labelled "
                    "yet. Label them in 'assay ui' before you draw more."
                )
            if not left:
                labelled.append(one)
        if any(one.seed == seed for one in before):
            raise SettingsError(
                f"{folder}: a draw with --seed {seed} already exists, and each draw needs its own "
                "random numbers. Choose another --seed."
            )
        known = np.isin(items.units, [name for one in labelled for name in one.chosen])
        estimates = None
        try:
            if labelled and design == "pairs":
                estimates = estimated(items, labelled, level=0.95, population="these")
            drawn = next_drawn(items, estimates, known, n, design=design, seed=seed)
        except ValueError as error:
            raise SettingsError(as_sentence(error)) from None
        held = [
            (unit, float(pi), bool(one))
            for unit, pi, one in zip(items.units, drawn.pi, drawn.drawn, strict=True)
            if pi > 0
        ]
        names, pi, chosen = zip(*held, strict=True)
        # Fewer labels never give an interval, and redrawing until there are enough would change
        # the probabilities (with n = 20, one draw in 200 has too few).
        if n < min(LEAST_DRAWN, len(held)) or sum(chosen) < min(LEAST_LABELS, len(held)):
            raise SettingsError(
                f"{folder}: each unit is drawn independently, and an interval needs "
                f"{LEAST_LABELS} labels. Give --n from {min(LEAST_DRAWN, len(held))}, and another "
                "--seed."
            )
        made = Draw(design, asked, n, seed, names, pi, chosen)
        new = ledger.add_draw(made)
        return DrawProgress.of(opened.parts, ledger, made, new=new)


def drawn_so_far(opened: Opened) -> list[DrawProgress]:
    """The progress of all draws of a folder, oldest first."""
    with opened.ledger(create=False) as ledger:
        return [DrawProgress.of(opened.parts, ledger, one) for one in ledger.draws()]


def topics_of(opened: Opened, ledger: Ledger) -> list[str]:
    """The topics of a folder under all its protocols, sorted."""
    found = {
        topic
        for part in opened.parts.values()
        for topic in part.quick().score(ledger).findings.topics
    }  # fmt: skip
    return sorted(found)


def _tasks(opened: Opened, wanted: Sequence[str]) -> tuple[str, ...]:
    """The tasks ``wanted``, by their full names or the last part (default: all). Raises
    SettingsError if the folder does not use one."""
    known = [task.name for task in opened.tasks()]
    if not known:
        raise SettingsError(
            f"{opened.folder.path} asks nobody anything, so there is nothing to draw."
        )
    meant = {
        name: [one for one in known if name in (one, one.rpartition(".")[2])] for name in wanted
    }
    if unknown := [name for name, found in meant.items() if len(found) != 1]:
        raise SettingsError(
            f"{opened.folder.path} asks nothing under {', '.join(unknown)}. It asks under "
            f"{', '.join(known)}."
        )
    return tuple(sorted({one for (one,) in meant.values()} or known))


def trust(
    folder: Path,
    *,
    measures: Sequence[str] = (),
    population: Population = "these",
    level: float = 0.95,
    draw: str = "",
) -> Trusted:
    """Correct the scores of a folder by people's labels of a draw, chosen as in :func:`correct`
    or by the beginning of its id (``draw``). ``measures`` default to those of the leaderboards.
    Raises SettingsError for an unknown draw, measure or level, and the errors of opening a folder.
    """
    check_level(level)
    opened = Opened.open(folder)
    with opened.ledger(create=False) as ledger:
        ledger.checked()
        return correct(
            opened.parts, ledger, measures=measures, population=population, level=level, wanted=draw
        )


def write_trust(folder: Path, found: Trusted) -> Path:
    """Write the folder's ``out/trust.csv`` and return its path. If nothing is corrected, an earlier
    file is removed."""
    path = Folder.open(folder).out / FILE
    if found.corrects:
        write_bytes(path, csv_bytes(COLUMNS, found.rows()))
    else:
        path.unlink(missing_ok=True)
    return path


USUAL = ("Accuracy",)
_FORM = re.compile(r"(\d{1,9})/(\d{1,9}),(\d{1,9})/(\d{1,9})")


def _counts(text: str) -> Sequence[int]:
    """Parse a judge's results on another collection for :func:`rogan_gladen`. Raises SettingsError
    if ``text`` has another form."""
    found = _FORM.fullmatch(text.replace(" ", ""))
    if found is None:
        raise SettingsError(
            f"'{text}' is not of the form 45/50,40/50: of 50 that people called right, the judge "
            "called 45 right; of 50 that they called wrong, 40 wrong."
        )
    return [*map(int, found.groups())]


class CarriedOver(NamedTuple):
    """A run's share of yes by the judge alone over ``n`` topics, and the share by people if the
    judge's error rates are the same as elsewhere, with its interval."""

    run: str
    measure: str
    judge_alone: float
    value: float
    low: float
    high: float
    n: int


def carried_over(
    folder: Path, elsewhere: str, *, measures: Sequence[str] = (), level: float = 0.95
) -> list[CarriedOver]:
    """Correct Accuracy (or ``measures`` that are a share of yes over topics, one label each) from
    the judge's labels alone, by its results ``elsewhere`` (``45/50,40/50``: of 50 units that people
    called right it called 45 right, of 50 wrong ones 40 wrong). Raises SettingsError if there is no
    such measure, or if the judge was near chance elsewhere."""
    counts = _counts(elsewhere)
    opened = Opened.open(folder, policy="machine")
    with opened.ledger(create=False) as ledger:
        ledger.checked()
        results = opened.quick().score(ledger)
    found = [
        one
        for name, result in results.by_protocol.items()
        for one in _shares(result.findings, results.prefix(name), measures, counts, level)
    ]
    if not found:
        which = and_list(list(measures or USUAL))
        raise SettingsError(
            f"{folder}: {which} is not a share of yes over all topics here, or labels are missing, "
            "so there is nothing to carry over to. Name other measures with -m."
        )
    return found


def _shares(
    found: Findings, prefix: str, measures: Sequence[str], elsewhere: Sequence[int], level: float
) -> Iterator[CarriedOver]:
    for measure in dict.fromkeys(m for board in found.boards for m in board.measures):
        name = prefix + measure
        if not {measure, name} & set(measures or USUAL):
            continue
        for run, by_measure in found.per_topic.items():
            by_topic = by_measure.get(measure, {}).values()
            values = [None if one is None else one.value for one in by_topic]
            if len(values) < len(found.topics) or not set(values) <= {0.0, 1.0}:
                continue
            positive = values.count(1.0)
            try:
                value, low, high = rogan_gladen(positive, len(values), *elsewhere, level=level)
            except ValueError as error:
                raise SettingsError(as_sentence(error)) from None
            yield CarriedOver(run, name, positive / len(values), value, low, high, len(values))
