"""Agreement page of two labellers, with every unit on which they differ."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.api.agreeing import COLUMNS, MOST_CUTS, OF_GROUPS, Agreed
from assay.api.opened import html_of
from assay.model.wording import counted, printable
from assay.page.page import Page
from assay.page.parts import Part
from assay.page.tables import Table
from assay.protocols.definitions import glossary
from assay.protocols.output import write_bytes

DISAGREEMENTS = ("topic", "run", "what", "A", "why_a", "B", "why_b")
_MOST_SHOWN = 2_000
_MOST_LABELS = 12
"""With more labels, a table of counts is unreadable."""


def disagreement_rows(found: Agreed) -> Iterator[tuple[str, ...]]:
    """Every unit on which the two differ, under :data:`DISAGREEMENTS`, largest difference first."""
    for one in found.disagreements():
        topic, run, what = one.unit
        shown = f"{what}: {one.text}" if one.text else what
        a, b = found.labels.name(one.a), found.labels.name(one.b)
        yield (topic, run, shown, a, one.reason_a, b, one.reason_b)


def agreement_tables(found: Agreed) -> Iterator[Table]:
    """Tables of the coefficients, the counts, and the coefficients by group."""
    result, name = found.result, found.labels.name
    cuts = found.cuts <= MOST_CUTS
    shown = [one for one in found.coefficients if cuts or not one.cut]
    yield Table("Agreement", COLUMNS, [one.row for one in shown], digits=4)
    if result.table is not None and len(result.labels) <= _MOST_LABELS:
        names = tuple(map(name, result.labels))
        lines = zip(result.by_label, result.table, strict=True)
        rows = [(name(one.label), *line, one.agreement) for one, line in lines]
        yield Table("Counts: A down, B across", ("", *names, "agreement"), rows, digits=4)
    if found.by:
        groups = [
            (
                one.name,
                one.units,
                *(each.estimate.value for each in one.coefficients if each.name in OF_GROUPS),
            )
            for one in found.groups
        ]
        yield Table(f"By {found.by}", (found.by, "units", *OF_GROUPS), groups, digits=4)


def write_agreement(found: Agreed, a: Path, b: Path, path: Path) -> None:
    """Write the page. Raises SettingsError if it cannot."""
    names = [
        file.name if a.name != b.name else f"{file.parent.name}/{file.name}" for file in (a, b)
    ]
    write_bytes(path, html_of(agreement_page(found, *map(printable, names))))


def agreement_page(found: Agreed, a: str, b: str) -> Page:
    """The agreement as a page; ``a`` and ``b`` are the labellers' display names."""
    rows = list(disagreement_rows(found))
    shared, topics = found.result.n - len(rows), found.result.topics or 0
    differ = Table(
        "",
        ("topic", "run", "what", "A", "A’s reason", "B", "B’s reason"),
        rows,
        texts=frozenset({"what", "A’s reason", "B’s reason"}),
        most=_MOST_SHOWN,
    )
    return Page(
        title=f"{a} and {b}",
        protocol="Agreement",
        parts=(
            Part("How well they agree", items=tuple(agreement_tables(found))),
            Part(
                "Where they differ",
                f"{counted(len(rows), 'unit')} of {found.result.n:,}, those that differ most "
                "first.",
                items=(differ,) if rows else (),
            ),
        ),
        definitions=glossary("agreement"),
        settings={"scale": found.labels.scale, "clip": found.labels.clip,
                  "seed": found.labels.seed},
        nothing=f"{counted(found.result.n, 'unit')} have a label in both.",
        lede=(f"A is {a}, B is {b}.", *found.findings()),
        facts=(
            ("units", f"{found.result.n:,}"), ("alike", f"{shared:,}"), ("topics", f"{topics:,}"),
        ),
        reproduce="assay agree A B --html FILE makes this page from both files.",
    )  # fmt: skip
