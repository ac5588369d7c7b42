"""Fitting a model's text into the lines of a run, and comparing answers."""

from __future__ import annotations

import re
import unicodedata

from assay.formats.naming import clean
from assay.formats.r2c2_ac import without_closing_tag
from assay.formats.r2c2_nuggets import looks_like_record
from assay.formats.text import LINE_BREAKS

# Control characters other than white space, and lone surrogates: no file may hold them.
_UNWRITABLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
# The point of 3.5 and the sign of -5 are part of a number; any other mark is handled separately.
_MARKS = re.compile(r"(?<=[0-9])[.,:](?=[0-9])|(?<!\w)[-−](?=[0-9])|([^\w\s])")
_ARTICLES = frozenset(("a", "an", "the"))


def one_line(text: str) -> str:
    """``text`` on one line with single spaces, without anything that some programs take for a line
    break, control characters, or invisible characters at its ends."""
    return clean(" ".join(_UNWRITABLE.sub("", LINE_BREAKS.sub(" ", text)).split()))


def answer_of(text: str) -> str:
    """An answer as one line of a run. Semicolons become commas only if the line would otherwise be
    read as a nugget (``3;RUN;2;text``)."""
    line = one_line(text)
    return line.replace(";", ",") if looks_like_record(f"{line};x", None) else line


def nugget_of(text: str, question: str) -> str:
    """A nugget as one line of a run, without trailing tags that would close the block."""
    return one_line(without_closing_tag(one_line(text), question))


def same_answer(text: str) -> str:
    """The normal form in which equal answers agree: words without case, articles, punctuation,
    thousands separators and compatibility forms (NFKC). Decimal points, minus signs and signs such
    as %, $ and + are kept."""
    plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text).casefold())
    words = _MARKS.sub(_mark, plain).split()
    return " ".join(word for word in words if word not in _ARTICLES) or " ".join(
        text.casefold().split()
    )


def _mark(found: re.Match[str]) -> str:
    mark = found.group(1)
    if mark is None:
        return found.group().replace("−", "-")
    kind = unicodedata.category(mark)
    if kind == "Pd" or mark == "/":
        return " "
    return "" if kind.startswith("P") and mark != "%" else str(mark)
