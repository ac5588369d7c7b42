"""Sentences taken over word for word, names and numbers swapped, and passages cut to a window."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from dataclasses import replace

from augment import Augmenter
from connectives import Connector
from grammar import Framer, Grammar
from rows import Row
from tokenizers import Tokenizer

from assay.labellers.judge.evidence import FIRST_TOKENS, WINDOW, nearest
from assay.labellers.judge.texts import sentences


class Broadener:
    """Draws from ``rows`` (training rows only)."""

    def __init__(
        self,
        rows: list[Row],
        tokenizer: Tokenizer,
        chance: random.Random,
    ) -> None:
        self.chance, self.tokenizer = chance, tokenizer
        self.maker = Augmenter(rows, chance)
        self.framer = Framer(rows, self.maker, Grammar(chance, held=False))
        self.connector = Connector(rows, self.framer)
        self.supported: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            if row.ability == "E" and row.label == 1.0 and len(row.passage) < 900:
                self.supported[row.source].append(row)
        self.long = sorted({r.passage for r in rows if 500 < len(r.passage) < 6000})

    def taken_over(self, _row: Row, count: int, *, spoil: bool) -> Row | None:
        """``count`` sentences of a long passage as a claim on it; ``spoil``: a name or number of
        one of them is another one of the passage's."""
        passage = self.chance.choice(self.long)
        parts = [one for one in sentences(passage) if 6 <= len(one.split()) <= 32]
        if len(parts) < count + 2:
            return None
        at = self.chance.randrange(len(parts) - count + 1)
        taken = parts[at : at + count]
        if spoil:
            place = self.chance.randrange(count)
            other = self.maker.swapped(taken[place], passage)
            if other is None:
                return None
            taken[place] = other
        # Of two sentences one still stands in the passage.
        label = (0.5 if count > 1 else 0.0) if spoil else 1.0
        claim = " ".join(taken)
        return Row("", "E", "made_verbatim", "made", claim, passage, label)

    def swapped(self, count: int) -> list[Row]:
        """``count`` supported claims with a name or number swapped, or two names with each other,
        of all sources; and up to a third of ``count`` as they are, so that names are not what
        tells."""

        def make(row: Row) -> Row | None:
            turned = roles(row.claim) if self.chance.random() < 0.3 else None
            claim = turned or self.maker.swapped(row.claim, row.passage)
            return replace(row, claim=claim, label=0.0) if claim else None

        each = -(-count // len(self.supported)) * 2
        fakes = [
            row
            for source in sorted(self.supported)
            for row in self.maker.some(self.supported[source], each, make)
        ]
        fakes = self.chance.sample(fakes, min(count, len(fakes)))
        known = {row.id for row in fakes}
        whole = [row for own in self.supported.values() for row in own if row.id in known]
        whole = self.chance.sample(whole, min(len(whole), count // 3))
        return [replace(row, source="made_swapped") for row in (*fakes, *whole)]

    def cut(self, row: Row) -> Row:
        """A passage that is too long for a window is cut to the sentences nearest to the claim, as
        many as there is room for, in their order."""
        if row.ability == "C":
            return row
        first, second = row.texts()
        counted = self.tokenizer.encode_batch([first, second], add_special_tokens=False)
        own, whole = (len(one.ids) for one in counted)
        room = WINDOW - 3 - min(own, FIRST_TOKENS)
        if whole <= room:
            return row
        parts = sentences(row.passage)
        sizes = [
            len(one.ids) for one in self.tokenizer.encode_batch(parts, add_special_tokens=False)
        ]
        kept: list[int] = []
        for place in nearest(parts, first, len(parts)):
            if sizes[place] <= room:
                kept.append(place)
                room -= sizes[place]
        return replace(row, passage=" ".join(parts[place] for place in sorted(kept)))


_NAME = re.compile(r"(?:^|(?<= ))[A-Z][\w’-]+(?: (?:of |the |de |van )?[A-Z][\w’-]+)*")
_ALIKE = re.compile(
    r"\b(?:and|or|with|both|between|versus|met|married|wife|husband|brothers?|sisters?|friends?|"
    r"co-\w+|same|equal|like|near)\b"
)


def roles(claim: str) -> str | None:
    """``claim`` with two of its names in each other's place; None where it has not two, or says
    what may hold both ways."""
    names = [spot for spot in _NAME.finditer(claim) if spot.start() or " " in spot.group()]
    if len(names) < 2 or _ALIKE.search(claim) or names[0].group() == names[1].group():
        return None
    one, two = names[:2]
    return "".join(
        (claim[: one.start()], two.group(), claim[one.end() : two.start()], one.group(),
         claim[two.end() :])
    )  # fmt: skip
