"""The settings of response evaluation side by side: who made the nuggets, who assigned them.

Source: overview of the TREC 2025 RAG track, section 3.2: automatic nuggets and assignment,
post-edited nuggets with automatic assignment, post-edited nuggets with manual assignment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from assay.ledger.policy import Policy
from assay.model.trec_rag import AssignedAnswer
from assay.protocols.labels import LabelBook
from assay.protocols.scores import Score
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import Inputs, TrecRagSettings
from assay.protocols.trec_rag.responses import Responses
from assay.protocols.trec_rag.scoring import NUGGET_NAMES, Sheet, means, nugget_sheet
from assay.statistics.correlation import CorrelationReport, correlate

AUTO = "automatic nuggets, automatic assignment"
EDITED = "post-edited nuggets, automatic assignment"
MANUAL = "post-edited nuggets, manual assignment"

MEASURES = ("strict_vital", "coverage")


@dataclass(frozen=True)
class Pair:
    """Two settings and how a measure's scores correlate between them."""

    first: str
    second: str
    measure: str
    report: CorrelationReport


@dataclass(frozen=True)
class Sides:
    """The settings that there are labels for: sheets and means by setting, correlations."""

    sheets: Mapping[str, Sheet]
    means: Mapping[str, Mapping[str, Mapping[str, Score]]]
    pairs: tuple[Pair, ...]


class _Mixed(Responses):
    """Assignments by one policy of nuggets as they stand under another."""

    def __init__(self, nuggets: Bank, answers: Bank) -> None:
        super().__init__(answers)
        self._nuggets = nuggets

    def of(self, topic: str, run: str) -> AssignedAnswer | None:
        answer = self.bank.inputs.answers[run].answers.get(topic)
        kept = self._nuggets.nuggets(topic)
        if answer is None or kept is None:
            return None
        return self.assigned(topic, answer, kept)


def compare_settings(
    inputs: Inputs,
    settings: TrecRagSettings,
    book: LabelBook,
    assigned: Mapping[tuple[str, str], AssignedAnswer],
) -> Sides:
    """Scores in every setting that has labels, whatever policy the evaluation is scored under.

    A setting is there where it differs: ``EDITED`` where a person edited nuggets, ``MANUAL`` where
    people assigned some of them; of the latter only answers count whose nuggets all are.
    """
    if book.book is None or not assigned:
        return Sides({}, {}, ())
    machine = _bank(inputs, settings, book, "machine")
    people = _bank(inputs, settings, book, "people")
    human = _bank(inputs, settings, book, "human")
    topics = [topic for topic in inputs.topics if people.nuggets(topic) is not None]
    sheets: dict[str, Sheet] = {}
    edited = any(people.post_edited(topic) for topic in topics)
    wanted = [(AUTO, machine, machine)]
    if edited:
        wanted.append((EDITED, people, machine))
    wanted.append((MANUAL, people, human))
    for name, nuggets, answers in wanted:
        mixed = _Mixed(nuggets, answers)
        found = [
            one
            for run in inputs.answers
            for topic in topics
            if (one := mixed.of(topic, run)) is not None
        ]
        if name == MANUAL:
            found = [one for one in found if all(each.assigned is not None for each in one.nuggets)]
        if found and any(each.assigned for one in found for each in one.nuggets):
            aspects = {topic: people.aspects(topic) or () for topic in topics}
            sheets[name] = nugget_sheet(found, aspects, topics)
    pairs = tuple(
        Pair(first, second, measure, report)
        for first, second in combinations(sheets, 2)
        for measure in MEASURES
        if (report := _correlated(sheets[first], sheets[second], measure, settings)) is not None
    )
    tables = {
        name: means(
            sheet,
            topics="answered",
            level=settings.level,
            resamples=settings.resamples,
            seed=settings.seed,
        )
        for name, sheet in sheets.items()
    }
    return Sides(sheets, tables, pairs)


def _bank(inputs: Inputs, settings: TrecRagSettings, book: LabelBook, policy: str) -> Bank:
    if book.book is None:
        raise ValueError("there is no ledger")
    labels = LabelBook.open(
        book.book.ledger, Policy.parse(policy), book.book.tasks, book.book.labellers
    )
    return Bank(inputs, settings, labels)


def _correlated(
    first: Sheet, second: Sheet, measure: str, settings: TrecRagSettings
) -> CorrelationReport | None:
    """None where fewer than two runs or no topic have scores in both."""
    tables = [{run: by[measure] for run, by in sheet.values.items()} for sheet in (first, second)]
    try:
        return correlate(
            *tables,
            missing="cells",
            level=settings.level,
            resamples=settings.resamples,
            seed=settings.seed,
        )
    except ValueError:
        return None


def setting_rows(sides: Sides) -> Iterator[tuple[object, ...]]:
    """setting, run, measure, value, low, high, topics, missing."""
    for name, table in sides.means.items():
        for run, scores in table.items():
            for measure in NUGGET_NAMES:
                one = scores[measure]
                yield (name, run, measure, one.value, one.low, one.high, one.topics, one.missing)
