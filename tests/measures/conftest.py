"""Unregister the ranking measures that a test defines once it ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assay.measures import MEASURES

KNOWN = dict(MEASURES)


@pytest.fixture(autouse=True)
def _no_measures_of_other_tests() -> Iterator[None]:
    yield
    MEASURES.clear()
    MEASURES.update(KNOWN)
