"""What people label, drawn at random, and scores that what they say corrects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.api.correcting import COLUMNS, Drawn, Trusted, correct, open_units
from assay.api.opened import Opened
from assay.ledger import Ledger
from assay.ledger.draws import TOPICS, Draw
from assay.model.errors import SettingsError
from assay.protocols.output import csv_bytes, write_bytes
from assay.statistics.corrected import Population, draw_topics

FILE = "trust.csv"


def draw_for_people(
    folder: Path, *, n: int, seed: int, tasks: Sequence[str] = (), design: str = TOPICS
) -> Drawn:
    """Draw ``n`` topics of a folder, each set as likely as any other; people then label all that is
    asked of them under ``tasks`` (all where none is named). The draw is in the ledger before
    anybody is asked. Raises SettingsError where it cannot be made, and LedgerError."""
    opened = Opened.open(folder)
    asked = _tasks(opened, tasks)
    with opened.ledger() as ledger:
        ledger.checked()
        names = topics_of(opened, ledger)
        if not 0 < n <= len(names):
            raise SettingsError(
                f"{folder}: {n} of {len(names)} topics cannot be drawn. Give --n from 1 to "
                f"{len(names)}; an interval takes at least 3, one of HMR 10."
            )
        drawn = draw_topics(len(names), n, seed)
        pi = (n / len(names),) * len(names)
        made = Draw(design, asked, n, seed, tuple(names), pi, tuple(map(bool, drawn)))
        new = ledger.add_draw(made)
        return _progress(opened, ledger, made, new=new)


def drawn_so_far(folder: Path) -> list[Drawn]:
    """All draws of a folder, oldest first, with how far each is labelled."""
    opened = Opened.open(folder)
    with opened.ledger(create=False) as ledger:
        return [_progress(opened, ledger, one) for one in ledger.draws()]


def topics_of(opened: Opened, ledger: Ledger) -> list[str]:
    """The topics of a folder, under all of its protocols, in order."""
    found = {
        topic
        for part in opened.parts.values()
        for topic in part.score(ledger).findings.topics
    }  # fmt: skip
    return sorted(found)


def _progress(opened: Opened, ledger: Ledger, draw: Draw, *, new: bool = False) -> Drawn:
    done = [labelled for _, labelled in open_units(opened.parts, ledger, draw)]
    return Drawn(draw, len(done), sum(done), new)


def _tasks(opened: Opened, wanted: Sequence[str]) -> tuple[str, ...]:
    known = [task.name for task in opened.tasks()]
    if not known:
        raise SettingsError(f"{opened.folder.path} asks nobody anything: there is nothing to draw.")
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SettingsError(
            f"{opened.folder.path} asks nothing under {', '.join(unknown)}. It asks under "
            f"{', '.join(known)}."
        )
    return tuple(sorted(wanted or known))


def trust(
    folder: Path,
    *,
    measures: Sequence[str] = (),
    population: Population = "these",
    level: float = 0.95,
    draw: str = "",
) -> Trusted:
    """Correct the scores of a folder by what people said of a draw: the newest, or the one whose
    id begins with ``draw``. ``measures`` are those of the leaderboards where none is named. Raises
    SettingsError for a draw or a measure that there is not, and as opening a folder does."""
    opened = Opened.open(folder)
    with opened.ledger(create=False) as ledger:
        ledger.checked()
        return correct(
            opened.parts, ledger, measures=measures, population=population, level=level, wanted=draw
        )


def write_trust(folder: Path, found: Trusted) -> Path:
    """Write ``out/trust.csv`` of the folder; returns it. One of before goes where nothing is
    corrected now."""
    path = Opened.open(folder).folder.out / FILE
    if found.corrects:
        write_bytes(path, csv_bytes(COLUMNS, found.rows()))
    else:
        path.unlink(missing_ok=True)
    return path
