"""The settings of response evaluation side by side: who made the nuggets, who assigned them.

Source: overview of the TREC 2025 RAG track, section 3.2: automatic nuggets and assignment,
post-edited nuggets with automatic assignment, post-edited nuggets with manual assignment.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assay.ledger.policy import Policy
from assay.measures.support import SUPPORT_MEASURES
from assay.protocols.label_sheets import support_sheet
from assay.protocols.labels import LabelBook
from assay.protocols.sheets import Sheet
from assay.protocols.sides import Sides, side_by_side
from assay.protocols.trec_rag.bank import Bank
from assay.protocols.trec_rag.inputs import TrecRagInputs, TrecRagSettings
from assay.protocols.trec_rag.responses import Responses, bank_sheet
from assay.protocols.trec_rag.retrieval import pooled, retrieval_sheet
from assay.protocols.trec_rag.support import support_labels

AUTO = "automatic nuggets, automatic assignment"
EDITED = "post-edited nuggets, automatic assignment"
MANUAL = "post-edited nuggets, manual assignment"
ASSIGNED = "automatic nuggets, manual assignment"

MEASURES = ("strict_vital", "coverage")


def compare_settings(
    inputs: TrecRagInputs, settings: TrecRagSettings, book: LabelBook
) -> tuple[Sides, ...]:
    """Scores by people's and machines' labels side by side, where both exist, whatever policy the
    evaluation is scored under: nuggets and assignments, support, relevance."""
    labels = book.book
    given = any((inputs.qrels, inputs.assignments, inputs.support))
    if labels is None or not (given or labels.ledger.judged_by_people()):
        return ()
    machine, people, human = (
        Bank(inputs, settings, LabelBook(labels.with_policy(Policy.parse(policy))))
        for policy in ("machine", "people", "human")
    )
    kinds = (
        ("Nuggets", MEASURES, _nuggets(machine, people, human)),
        ("Support", SUPPORT_MEASURES[:2], _both(machine, human, "support", _support)),
        ("Relevance", settings.measures, _both(machine, human, "relevance", _relevance)),
    )
    return tuple(
        side_by_side(title, measures, sheets, settings.answers, settings.resampling)
        for title, measures, sheets in kinds
        if len(sheets) > 1
    )


def _nuggets(machine: Bank, people: Bank, human: Bank) -> dict[str, Sheet]:
    """The track's three settings, each where it is, and none but the first: ``EDITED`` where a
    person edited nuggets, ``MANUAL`` where people assigned some of these, ``ASSIGNED`` where they
    assigned the machine's."""
    inputs = people.inputs
    edited = any(people[topic].edits for topic in inputs.topics)
    wanted = [(MANUAL if edited else ASSIGNED, people, human)]
    if edited:
        wanted.append((EDITED, people, machine))
    wanted.append((AUTO, machine, machine))
    sheets: dict[str, Sheet] = {}
    for name, nuggets, answers in wanted:
        if name is AUTO and not sheets:
            break  # there is nothing to set it beside
        found = Responses(answers).nugget_tables(nuggets)
        labelled = any(
            inputs.answers[run].answers[one.topic].text and not np.isnan(row).all()
            for one in found
            for run, row in zip(one.runs, one.values, strict=True)
        )
        sheet = bank_sheet(nuggets, found) if labelled else None
        if sheet is not None:
            sheets[name] = sheet
    return dict(reversed(sheets.items()))


def _support(bank: Bank) -> Sheet | None:
    """Support under a bank's policy, where that has labels."""
    cited, citations = support_labels(bank).cited, bank.settings.citations
    if np.isnan(cited.worth[cited.counting(citations)]).all():
        return None
    return support_sheet(cited, citations, bank.inputs.topics, runs=bank.inputs.answers)[0]


def _relevance(bank: Bank) -> Sheet | None:
    """Retrieval by the grades under a bank's policy, where that has some."""
    pool = pooled(bank)
    sheet = retrieval_sheet(bank.inputs, bank.settings, pool)
    return sheet if pool.judged else None


def _both(
    machine: Bank, human: Bank, what: str, sheet: Callable[[Bank], Sheet | None]
) -> dict[str, Sheet]:
    """The sheets by machines and by people, where there are both."""
    by_people = sheet(human)
    by_machine = None if by_people is None else sheet(machine)
    if by_people is None or by_machine is None:
        return {}
    return {f"automatic {what}": by_machine, f"manual {what}": by_people}
