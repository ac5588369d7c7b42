"""Run names, question ids and integers: reading, comparing, and cures for faulty ones.

Source: R2C2 paper, section 3.4 (a run is known by its file name). Ids and run names are compared
as strings after NFC and stripping, so 0001 and 1 are different questions.
"""

from __future__ import annotations

import difflib
import re
import sys
import unicodedata
from collections.abc import Container, Iterable
from functools import cached_property, lru_cache
from os import PathLike
from pathlib import Path

from assay.formats.parsed import FaultList, Spot
from assay.model.wording import joined, printable, quoted

_PACKED = (".gz", ".bz2")
_TEXT = (
    ".txt",
    ".text",
    ".tsv",
    ".csv",
    ".dat",
    ".run",
    ".out",
    ".res",
    ".ac",
    ".pr",
    ".jsonl",
    ".json",
)
_INVISIBLE = "\ufeff\u200b"
_MOST_DIGITS = 9
_MOST_GUESSES = 20
_LONGEST_GUESS = 100


def clean(text: str) -> str:
    """``text`` without leading and trailing white space, zero-width spaces, byte order marks."""
    text = text.strip()
    # Called for every cell of every file; ASCII, as most are, needs no second strip.
    return text if text.isascii() else text.strip(_INVISIBLE).strip()


@lru_cache(maxsize=100_000)
def normal_id(text: str) -> str:
    """A question id or run name in the form in which it is compared: NFC, stripped."""
    return unicodedata.normalize("NFC", clean(text))


def run_name(path: str | PathLike[str]) -> str:
    """The name of a run: its file name without extensions, in NFC (macOS may decompose names).

    ``WASEDA-PR-1.txt.gz`` is ``WASEDA-PR-1``; ``run.v2.txt`` is ``run.v2``. Only the extensions of
    compressed and text files are removed, so a name with a dot (``run.v2``) stays whole.
    """
    name = unicodedata.normalize("NFC", Path(path).name)
    for endings in (_PACKED, _TEXT):
        for ending in endings:
            if name.lower().endswith(ending) and len(name) > len(ending):
                name = name[: -len(ending)]
                break
    return name


def check_run_name(name: str, faults: FaultList) -> None:
    """Report a run name that cannot be written in a nugget record."""
    unseen = (one for one in name if not one.isprintable() and unicodedata.category(one) != "Zs")
    bad = sorted({*unseen, *set(name).intersection(";/\\")})
    if bad:
        cure = "Rename the file: a name is part of the nugget records, which split at “;”."
        if (encoding := sys.getfilesystemencoding()) != "utf-8":
            cure = f"Names of files are read as {encoding}. If they are UTF-8, set PYTHONUTF8=1."
        faults.error(
            0, f"The run's name {quoted(name)} holds {joined(repr(char) for char in bad)}.", cure
        )
    elif not clean(name) or clean(name) != name:
        faults.error(
            0,
            f"The run's name {quoted(name)} begins or ends with white space, or is empty.",
            "Rename the file.",
        )
    elif " " in name:
        faults.warning(
            0,
            f"The run's name {quoted(name)} holds a space, at which TREC tools split lines.",
            "Rename the file with - or _ in its place.",
        )


