"""Small changes of what a sentence says, of which people's pairs hold few: what follows from it
when a part of it is left out, an *and* becomes an *or*, or *all* becomes *some*; what does not.

A change is two sentences of which the stronger says what the weaker says. Beside the stronger one
the weaker is a claim that is supported; the other way round it is not, or in part. Everything is
made of training pairs: of sentences of their passages, and of claims that people called supported,
whose passages support what is weaker too.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from augment import sentences
from grammar import Framer
from rows import Row


@dataclass(frozen=True)
class Change:
    """Two sentences; ``back`` is the label of the stronger one beside the weaker: 1 where they say
    the same, .5 where the stronger has a fact more, 0 where it says another thing, None where that
    cannot be told."""

    stronger: str
    weaker: str
    back: float | None


_BLOCKED = re.compile(
    r"n['’]t\b|\b(?:not|no|never|none|nobody|nothing|neither|nor|without|unless|if|whether|or|few|"
    r"hardly|scarcely|rarely|den(?:y|ied|ies|ying)|doubt\w*|refus\w*|fail\w*|lack\w*|only|except|"
    r"every|each|between|both|either|total|altogether|respectively|than|same|both|similar)\b|[?\"“”]",
    re.IGNORECASE,
)
"""Where leaving out a part may say more, or something else."""
_VERB = (
    r"(?:is|was|are|were|has|have|had|became|began|won|took|made|wrote|led|held|left|gave|ran|went|"
    r"says|said|plays|grew|sold|lost|met|built|found|came|stood|sat|wears|\w{3,}ed)"
)
_BE = ("is", "was", "are", "were")
_FINITE = re.compile(rf"\b{_VERB}\b|\b\w{{3,}}ing\b")
_TAIL = re.compile(
    r"(?:,? and|,? but|, while|, whereas|, although|, though|, where|, which|, who) (?=\S)"
)
_OPENS = re.compile(
    rf"(?:a|an|the|his|her|their|its|he|she|it|they|in|at|on|to|by|for|with|from|later|then|also|"
    rf"was|were|is|are|has|had|{_VERB})\b"
)
_TWO_VERBS = re.compile(
    rf"(?P<subject>[^,]{{2,45}}?) (?P<one>{_VERB})\b (?P<first>.{{3,}}?),? and "
    rf"(?P<two>{_VERB})\b (?P<second>.{{3,}})"
)
_WORD = r"[A-Z][\w’-]+(?: (?:of |the |de |van )?[A-Z][\w’-]+)*"
_LISTS = tuple(
    re.compile(
        rf"(?P<before>[a-z]+ )(?P<one>{word}),? and (?P<two>{word})"
        r"(?![\w’'-]| [A-Z]| (?:de|la|van|von|del|of) )"
    )
    for word in (_WORD, r"[a-z]{4,}")
)
_ALIKE = re.compile(r".*?(s|al|ic|ive|ous|ed|ing|er|or|an|ist|ion|ty|ment)$")
_TIME = re.compile(r",? (?:in|since|during) (?:[A-Z][a-z]+ )?(?:1\d{3}|20\d\d)(?=[ .,;])")
_ASIDE = re.compile(r" \([^()]{3,60}\)|, which [^,]{5,60},(?= )")
_ADVERB = re.compile(r" (?P<word>[a-z]{3,}ly)(?= )")
_NO_ADVERB = re.compile(
    r"(?:only|early|family|(?:un)?likely|nearly|hardly|barely|allegedly|reportedly|possibly|probably|"
    r"partly|supposedly|apparently|rarely|scarcely|potentially|falsely|wrongly|mistakenly|daily|"
    r"reply|apply|supply|rely|ally|fully|assembly|monthly|yearly|weekly|friendly|lonely|formerly|"
    r"previously|originally|initially|virtually|practically|almost|newly|namely)"
)
_QUANTIFIERS = (
    (re.compile(r"\ball (?:of )?(the|its|his|her|their|these) (?=[a-z]+s\b)", re.I),
     (r"most of \1 ", r"many of \1 ", r"some of \1 ")),
    (re.compile(r"(?<!\bat )\ball (?=[a-z]+(?:s|ple|men)\b)", re.I),
     ("most ", "many ", "some ", "nearly all ")),
    (re.compile(r"\bmost (?=of the |[a-z]+(?:s|ple|men)\b)", re.I), ("some ", "many ")),
    (re.compile(r"\bmany (?=of the |[a-z]+(?:s|ple|men)\b)", re.I), ("some ", "several ")),
    (re.compile(r"\balways\b"), ("often", "sometimes", "usually")),
    (re.compile(r"\b(?:often|usually|frequently)\b"), ("sometimes", "at times")),
    (re.compile(r"\beveryone\b"), ("someone", "almost everyone")),
    (re.compile(r"\bmust\b"), ("may",)),
    (re.compile(r"\bcompletely|entirely\b"), ("partly", "at least partly")),
)  # fmt: skip
_COUNTED = re.compile(
    r"(?<![\d.,$€£–-])\b(?P<count>[2-9]|[1-9]\d{1,2}|two|three|four|five|six|seven|eight|nine|ten)"
    r" (?=[a-z]{3,}s\b|people|men|women|children)"
)
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ALL = ("{a}, and {b}", "{a} and {b}", "{a}, but {b}", "{a}; {b}", "{a}, while {b}",
        "while {a}, {b}", "{a}, whereas {b}", "{a}, yet {b}", "{a}; moreover, {b}",
        "{a}, even though {b}", "{a}, and also {b}", "although {a}, {b}", "{a}, though {b}",
        "not only is it so that {a}, but also that {b}", "{a}. At the same time, {b}")  # fmt: skip
_ONE = ("{a} or {b}", "either {a} or {b}", "{a}, or else {b}", "{a}, or {b}",
        "one of two things holds: {a}, or {b}", "{a} or {b}, or both")  # fmt: skip
_IF = ("if {a}, {b}", "{a} only if {b}", "{a}, unless {b}", "{b} if {a}", "{a}, or {b}",
       "either {a} or {b}", "{a}, provided that {b}",
       "neither is it so that {a} nor that {b}")  # fmt: skip


_LESS_BLOCKED = re.compile(
    r"n['’]t\b|\b(?:not|no|never|without|if|whether|than|least|most|fewer)\b|\?", re.I
)
_INNER = re.compile(
    r"(?:The|A|An|His|Her|Its|Their|He|She|It|They|There|In|At|On|By|For|From|After|Before|During|"
    r"This|That|These|Those|Some|Many|Most|All|Two|Three|Four|One|People|Several|Both|When|As|With)\b"
)
_LINKED = re.compile(
    r"(?:However|Moreover|Furthermore|In addition|But|And|So|Also|Thus|Then|Therefore|Or|Yet|Still|"
    r"Additionally|Nevertheless|Instead|Although|While|If|When)\b"
)


def inner(text: str) -> str:
    """A sentence as it stands within another; names keep their capital."""
    bare = text.strip().rstrip(".!")
    return bare[:1].lower() + bare[1:] if _INNER.match(bare) else bare


def ended(text: str) -> str:
    text = text.strip().rstrip(",;")
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!")) else ".")


def left_out(text: str, chance: random.Random) -> Iterator[Change]:
    """Changes that leave out a part of ``text``: an end, the first of two things done, a member of
    a list, a time, an aside, an adverb; and those that make of *and* an *or*."""
    if _BLOCKED.search(text):
        return
    bare = text.rstrip(" .")
    ends = []
    for spot in _TAIL.finditer(bare):
        head, joint, rest = bare[: spot.start()], spot.group().strip(" ,"), bare[spot.end() :]
        clausal = joint in ("who", "which", "where")
        if len(head) < 15 or len(rest) < 6 or not _FINITE.search(head) or (clausal and "," in rest):
            continue
        if spot.group().startswith(",") or _OPENS.match(rest):
            ends.append((head, joint, rest))
    if ends:
        head, joint, rest = chance.choice(ends)
        yield Change(text, ended(head), 0.5)
        if joint == "and" and "," not in rest:
            yield Change(text, ended(f"{head} or {rest}"), 0.0)
            yield Change(ended(head), ended(f"{head} or {rest}"), 0.0)
    two = _TWO_VERBS.match(bare)
    if two and "," not in two["first"] and " and " not in two["subject"]:
        verb = two["two"]
        if two["one"] in _BE and verb.endswith("ed"):
            verb = f"{two['one']} {verb}"
        weaker = f"{two['subject']} {verb} {two['second']}"
        yield Change(text, ended(weaker), 0.5)
        turned = f"{weaker} and {two['one']} {two['first']}"
        if verb == two["two"]:
            yield Change(text, ended(turned), 1.0)
    for kind in _LISTS:
        spot = kind.search(text)
        if spot is None or spot["one"] == spot["two"]:
            continue
        if kind is _LISTS[1]:
            ending = _ALIKE.match(spot["one"])
            if ending is None or not spot["two"].endswith(ending[1]) or _FINITE.match(spot["two"]):
                continue

        def put(said: str, spot: re.Match[str] = spot) -> str:
            return text[: spot.start("one")] + said + text[spot.end("two") :]

        one, other = chance.sample((spot["one"], spot["two"]), 2)
        yield Change(text, put(one), 0.5)
        yield Change(text, put(f"{one} or {other}"), 0.0)
        yield Change(put(one), put(f"{one} or {other}"), 0.0)
        yield Change(text, put(chance.choice((
            f"{spot['two']} and {spot['one']}", f"{one} as well as {other}",
        ))), 1.0)  # fmt: skip
        without = chance.choice(("but not", "and not", "rather than", "instead of"))
        yield Change(put(f"{one} {without} {other}"), put(one), 0.0)
        yield Change(put(f"{one} {without} {other}"), put(f"{one} or {other}"), 0.0)
    for kind, back in ((_TIME, 0.5), (_ASIDE, None), (_ADVERB, None)):
        spots = [
            one for one in kind.finditer(text) if not _NO_ADVERB.fullmatch(one.group().strip())
        ]
        if spots:
            spot = chance.choice(spots)
            yield Change(text, ended(text[: spot.start()] + text[spot.end() :]), back)


def less_said(text: str, chance: random.Random) -> Iterator[Change]:
    """Changes to a smaller number, a weaker quantifier or a longer way to say the same."""
    if _LESS_BLOCKED.search(text):
        return
    for kind, weaker in _QUANTIFIERS:
        spot = kind.search(text)
        if spot:
            said = spot.expand(chance.choice(weaker))
            yield Change(text, ended(text[: spot.start()] + said + text[spot.end() :]), 0.0)
    spot = _COUNTED.search(text)
    if spot and not re.search(
        r"\b(?:about|around|over|nearly|almost|only|first|last|next|other|past|every|each|of|the|all|"
        rf"these|those|his|her|its|their) (?:\w+ )?{spot['count']}\b", text,
    ):  # fmt: skip
        said = spot["count"]
        count = int(said) if said.isdigit() else _NUMBERS.index(said) + 2
        less = max(count - chance.choice((1, 1, 2)), 1)
        said = chance.choice((
            f"at least {spot['count']} ", f"more than {less} ", f"at least {less + 1} ",
            f"fewer than {count + 2} ", f"at most {spot['count']} ",
        ))  # fmt: skip
        yield Change(text, ended(text[: spot.start()] + said + text[spot.end() :]), 0.0)


class Connector:
    """Makes rows of the pairs that ``framer`` has, all of one split."""

    def __init__(self, rows: list[Row], framer: Framer) -> None:
        self.framer, self.chance = framer, framer.chance
        self.supported: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
        self.texts: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for row in rows:
            if row.ability == "C" or not 20 < len(row.passage) < 900:
                continue
            if row.ability == "E" and row.label == 1.0 and 5 <= len(row.claim.split()) <= 32:
                self.supported[row.source][row.passage].append(row)
            self.texts[row.source].append((row.passage, row.claim if row.ability == "E" else ""))

    def sentence(self) -> tuple[str, str]:
        """A sentence of a passage or a claim, of every source as often; the passage it is of, or
        nothing."""
        while True:
            source = self.chance.choice(sorted(self.texts))
            passage, claim = self.chance.choice(self.texts[source])
            if claim and self.chance.random() < 0.3:
                text, passage = claim, ""
            else:
                text = self.chance.choice(sentences(passage))
            if 6 <= len(text.split()) <= 34 and text[:1].isupper() and text[-1] in ".!":
                if _LINKED.match(text):
                    continue
                return text, passage

    def change(self, text: str) -> Change | None:
        """One of the changes of ``text``."""
        ways: list[Callable[[str, random.Random], Iterator[Change]]] = [left_out, less_said]
        found = [change for way in ways for change in way(text, self.chance)]
        found = [one for one in found if one.stronger != one.weaker]
        return self.chance.choice(found) if found else None

    def placed(self, text: str) -> str:
        """``text`` alone, more often than not, or in a passage about something else."""
        return text if self.chance.random() < 0.35 else self.framer.placed(text)

    def row(self, claim: str, passage: str, label: float) -> Row:
        return Row("", "E", "made_connected", "made", claim, passage, label)

    def changed(self) -> Row | None:
        """A sentence, in its passage or elsewhere, and one that says less or more."""
        text, passage = self.sentence()
        change = self.change(text)
        if change is None:
            return None
        forward = change.back is None or self.chance.random() < 0.6
        said, claim = change.stronger, change.weaker
        if not forward:
            said, claim = claim, said
        label = 1.0 if forward or change.back is None else change.back
        if label == 1.0 and self.chance.random() < 0.15:
            other = self.framer.maker.swapped(claim, said)
            claim, label = (other, 0.0) if other else (claim, label)
        # What is left out of its sentence may be said by another one of its passage.
        alone = not forward and label != 1.0
        if passage.count(text) == 1 and self.chance.random() < 0.4 and not alone:
            return self.row(claim, passage.replace(text, said), label)
        return self.row(claim, self.placed(said), label)

    def supported_claim(self) -> Row | None:
        """A claim that people called supported, put with less in it."""
        passages = self.supported[self.chance.choice(sorted(self.supported))]
        row = self.chance.choice(passages[self.chance.choice(sorted(passages))])
        change = self.change(ended(row.claim))
        if change is None or change.stronger != ended(row.claim):
            return None
        return replace(row, claim=change.weaker, source="made_connected")

    def two(self) -> Row | None:
        """Two sentences in one, in the passage or in the claim."""
        chance = self.chance
        one, _ = self.sentence()
        other, _ = self.sentence()
        if len(one.split()) + len(other.split()) > 44 or one == other:
            return None
        a, b = chance.sample((one, other), 2)

        def put(wordings: tuple[str, ...]) -> str:
            return ended(chance.choice(wordings).format(a=inner(a), b=inner(b)))

        way = chance.random()
        if way < 0.4:  # said together
            claim, label = chance.choice(((one, 1.0), (other, 1.0), (put(_ONE), 1.0)))
            if chance.random() < 0.25:
                swapped = self.framer.maker.swapped(one, one)
                claim, label = (swapped, 0.0) if swapped else (claim, label)
            return self.row(claim, self.placed(put(_ALL)), label)
        if way < 0.6:  # said as one of two, or on a condition
            wordings = chance.choice((_ONE, _IF))
            return self.row(chance.choice((one, other)), self.placed(put(wordings)), 0.0)
        if way < 0.75:
            return self.row(put(_ONE), self.placed(one), 1.0)
        if way < 0.88:
            return self.row(put(_ALL), self.placed(one), 0.5)
        return self.row(put(_ALL), self.placed(put(_ONE)), 0.0)

    def beside_supported(self) -> Row | None:
        """A claim of people's, right or not, and one of another pair, as one claim."""
        row = self.framer.claim()
        other, _ = self.sentence()
        if row.label == 0.5 or len(row.passage) > 900 or len(other.split()) > 24:
            return None
        a, b = self.chance.sample((inner(row.claim), inner(other)), 2)
        either = self.chance.random() < 0.5
        text = ended(self.chance.choice(_ONE if either else _ALL).format(a=a, b=b))
        label = row.label if either else row.label / 2
        return replace(row, claim=text, label=label, source="made_connected")

    def rows(self, count: int) -> Iterator[Row]:
        """``count`` rows."""
        made = 0
        while made < count:
            way = self.chance.random()
            if way < 0.5:
                row = self.changed()
            elif way < 0.7:
                row = self.supported_claim()
            elif way < 0.88:
                row = self.two()
            else:
                row = self.beside_supported()
            if row is not None:
                made += 1
                yield row
