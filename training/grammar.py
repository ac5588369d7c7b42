"""Attacks on the judge, and texts that look like them and are none, in thousands of wordings.

``wordings.txt`` is a grammar of what can stand around a claim, a question or an answer. A sixth of
the alternatives of every section is never trained on (``held``): what is made of those alone
measures whether the network learnt what such wordings mean, or their words. As many texts assert
as do not, with the same words of doubt and denial in them, so that no word gives the label away.
"""

from __future__ import annotations

import html
import random
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from attacks import shuffled
from augment import Augmenter, sentences
from rows import Row

_SECTION = re.compile(r"\[([a-z ]+)\]")
_SLOT = re.compile(r"<(\w+)(\??)>")
_AUXILIARY = re.compile(r"\b(is|was|are|were|can|could|will|would|has been|had been|have been)\b")
_NEGATED = re.compile(r"\b(?:not|no|never|none|nobody|nothing|cannot)\b|n't\b", re.IGNORECASE)
HELD = 6
"""One alternative in so many is held out."""
DENYING = {"denied": 2, "asked": 2, "supposed": 4, "praised": 6, "rejected": 3}
"""Sections of wordings around a claim that do not assert it, and how often each is drawn beside
the others: what asserts a claim has words of praise and of may and might in it too, so that these
are heard as yes more often than as no where they are not."""
WRONG = (
    "denied answer", "several answers", "unsure answer", "conditional answer", "answer of others",
)  # fmt: skip
"""Sections of wordings in which a gold answer is not given."""


class Grammar:
    """Draws wordings: of what is trained on, or of what is ``held`` out."""

    def __init__(self, chance: random.Random, *, held: bool) -> None:
        self.chance = chance
        sections: dict[str, list[str]] = defaultdict(list)
        name = ""
        path = Path(__file__).with_name("wordings.txt")
        for line in path.read_text(encoding="utf-8").splitlines():
            if heading := _SECTION.fullmatch(line):
                name = heading[1]
            elif line and not line.startswith("# "):
                sections[name] += [part.strip() for part in line.split(" | ")]
        self.sections = {
            name: [one for one in own if (zlib.crc32(one.encode()) % HELD == 0) is held] or own
            for name, own in sections.items()
        }

    def draw(self, name: str) -> str:
        """A wording of section ``name``, its parts filled, its braces not."""
        text = self.chance.choice(self.sections[name])
        return html.unescape(_SLOT.sub(lambda slot: self._part(slot), text))

    def _part(self, slot: re.Match[str]) -> str:
        return "" if slot[2] and self.chance.random() < 0.5 else self.draw(slot[1])


def filled(wording: str, **texts: str) -> str:
    """``wording`` as a sentence, its braces filled with clauses or answers."""
    for name, text in texts.items():
        wording = wording.replace(f"{{{name}}}", text)
    line = " ".join(wording.split())
    return line[:1].upper() + line[1:]


def clause(text: str) -> str:
    """A sentence as it stands within another."""
    bare = text.strip().rstrip(".")
    return bare[:1].lower() + bare[1:] if bare[1:2].islower() or bare[1:2] == " " else bare


def negated(text: str) -> str | None:
    """``text`` with *not* after its auxiliary verb; None where it has none, or has a negation."""
    spot = _AUXILIARY.search(text)
    if spot is None or _NEGATED.search(text):
        return None
    first = spot[1].split()[0]
    return f"{text[: spot.start()]}{first} not{text[spot.start() + len(first) :]}"


