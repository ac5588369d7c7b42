"""Short texts around a claim or an answer, written for the judge (``frames/*.txt.xz``).

Two lines are twins: ``+`` and a text that asserts ``{claim}`` or gives ``{gold}`` as the answer,
``-`` and one as like it as can be that does not. ``{other}``, ``{other2}`` and ``{other3}`` are
wrong answers. Where grammar.py puts wordings together from parts, every one of these is written as
a whole, in the manner of letters, logs, chats, minutes, verse and whatever else is found.
"""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from attacks import within
from augment import sentences
from grammar import Framer, filled
from rows import Row

HELD = 8
"""Of so many twins one is never trained on."""
SLOTS = {"claims": "{claim}", "answers": "{gold}"}


@dataclass(frozen=True)
class Twins:
    """``yes`` asserts, ``no`` does not; of a claim (``ability`` E) or of a gold answer (C)."""

    ability: str
    yes: str
    no: str

    @property
    def is_held(self) -> bool:
        return not hashlib.sha256(self.yes.encode()).digest()[0] % HELD


def read(path: Path) -> list[Twins]:
    """Raises ValueError naming all lines that are of no use."""
    name = path.name.partition(".")[0]
    slot, ability = SLOTS[name], "E" if name == "claims" else "C"
    found: list[Twins] = []
    faults: list[str] = []
    yes = ""
    for number, line in enumerate(lzma.decompress(path.read_bytes()).decode().splitlines(), 1):
        mark, text = line[:2], line[2:].strip()
        if not line.strip():
            continue
        if slot not in text or mark != ("- " if yes else "+ "):
            faults.append(f"{path}:{number}: {line[:60]}")
        elif yes:
            found.append(Twins(ability, yes, text))
            yes = ""
        else:
            yes = text
    if faults or yes:
        raise ValueError(f"not + and - in turns, or without {slot}:\n" + "\n".join(faults or [yes]))
    return found


def frames(folder: Path, *, held: bool) -> list[Twins]:
    """Those that are held out, or all others."""
    return [
        one for path in sorted(folder.glob("*.txt.xz")) for one in read(path) if one.is_held is held
    ]


def framed(framer: Framer, twins: list[Twins], each: int) -> Iterator[Row]:
    """Both of every twins ``each`` times, around claims and (where there are some) answers that
    ``framer`` draws."""
    for one in twins:
        if one.ability == "E" or framer.answers:
            for _ in range(each):
                yield from around_claim(framer, one) if one.ability == "E" else around(framer, one)


def around_claim(framer: Framer, twins: Twins) -> Iterator[Row]:
    """A claim in both; now and then what supports or refutes it, or something else, is said."""
    chance, row = framer.chance, framer.claim()
    way, said, label = chance.random(), row.claim, 1.0
    if way < 0.2 and len(row.passage.split()) < 32 and len(sentences(row.passage)) == 1:
        said, label = row.passage, row.label
    elif way < 0.35:
        swapped = framer.maker.swapped(row.claim, row.passage)
        said, label = swapped or framer.claim().claim, 0.0
    for frame, stated in ((twins.yes, label), (twins.no, 0.0)):
        text = within(frame, said)
        text = framer.placed(text[:1].upper() + text[1:])
        yield Row("", "E", "written framed claim", "made", row.claim, text, stated)


def around(framer: Framer, twins: Twins) -> Iterator[Row]:
    """A gold answer in both, and now and then a wrong one in its place, which both make wrong but
    where ``no`` might give the gold one for it."""
    chance, row = framer.chance, framer.chance.choice(framer.answers)
    gold = chance.choice(row.gold[:2])
    (other, third), (fourth, _) = framer.others(row), framer.others(row)
    texts = {"gold": gold, "other": other, "other2": third, "other3": fourth}
    texts["question"] = row.question.strip()
    for frame, label in ((twins.yes, 1.0), (twins.no, 0.0)):
        made = replace(row, label=label, source="written framed answer")
        yield replace(made, claim=filled(frame, **texts))
    if chance.random() < 0.3:
        turned = filled(twins.yes, **{**texts, "gold": other, "other": gold})
        yield replace(made, claim=turned, label=0.0)
