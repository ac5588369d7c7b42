"""What stands around a claim that a sentence repeats word for word, and whether it asserts it.

Of pairs that people labelled, eight in a thousand have a sentence with the claim's words in one
piece and others around them; whoever writes a passage to be taken for support writes such ones. So
these sentences are read like others only where what stands before and after is known to assert:
nothing, a conjunction, a circumstance of time or place, somebody who says or finds that it is so.
What is not known to assert, in whatever words it denies, supposes or praises, makes the claim
supported only where the network is certain of it (``model.CERTAIN``). English only.
"""

from __future__ import annotations

import re

from assay.model.phrases import Phrases

LONGEST_OPENING = 24
"""Words of a circumstance before the claim."""
WHOLE_CLAUSE = 6
"""Words from which what ends with a comma may be a clause of its own, beside the claim."""
LONGEST_PART = 3
"""Words before a claim that are taken for a part of its subject, or for a heading."""
LONGEST_ADDITION = 8
"""Words after a colon, dash or bracket that may speak of the claim."""

_RULES = Phrases.of("assay.labellers.judge", "frames.toml").rules
_ADDITION = re.compile(r"^[\"'”’)\s]*(?:[:–—(\[]|-\s|\.\.\.|…)")
_BULLET = re.compile(r"[\W\d_]*+(?:[a-z]\)[\W\d_]*+)?$")
_CLAUSE = re.compile(r"[.;!?]\s")
_SENTENCE_END = re.compile(r"[.!?]")
_QUOTES = " \t\"'“”‘’«»*_"


def asserts(before: str, after: str) -> bool:
    """Whether a sentence that has ``before`` in front of a claim and ``after`` behind it says that
    the claim is so."""
    lead, tail = _lead_of(before), after.casefold()
    return not _set_right(lead, tail) and _leads(lead, tail) and _ends(tail)


def _lead_of(before: str) -> str:
    """What leads up to the claim in its clause."""
    return _CLAUSE.split(before.strip())[-1].strip(_QUOTES)


def _set_right(lead: str, tail: str) -> bool:
    """Whether somebody is said to have made the claim, and is contradicted in its sentence."""
    return reported(lead, tail) and _contrasts(tail)


def reported(before: str, after: str) -> bool:
    """Whether somebody is said to have said the claim that stands between them."""
    first = re.split(r"[.!?;]", after.casefold(), maxsplit=1)[0]
    return (
        _RULES["reported"].search(before.casefold()) is not None
        or (len(first.split()) < LONGEST_ADDITION and _RULES["reported"].search(first) is not None)
        or bool(_RULES["said_after"].match(after.casefold()))
    )


def _contrasts(after: str) -> bool:
    """Whether what goes on from a claim that somebody is said to have made sets it right, within
    its sentence."""
    rest = _SENTENCE_END.split(after, maxsplit=1)[0]
    turn = _RULES["turns"].search(rest)
    return (
        turn is not None
        and ";" not in rest[: turn.start()]
        and _RULES["sets_right"].search(rest, turn.end()) is not None
    )


def _leads(written: str, tail: str) -> bool:
    """``written``: the sentence up to the claim, ``tail``: what is behind it, in lower case."""
    lead = _RULES["no_less"].sub("fact", written.casefold())
    if _BULLET.match(lead) or _RULES["affirms"].fullmatch(lead):
        return True
    if _RULES["speaks_of_itself"].search(lead):
        return False
    words = re.findall(r"[\w'’-]+", lead)
    said = _RULES["no_that"].search(lead.rstrip(" ,")) is not None
    colon = lead.endswith((":", "–", "—", " -"))
    unreal = _RULES["unreal"].search(lead) is not None
    if words[-1] == "that" or said or colon:
        spoken_to = _RULES["told_to_assessors"].search(lead) or _RULES["spoken_to"].search(lead)
        if unreal or spoken_to or _RULES["not_plainly"].search(lead):
            return False
        if colon:
            return len(words) <= LONGEST_PART or _RULES["attributes"].search(lead) is not None
        return said or _says_that(lead, tail)
    if _RULES["joined"].search(lead):
        return _RULES["unreal"].search(" ".join(words[-5:])) is None
    if unreal or words[-1] in ("which", "whom", "who", "whose"):
        return False
    if len(words) <= LONGEST_PART and not lead.endswith(","):
        return True  # of its subject: "two", "a group of"
    if lead.endswith(","):
        return len(words) >= WHOLE_CLAUSE or _RULES["opens"].match(lead) is not None
    # An entry of a table before it, or what it is an object of, but no verb that it hangs on.
    last = re.findall(r"[\w'’-]+", written)[-2:]
    fields = last[-1][0].isupper() or any(map(str.isdigit, "".join(last)))
    opens = _RULES["opens"].match(lead) is not None and len(words) <= LONGEST_OPENING
    return fields or opens or _RULES["object"].search(lead) is not None


def _says_that(lead: str, tail: str) -> bool:
    """Whether who says or finds that it is so does so plainly."""
    if _RULES["predicate"].match(tail):
        return _RULES["so_predicate"].match(tail) is not None
    return _RULES["that"].search(lead) is not None and _RULES["goes_on"].match(tail) is not None


def _ends(tail: str) -> bool:
    """Whether what a colon, dash or bracket adds does not speak of the claim."""
    if not _ADDITION.match(tail):
        return True
    words = re.findall(r"[\w'’-]+", re.split(r"[.;!?)\]]", tail.lstrip("([ "))[0])
    return len(words) > LONGEST_ADDITION or _RULES["after_all"].search(" ".join(words)) is None
