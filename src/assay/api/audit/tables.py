"""Audit results as tables, an HTML page and a JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from assay.api.audit.findings import COLUMNS, EQUAL, Example, Finding
from assay.api.audit.people import AGAINST_PEOPLE
from assay.api.auditing import SAYS, Audit
from assay.api.opened import html_of
from assay.judging.progress import Tally
from assay.model.wording import counted
from assay.page.page import Gap, Page
from assay.page.parts import Part, Table, Value
from assay.page.wording import number, shortened
from assay.protocols.definitions import glossary
from assay.protocols.output import json_bytes, write_bytes
from assay.statistics.significance import holm
from assay.tasks.base import canonical

_LONGEST = 1500
"""Most characters of a text shown in an example."""
_SIGNIFICANT = 0.05
_LEDE = (
    "This audit tests how the judge can be fooled, on altered units of this evaluation. No label "
    "given here enters any score."
)

_HEADING = ("probe", "n", "↑", "↓", "before", "after", "figure", "p")


def tables(found: Sequence[Finding], *, texts: bool = False) -> Iterator[Table]:
    """One table for each task or measure and labeller; with ``texts``, notes get a column."""
    of: dict[tuple[str, str], list[Finding]] = {}
    for one in found:
        if one.n:
            of.setdefault((one.of, one.labeller), []).append(one)
    for (name, labeller), some in of.items():
        heading = (*_HEADING, "note") if texts else _HEADING
        yield Table(
            f"{name}, {labeller}", heading,
            [(*_cells(one), _note(one))[: len(heading)] for one in some],
            numbers=frozenset(("p",)), texts=frozenset(("note", "figure")),
        )  # fmt: skip


def _cells(one: Finding) -> tuple[Value, ...]:
    name = f"{one.probe}: {one.variant}" if one.variant else one.probe
    p = "<0.001" if one.p is not None and one.p < 0.001 else one.p
    return (name, one.n, one.up, one.down, one.before, one.after, _figure(one), p)


def _figure(one: Finding) -> str:
    """The value with its interval; differences carry a sign."""
    if one.value is None:
        return ""
    signed = not one.figure.startswith(("share equal", "share ordered", "position"))
    value = f"{'+' if signed and one.value > 0 else ''}{number(one.value, 2)}"
    if one.low is None or one.high is None:
        return value
    return f"{value} [{number(one.low, 2)}, {number(one.high, 2)}]"


def _note(one: Finding) -> str:
    what = "" if one.figure in ("change", "") else f"{one.figure}; "
    against = f"before: {one.against}; " if one.against else ""
    missing = f"{one.missing} missing; " if one.missing else ""
    return (what + against + missing + one.note).removesuffix("; ")


def remarks(found: Sequence[Finding]) -> Iterator[str]:
    """What could not be computed and why, one line each."""
    why: dict[str, list[Finding]] = {}
    for one in found:
        if not one.n:
            why.setdefault(one.note, []).append(one)
    for note, some in why.items():
        probes = ", ".join(dict.fromkeys(one.probe for one in some))
        where = ", ".join(dict.fromkeys(one.of for one in some if one.of))
        yield f"{probes}{f' ({where})' if where else ''}: {note}."


def summary(found: Sequence[Finding]) -> list[str]:
    """The main findings, in sentences."""
    tested = [one for one in found if one.p is not None]
    adjusted = holm([one.p for one in tested])
    real = [
        one
        for one, p in zip(tested, adjusted, strict=True)
        if p is not None and p < _SIGNIFICANT
    ]  # fmt: skip
    names = ", ".join(f"{one.probe} ({one.variant}, {one.of})" for one in real)
    differ = (
        f"Of {counted(len(tested), 'comparison')} with a test, {len(real)} "
        f"{('differs' if len(real) == 1 else 'differ')} at .05 after Holm’s "
        f"correction{(': ' + names if names else '')}."
    )
    said = [differ] if tested else []
    equal = [one for one in found if one.figure == EQUAL and one.value is not None]
    said += [
        f"Asked the same question again, {one.labeller} gives {one.value:.0%} equal labels "
        f"({one.of})."
        for one in equal
        if one.value is not None and one.value < 1
    ]
    said += [
        f"{one.labeller} keeps its highest verdict on {one.after:.0%} of {counted(one.n, 'unit')} "
        f"with a wrong {one.variant} ({one.of})."
        for one in found
        if one.probe == "swap" and one.after
    ]
    said += [
        f"{one.labeller} overrates runs of its own family by {number(one.value, 3)}"
        f"{'' if one.figure == AGAINST_PEOPLE else ', compared with other judges'} ({one.of})."
        for one in found
        if one.probe == "self-preference" and one.value is not None and (one.low or 0) > 0
    ]
    said += [f"Drift of {one.labeller}, {one.of}, {one.variant}: alarm."
             for one in found if one.alarm]  # fmt: skip
    return said


def page(audit: Audit, found: Sequence[Finding]) -> Page:
    """The audit as one page."""
    wanted = audit.wanted
    missing = sum(one.missing for one in found)
    judges = list(dict.fromkeys(one.of.labeller.id.name for one in audit.questions))
    parts = []
    for probe in dict.fromkeys(one.probe for one in found):
        own = [one for one in found if one.probe == probe]
        groups = [
            (f"{one.variant or probe}, {one.of}: an example, topic {one.example.topic or '–'}",
             (_example(one.example),))
            for one in own
            if one.example is not None
        ]  # fmt: skip
        note = " ".join((SAYS[probe], *(line for line in remarks(own))))
        parts.append(Part(probe, note, tuple(tables(own, texts=True)), tuple(groups)))
    return Page(
        title=audit.opened.folder.title,
        protocol="Audit of the judge",
        parts=tuple(parts),
        definitions=glossary("audit"),
        settings={"n": wanted.n, "seed": wanted.seed, "repeats": wanted.repeats,
                  "level": wanted.level, "families": audit.families,
                  "runs that used the judge": list(wanted.used)},
        gaps=(Gap(missing, "usable answers are missing.", "Those units are not in any figure."),)
        if missing else (),
        nothing="Every question of the audit has a usable answer.",
        lede=(_LEDE, *summary(found)),
        facts=(("judge", ", ".join(judges)), ("maximum units per probe", str(wanted.n)),
               ("seed", str(wanted.seed))),
        reproduce=(
            "assay audit FOLDER computes every number here from the labels in the ledger, and "
            "asks only for missing ones. Full-precision numbers are in audit.json, beside this "
            "file; 'assay labels export' writes every label, under the names audit:…."
        ),
    )  # fmt: skip


def _example(one: Example) -> Table:
    """The changes made to a unit, and its verdicts."""
    rows = [
        (name, _text(value), "" if one.changed[name] == value else _text(one.changed[name]))
        for name, value in one.unit.items()
    ]
    rows.append(("verdict", _text(one.before), _text(one.after)))
    texts = frozenset(("the unit (verdict: before)", "changed (verdict: after)"))
    return Table("", ("", "the unit (verdict: before)", "changed (verdict: after)"), rows,
                 texts=texts)  # fmt: skip


def _text(value: object) -> str:
    text = value if isinstance(value, str) else canonical(value).decode()
    return shortened(text, _LONGEST)


def document(audit: Audit, found: Sequence[Finding], tally: Tally | None = None) -> dict[str, Any]:
    """The audit as one JSON document; ``tally`` counts the questions asked in this call."""
    wanted = audit.wanted
    asked = {} if tally is None else {"judging": asdict(tally)}
    return {
        "labellers": [
            {"task": one.of.task.name, "version": one.of.task.version,
             "labeller": one.of.labeller.id.name, "params": dict(one.of.labeller.id.params)}
            for one in audit.questions
        ],
        "n": wanted.n, "seed": wanted.seed, "repeats": wanted.repeats, "level": wanted.level,
        "families": audit.families, "used": list(wanted.used),
        "summary": summary(found),
        "probes": [
            dict(zip(COLUMNS, one.row, strict=True))
            | {"alarm": one.alarm, "example": None if one.example is None else asdict(one.example)}
            for one in found
        ],
        **asked,
    }  # fmt: skip


def write_audit(audit: Audit, found: Sequence[Finding]) -> list[Path]:
    """Write ``audit.json`` and ``audit.html`` to the folder's ``out/`` and return their paths. The
    same labels give the same bytes."""
    out = audit.opened.folder.out
    write_bytes(out / "audit.json", json_bytes(document(audit, found)))
    write_bytes(out / "audit.html", html_of(page(audit, found)))
    return [out / "audit.json", out / "audit.html"]
