"""The settings of response evaluation compared: who made the nuggets and who assigned them; and
support and relevance by people and by the machine.

Source: overview of the TREC 2025 RAG track, section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from assay.measures.scores import PerTopic
from assay.measures.support import SUPPORT_MEASURES
from assay.protocols.label_sheets import support_sheet
from assay.protocols.ranked_scores import score_rankings
from assay.protocols.sides import Setting, Sides, Under, side_by_side
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings
from assay.protocols.trec_rag.responses import Responses, bank_sheet
from assay.protocols.trec_rag.retrieval import ranked_runs
from assay.protocols.trec_rag.support import support_labels, support_task
from assay.tasks.base import AnyTask
from assay.tasks.trec_rag import ASSIGNMENT, WAYS
from assay.tasks.trec_rag_nuggets import EDIT

AUTO = "automatic nuggets, automatic assignment"
EDITED = "post-edited nuggets, automatic assignment"
MANUAL = "post-edited nuggets, manual assignment"
ASSIGNED = "automatic nuggets, manual assignment"

Kind = tuple[str, tuple[str, ...], object, Iterable[AnyTask], Callable[[], dict[str, PerTopic]]]
"""A title, measures, people's labels among the inputs, the tasks under which people may give
further labels, and a function for the values of each setting."""


def compare_settings(
    inputs: TrecRagInputs, settings: TrecRagSettings, under: Under
) -> Iterator[Sides]:
    """Compare nuggets and assignments, support, and relevance, each if people labelled some."""
    machine, people, human = (
        Bank(inputs, settings, under(policy)) for policy in ("machine", "people", "human")
    )

    def both(what: str, values_of: Callable[[Bank], PerTopic | None]) -> dict[str, PerTopic]:
        by_people = values_of(human)
        by_machine = None if by_people is None else values_of(machine)
        found = {f"automatic {what}": by_machine, f"manual {what}": by_people}
        return {name: values for name, values in found.items() if values is not None}

    given, grading = human.given, [WAYS[way].task for way in human.ways]
    kinds: tuple[Kind, ...] = (
        ("Nuggets", ("strict_vital", "coverage"), given.assignments, (ASSIGNMENT, EDIT),
         partial(_nuggets, machine, people, human)),
        ("Support", SUPPORT_MEASURES[:2], given.support, (support_task(settings),),
         partial(both, "support", _support)),
        ("Relevance", settings.measures, given.qrels, grading,
         partial(both, "relevance", _relevance)),
    )  # fmt: skip
    for title, measures, by_people, tasks, values_by in kinds:
        if not by_people and not any(map(human.book.answered_by_people, tasks)):
            continue  # there are no labels by people to compare with
        found = values_by()
        compared = {name: Setting.of(values, settings) for name, values in found.items()}
        yield from side_by_side(title, measures, compared)


def _nuggets(machine: Bank, people: Bank, human: Bank) -> dict[str, PerTopic]:
    """The track's three settings as far as they exist; nothing if there is only the first.
    ``EDITED`` needs nuggets that a person edited, ``MANUAL`` assignments of these by people,
    ``ASSIGNED`` assignments of the machine's nuggets by people."""
    inputs = people.inputs
    edited = any(people[topic].edits for topic in inputs.topics)
    wanted = [(MANUAL if edited else ASSIGNED, people, human)]
    if edited:
        wanted.append((EDITED, people, machine))
    wanted.append((AUTO, machine, machine))
    sheets: dict[str, PerTopic] = {}
    for name, nuggets, answers in wanted:
        if name is AUTO and not sheets:
            break  # there is nothing to compare it with
        found = Responses(answers).nugget_tables(nuggets)
        labelled = any(
            inputs.answers[run].answers[one.topic].text and not np.isnan(row).all()
            for one in found
            for run, row in zip(one.runs, one.values, strict=True)
        )
        sheet = bank_sheet(nuggets, found) if labelled else None
        if sheet is not None:
            sheets[name] = sheet.per_topic(people.settings.answers)
    return dict(reversed(sheets.items()))


def _support(bank: Bank) -> PerTopic | None:
    """Support under a bank's policy, if that has labels."""
    cited, citations = support_labels(bank).cited, bank.settings.citations
    if np.isnan(cited.worth[cited.counting(citations)]).all():
        return None
    sheet, _ = support_sheet(cited, citations, bank.inputs.topics, runs=bank.inputs.answers)
    return sheet.per_topic(bank.settings.answers)


def _relevance(bank: Bank) -> PerTopic | None:
    """Retrieval by the grades under a bank's policy, if there are any."""
    ranked = ranked_runs(bank.relevance)
    return score_rankings(ranked) if any(ranked.qrels.values()) else None
