"""The settings of response evaluation side by side: who made the nuggets, who assigned them.

Source: overview of the TREC 2025 RAG track, section 3.2: automatic nuggets and assignment,
post-edited nuggets with automatic assignment, post-edited nuggets with manual assignment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assay.ledger.policy import Policy
from assay.measures.scores import Score
from assay.measures.support import SUPPORT_MEASURES, counted_citations
from assay.protocols.label_sheets import support_sheet
from assay.protocols.labels import LabelBook
from assay.protocols.scores import SCORE_COLUMNS, score_row
from assay.protocols.sheets import Sheet, means
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings
from assay.protocols.trec_rag.responses import Responses, bank_sheet
from assay.protocols.trec_rag.retrieval import pooled, retrieval_sheet
from assay.protocols.trec_rag.support import support_labels
from assay.statistics.correlation import CorrelationReport, correlate

AUTO = "automatic nuggets, automatic assignment"
EDITED = "post-edited nuggets, automatic assignment"
MANUAL = "post-edited nuggets, manual assignment"
ASSIGNED = "automatic nuggets, manual assignment"

MEASURES = ("strict_vital", "coverage")
SETTING_COLUMNS = ("setting", *SCORE_COLUMNS)


@dataclass(frozen=True)
class SettingsPair:
    """Two settings and how a measure's scores correlate between them."""

    first: str
    second: str
    measure: str
    report: CorrelationReport


@dataclass(frozen=True)
class Sides:
    """Settings that there are labels for, of one kind: means by setting, by the rules of the
    leaderboards, and how ``measures`` correlate between any two."""

    title: str
    measures: tuple[str, ...]
    means: Mapping[str, Mapping[str, Mapping[str, Score]]]
    pairs: tuple[SettingsPair, ...]


def compare_settings(
    inputs: TrecRagInputs, settings: TrecRagSettings, book: LabelBook
) -> tuple[Sides, ...]:
    """Scores by people's and machines' labels side by side, where both exist, whatever policy the
    evaluation is scored under: nuggets and assignments, support, relevance."""
    given = any((inputs.qrels, inputs.assignments, inputs.support))
    if book.book is None or not (given or book.book.ledger.judged_by_people()):
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
    """The track's three settings, each where it is, and none but the first: ``EDITED`` where a
    person edited nuggets, ``MANUAL`` where people assigned some of these, ``ASSIGNED`` where they
    assigned the machine's."""
    inputs = people.inputs
    edited = any(people.post_edited(topic) for topic in inputs.topics)
    wanted = [(MANUAL if edited else ASSIGNED, people, human)]
    if edited:
        wanted.append((EDITED, people, machine))
    wanted.append((AUTO, machine, machine))
    sheets: dict[str, Sheet] = {}
    for name, nuggets, answers in wanted:
        if name is AUTO and not sheets:
            break  # there is nothing to set it beside
        found = Responses(answers).nugget_tables(nuggets.nuggets)
        labelled = any(
            inputs.answers[run].answers[one.topic].text and not np.isnan(row).all()
            for one in found
            for run, row in zip(one.runs, one.values, strict=True)
        )
        sheet = bank_sheet(nuggets, found) if labelled else None
        if sheet is not None:
            sheets[name] = sheet
    return dict(reversed(sheets.items()))


def _support(machine: Bank, human: Bank) -> dict[str, Sheet]:
    """Support by machines and by people."""
    sheets: dict[str, Sheet] = {}
    citations, runs = human.settings.citations, human.inputs.answers
    for name, bank in (("manual support", human), ("automatic support", machine)):
        if bank is machine and not sheets:
            break
        cited = support_labels(bank).cited
        counted = cited.worth[counted_citations(cited.cited, citations)]
        if not np.isnan(counted).all():
            sheets[name] = support_sheet(cited, citations, bank.inputs.topics, runs=runs)[0]
    return dict(reversed(sheets.items()))


def _relevance(machine: Bank, human: Bank) -> dict[str, Sheet]:
    """Retrieval by the grades of machines and of people."""
    sheets: dict[str, Sheet] = {}
    for name, bank in (("manual relevance", human), ("automatic relevance", machine)):
        if bank is machine and not sheets:
            break
        pool = pooled(bank)
        sheet = retrieval_sheet(bank.inputs, bank.settings, pool)
        if sheet is not None and any(pool.grades.values()):
            sheets[name] = sheet
    return dict(reversed(sheets.items()))


def _sides(
    title: str,
    measures: tuple[str, ...],
    sheets: Mapping[str, Sheet],
    settings: TrecRagSettings,
) -> Sides:
    names = tuple(one for one in next(iter(sheets.values())).measures if one in measures)
    pairs = tuple(
        SettingsPair(first, second, measure, report)
        for first, second in combinations(sheets, 2)
        for measure in names
        if (report := _correlated(sheets[first], sheets[second], measure, settings)) is not None
    )
    tables = {
        name: means(
            sheet,
            topics=settings.answers,
            **settings.resampling,
        )
        for name, sheet in sheets.items()
    }
    return Sides(title, names, tables, pairs)


def _bank(inputs: TrecRagInputs, settings: TrecRagSettings, book: LabelBook, policy: str) -> Bank:
    if book.book is None:
        raise ValueError("there is no ledger")
    return Bank(inputs, settings, LabelBook(book.book.under(Policy.parse(policy))))


def _correlated(
    first: Sheet, second: Sheet, measure: str, settings: TrecRagSettings
) -> CorrelationReport | None:
    """Over the topics where no run's value hangs on a missing label in either, with the rule of the
    leaderboards for topics left out; None where fewer than two runs or no topic are left."""
    tables = [
        {run: sheet.completed(run, settings.answers)[measure] for run in sheet.values}
        for sheet in (first, second)
    ]
    unsure = {
        topic
        for table in tables
        for values in table.values()
        for topic, ends in values.items()
        if ends is not None and ends.value is None
    }
    known = (
        {
            run: {
                topic: ends and ends.value for topic, ends in values.items() if topic not in unsure
            }
            for run, values in table.items()
        }
        for table in tables
    )
    try:
        return correlate(
            *known,
            missing="cells",
            **settings.resampling,
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
