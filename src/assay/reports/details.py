"""What opens on a click: in the page itself as long as that is small, else a page for each.

A page of its own is loaded when it is opened, by a plain link: it works from a folder without a
server, without a network and without a script. Passages that several answers of such a page cite
stand in it once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from markupsafe import Markup

from assay.page.files import page_name

SINGLE_BYTES = 4_000_000
"""With details of more than this a report is a folder."""

MAX_BYTES = 22_000_000
"""A report that must be a single file has details until they take as much as this."""

_SHORT = 120
"""Shorter passages are repeated: a reference to one would be as long."""


class TooLarge(Exception):
    """The details take more than a single file may."""


@dataclass
class Passages:
    """The passages of a page, each with the name of its place there."""

    places: dict[str, str] = field(default_factory=dict)

    def keep(self, text: str) -> str:
        """The name of a passage's place; empty for one that is to stand where it is cited."""
        if len(text) <= _SHORT:
            return ""
        return self.places.setdefault(text, f"p{len(self.places) + 1}")


Keep = Callable[[str], str]


def repeated(text: str) -> str:
    """Passages of a single file stand where they are cited."""
    return ""


@dataclass(frozen=True)
class Detail:
    """What opens under ``title``: ``draw`` makes it, given where its passages are kept. ``anchor``
    is its place in the report, ``place`` its number among the ``of`` of its section."""

    anchor: str
    title: str
    place: int
    of: int
    draw: Callable[[Keep], Markup]


@dataclass(frozen=True)
class ShownDetail:
    """A detail as the page has it: its ``body``, or the address of its own page (``link``), or
    neither where there was no room for it."""

    body: Markup | None = None
    link: str = ""


class Inside:
    """Details in the page, until they take ``most`` bytes: the rest is left out, or with ``all_``
    TooLarge is raised."""

    def __init__(self, most: int, *, all_: bool = False) -> None:
        self._left = most
        self._all = all_

    def show(self, section: str, detail: Detail) -> ShownDetail:
        """The detail, if there is room left."""
        if self._left >= 0:
            body = detail.draw(repeated)
            self._left -= len(body.encode())
            if self._left >= 0:
                return ShownDetail(body)
        if self._all:
            raise TooLarge
        return ShownDetail()


class Apart:
    """A page for each detail, written as it is drawn. ``write`` takes the name of its file, the
    detail, what is in it and its passages; ``folder`` is where the report finds the files."""

    def __init__(self, folder: str, write: Callable[[str, Detail, Markup, Passages], None]) -> None:
        self._folder = folder
        self._write = write

    def show(self, section: str, detail: Detail) -> ShownDetail:
        """The address of the detail's page, which is written now."""
        name = page_name(section, detail.place)
        passages = Passages()
        self._write(name, detail, detail.draw(passages.keep), passages)
        return ShownDetail(link=f"{self._folder}/{name}")


Details = Inside | Apart
