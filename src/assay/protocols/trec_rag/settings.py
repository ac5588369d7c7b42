"""The settings of response evaluation side by side: who made the nuggets, who assigned them.

Source: overview of the TREC 2025 RAG track, section 3.2: automatic nuggets and assignment,
post-edited nuggets with automatic assignment, post-edited nuggets with manual assignment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from assay.ledger.policy import Policy
from assay.measures.support import SUPPORT_MEASURES
from assay.model.trec_rag import AssignedAnswer
from assay.protocols.labels import LabelBook
from assay.protocols.scores import SCORE_COLUMNS, Score, score_row
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import Inputs, TrecRagSettings
from assay.protocols.trec_rag.responses import Responses
from assay.protocols.trec_rag.retrieval import retrieval_sheet
from assay.protocols.trec_rag.scoring import Sheet, means, nugget_sheet, support_sheet
from assay.statistics.correlation import CorrelationReport, correlate

AUTO = "automatic nuggets, automatic assignment"
EDITED = "post-edited nuggets, automatic assignment"
MANUAL = "post-edited nuggets, manual assignment"

MEASURES = ("strict_vital", "coverage")
SETTING_COLUMNS = ("setting", *SCORE_COLUMNS)


@dataclass(frozen=True)
class Pair:
    """Two settings and how a measure's scores correlate between them."""

    first: str
    second: str
    measure: str
    report: CorrelationReport


@dataclass(frozen=True)
class Sides:
    """Settings that there are labels for, of one kind: sheets by setting, means over what all of
    them have values for, and how ``measures`` correlate between any two."""

    title: str
    measures: tuple[str, ...]
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
    inputs: Inputs, settings: TrecRagSettings, book: LabelBook
) -> tuple[Sides, ...]:
    """Scores by people's and machines' labels side by side, where both exist, whatever policy the
    evaluation is scored under: nuggets and assignments, support, relevance."""
    if book.book is None:
        return ()
    machine, people, human = (
        _bank(inputs, settings, book, policy) for policy in ("machine", "people", "human")
    )
    kinds = (
        ("Nuggets", MEASURES, _nuggets(machine, people, human)),
        ("Support", SUPPORT_MEASURES[:2], _support(machine, human)),
        ("Relevance", settings.measures, _relevance(machine, human)),
    )
    return tuple(
        _sides(title, measures, sheets, settings)
        for title, measures, sheets in kinds
        if len(sheets) > 1
    )


def _nuggets(machine: Bank, people: Bank, human: Bank) -> dict[str, Sheet]:
    """The track's three settings. ``EDITED`` is there where a person edited nuggets, ``MANUAL``
    where people assigned them; of the latter only answers count whose nuggets all are."""
    inputs = people.inputs
    topics = [topic for topic in inputs.topics if people.nuggets(topic) is not None]
    wanted = [(AUTO, machine, machine)]
    if any(people.post_edited(topic) for topic in topics):
        wanted.append((EDITED, people, machine))
    wanted.append((MANUAL, people, human))
    sheets: dict[str, Sheet] = {}
    for name, nuggets, answers in wanted:
        mixed = _Mixed(nuggets, answers)
        every = (mixed.of(topic, run) for run in inputs.answers for topic in topics)
        found = [one for one in every if one is not None and one.nuggets]
        if name == MANUAL:
            found = [one for one in found if all(each.assigned is not None for each in one.nuggets)]
        if any(each.assigned for one in found for each in one.nuggets):
            aspects = {topic: people.aspects(topic) or () for topic in topics}
            sheets[name] = nugget_sheet(found, aspects, topics)
    return sheets


def _support(machine: Bank, human: Bank) -> dict[str, Sheet]:
    """Support by machines and by people; of people's only answers whose citations that count are
    all labelled."""
    sheets: dict[str, Sheet] = {}
    citations = human.settings.citations
    for name, bank in (("automatic support", machine), ("manual support", human)):
        responses = Responses(bank)
        found = []
        for run in bank.inputs.answers.values():
            for topic in bank.inputs.topics:
                answer = run.answers.get(topic)
                if answer is None:
                    continue
                labels, _ = responses.supported(answer)
                counted = [
                    one.support
                    for sentence in labels.sentences
                    for one in sentence.citations[: 1 if citations == "first" else None]
                ]
                if counted and None not in counted:
                    found.append(labels)
        if found:
            sheets[name] = support_sheet(found, citations, bank.inputs.topics)[0]
    return sheets


def _relevance(machine: Bank, human: Bank) -> dict[str, Sheet]:
    """Retrieval by the grades of machines and of people."""
    sheets: dict[str, Sheet] = {}
    for name, bank in (("automatic relevance", machine), ("manual relevance", human)):
        grades = {}
        for topic in bank.inputs.topics:
            known = {doc: one for doc, one in bank.grades(topic).items() if one is not None}
            if known:
                grades[topic] = known
        sheet = retrieval_sheet(bank.inputs, bank.settings, grades)
        if sheet is not None:
            sheets[name] = sheet
    return sheets


def _sides(
    title: str,
    measures: tuple[str, ...],
    sheets: Mapping[str, Sheet],
    settings: TrecRagSettings,
) -> Sides:
    names = tuple(one for one in next(iter(sheets.values())).measures if one in measures)
    pairs = tuple(
        Pair(first, second, measure, report)
        for first, second in combinations(sheets, 2)
        for measure in names
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
        for name, sheet in _shared(sheets).items()
    }
    return Sides(title, names, sheets, tables, pairs)


def _shared(sheets: Mapping[str, Sheet]) -> dict[str, Sheet]:
    """The sheets with only the values, run by run and topic by topic, that all of them have."""
    first = next(iter(sheets.values()))

    def known(sheet: Sheet, run: str, measure: str) -> set[str]:
        found = sheet.values.get(run, {}).get(measure, {})
        return {topic for topic, value in found.items() if value is not None}

    runs = [run for run in first.values if all(run in one.values for one in sheets.values())]
    cells = {
        (run, measure): set.intersection(*(known(sheet, run, measure) for sheet in sheets.values()))
        for run in runs
        for measure in first.measures
    }
    nothing = dict.fromkeys(first.measures, frozenset[str]())
    return {
        name: Sheet(
            sheet.topics,
            first.measures,
            {
                run: {
                    measure: {
                        topic: value
                        for topic, value in sheet.values[run][measure].items()
                        if topic in cells[run, measure]
                    }
                    for measure in first.measures
                }
                for run in runs
            },
            nothing,
            dict.fromkeys(runs, nothing),
        )
        for name, sheet in sheets.items()
    }


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


def setting_rows(sides: Iterable[Sides]) -> Iterator[tuple[object, ...]]:
    """The rows of ``settings.csv``."""
    for kind in sides:
        for name, table in kind.means.items():
            for scores in table.values():
                for one in scores.values():
                    yield (name, *score_row(one))
