"""SGSS's plots: XUX against Comp, and X(l) beside the lines of each summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.measures.ranges import Range
from assay.measures.scores import Scores
from assay.measures.summaries import Value, heading_representativeness
from assay.model.summaries import LineKind
from assay.page.parts import Item, LineChart, Part, Point, Scatter, Series, Text
from assay.page.wording import span
from assay.protocols.sgss.inputs import SgssInputs
from assay.protocols.sgss.labels import JudgedSummary
from assay.protocols.sgss.scoring import ScoredSummary

_DRAWN = " If labels are missing, the floor is drawn, and bars reach up to the ceiling."


def plot_part(scores: Scores, scored: Mapping[str, Mapping[str, ScoredSummary]]) -> Part:
    """XUX against Comp: the means of the summarisers."""
    means = []
    for run, found in scores.items():
        x, y = found["Comp"], found["XUX"]
        if x.ends is not None and y.ends is not None:
            means.append(Point(run, x.ends.floor, y.ends.floor, x.interval, y.interval))
    items = (Scatter("Summarisers, means over queries", "Comp", "XUX", tuple(means)),)
    note = (
        "Further up: a better experience line by line. Further right: covers more of what others "
        "cover."
    )
    if any(v and v.value is None for by in scored.values() for one in by.values()
           for v in one.values.values()):  # fmt: skip
        note += _DRAWN
    return Part("XUX and Comp", note, items if means else ())


def _query_points(query: str, by_run: Mapping[str, ScoredSummary]) -> Iterator[Scatter]:
    """XUX against Comp on a query."""
    points = []
    for run, one in by_run.items():
        at, up = one.values["Comp"], one.values["XUX"]
        if at is not None and up is not None:
            points.append(Point(run, at.floor, up.floor, _open(at), _open(up)))
    if points:
        yield Scatter(f"Query {query}", "Comp", "XUX", tuple(points))


def _open(ends: Range) -> Range | None:
    """The error bar of a value that depends on a missing label."""
    return ends if ends.value is None else None


def line_part(inputs: SgssInputs, scored: Mapping[str, Mapping[str, ScoredSummary]]) -> Part:
    """Each query: XUX against Comp, and X(l) of each summary beside its text."""
    note = "X(l) is the experience of a reader who leaves after line l; lines.csv holds all values."
    if any(x.value is None for by in scored.values() for one in by.values() for x in one.x):
        note += _DRAWN
    if inputs.most is not None:
        note += f" XUX counts the first {inputs.most} lines."
    texts = {
        query: next(iter(by_run.values())).judged.summary.query_text
        for query, by_run in scored.items()
    }
    return Part.by_topic("Line by line", note, texts, lambda query: _query(query, scored[query]))


def _query(query: str, by_run: Mapping[str, ScoredSummary]) -> Iterator[Item]:
    yield from _query_points(query, by_run)
    longest = max(len(one.x) for one in by_run.values())
    yield LineChart(
        f"X(l), query {query}",
        tuple(str(place) for place in range(1, longest + 1)),
        tuple(
            Series(
                run,
                (*(x.floor for x in one.x), *[None] * (longest - len(one.x))),
                (*map(_open, one.x), *[None] * (longest - len(one.x))),
            )
            for run, one in by_run.items()
        ),
        x="line l",
        y="X(l)",
    )
    for run, one in by_run.items():
        yield _text(run, one)


def _text(run: str, one: ScoredSummary) -> Text:
    shown = ", ".join(f"{name} {span(*v)}" for name, v in one.values.items() if v is not None)
    rows = tuple(
        (
            line.kind.value,
            line.text,
            x.value,
            about if x.value is not None else f"{about} X(l) {span(*x)}",
        )
        for line, x, about in zip(
            one.judged.summary.lines(), one.x, line_labels(one.judged), strict=True
        )
    )
    return Text(run, rows, "X(l)", note=shown)


def line_labels(judged: JudgedSummary) -> list[str]:
    """The labels of each line in words, in reading order."""
    found = judged.labels
    overview = f"OS {_said(found.os)} OF {_said(found.of)} OR {_said(found.orep)}"
    rows: list[str] = []
    statements = [
        f"SRel {_said(srel)} SF {_said(sf)}"
        + (f" g {_said(part.g[place])}" if part.heading else "")
        for part in found.parts
        for place, (srel, sf) in enumerate(zip(part.srel, part.sf, strict=True))
    ]
    headings = [part.g for part in found.parts if part.heading]
    for line in judged.summary.lines():
        if line.kind is LineKind.OVERVIEW:
            rows.append(overview)
        elif line.kind is LineKind.HEADING:
            g = headings.pop(0)
            known = [value for value in g if value is not None]
            known_hr = heading_representativeness(known) if len(known) == len(g) else None
            rows.append(f"HR {_said(known_hr)}")
        else:
            rows.append(statements.pop(0))
    return rows


def _said(value: Value) -> str:
    return "?" if value is None else f"{value:.2g}"
