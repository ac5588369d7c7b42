"""The documentation site builds without a warning, needs no network and leaves no page out."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built in a folder of its own."""
    folder = tmp_path_factory.mktemp("site")
    runpy.run_path(str(ROOT / "docs" / "make_site.py"))["make"](folder / "build" / "docs")
    shutil.copyfile(ROOT / "mkdocs.yml", folder / "mkdocs.yml")
    for name in ("src", "docs"):
        (folder / name).symlink_to(ROOT / name)
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=folder, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build" / "site"


def test_every_page_is_there_and_in_the_navigation(site):
    made = {
        p.relative_to(site.parent / "docs").with_suffix("")
        for p in (site.parent / "docs").rglob("*.md")
    }
    assert {p.relative_to(site).with_suffix("") for p in site.rglob("*.html")} >= made
    named = set(re.findall(r"- (\S+)\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert {str(one) for one in made} == named


def test_nothing_is_loaded_from_elsewhere(site):
    loads = re.compile(
        r"<(?:script|img|iframe|source|link)[^>]+(?:src|href)=[\"']?(?:https?:)?//[^>]*>"
    )
    for page in site.rglob("*.html"):
        assert not loads.search(page.read_text()), page


def test_no_markup_of_docstrings_is_left(site):
    for page in (site / "api").glob("*.html"):
        assert not re.search(r":[a-z]+:(?:`|<code>)", page.read_text()), page


def test_the_reference_has_what_the_docstrings_say(site):
    page = (site / "api" / "confidence.html").read_text()
    assert "compare_confidence" in page
    assert re.search(r"two-sided\s+p-value", page)
    assert "unknown_text" in (site / "api" / "systems.html").read_text()
