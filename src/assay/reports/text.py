"""Text helpers for a page: ids and headings."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from assay.page.wording import shortened

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[_-])")
_LONG = 12
"""Longer headings are broken."""
_JOINT = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[_./+@:-])(?=[^\W_])|(?<=[a-zA-Z])(?=[0-9])")
_LONG_NAME = 14
"""Longer names may be broken."""
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NOT_SLUG = re.compile(r"[^a-z0-9]+")


def closed(text: str) -> str:
    """``text`` with a full stop, unless it already ends a sentence."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def broken(name: str) -> tuple[str, ...]:
    """A heading in lines: if long, several words go in two lines of similar length, and a single
    word is split after underscores and hyphens and before capitals."""
    if len(name) <= _LONG:
        return (name,)
    words = name.split(" ")
    if len(words) == 1:
        return tuple(_HUMP.split(name))
    pairs = ((" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words)))
    return min(pairs, key=lambda pair: max(map(len, pair)))


def pieces(name: str) -> list[str]:
    """Parts of a name between which a line may break: a long one without spaces after hyphens and
    the like, before capitals and before numbers."""
    return [name] if len(name) <= _LONG_NAME or " " in name else _JOINT.split(name)


def slug(prefix: str, name: str) -> str:
    """A readable id for ``name``, made unique by a hash."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    readable = _NOT_SLUG.sub("-", name.lower()).strip("-")[:32].strip("-")
    return "-".join(part for part in (prefix, readable, digest) if part)


def question_anchor(question: str) -> str:
    """The id of a question's entry in the report: ``q-0001``, or a hash if the id is unusual."""
    if _SAFE_ID.fullmatch(question):
        return f"q-{question}"
    return slug("qx", question)


_MARKS = re.compile(r"([\\`*_{}\[\]#!|~>&<$])")


def safe(text: str) -> str:
    """``text`` escaped for Markdown; a very long one is cut."""
    return _MARKS.sub(r"\\\1", shortened(text, 2_000))


def line(cells: Iterable[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"
