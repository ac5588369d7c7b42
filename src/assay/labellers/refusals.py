"""Recognise answers that decline to answer, in many languages (``refusals.toml``).

The whole answer decides. It declines if every clause declines or says nothing (an apology, a
counter-question, a reason). A refusal with anything else ("I'm not sure, but it could be Paris") is
an answer, as it can be checked; so is a title that contains a refusal ("I Don't Know How She Does
It"). A text without words ("-", "?") or with a word for nothing ("None", "pass") declines too,
although as a gold answer it is an answer.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from assay.model.phrases import VOWELS, Phrases, in_one_form, phrases_in
from assay.tasks.r2c2 import Act

LONGEST = 1500
"""Characters; a longer text is never a refusal."""

_APOSTROPHE = re.compile("[’‘ʼ`´]")
_STOP = re.compile(
    r"(?<!\b\w\.)(?<=[.!?])[\"')\]]*\s+|(?<=[!?])(?=[^\x00-\x7f])|[。؟।\n]+\s*|\s+[–—-]+\s+"
    r"|\s*;\s+|\s*[()]\s*|(?<=\w):\s+(?=\w)|\.\.\.\s*"
)
_MARKS = "\"'“”‘’«»「」『』*_#<>[]() \t,.!?:;،、"
_OBJECT = re.compile(
    r"(?:who|what|when|where|which|whether|why|how|if|or|nor|and|at|in|from|based|given|so far|"
    r"wer|was|wann|wo|ob|warum|wie|welche[rnms]?|qui|que|quand|où|quel\w*|si|quién|qué|cuándo|dónde|"
    r"cuál|cómo|chi|che|quando|dove|quale|come|quem|onde|qual|wat|wanneer|waar|welke?|of|кто|что|"
    r"когда|где|как\w*|kuka|mikä|milloin|missä|vem|vad|när|vilken|kto|co|kiedy|gdzie|który)\b"
)
_MARKUP = re.compile(
    r"</?(?:p|br|b|i|u|em|strong|span|div|ul|ol|li|h[1-6]|code|pre|blockquote|answer|response)"
    r"(?:\s[^<>]*)?/?>", re.IGNORECASE
)  # fmt: skip
_GAP = re.compile(r"\s{9,}")
_NO_WORD = re.compile(r"[\s.?!…_\"'–—−-]*")
UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Letters of scripts without spaces between words, for a character class of a pattern."""
_WORDS = re.compile(rf"(?:(?<![\w.,)%])[-−–]?\.?(?=\d))?[\w{VOWELS}]+(?:[+#]+(?!\w))?")
"""Words; the sign of a number belongs to it, and so do the marks that distinguish C++ from C."""
_SMALL = frozenset(("a", "an", "and", "at", "by", "for", "in", "of", "on", "or", "the", "to"))
_SHORT_TITLE = frozenset(("Nobody", "Everybody", "Who"))


class Refusal(NamedTuple):
    """How an answer declines, and the words that show it."""

    act: Act
    words: str


class _Phrases(NamedTuple):
    nothing: re.Pattern[str]
    none: re.Pattern[str]
    start: Mapping[Act, re.Pattern[str]]
    anywhere: Mapping[Act, re.Pattern[str]]
    lead: re.Pattern[str]
    contrast: re.Pattern[str]
    offer: re.Pattern[str]
    courtesy: re.Pattern[str]
    guess: re.Pattern[str]


def refusal_in(answer: str) -> Refusal | None:
    """How ``answer`` declines to answer, or None if it answers, however hesitantly."""
    answer = without_gaps(answer)
    if len(answer) > LONGEST:
        return None
    text = _MARKUP.sub("\n", html.unescape(answer)).strip()
    if _says_none(text):
        return Refusal(Act.DONT_KNOW, text or "(nothing)")
    title = is_title(text)
    if title and text.split()[0] in _SHORT_TITLE:
        return None
    phrases = _phrases()
    found: Refusal | None = None
    for taken_back, clause in _clauses(folded(text)):
        here = _declines(clause, whole=title)
        if here is not None:
            if found is None or here.act is Act.FALSE_PREMISE:
                found = here
            continue
        # Saying what is wrong with the question is not an answer, unless it is taken back.
        explains = found is not None and found.act is Act.FALSE_PREMISE and not taken_back
        courtesy = phrases.offer if taken_back else phrases.courtesy
        if not explains and not _says_nothing(clause, courtesy):
            return None
    return found


@lru_cache(maxsize=65536)
def _gold_declines(gold: str) -> bool:
    name = len(gold.split()) == 1 and gold[:1].isupper()
    return not name and not _says_none(gold) and refusal_in(gold) is not None


def gold_declines(gold: Iterable[str]) -> bool:
    """Whether declining is correct, as each gold answer declines itself. A single capitalised word
    is a name (a film may be called *Unknown*)."""
    answers = list(gold)
    return bool(answers) and all(map(_gold_declines, answers))


def same_words(one: str, other: str) -> bool:
    """Whether two texts are equal except for case, punctuation and a leading article; *none*, *0*
    and the like are equal."""
    one_words, other_words = _bare(one), _bare(other)
    if not one_words:
        return folded(one) == folded(other)
    return one_words == other_words or all(map(_means_none, (one, other)))


