"""A gate as Markdown (a step summary of CI) and as JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from assay.measures.ranges import Range
from assay.model.wording import joined
from assay.page.gates import Gate, Gated, Lost, Tested, Verdict
from assay.page.tables import Table, Value
from assay.page.wording import narrow, number, shortened, span
from assay.reports.text import closed, line, safe

MOST = 60_000
"""The most characters of a Markdown summary: CI truncates or rejects longer ones."""

_MOST_TEXT, _MOST_LOST, _MOST_IDS = 200, 10, 20
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def gate_table(gate: Gate) -> Table:
    """The measures of a gate, one per row, with the loss allowed, if any."""
    columns: dict[str, Sequence[Value]] = {
        "measure": [one.measure for one in gate.measures],
        "was": [one.before for one in gate.measures],
        "now": [one.now for one in gate.measures],
        "difference": [(one.tested and difference(one.tested)) or "" for one in gate.measures],
        "may\nlose": [(one.tested and f"{one.tested.loss:g}") or "" for one in gate.measures],
        "p\n(Holm)": [(one.tested and span(*one.tested.p_holm)) or "" for one in gate.measures],
        "detects": [(one.tested and detectable(one.tested)) or "" for one in gate.measures],
        "": [one.verdict.value for one in gate.measures],
    }
    if not any(one.tested and one.tested.loss for one in gate.measures):
        del columns["may\nlose"]
    for name in [name for name, cells in columns.items() if not any(cells)]:  # nothing is tested
        del columns[name]
    numbers = frozenset(columns) - {"measure", ""}
    rows = list(zip(*columns.values(), strict=True))
    return Table("", tuple(columns), rows, numbers=numbers)


def difference(test: Tested) -> str:
    """The difference above its interval: ``-0.112``, ``[-.17, -.05]``."""
    shown = _change(test.difference)
    low, high = (narrow(number(end, 2)) for end in (test.low, test.high))
    return f"{shown}\n[{low}, {high}]"


def detectable(test: Tested) -> str:
    """The loss that the test could detect."""
    if test.detectable is None and test.difference == (0.0, 0.0):
        return "no value\nchanged" if test.changed else "nothing\nchanged"
    return number(test.detectable)


def _change(change: Range) -> str:
    return span(*change) if change.value is None else _signed(change.floor)


def _signed(value: float) -> str:
    return f"{value:+.3f}" if f"{value:.3f}" not in ("0.000", "-0.000") else "0.000"


def remarks(gate: Gate) -> Iterator[str]:
    """Remarks that belong beside the table, as sentences."""
    for reason in gate.uncomparable:
        yield f"{reason[:1].upper()}{closed(reason)[1:]}"
    if gate.uncomparable:
        yield (
            "To fix this, judge the baseline's run again (labels in the ledger are not asked for "
            "again), or write a new baseline with --save."
        )
    for one in gate.measures:
        for said in one.bounds:
            yield f"Bound broken: {said}."
        for said in one.held:
            yield f"Bound kept: {said}."
        if one.why:
            yield f"{one.measure}: {one.why}."
        if one.tested is not None and one.tested.needed is not None:
            yield (
                f"{one.measure}: there are too few questions to detect a loss of "
                f"{one.tested.loss:g}; it takes {one.tested.needed:,} (assay samplesize)."
            )
    tested = {one.measure: one.tested for one in gate.measures if one.tested is not None}
    if any(one.verdict is Verdict.PASS and one.tested for one in gate.measures) and not gate.prove:
        yield (
            "A difference that is not significant does not prove that there is none: there may be "
            "losses smaller than what is detectable."
        )
    tests = max((test.tests for test in tested.values()), default=0)
    shared = ", ".join(
        f"{name} {number(test.detectable_holm)}"
        for name, test in tested.items()
        if test.detectable_holm is not None
    )
    if tests > 1 and shared:
        yield (
            "Detectable at the level shared by the tests in which any value differs "
            f"({gate.alpha:g}/{tests}): {shared}."
        )


def compared(gate: Gate) -> Iterator[str]:
    """Sentences on what was compared."""
    if gate.absent:
        yield f"Questions that the run leaves out, counted as left out: {_ids(gate.absent)}."
    if not gate.against:
        return
    yield (
        f"{gate.same} of {gate.of} questions of the baseline are unchanged here. Of these, "
        f"{gate.answers} have another answer, {gate.passages} have other passages and "
        f"{gate.neither} have the same of both."
    )
    for what, names in (("New", gate.new), ("Missing", gate.gone), ("Changed", gate.changed)):
        if names:
            yield f"{what} questions, left out of the tests: {_ids(names)}."
    if gate.measures and (gate.new or gate.gone or gate.changed):
        yield (
            "Scores before and now cover all questions of each; tests cover the unchanged ones "
            "only."
        )
    if gate.relabelled:
        yield (
            f"{gate.relabelled} of those with the same answer and passages have other values now, "
            "because their labels changed (asked for again without the earlier ledger, or given by "
            "people). They affect the scores now and the bounds, but no difference."
        )


def _ids(names: Sequence[str]) -> str:
    return joined((shortened(one, 60) for one in names), _MOST_IDS)


# -- Markdown -------------------------------------------------------------------------------------


def markdown(gate: Gate) -> str:
    """A summary in GitHub's Markdown. Texts from files are escaped and cut."""
    parts = [f"## {safe(gate.title)}", ""]
    if gate.against:
        how = "--prove, " if gate.prove else ""
        parts += [f"Against {safe(gate.against)}, {how}level {gate.alpha:g}.", ""]
    if gate.measures:
        table = gate_table(gate)
        names = {
            "was": "before",
            "difference": "difference (95 %, below 0 is worse)",
            "may\nlose": "allowed",
            "p\n(Holm)": "p (Holm)",
            "": "verdict",
        }
        parts += [line(names.get(name, name) for name in table.columns)]
        parts += [line("--:" if name in table.numbers else "---" for name in table.columns)]
        parts += [line(map(_cell, row)) for row in table.rows]
        parts.append("")
    parts += [f"- {safe(one)}" for one in remarks(gate)] + [""]
    parts += [safe(one) for one in compared(gate)] + [""]
    if gate.losers:
        parts += ["### Questions that lost the most", ""]
        parts += [line(("question", "text", "measure", "before", "now", "difference"))]
        parts += ["| --- | --- | --- | --: | --: | --: |"]
        parts += [line(map(_cell, _lost(one))) for one in gate.losers[:_MOST_LOST]]
        parts.append("")
    parts += [safe(one) for one in gate.stands_on]
    text = "\n".join(parts).rstrip() + "\n"
    return text if len(text) <= MOST else text[: MOST - 2].rpartition("\n")[0] + "\n"


