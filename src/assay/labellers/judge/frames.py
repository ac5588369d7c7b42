"""Decide whether the text around a claim that a sentence repeats word for word asserts it.

In eight of a thousand pairs labelled by people, a sentence has the claim's words in one piece with
other words around them; authors who want to simulate support write such sentences. So they are read
like others only if the surrounding text is known to assert the claim: nothing, a conjunction, an
adverbial of time or place, or somebody who says or finds that it is so. With any other surrounding
text, the claim is supported only if the network is certain (``model.CERTAIN``). English only.
"""

from __future__ import annotations

import re

from assay.model.phrases import Phrases

LONGEST_OPENING = 24
"""Most words of an adverbial before the claim."""
WHOLE_CLAUSE = 6
"""Least words before a comma that may be a clause of their own."""
LONGEST_PART = 3
"""Most words before a claim that are taken as part of its subject, or as a heading."""
LONGEST_ADDITION = 8
"""Most words after a colon, dash or bracket that may be about the claim."""

_RULES = Phrases.of("assay.labellers.judge", "frames.toml").rules
_ADDITION = re.compile(r"^[\"'”’)\s]*(?:[:–—(\[]|-\s|\.\.\.|…)")
_BULLET = re.compile(r"[\W\d_]*+(?:[a-z]\)[\W\d_]*+)?$")
_CLAUSE = re.compile(r"[.;!?]\s")
_SENTENCE_END = re.compile(r"[.!?]")
_QUOTES = " \t\"'“”‘’«»*_"


def asserts(before: str, after: str) -> bool:
    """Whether a sentence with ``before`` and ``after`` around a claim asserts it."""
    lead, tail = _lead_of(before), after.casefold()
    return not _set_right(lead, tail) and _leads(lead, tail) and _ends(tail)


def _lead_of(before: str) -> str:
    """The text before the claim in its clause."""
    return _CLAUSE.split(before.strip())[-1].strip(_QUOTES)


def _set_right(lead: str, tail: str) -> bool:
    """Whether the claim is attributed to somebody who is contradicted in the same sentence."""
    return reported(lead, tail) and _contrasts(tail)


def reported(before: str, after: str) -> bool:
    """Whether the claim between the texts is attributed to somebody."""
    first = re.split(r"[.!?;]", after.casefold(), maxsplit=1)[0]
    return (
        _RULES["reported"].search(before.casefold()) is not None
        or (len(first.split()) < LONGEST_ADDITION and _RULES["reported"].search(first) is not None)
        or bool(_RULES["said_after"].match(after.casefold()))
    )


def _contrasts(after: str) -> bool:
    """Whether the rest of the sentence corrects a claim that is attributed to somebody."""
    rest = _SENTENCE_END.split(after, maxsplit=1)[0]
    turn = _RULES["turns"].search(rest)
    return (
        turn is not None
        and ";" not in rest[: turn.start()]
        and _RULES["sets_right"].search(rest, turn.end()) is not None
    )


def _leads(written: str, tail: str) -> bool:
    """Whether the sentence up to the claim (``written``) leads to an assertion; ``tail`` is the
    lower-case text after it."""
    lead = _RULES["no_less"].sub("fact", written.casefold())
    if _BULLET.match(lead) or _RULES["affirms"].fullmatch(lead):
        return True
    if _RULES["speaks_of_itself"].search(lead):
        return False
    words = re.findall(r"[\w'’-]+", lead)
    says_so = _RULES["no_that"].search(lead.rstrip(" ,")) is not None
    colon = lead.endswith((":", "–", "—", " -"))
    unreal = _RULES["unreal"].search(lead) is not None
    if words[-1] == "that" or says_so or colon:
        spoken_to = _RULES["told_to_assessors"].search(lead) or _RULES["spoken_to"].search(lead)
        if unreal or spoken_to or _RULES["not_plainly"].search(lead):
            return False
        if colon:
            return len(words) <= LONGEST_PART or _RULES["attributes"].search(lead) is not None
        return says_so or _says_that(lead, tail)
    if _RULES["joined"].search(lead):
        return _RULES["unreal"].search(" ".join(words[-5:])) is None
    if unreal or words[-1] in ("which", "whom", "who", "whose"):
        return False
    if len(words) <= LONGEST_PART and not lead.endswith(","):
        return True  # part of the subject: "two", "a group of"
    if lead.endswith(","):
        return len(words) >= WHOLE_CLAUSE or _RULES["opens"].match(lead) is not None
    # A table entry before the claim, or a phrase with it as object, but no verb that governs it.
    last = re.findall(r"[\w'’-]+", written)[-2:]
    fields = last[-1][0].isupper() or any(map(str.isdigit, "".join(last)))
    opens = _RULES["opens"].match(lead) is not None and len(words) <= LONGEST_OPENING
    return fields or opens or _RULES["object"].search(lead) is not None


def _says_that(lead: str, tail: str) -> bool:
    """Whether somebody plainly says or finds that the claim is so."""
    if _RULES["predicate"].match(tail):
        return _RULES["so_predicate"].match(tail) is not None
    return _RULES["that"].search(lead) is not None and _RULES["goes_on"].match(tail) is not None


def _ends(tail: str) -> bool:
    """Whether an addition after a colon, dash or bracket is not about the claim."""
    if not _ADDITION.match(tail):
        return True
    words = re.findall(r"[\w'’-]+", re.split(r"[.;!?)\]]", tail.lstrip("([ "))[0])
    return len(words) > LONGEST_ADDITION or _RULES["after_all"].search(" ".join(words)) is None
