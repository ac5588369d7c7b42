"""Plots for papers: reliability diagrams and risk–coverage curves of several runs.

Drawn by matplotlib, which is imported when a plot is drawn and not before. The bytes of a plot
depend on its data alone: no dates, no random ids.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from assay.measures.confidence import Closed
from assay.page.confidence import reliability, risk_curve
from assay.page.parts import Curve, Reliability
from assay.page.wording import number, shortened

__all__ = ["ConfidenceData", "plot_confidence", "save_confidence_plot"]

ConfidenceData = Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]]
"""For each run its confidences (0 to 1) and whether each answer is correct (0 or 1)."""

_COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d00", "#56b4e9", "#6a51a3", "#4d4d4d",
)  # fmt: skip
_DASHES: tuple[Any, ...] = ("-", "--", ":", "-.")
_MARKERS = "osD^v"
_MOST_PANELS = 12
_STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "text.parse_math": False,
    "text.usetex": False,
    "svg.hashsalt": "assay",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}
_METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": "Assay"},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "Assay", "Producer": "Assay"},
    "png": {"Software": "Assay"},
}


def plot_confidence(data: ConfidenceData, bins: int = 10, *, closed: Closed = "right") -> str:
    """Return one SVG: a reliability diagram a run, and the risk–coverage curves of all.

    Raises:
        ValueError: there is no run, or a run's data are not what
            :func:`assay.measures.confidence.check` accepts; the message names the run.
    """
    return _drawn(data, bins, closed, "svg").decode("utf-8")


def save_confidence_plot(
    path: str | Path, data: ConfidenceData, bins: int = 10, *, closed: Closed = "right"
) -> None:
    """Write the plot of :func:`plot_confidence` as SVG, PDF or PNG, as the name of *path* ends.

    Raises:
        ValueError: the name ends otherwise, or the data cannot be plotted.
    """
    path = Path(path)
    kind = path.suffix.lower().lstrip(".")
    if kind not in _METADATA:
        raise ValueError(f"{path}: a plot's name must end in .svg, .pdf or .png")
    path.write_bytes(_drawn(data, bins, closed, kind))


def _drawn(data: ConfidenceData, bins: int, closed: Closed, kind: str) -> bytes:
    import matplotlib as mpl  # noqa: PLC0415 (slow to import; only plots need it)
    from matplotlib.figure import Figure  # noqa: PLC0415

    if not data:
        raise ValueError("there is no run to plot")
    drawn = []
    for run, (p, c) in data.items():
        try:
            bars = reliability(run, p, c, bins=bins, closed=closed)
            drawn.append((risk_curve(run, p, c), bars))
        except ValueError as error:
            raise ValueError(f"run {run}: {error}") from None
    with mpl.rc_context(_STYLE):
        figure = Figure(layout="constrained")
        _fill(figure, drawn)
        target = io.BytesIO()
        with warnings.catch_warnings():
            if kind == "svg":  # its text stays text: the reader's fonts have the glyphs
                warnings.filterwarnings("ignore", message="Glyph .* missing")
            figure.savefig(target, format=kind, dpi=200, metadata=_METADATA[kind])
    return target.getvalue()


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
            color=_COLOURS[place % len(_COLOURS)],
            linestyle=_DASHES[place // len(_COLOURS) % len(_DASHES)],
            marker=_MARKERS[place % len(_MARKERS)] if len(curve.points) <= 30 else None,
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
