"""The scale on which an EXAM++ leaderboard is drawn beside the official one."""

import pytest

from assay.protocols.exam.agreement import rescaled


def test_the_lowest_value_is_drawn_at_0_and_the_highest_at_1():
    values = [0.3, 0.1, 0.35]
    low, factor = rescaled(values)
    assert [(value - low) * factor for value in values] == pytest.approx([0.8, 0.0, 1.0])
    assert rescaled([0.4, 0.4]) == (0.4, 0.0)
