"""A check of derived grades: passages judged on their own, compared with their grades."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import tee
from typing import Any

from assay.model.rag import Passage, PassageKey, Question
from assay.model.wording import counted, noun
from assay.page.page import Gap
from assay.page.parts import Part, Table
from assay.protocols.labels import Asked, LabelBook
from assay.protocols.places import Place
from assay.statistics.agreement import cohen_kappa
from assay.tasks.base import AnyTask
from assay.tasks.r2c2 import RELEVANCE
from assay.tasks.trec_rag import RELEVANCE as GRADED
from assay.tasks.trec_rag import RELEVANCE_YES_NO

CHECKS: Mapping[bool | str, AnyTask] = {
    True: RELEVANCE,
    "yes-no": RELEVANCE_YES_NO,
    "0-3": GRADED,
}
"""``relevance_check`` → the task: R2C2's own (is it a step to the answer? reference answers are
shown), or one that TREC RAG and EXAM++'s direct grading use too (question and passage alone)."""

COLUMNS = ("topic", "passage", "doc", "grade", "judged")

_RELEVANT = 2
"""The lowest relevant grade of 0 to 3: an answer, at least in part."""

Passages = Iterable[tuple[Question, Passage]]
"""Passages with the questions for which they are judged."""


@dataclass(frozen=True, slots=True)
class RelevanceCheck:
    """Passages judged on their own beside their derived grades. ``judged[question][passage]`` is
    None if a label is missing or failed. ``both``, ``derived_only``, ``judged_only`` and
    ``neither`` count passages by derived grade >= 1 and judged relevant. ``kappa`` is Cohen's, None
    if undefined. ``missed`` lists passages judged relevant with grade 0."""

    judged: Mapping[str, Mapping[PassageKey, bool | None]]
    both: int
    derived_only: int
    judged_only: int
    neither: int
    missing: int
    kappa: float | None
    missed: tuple[Passage, ...]


def passage_units(task: AnyTask, passages: Passages) -> Asked:
    """Each passage with its question."""
    for question, passage in passages:
        content: dict[str, Any] = {"question": question.text, "passage": passage.text}
        if task is RELEVANCE:
            content["gold"] = list(question.gold)
        yield content, Place(passage.key.run, question.id, f"passage {passage.key.rank}")


def check_relevance(
    chosen: bool | str,
    passages: Passages,
    grades: Mapping[str, Mapping[PassageKey, int]],
    book: LabelBook,
) -> RelevanceCheck | None:
    """Compare labels of the task ``chosen`` from :data:`CHECKS` with derived grades (R2C2 task
    paper, section 4.1). None if none is chosen."""
    if not chosen:
        return None
    task = CHECKS[chosen]
    asked, every = tee(passages)
    labels = book.labels(task, passage_units(task, asked)).each(
        lambda one: bool(one["grade"] >= _RELEVANT if "grade" in one else one["relevant"])
    )
    judged: dict[str, dict[PassageKey, bool | None]] = {}
    pairs: list[tuple[bool, bool]] = []
    missed = []
    for (question, passage), said in zip(every, labels, strict=True):
        judged.setdefault(question.id, {})[passage.key] = said
        if said is not None:
            derived = grades[question.id][passage.key] >= 1
            pairs.append((derived, said))
            if said and not derived:
                missed.append(passage)
    return RelevanceCheck(
        judged=judged,
        both=pairs.count((True, True)),
        derived_only=pairs.count((True, False)),
        judged_only=pairs.count((False, True)),
        neither=pairs.count((False, False)),
        missing=labels.count(None),
        kappa=cohen_kappa([d for d, _ in pairs], [s for _, s in pairs]) if pairs else None,
        missed=tuple(missed),
    )


def relevance_rows(
    check: RelevanceCheck,
    passages: Iterable[Passage],
    grades: Mapping[str, Mapping[PassageKey, int]],
) -> Iterator[tuple[object, ...]]:
    """Every passage with its derived grade and its label in the check (1, 0 or empty)."""
    for topic, key, doc, *_ in passages:
        judged = check.judged[topic][key]
        yield topic, str(key), doc, grades[topic][key], None if judged is None else int(judged)


def relevance_gaps(check: RelevanceCheck | None) -> Iterator[Gap]:
    """The labels that the check lacks, if there is a check."""
    if check is not None and (n := check.missing):
        what = f"{noun(n, 'passage')} judged on {noun(n, 'its', 'their')} own without a label"
        yield Gap(n, what, "The check of the derived grades leaves them out.")


def relevance_part(check: RelevanceCheck) -> Part:
    """The check as a section, with the texts of passages that earned no grade."""
    kappa = "undefined" if check.kappa is None else f"{check.kappa:.3f}"
    note = f"Each passage was also judged on its own. Agreement with the grades: Cohen’s κ {kappa}."
    if check.missing:
        note += f" {counted(check.missing, 'passage')} without a usable label."
    table = Table(
        "",
        ("passages", "judged relevant", "judged not relevant"),
        (
            ("grade 1 or more", check.both, check.derived_only),
            ("grade 0", check.judged_only, check.neither),
        ),
    )
    missed = Table(
        "Relevant passages that earned no grade",
        ("topic", "passage", "text"),
        [(one.question, str(one.key), one.text) for one in check.missed],
        note="relevance.csv lists all of them.",
        texts=frozenset(("text",)),
        most=200,
        folded=True,
    )
    items = (table, missed) if check.missed else (table,)
    return Part("Do the derived grades miss relevant passages?", note, items)
