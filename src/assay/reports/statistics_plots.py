"""Plots for papers: scatter of two score tables, intervals of differences between runs, reliability
diagrams and risk–coverage curves.

The ending of ``path`` determines the format. Raises ValueError if it is unknown, and SettingsError
if the file cannot be written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from assay.measures.confidence import Closed
from assay.model.errors import SettingsError
from assay.model.wording import counted
from assay.page.confidence import reliability, risk_curve
from assay.page.parts import Curve, Reliability
from assay.page.wording import number, shortened
from assay.reports.plotting import COLOURS, MARKERS, checked_plot, plot_bytes

_POINT, _MEAN, _LINE = "#8fb8d8", "#c0392b", "#888888"
_REAL, _NOT_REAL = "#0072b2", "#9a9a9a"
_BEHIND = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.6}
_MOST_NAMED = 8  # the number of colours
_MOST_PAIRS = 45
_MOST_RUNS = 60


@dataclass(frozen=True, slots=True)
class DifferencePanel:
    """The differences of runs by one measure.

    ``title``: the measure. ``pairs``: (run, other run, difference, low, high, whether it is
    significant), best run first. ``note``: the test and level, shown below.
    """

    title: str
    pairs: Sequence[tuple[str, str, float, float, float, bool]]
    note: str = ""


def save_scatter(
    path: str | Path,
    means: Sequence[tuple[str, float, float]],
    points: Sequence[tuple[float, float]],
    names: tuple[str, str],
    remarks: Sequence[str] = (),
) -> None:
    """Draw run means over topic–run points, with the line on which both tables agree.

    ``means``: (run, score in the first table, score in the second). ``points``: (score in the first
    table, in the second) of every topic and run; may be empty. ``names``: what the axes show.
    ``remarks``: lines for the empty corner below the line, such as the coefficients.
    """

    def fill(figure: Any) -> None:
        figure.set_size_inches(5.6 if len(means) <= _MOST_NAMED else 4.2, 4.2)
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
        axes = figure.add_subplot()
        _scatter(axes, means, points)
        said = "\n".join(remarks)
        axes.text(
            0.98, 0.03, said, transform=axes.transAxes, fontsize=7.5, ha="right", va="bottom",
            linespacing=1.4, bbox=_BEHIND,
        )  # fmt: skip
        axes.set_xlabel(shortened(names[0], 60))
        axes.set_ylabel(shortened(names[1], 60))

    _save(path, fill)


def save_differences(path: str | Path, panels: Sequence[DifferencePanel]) -> None:
    """Draw the interval of every pair's difference, one panel per measure.

    With more than 45 pairs, only those with the best run are drawn; the caption says so. Raises
    SettingsError if a measure has no pair with an interval.
    """
    for panel in panels:
        if not panel.pairs:
            raise SettingsError(f"{panel.title}: there is no interval to plot.")

    def fill(figure: Any) -> None:
        rows = max(len(_drawn_pairs(panel)[0]) for panel in panels)
        figure.set_size_inches(5.4 * len(panels), 1.3 + 0.22 * rows)
        for place, panel in enumerate(panels):
            _differences(figure.add_subplot(1, len(panels), place + 1), panel)

    _save(path, fill)


def save_leaderboard(
    path: str | Path, title: str, rows: Sequence[tuple[str, float, float | None, float | None]]
) -> None:
    """Draw runs with scores and intervals, best first. ``rows`` are (run, score, lower and upper
    end of its interval, or None); ``title`` is the measure."""

    def fill(figure: Any) -> None:
        figure.set_size_inches(5.4, 0.9 + 0.22 * len(rows))
        axes = figure.add_subplot()
        named = [(shortened(run, 40), score, low, high, True) for run, score, low, high in rows]
        _intervals(axes, named)
        axes.set_xlabel(shortened(title, 60), fontsize=8)

    _save(path, fill)


_Row = tuple[str, float, float | None, float | None, bool]


def _intervals(axes: Any, rows: Sequence[_Row]) -> None:
    """Draw rows one below another: a name, its value with the interval, if any, and whether it is
    filled."""
    for place, (_, value, low, high, filled) in enumerate(rows):
        colour = _REAL if filled else _NOT_REAL
        if low is not None and high is not None:
            axes.plot([low, high], [place, place], color=colour, linewidth=1.6, zorder=2)
        axes.plot(
            value, place, "o", color=colour, markersize=4.2, zorder=3,
            markerfacecolor=colour if filled else "white",
        )  # fmt: skip
    axes.set_yticks(range(len(rows)), [name for name, *_ in rows], fontsize=7.5)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="x", color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)


def _save(path: str | Path, fill: Callable[[Any], None]) -> None:
    data = plot_bytes(checked_plot(path), fill)
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise SettingsError(f"the plot cannot be written: {error}") from None


def _scatter(
    axes: Any, means: Sequence[tuple[str, float, float]], points: Sequence[tuple[float, float]]
) -> None:
    values = [value for _, *pair in means for value in pair]
    values += [value for pair in points for value in pair]
    low, high = min(values), max(values)
    if low >= 0 and high <= 1 and high - low > 0.3:
        low, high = 0.0, 1.0
    margin = 0.03 * (high - low) or 0.03
    ends = (low - margin, high + margin)
    axes.plot(ends, ends, color=_LINE, linestyle=(0, (4, 3)), linewidth=0.9, zorder=1)
    if points:
        axes.scatter(
            [x for x, _ in points],
            [y for _, y in points],
            s=7,
            color=_POINT,
            alpha=0.55 if len(points) < 5000 else 0.2,
            linewidths=0,
            zorder=2,
            label=f"topic and run ({len(points):,})",
        )
    named = means if len(means) <= _MOST_NAMED else ()
    for place, (run, x, y) in enumerate(named):
        axes.scatter(
            [x], [y], s=36, color=COLOURS[place], marker=MARKERS[place % len(MARKERS)],
            edgecolors="white", linewidths=0.6, zorder=3,
            label=f"mean of {shortened(run, 28)}",
        )  # fmt: skip
    if not named:
        axes.scatter(
            [x for _, x, _ in means], [y for _, _, y in means], s=26, color=_MEAN,
            edgecolors="white", linewidths=0.6, zorder=3, label=f"run mean ({len(means):,})",
        )  # fmt: skip
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    legend = {"loc": "upper left", "frameon": False, "fontsize": 7.5, "handletextpad": 0.2}
    if named:  # beside the plot, so that names hide no points
        legend |= {"bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0}
    axes.legend(**legend)


def _drawn_pairs(
    panel: DifferencePanel,
) -> tuple[Sequence[tuple[str, str, float, float, float, bool]], str]:
    """The pairs to draw, and a remark on those left out."""
    if len(panel.pairs) <= _MOST_PAIRS:
        return panel.pairs, ""
    best = panel.pairs[0][0]
    shown = [pair for pair in panel.pairs if pair[0] == best][:_MOST_RUNS]
    said = f"{len(shown)} of {counted(len(panel.pairs), 'pair')}: the best run with the next.\n"
    return shown, said


def _differences(axes: Any, panel: DifferencePanel) -> None:
    pairs, said = _drawn_pairs(panel)
    axes.axvline(0, color=_LINE, linestyle=(0, (4, 3)), linewidth=0.9, zorder=1)
    named: list[_Row] = [
        (f"{shortened(one, 24)} − {shortened(other, 24)}", value, low, high, real)
        for one, other, value, low, high, real in pairs
    ]
    _intervals(axes, named)
    axes.set_title(shortened(panel.title, 40), fontsize=9, fontweight="bold", loc="left")
    axes.set_xlabel(f"difference of means\n{said}{panel.note}", fontsize=8)


ConfidenceData = Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]]
"""For each run its confidences (0 to 1) and whether each answer is correct (0 or 1)."""

_DASHES: tuple[Any, ...] = ("-", "--", ":", "-.")
_MOST_PANELS = 12


def save_confidence_plot(
    path: str | Path, data: ConfidenceData, bins: int = 10, closed: Closed = "right"
) -> None:
    """Draw a reliability diagram for each run, and the risk–coverage curves of all. Also raises
    ValueError, naming the run, if :func:`assay.measures.confidence.check` rejects its data."""
    drawn = []
    for run, (p, c) in data.items():
        try:
            bars = reliability(run, p, c, bins=bins, closed=closed)
            drawn.append((risk_curve(run, p, c), bars))
        except ValueError as error:
            raise ValueError(f"run {run}: {error}") from None
    _save(path, lambda figure: _fill(figure, drawn))


def _fill(figure: Any, data: Sequence[tuple[Curve, Reliability]]) -> None:
    """Lay out the panels: the curves of all runs first, then a reliability diagram per run."""
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