class KnownIds:
    """The ids of a question file, with hints about ids that are not among them."""

    def __init__(self, ids: Iterable[str]) -> None:
        self.ids = tuple(dict.fromkeys(normal_id(one) for one in ids))
        self._all = frozenset(self.ids)
        self._guesses = 0

    @cached_property  # these two are needed only if a file is faulty
    def _unpadded(self) -> dict[str, str]:
        # Reversed, so that the first of several similar ids is kept.
        return {_unpad(one): one for one in reversed(self.ids)}

    @cached_property
    def _folded(self) -> dict[str, str]:
        return {_fold(one): one for one in reversed(self.ids)}

    def __contains__(self, one: str) -> bool:
        return one in self._all

    def cure(self, one: str) -> str:
        """The cure for an unknown id."""
        padded = self._unpadded.get(_unpad(one))
        if padded is not None:
            return f"Write {printable(padded)}: ids are strings, so leading zeros matter."
        cased = self._folded.get(_fold(one))
        if cased is not None:
            return f"Write {printable(cased)}: only case or width differ."
        near = self._nearest(one)
        hint = f" Is {near} meant?" if near else ""
        return f"Use an id of the question file.{hint}"

    def check(self, at: Spot) -> None:
        """Report an unknown topic."""
        one = at.topic or ""
        if one not in self:
            why = f"The question id {quoted(one)} is not in the question file."
            at.error(why, self.cure(one))

    def is_misspelt(self, one: str) -> bool:
        """Whether ``one`` differs from a known id in leading zeros or case only."""
        return _unpad(one) in self._unpadded or _fold(one) in self._folded

    def check_all(self, seen: Container[str], faults: FaultList, what: str, cure: str) -> None:
        """Warn of the known ids, in the question file's order, that are not in ``seen``: the run
        has no ``what`` for them."""
        without = [one for one in self.ids if one not in seen]
        if without:
            count = f"{len(without)} question{'s' if len(without) > 1 else ''}"
            why = f"No {what} for {count} of the question file: {joined(without)}."
            faults.warning(0, why, cure)

    def _nearest(self, one: str) -> str | None:
        self._guesses += 1
        if self._guesses > _MOST_GUESSES or len(one) > _LONGEST_GUESS:
            return None
        # Comparing is slow, so there are hints only for the first faults and for short ids.
        near = difflib.get_close_matches(one, self.ids[:5000], n=1, cutoff=0.7)
        return printable(near[0]) if near else None


def _unpad(one: str) -> str:
    """The id without leading zeros in its first number (Q007 becomes Q7)."""
    return re.sub(r"^(\D*)0+(?=\d)", r"\1", one)


def name_cure(name: str, known: Iterable[str]) -> str:
    """The cure for a run name that is not among the ``known`` ones."""
    names = sorted(known)
    for other in names:
        if _fold(other) == _fold(name):
            return f"Write {printable(other)}: only case or width differ."
    for other in names:
        if run_name(name) == other:
            return f"Write {printable(other)}: a run's name is its file's name without ending."
    near = difflib.get_close_matches(name[:200], names, n=1, cutoff=0.6)
    hint = f" Is {printable(near[0])} meant?" if near else ""
    return f"Known PR runs: {joined(names) or 'none'}.{hint}"


def parse_integer(text: str) -> int | None:
    """An integer in ASCII digits with an optional minus sign, or None."""
    digits = text[1:] if text.startswith("-") else text
    if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS:
        return int(text)
    return None


def integer_cure(text: str, low: int, high: int) -> str:
    """The cure for a text that is not an integer from ``low`` to ``high``."""
    wanted = f"Write an integer from {low} to {high}"
    folded = unicodedata.normalize("NFKC", text)
    if folded != text and parse_integer(folded) is not None:
        return f"{wanted} in ASCII digits: {folded}."
    if text.startswith("+") and parse_integer(text[1:]) is not None:
        return f"{wanted} without a sign: {text[1:]}."
    whole, _, rest = text.partition(".")
    if parse_integer(whole) is not None and rest and set(rest) == {"0"}:
        return f"{wanted} without decimals: {whole}."
    return f"{wanted}."


def ranged_integer(raw: str, what: str, most: int, at: Spot, beyond: str) -> int | None:
    """Parse an integer from 1 to ``most``, called ``what`` in messages; None, with a fault, if
    ``raw`` is not one. ``beyond`` is the cure for one that is out of range."""
    value = parse_integer(raw)
    if value is None:
        why = f"The {what} {quoted(raw)} is not an integer." if raw else f"The {what} is empty."
        at.error(why, integer_cure(raw, 1, most))
    elif not 1 <= value <= most:
        at.error(f"The {what} {value} is not between 1 and {most}.", beyond)
        return None
    return value


def _fold(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()
