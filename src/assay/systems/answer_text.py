"""Text of a model as the lines of a run can hold it, and when two answers are the same."""

from __future__ import annotations

import re
import unicodedata

from assay.formats.naming import clean
from assay.formats.r2c2_ac import without_closing_tag
from assay.formats.r2c2_nuggets import looks_like_record
from assay.formats.text import LINE_BREAKS

# Control characters but for white space, and halves of surrogate pairs: no file may hold them.
_UNWRITABLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
# The point of 3.5 and the sign of -5 are part of a number; any other mark is looked at by itself.
_MARKS = re.compile(r"(?<=[0-9])[.,:](?=[0-9])|(?<!\w)[-−](?=[0-9])|([^\w\s])")
_ARTICLES = frozenset(("a", "an", "the"))


def one_line(text: str) -> str:
    """``text`` on one line, single blanks, without what some programs break lines at, control
    characters, and invisible characters at its ends."""
    return clean(" ".join(_UNWRITABLE.sub("", LINE_BREAKS.sub(" ", text)).split()))


def answer_of(text: str) -> str:
    """An answer as its line holds it. Semicolons stay but where the line would be read as a nugget
    (``3;RUN;2;text``): there they become commas."""
    line = one_line(text)
    return line.replace(";", ",") if looks_like_record(f"{line};x", None) else line


def nugget_of(text: str, question: str) -> str:
    """A nugget as its line holds it, without tags at its end that would close the block."""
    return one_line(without_closing_tag(one_line(text), question))


def same_answer(text: str) -> str:
    """What two answers must share to count as one: words without case, articles, punctuation,
    separators of thousands and compatibility forms (NFKC). Decimal points, minus signs and signs of
    units (%, $, +) count."""
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
