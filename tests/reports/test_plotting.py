"""Without matplotlib a plot says what to install."""

from __future__ import annotations

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
