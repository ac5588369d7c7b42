"""The basis of all plots for papers: colours, markers, a style, and reproducible bytes.

Matplotlib is imported only when a plot is drawn. Files have no dates and no random ids.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.model.extras import import_extra

COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d00", "#56b4e9", "#6a51a3", "#4d4d4d",
)  # fmt: skip
MARKERS = "osD^v"
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
_WIDE = re.compile(
    "Sans (CJK (JP|SC|KR)|Thai|Devanagari)|Hiragino Sans|Yu Gothic|MS Gothic|YaHei|PingFang|SimHei|"
    "WenQuanYi|IPA.*Got|Garuda|Leelawadee|Thonburi|Lohit Dev|Nirmala"
)
"""Fonts for letters that the first font lacks, in formats that embed fonts."""
_METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": "Assay"},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "Assay", "Producer": "Assay"},
    "png": {"Software": "Assay"},
}


def checked_plot(path: str | Path) -> str:
    """The format of a plot's file: svg, pdf or png. Raises ValueError for any other extension."""
    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in _METADATA:
        raise ValueError(f"{path}: a plot's name must end in .svg, .pdf or .png")
    return kind


def require_plots() -> Any:
    """The matplotlib module. Raises PrerequisiteError if it is not installed."""
    return import_extra("matplotlib", "Drawing a plot needs matplotlib", "plots")


def plot_bytes(kind: str, fill: Callable[[Any], None]) -> bytes:
    """A figure drawn by ``fill``, as svg, pdf or png. Raises PrerequisiteError if matplotlib is not
    installed."""
    mpl = require_plots()
    from matplotlib.figure import Figure  # noqa: PLC0415 (slow to import; only plots need it)

    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # The text of an SVG stays text: the reader's fonts have the glyphs.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        if kind != "svg":
            from matplotlib.font_manager import get_font_names  # noqa: PLC0415 (as above)

            wide = filter(_WIDE.search, sorted(get_font_names()))
            mpl.rcParams["font.family"] = [*_STYLE["font.sans-serif"], *wide]
        figure = Figure(layout="constrained")
        fill(figure)
        # A title for screen readers: the names of the axes.
        said = ((one.get_title(), one.get_xlabel(), one.get_ylabel()) for one in figure.axes)
        title = "; ".join(" · ".join(filter(None, words)) for words in said).replace("\n", " ")
        target = io.BytesIO()
        figure.savefig(target, format=kind, dpi=200, metadata=_METADATA[kind] | {"Title": title})
    return target.getvalue()
