"""Derived grades checked: documents judged on their own, beside what they earned."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from assay.model.wording import counted
from assay.page.parts import Part, Table
from assay.statistics.agreement import cohen_kappa

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class RelevanceCheck(Generic[Key]):
    """Documents (passages) judged on their own beside their derived grades.

    ``judged[topic][document]`` is None where a label is missing or failed. ``both``,
    ``derived_only``, ``judged_only`` and ``neither`` count documents by derived grade >= 1 and
    judged relevant; ``kappa`` is Cohen's, None where undefined; ``missed`` lists those that are
    judged relevant and have grade 0, as (topic, document).
    """

    judged: Mapping[str, Mapping[Key, bool | None]]
    both: int
    derived_only: int
    judged_only: int
    neither: int
    missing: int
    kappa: float | None
    missed: tuple[tuple[str, Key], ...]


def check_relevance(
    judged: Mapping[str, Mapping[Key, bool | None]], grades: Mapping[str, Mapping[Key, int]]
) -> RelevanceCheck[Key]:
    """Set what was said of documents against their derived grades."""
    pairs: list[tuple[bool, bool]] = []
    missing, missed = 0, []
    for topic, by_document in judged.items():
        for document, said in by_document.items():
            if said is None:
                missing += 1
                continue
            derived = grades[topic][document] >= 1
            pairs.append((derived, said))
            if said and not derived:
                missed.append((topic, document))
    return RelevanceCheck(
        judged=judged,
        both=pairs.count((True, True)),
        derived_only=pairs.count((True, False)),
        judged_only=pairs.count((False, True)),
        neither=pairs.count((False, False)),
        missing=missing,
        kappa=cohen_kappa([d for d, _ in pairs], [s for _, s in pairs]) if pairs else None,
        missed=tuple(missed),
    )


def relevance_part(check: RelevanceCheck[Key], texts: Mapping[tuple[str, Key], str]) -> Part:
    """The check as a section, with the ``texts`` of what earned no grade."""
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
        [(place[0], str(place[1]), texts[place]) for place in check.missed],
        note="relevance.csv holds all.",
        texts=frozenset(("text",)),
        most=200,
        folded=True,
    )
    items = (table, missed) if check.missed else (table,)
    return Part("Do the derived grades miss relevant passages?", note, items)
