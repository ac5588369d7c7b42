"""Without matplotlib a plot says what to install."""

from __future__ import annotations

import re
import sys

import pytest

from assay.model.errors import PrerequisiteError
from assay.reports.plotting import checked_plot, plot_bytes


def test_a_plot_without_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PrerequisiteError, match=r"pip install 'assay-rag\[plots\]'"):
        plot_bytes("svg", lambda _figure: None)


def test_only_known_endings_are_plots():
    assert checked_plot("a/B.PDF") == "pdf"
    with pytest.raises(ValueError, match="must end in"):
        checked_plot("a.jpg")


@pytest.mark.parametrize(("font", "letters"), [("Sans CJK JP", "早稲"), ("Garuda|Sans Thai", "กข")])
def test_names_in_other_letters_are_drawn_where_a_font_has_them(font, letters):
    fonts = pytest.importorskip("matplotlib.font_manager")
    if not any(re.search(font, name) for name in fonts.get_font_names()):
        pytest.skip("no font has them")
    one, other = (plot_bytes("png", lambda f, t=text: f.text(0, 0.5, t)) for text in letters)
    assert one != other  # two boxes would be alike
