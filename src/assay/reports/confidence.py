"""Plots for papers: reliability diagrams and risk–coverage curves of several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from assay.measures.confidence import Closed
from assay.page.confidence import reliability, risk_curve
from assay.page.parts import Curve, Reliability
from assay.page.wording import number, shortened
from assay.reports.plotting import COLOURS, MARKERS, checked_plot, plot_bytes

ConfidenceData = Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]]
"""For each run its confidences (0 to 1) and whether each answer is correct (0 or 1)."""

_DASHES: tuple[Any, ...] = ("-", "--", ":", "-.")
_MOST_PANELS = 12


def plot_confidence(data: ConfidenceData, bins: int = 10, *, closed: Closed = "right") -> str:
    """One SVG: a reliability diagram a run, and the risk–coverage curves of all. Raises
    ValueError where there is no run, or a run's data are not what
    :func:`assay.measures.confidence.check` accepts; the message names the run."""
    return _drawn(data, bins, closed, "svg").decode("utf-8")


def save_confidence_plot(
    path: str | Path, data: ConfidenceData, bins: int = 10, *, closed: Closed = "right"
) -> None:
    """Write the plot of :func:`plot_confidence` as SVG, PDF or PNG, as the name of ``path`` ends.
    Raises ValueError where the name ends otherwise, or the data cannot be plotted."""
    kind = checked_plot(path)
    Path(path).write_bytes(_drawn(data, bins, closed, kind))


def _drawn(data: ConfidenceData, bins: int, closed: Closed, kind: str) -> bytes:
    if not data:
        raise ValueError("there is no run to plot")
    drawn = []
    for run, (p, c) in data.items():
        try:
            bars = reliability(run, p, c, bins=bins, closed=closed)
            drawn.append((risk_curve(run, p, c), bars))
        except ValueError as error:
            raise ValueError(f"run {run}: {error}") from None
    return plot_bytes(kind, lambda figure: _fill(figure, drawn))


def _fill(figure: Any, data: Sequence[tuple[Curve, Reliability]]) -> None:
    """Lay out the panels: the curves of all runs first, then a reliability diagram a run."""
    shown = [bars for _, bars in data][:_MOST_PANELS]
    columns = min(4, max(2, len(shown)))
    rows = -(-len(shown) // columns)
    figure.set_size_inches(2.35 * columns + 0.4, 3.1 + 2.75 * rows)
    grid = figure.add_gridspec(rows + 1, columns, height_ratios=[1.1, *[1.0] * rows])
    _risk(figure.add_subplot(grid[0, :]), [curve for curve, _ in data])
    for place, one in enumerate(shown):
        row, column = divmod(place, columns)
        axes = figure.add_subplot(grid[row + 1, column])
        _reliability(axes, one)
        axes.set_title(shortened(one.name, 28), fontsize=9, fontweight="bold", loc="left")
        if column == 0:
            axes.set_ylabel("accuracy")
        axes.set_xlabel("confidence")
    if len(data) > len(shown):
        figure.supxlabel(
            f"Reliability diagrams of the first {len(shown)} of {len(data)} runs.", fontsize=8
        )


def _risk(axes: Any, curves: Sequence[Curve]) -> None:
    for place, curve in enumerate(curves):
        axes.plot(
            *zip(*curve.points, strict=True),
            color=COLOURS[place % len(COLOURS)],
            linestyle=_DASHES[place // len(COLOURS) % len(_DASHES)],
            marker=MARKERS[place % len(MARKERS)] if len(curve.points) <= 30 else None,
            markersize=3.2,
            linewidth=1.5,
            label=shortened(curve.name, 32).lstrip("_") or "_",
        )
    axes.set(xlim=(0, 1.01), ylim=(-0.01, None), xlabel="coverage", ylabel="risk")
    axes.set_title("Risk–coverage", fontsize=9, fontweight="bold", loc="left")
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        frameon=False,
        fontsize=8,
        ncols=1 + len(curves) // 14,
        borderaxespad=0,
    )


def _reliability(axes: Any, plot: Reliability) -> None:
    axes.plot([0, 1], [0, 1], color="#888888", linestyle=(0, (3, 3)), linewidth=0.9)
    few = len(plot.bins) <= 12
    for bar in plot.bins:
        if bar.accuracy is None or bar.confidence is None:
            continue
        middle, width = (bar.low + bar.high) / 2, bar.high - bar.low
        over = bar.confidence > bar.accuracy
        axes.bar(middle, bar.accuracy, width * 0.92, color="#9ec5e3", edgecolor="none")
        axes.plot(
            [bar.confidence] * 2,
            [bar.confidence, bar.accuracy],
            color="#d55e00" if over else "#0072b2",
            linewidth=1.6,
        )
        axes.plot(bar.confidence, bar.accuracy, "o", color="#1a1d20", markersize=3.4)
        if few:
            axes.text(
                middle,
                1.03,
                str(bar.right + bar.wrong),
                ha="center",
                va="bottom",
                fontsize=6.5,
                color="#555",
            )
    axes.set(xlim=(0, 1), ylim=(0, 1.12), aspect="equal")
    ticks = [0.0, 0.5, 1.0]
    axes.set_xticks(ticks, [number(tick, 1) for tick in ticks])
    axes.set_yticks(ticks, [number(tick, 1) for tick in ticks])