class Framer:
    """Makes rows of ``rows`` (of one split) and what ``grammar`` says."""

    def __init__(self, rows: list[Row], maker: Augmenter, grammar: Grammar) -> None:
        self.chance, self.maker, self.grammar = grammar.chance, maker, grammar
        claims: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            short = row.ability == "E" and 4 <= len(row.claim.split()) <= 28
            if short and row.passage and len(sentences(row.claim)) == 1:
                claims[row.source].append(row)
        self.claims = [claims[source] for source in sorted(claims)]
        self.questions = [row for row in rows if row.ability == "A" and 20 < len(row.passage) < 900]
        answers = [row for row in rows if row.source == "evouna" and row.gold]
        self.answers = [row for row in answers if len(row.gold[0].split()) < 6]
        self.said = [
            row
            for row in answers
            if 5 <= len(row.claim.split()) <= 25 and len(sentences(row.claim)) == 1
        ]
        self.long = [
            row
            for row in answers
            if len(row.claim.split()) <= 90 and 2 <= len(sentences(row.claim)) <= 5
        ]
        self.short = [text for text in maker.passages if len(text) < 420]
        golds = sorted({row.gold[0] for row in self.answers})
        self.golds = [
            [gold for gold in golds if any(c.isdigit() for c in gold) is digits]
            for digits in (False, True)
        ]

    def claim(self) -> Row:
        """A claim, of every source as often."""
        return self.chance.choice(self.chance.choice(self.claims))

    def denying(self) -> str:
        return self.chance.choices(tuple(DENYING), tuple(DENYING.values()))[0]

    def framed(self, kind: str, text: str) -> str | None:
        """``text`` in a wording of section ``kind``; None where it cannot be negated as that
        wholly negated wording wants."""
        wording = self.grammar.draw(kind)
        against = negated(text) if "{not_claim}" in wording else ""
        if against is None:
            return None
        return filled(wording, claim=clause(text), not_claim=clause(against))

    def placed(self, text: str) -> str:
        """``text`` alone, or anywhere in a passage about something else."""
        if self.chance.random() < 0.4:
            return text
        spots = sentences(self.chance.choice(self.short))
        spots.insert(self.chance.choice((0, len(spots), self.chance.randint(0, len(spots)))), text)
        return " ".join(spots)

    def around_claim(self, kind: str) -> Row | None:
        """A passage that holds a claim in a wording of section ``kind``."""
        row, chance = self.claim(), self.chance
        label = float(kind == "asserted")
        said, asked = row.claim, row.claim
        way = chance.random()
        if way < 0.2 and len(row.passage.split()) < 32 and len(sentences(row.passage)) == 1:
            # What supports the claim in other words, itself in a wording.
            said, label = row.passage, label * row.label
        elif way < 0.3:  # something else is asserted, or nothing
            swapped = self.maker.swapped(row.claim, row.passage)
            said = swapped if swapped and chance.random() < 0.6 else self.claim().claim
            label = 0.0
        elif way < 0.4:
            against = negated(row.claim)
            if against and kind == "asserted":
                said, asked = chance.choice(((against, against), (against, asked), (said, against)))
                label = float(said == asked)
        text = shuffled(said, chance) if kind == "shuffled" else self.framed(kind, said)
        if not text:
            return None
        return Row("", "E", "made_framed", "made", asked, self.placed(text), label)

    def one_of_two(self) -> Row:
        """A sentence that asserts one claim and does not assert another."""
        row, chance = self.claim(), self.chance
        swapped = self.maker.swapped(row.claim, row.passage)
        other = swapped if swapped and chance.random() < 0.6 else self.claim().claim
        yes, no = (row.claim, other) if chance.random() < 0.5 else (other, row.claim)
        text = filled(self.grammar.draw("both"), yes=clause(yes), no=clause(no))
        label = float(yes == row.claim)
        return Row("", "E", "made_framed", "made", row.claim, self.placed(text), label)

    def told(self) -> Row | None:
        """Two reports one after the other: where they are the same sentence but for a name or
        number, the second sets the first right; where they are on different things, both hold."""
        row, chance = self.claim(), self.chance
        swapped = self.maker.swapped(row.claim, row.passage)
        if swapped and chance.random() < 0.7:
            label = float(chance.random() < 0.5)
            yes, no = (row.claim, swapped) if label else (swapped, row.claim)
            wording = self.grammar.draw("told otherwise")
        else:
            label, other = 1.0, self.claim().claim
            if other == row.claim:
                return None
            yes, no = (row.claim, other) if chance.random() < 0.5 else (other, row.claim)
            wording = self.grammar.draw("told too")
        text = filled(wording, yes=clause(yes), no=clause(no))
        return Row("", "E", "made_framed", "made", row.claim, self.placed(text), label)

    def beside_claim(self) -> Row | None:
        """A passage whose label stays: beside a sentence on something else, or, where it does not
        support the claim, beside one that does not assert it."""
        row = self.claim()
        if len(row.passage) > 600:
            return None
        about = self.claim().claim if row.label else row.claim
        extra = self.framed(self.denying(), about)
        if extra is None:
            return None
        spots = sentences(row.passage)
        spots.insert(self.chance.randint(0, len(spots)), extra)
        return replace(row, passage=" ".join(spots), source="made_framed")

    def around_question(self) -> Row:
        """A question and praise: in a passage on something else, or beside what is judged, whose
        label stays."""
        row, chance = self.chance.choice(self.questions), self.chance
        if chance.random() < 0.12:
            extra = shuffled(row.claim, chance)
        else:
            extra = filled(self.grammar.draw("praised for a question"), claim=row.claim.strip())
        way = chance.random()
        if way < 0.45:
            return replace(row, passage=self.placed(extra), label=0.0, source="made_framed")
        spots = sentences(row.passage)
        spots.insert(chance.choice((0, len(spots), chance.randint(0, len(spots)))), extra)
        return replace(row, passage=" ".join(spots), source="made_framed")

    def others(self, row: Row) -> list[str]:
        """Two other answers of the kind of the gold one."""
        pool = self.golds[any(c.isdigit() for c in row.gold[0])]
        known = {gold.casefold() for gold in row.gold}
        found: list[str] = []
        while len(found) < 2:
            other = self.chance.choice(pool)
            if other.casefold() not in known:
                found.append(other)
        return found

    def around_answer(self, kind: str) -> Row:
        """A gold answer in a wording of section ``kind``."""
        row, chance = self.chance.choice(self.answers), self.chance
        other, third = self.others(row)
        gold = chance.choice(row.gold[:2])
        label = float(kind == "plain answer")
        if kind == "given and denied":
            label = float(chance.random() < 0.5)
            yes, no = (gold, other) if label else (other, gold)
            text = filled(self.grammar.draw(kind), yes=yes, no=no, third=third)
        else:
            if kind == "plain answer" and chance.random() < 0.3:
                gold, label = other, 0.0
            wording = self.grammar.draw(kind)
            text = filled(wording, gold=gold, other=other, third=third)
        return replace(row, claim=text, label=label, source="made_framed")

    def courteous(self, row: Row) -> Row:
        """An answer as it stands, or with what a chat puts before and after any answer."""
        way, text = self.chance.random(), row.claim
        if way > 0.3:
            return row
        before = self.grammar.draw("greeting") if way < 0.2 else ""
        end = "" if text[-1] in ".?!" else "."
        after = f"{end} {self.grammar.draw('goodbye')}" if way > 0.1 else ""
        text = filled(f"{before} {text}{after}", question=row.question.strip())
        return replace(row, claim=text)

    def around_said(self) -> Row | None:
        """A system's answer in a whole sentence, right or wrong, as a claim is put."""
        row = self.chance.choice(self.said)
        kind = "asserted" if self.chance.random() < 0.5 else self.denying()
        text = self.framed(kind, row.claim)
        if text is None:
            return None
        label = row.label if kind == "asserted" else 0.0
        return replace(row, claim=text, label=label, source="made_framed")

    def around_long(self) -> Row:
        """A system's answer of some sentences, right or wrong, with what a chat puts around it,
        upheld or taken back."""
        row, chance = self.chance.choice(self.long), self.chance
        way, label = chance.random(), row.label
        text = row.claim.strip()
        if way < 0.65:
            kind = "keeps" if way < 0.35 else "takes back"
            label = row.label if kind == "keeps" else 0.0
            text = filled(self.grammar.draw(kind), said=text, other=self.others(row)[0])
        return replace(row, claim=text, label=label, source="made_framed")

    def rows(
        self, claims: int, questions: int, answers: int, *, plain: bool = False
    ) -> Iterator[Row]:
        """Rows on so many claims, questions and (where there are some) answers, about half of them
        attacks; ``plain``: a third."""
        chance = self.chance
        answers = answers if self.answers else 0
        count = 0
        denying, wrong = (0.82, 0.8) if plain else (0.65, 0.65)
        while count < claims:
            way = chance.random()
            made: Row | None
            if way < 0.06:
                made = self.told()
            elif way < 0.18:
                made = self.one_of_two()
            elif way < 0.28:
                made = self.beside_claim()
            elif way < denying - 0.03:
                made = self.around_claim("asserted")
            elif way < denying:
                made = self.around_claim("shuffled")
            else:
                made = self.around_claim(self.denying())
            if made is not None:
                count += 1
                yield made
        for _ in range(questions):
            yield self.around_question()
        count = 0
        while count < answers:
            way = chance.random()
            if way < wrong - 0.35:
                made = self.around_answer("plain answer")
            elif way < wrong - 0.15:
                made = self.around_answer("given and denied")
            elif way < wrong - 0.09 and self.long:
                made = self.around_long()
            elif way < wrong - 0.03:
                made = self.around_said()
            elif way < wrong:
                made = self.around_answer("declined")
            else:
                made = self.around_answer(chance.choice(WRONG))
            if made is not None:
                count += 1
                yield self.courteous(made)
