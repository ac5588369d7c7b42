"""Conversion of a nugget list to a text that a person can edit, and back.

::

    vital [1] Rivers bend because their banks erode
          under: Why rivers bend
    okay [2] [3] Two nuggets merged into one
    vital A nugget that was added

The numbers in brackets say which nuggets a line comes from: a number on two lines splits a nugget,
two numbers on one line merge two nuggets, and a nugget whose number is on no line is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from assay.formats.parsed import FaultList, Parsed
from assay.model.trec_rag import Importance, RagNugget
from assay.model.wording import quoted

UNSET = "unset"
"""Placeholder for an importance that is still to be given."""

_LINE = re.compile(r"(vital|okay|unset)\b[:,]?((?:\s*\[\s*\d+\s*\])*)\s*(.*)", re.IGNORECASE)
_UNDER = re.compile(r"\s+under\s*:\s*(.*)", re.IGNORECASE)


class NuggetLine(NamedTuple):
    """An edited nugget; ``numbers`` are those of the nuggets that it comes from."""

    text: str
    importance: Importance | None
    sub_narrative: str | None
    numbers: tuple[int, ...]


def nugget_text(
    topic: str, narrative: str, nuggets: Sequence[RagNugget], aspects: Iterable[str] = ()
) -> str:
    """The text to edit: an explanation, then the nuggets, numbered from 1."""
    lines = [
        f"# Nuggets of narrative {_flat(topic)}: {_flat(narrative)}",
        "#",
        "# vital or okay, the numbers of the nuggets that it comes from, the nugget:",
        "#   reword     change the text        drop    delete the line",
        "#   split      repeat the number      merge   vital [2] [3] one text for both",
        "#   add        a line without number",
        "# 'under:' names the sub-narrative, an old one or a new one.",
    ]
    names = [_flat(one) for one in aspects]
    lines += [f"#   sub-narrative: {name}" for name in names]
    lines.append("")
    for number, nugget in enumerate(nuggets, 1):
        word = nugget.importance.value if nugget.importance else UNSET
        lines.append(f"{word} [{number}] {_flat(nugget.text)}")
        if nugget.sub_narrative:
            lines.append(f"      under: {_flat(nugget.sub_narrative)}")
    return "\n".join(lines) + "\n"


def _flat(text: str) -> str:
    return " ".join(text.split())


def parse_nugget_text(text: str, count: int, file: str = "") -> Parsed[tuple[NuggetLine, ...]]:
    """Parse an edited text; ``count`` is the number of nuggets that it was made from."""
    faults = FaultList(file or "the edited nuggets")
    found: list[NuggetLine] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        under = _UNDER.fullmatch(line)
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if under is not None:
            if not found:
                faults.error(number, "'under:' has no nugget above it.", "Move it below one.")
            elif found[-1].sub_narrative is not None:
                cure = "Delete it together with the nugget it was below, or move it below its own."
                faults.error(number, f"{quoted(found[-1].text)} has two 'under:'.", cure)
            elif under[1].strip():
                found[-1] = found[-1]._replace(sub_narrative=under[1].strip())
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            cure = "Begin it with vital or okay, as in: vital [3] The text of the nugget"
            faults.error(number, f"{quoted(line.strip())} is not a nugget.", cure)
            continue
        numbers = tuple(int(one) for one in re.findall(r"\d+", match[2]))
        odd = [one for one in numbers if not 1 <= one <= count]
        if odd:
            cure = f"There are nuggets 1 to {count}." if count else "Leave the number out."
            faults.error(number, f"There is no nugget {odd[0]}.", cure)
        body = _flat(match[3])
        if not body:
            faults.error(number, "The nugget has no text.", "Delete the line to drop it.")
        elif body in seen:
            cure = f"Merge it with line {seen[body]}: put both numbers there."
            faults.error(number, "The nugget is listed twice.", cure)
        else:
            seen[body] = number
            word = match[1].lower()
            importance = None if word == UNSET else Importance(word)
            found.append(NuggetLine(body, importance, None, tuple(dict.fromkeys(numbers))))
    return Parsed(tuple(found), faults.done())
