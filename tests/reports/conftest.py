"""The films report, made once."""

from __future__ import annotations

import pytest

from tests.reports import report_cases


@pytest.fixture(scope="session")
def films():
    return report_cases.films()


@pytest.fixture(scope="session")
def films_html(films):
    return report_cases.html(films)