def _lost(one: Lost) -> tuple[Value, ...]:
    text = shortened(one.text, _MOST_TEXT)
    return one.question, text, one.measure, one.before, one.now, _change(one.difference)


def _cell(value: Value) -> str:
    if isinstance(value, Range):
        return span(*value)
    if isinstance(value, float) or value is None:
        return number(value)
    return safe(str(value))


# -- JUnit ----------------------------------------------------------------------------------------


def junit(gate: Gate) -> bytes:
    """JUnit XML with a test case for each measure."""
    name = f"assay.{gate.protocol}.{gate.run}"
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", name=_xml(name))
    counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for one in gate.measures:
        case = ElementTree.SubElement(suite, "testcase", classname=_xml(name),
                                      name=_xml(one.measure))  # fmt: skip
        counts["tests"] += 1
        for what in _outcomes(case, one, gate):
            counts[what] += 1
    if gate.uncomparable:
        case = ElementTree.SubElement(suite, "testcase", classname=_xml(name), name="baseline")
        error = ElementTree.SubElement(case, "error", type="not comparable",
                                       message=_xml(gate.title))  # fmt: skip
        error.text = _xml("\n".join(gate.uncomparable))
        counts["tests"] += 1
        counts["errors"] += 1
    for what, count in counts.items():
        suite.set(what, str(count))
    ElementTree.indent(suites)
    data: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _outcomes(case: ElementTree.Element, one: Gated, gate: Gate) -> Iterator[str]:
    """Add a measure's outcome to its test case; yield what it counts as."""
    test = one.tested
    if test is not None:
        figures: dict[str, Range | float | None] = {
            "difference": test.difference, "low": test.low, "high": test.high, "p": test.p,
            "p_holm": test.p_holm, "detectable": test.detectable, "n": test.n,
        }  # fmt: skip
        properties = ElementTree.SubElement(case, "properties")
        for name, value in figures.items():
            ElementTree.SubElement(properties, "property", name=name, value=_figure(value))
    if one.verdict is Verdict.REGRESSION and test is not None:
        said = (
            f"{_signed(test.difference.floor)} (allowed {test.loss:g}), p = {test.p.floor:.4f}, "
            f"Holm {test.p_holm.floor:.4f}"
        )
        failure = ElementTree.SubElement(case, "failure", type="regression", message=said)
        failure.text = _xml(_losers([lost for lost in gate.losers if lost.measure == one.measure]))
    elif one.verdict is Verdict.INCOMPLETE:
        ElementTree.SubElement(case, "error", type="incomplete", message=_xml(one.why))
        yield "errors"
    elif one.verdict is Verdict.SKIPPED:
        ElementTree.SubElement(case, "skipped", message=_xml(one.why))
        yield "skipped"
    for said in one.bounds:
        ElementTree.SubElement(case, "failure", type="bound", message=_xml(said))
    if one.bounds or one.verdict is Verdict.REGRESSION:
        yield "failures"


def _losers(losers: list[Lost]) -> str:
    """The questions that got worse most, one per line; empty if there are none."""
    if not losers:
        return ""
    rows = [("question", "before", "now", "difference")]
    for one in losers[:_MOST_LOST]:
        figures = span(*one.before), span(*one.now), _change(one.difference)
        rows.append((shortened(one.question, 60), *figures))
    return "\n".join("\t".join(row) for row in rows)


def _figure(value: Range | float | int | None) -> str:
    if isinstance(value, Range):
        return repr(value.floor) if value.floor == value.ceiling else f"{value[0]!r} {value[1]!r}"
    return "" if value is None else repr(value)


def _xml(text: str) -> str:
    """A text without characters that XML 1.0 does not allow."""
    return _NO_XML.sub("", text)