@lru_cache(maxsize=64)  # the same few texts of an answer are looked at again and again
def folded(text: str) -> str:
    """Normalise ``text`` for matching phrases: NFKC, lower case, straight apostrophes, œ and æ as
    two letters, no wide gaps."""
    plain = in_one_form(_APOSTROPHE.sub("'", text))
    return without_gaps(plain.replace("œ", "oe").replace("æ", "ae")).strip()


def without_gaps(text: str) -> str:
    """``text`` with wide gaps closed. They must not count as length, and patterns with several runs
    of spaces would take minutes for a thousand spaces."""
    return _GAP.sub(lambda gap: "\n" if "\n" in gap.group() else " ", text)


def _says_none(text: str) -> bool:
    """Whether ``text`` has no words, or only one that means that there is no answer."""
    plain = folded(text).strip(_MARKS)
    return _NO_WORD.fullmatch(text) is not None or _phrases().nothing.fullmatch(plain) is not None


def _means_none(text: str) -> bool:
    return _phrases().none.fullmatch(folded(text).strip(_MARKS)) is not None


def _bare(text: str) -> str:
    words = [re.sub("^[−–]", "-", word) for word in _WORDS.findall(folded(text).replace("'", ""))]
    plain = " ".join(words[1:] if words[:1] and words[0] in ("a", "an", "the") else words)
    return re.sub(rf"(?<=[{UNSPACED}]) (?=[{UNSPACED}])", "", plain)


@cache
def _phrases() -> _Phrases:
    # Normalised as texts are; apart from escapes, all of it is in lower case.
    text = unicodedata.normalize("NFKC", phrases_in("assay.labellers", "refusals.toml"))
    for one, other in (("ß", "ss"), ("ς", "σ"), ("œ", "oe"), ("æ", "ae")):
        text = text.replace(one, other)
    found = Phrases(text)
    parts = found.parts

    def acts(kind: str) -> dict[Act, re.Pattern[str]]:
        return {
            Act(act): found.pattern([one for own in by_language.values() for one in own])
            for act, by_language in found.tables[kind].items()
        }

    end = r"(?:\s*[,:.!、。–—]+\s*|\s+|$|(?<=[^\x00-\x7f])(?=[^\x00-\x7f]))"
    return _Phrases(
        nothing=re.compile(parts["NOTHING"]),
        none=re.compile(parts["NONE"]),
        start=acts("start"),
        anywhere=acts("anywhere"),
        lead=re.compile(parts["LEAD"] + end),
        contrast=re.compile(parts["CONTRAST"]),
        offer=re.compile(parts["OFFER"]),
        courtesy=re.compile(f"{parts['OFFER']}|{parts['REASON']}"),
        guess=re.compile(parts["GUESS"]),
    )


def is_title(text: str) -> bool:
    """Whether every word is capitalised, except for the small words of titles."""
    words = re.findall(r"[^\W\d_][\w']*", _APOSTROPHE.sub("'", text))
    if text.isupper() or len(words) < 2:
        return False
    return all(word[0].isupper() or word in _SMALL for word in words) and words[-1][0].isupper()


def _clauses(text: str) -> list[tuple[bool, str]]:
    """The clauses of a folded text, each with whether it contrasts with the one before it."""
    clauses: list[tuple[bool, str]] = []
    for sentence in _STOP.split(text):
        for place, part in enumerate(_phrases().contrast.split(sentence)):
            clause = part.strip(_MARKS)
            if clause:
                clauses.append((place > 0, clause))
    return clauses


def _declines(clause: str, *, whole: bool = False) -> Refusal | None:
    """How ``clause`` declines, or None; with ``whole``, the phrase must be the whole clause."""
    phrases = _phrases()
    rest = _without_lead(clause)
    for act, pattern in phrases.start.items():
        hit = pattern.match(rest)
        if hit is not None and _ends(rest[hit.end() :]) and not (whole and hit.end() < len(rest)):
            return Refusal(act, hit.group())
    for act, pattern in phrases.anywhere.items():
        hit = (pattern.fullmatch if whole else pattern.search)(rest)
        if hit is not None and _opens(rest[: hit.start()]) and _ends(rest[hit.end() :]):
            return Refusal(act, hit.group())
    return None


def _without_lead(clause: str) -> str:
    # An empty match would loop for ever.
    while (hit := _phrases().lead.match(clause)) and hit.end():
        clause = clause[hit.end() :]
    return clause


def _opens(before: str) -> bool:
    """Whether the text before a refusal in its clause says nothing itself."""
    part = before.rpartition(",")[0]
    return not part or _says_nothing(part, _phrases().courtesy) or _declines(part) is not None


def _ends(after: str) -> bool:
    """Whether the text after a refusal in its clause is its object, and not a guess after a
    comma."""
    _, comma, rest = after.partition(",")
    if comma and _phrases().guess.search(rest):
        return False
    if not comma or re.search(r"\w", after.partition(",")[0]):
        return True
    rest = rest.strip()
    if _OBJECT.match(rest) or _says_nothing(rest, _phrases().courtesy):
        return True
    return _declines(rest) is not None


def _says_nothing(clause: str, courtesy: re.Pattern[str]) -> bool:
    rest = _without_lead(clause)
    return not re.search(r"\w", rest) or courtesy.match(rest) is not None
