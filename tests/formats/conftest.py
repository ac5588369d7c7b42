"""Fixtures that write the files of the format tests into a temporary folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write text (as UTF-8) or bytes to a named file and return its path."""

    def _write(content: str | bytes, name: str = "file.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return _write


EXAMPLE_PR = """\
0001;1;https://en.wikipedia.org/wiki/Chris_Evans_(actor);Evans gained wider recognition for \
portraying Captain America in various Marvel Cinematic Universe (MCU) films, from Captain \
America: The First Avenger (2011) to Avengers: Endgame (2019).
0001;2;https://www.imdb.com/title/tt0056218/;Stars Frank Sinatra Laurence Harvey Janet Leigh
0001;3;https://www.imdb.com/title/tt0368008/fullcredits/;Anthony Mackie ... Robert Baker
0001;4;https://www.imdb.com/name/nm1107001/;The Manchurian Candidate
0001;5;https://www.imdb.com/name/nm1107001/;Sam Wilson - Captain America
"""

EXAMPLE_MARKED = """\
<0001>
Anthony Mackie;90
N1;WASEDA-PR-1;1;Chris Evans gained recognition for portraying Captain America
N2;WASEDA-PR-1;2;The Manchurian Candidate starred Frank Sinatra
B3;WASEDA-PR-1;2;The Manchurian Candidate starred Harvey Janet
R4;WASEDA-PR-1;4;Anthony Mackie starred in The Manchurian Candidate
R5;WASEDA-PR-1;5;Anthony Mackie starred in Captain America: Brave New World
</0001>
"""


@pytest.fixture
def example_pr(write: Write) -> Path:
    """The PR run of the task's slides."""
    return write(EXAMPLE_PR, "WASEDA-PR-1.txt")


@pytest.fixture
def example_marked(write: Write) -> Path:
    """The marked AC run of the task's slides."""
    return write(EXAMPLE_MARKED, "WASEDA-AC-1.txt")
