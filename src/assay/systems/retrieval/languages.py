"""Which language a text is likely in: by its script, and by little words where many share one.

It is good enough to tell a person that topics and index do not go together, and used for no more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

NAMES = {
    "af": "Afrikaans", "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan",
    "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish",
    "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French",
    "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian",
    "hy": "Armenian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ka": "Georgian",
    "km": "Khmer", "kn": "Kannada", "ko": "Korean", "lo": "Lao", "lt": "Lithuanian",
    "lv": "Latvian", "ml": "Malayalam", "mr": "Marathi", "my": "Burmese", "nl": "Dutch",
    "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian",
    "sk": "Slovak", "sl": "Slovenian", "sr": "Serbian", "sv": "Swedish", "ta": "Tamil",
    "te": "Telugu", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu",
    "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
"""Languages by ISO 639-1 code."""

_SCRIPTS = {
    "ja": "\u3041-\u30ff\u31f0-\u31ff", "ko": "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3",
    "zh": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f",
    "th": "\u0e01-\u0e4e", "lo": "\u0e81-\u0edf", "km": "\u1780-\u17d3", "my": "\u1000-\u104f",
    "ar": "\u0620-\u06d3\ufb50-\ufdff\ufe70-\ufeff", "he": "\u05d0-\u05f2", "hi": "\u0904-\u0939",
    "el": "\u0370-\u03ff\u1f00-\u1fff", "ta": "\u0b80-\u0bff", "bn": "\u0980-\u09ff",
    "gu": "\u0a80-\u0aff", "te": "\u0c00-\u0c7f", "kn": "\u0c80-\u0cff", "ml": "\u0d00-\u0d7f",
    "ka": "\u10a0-\u10ff", "hy": "\u0531-\u0587", "ru": "\u0400-\u04ff",
    "": "A-Za-z\u00c0-\u024f\u1ea0-\u1ef9",
}  # fmt: skip
_BY_SCRIPT = re.compile(
    "|".join(f"(?P<{code or 'latin'}>[{marks}])" for code, marks in _SCRIPTS.items())
)
_LETTERS = {"fa": "پچژگی", "ur": "ٹڈڑےں", "uk": "іїєґ", "sr": "ђјљњћџ"}
_WORDS = {
    "af": "die het nie van en was wat wie is 'n hy sy ons word",
    "ca": "el la els les de del que qui va és amb una per als dels quina quin",
    "cs": "kdo co který která je byl byla se na ve roce pro jak proč kde jaký",
    "da": "hvem hvad hvor og af det den er en et som til med blev hvilken ikke",
    "de": "der die das und wer was wie wo ist in den von zu mit hat wurde nicht ein eine welcher",
    "en": "the of and who what which where how is was in to did for by with that are does when",
    "es": "el la los las de del que quién qué cuál y en es fue por con una para cómo dónde",
    "fi": "kuka mikä missä ja on oli se joka ei mitä kun että milloin ovat",
    "fr": "le la les des du de qui que quel quelle et est dans un une par pour où sur a été",
    "hr": "tko što koji koja je u na se i od za gdje kako bio bila",
    "hu": "ki mi hol és az egy hogy melyik volt nem van mikor milyen",
    "id": "siapa apa yang dan di dari adalah ini itu untuk dengan pada bagaimana mana",
    "it": "il lo la gli le di che chi è e del della un una per con quale dove come nel",
    "nl": "de het een wie wat waar hoe en van in is was op te met dat welke voor niet",
    "no": "hvem hva hvor og av det den er en et som til med ble hvilken ikke når",
    "pl": "kto co jaki który która jest był była w na się z do nie gdzie jak kiedy",
    "pt": "o a os as de do da que quem qual e em é foi um uma por para com onde como",
    "ro": "cine ce care unde și în de la este un o pe cu din pentru a fost cum",
    "sv": "vem vad var och av det den är en ett som till med blev vilken inte när",
    "tr": "kim ne nerede ve bir bu hangi için ile nasıl kaç kimdir filmi olan da de mi",
    "vi": "ai là gì của và trong có những một được ở đâu nào người các",
    "bg": "кой коя какво къде е на и в за от се са през",
    "ru": "кто что где и в на с по не как какой когда был из это к для от",
    "sr": "ко шта који где је у на се и од за како био",
    "uk": "хто що де і в на з не як який коли був та для від це є",
}
_COMMON = {code: frozenset(words.split()) for code, words in _WORDS.items()}
_CYRILLIC = frozenset(("bg", "ru", "sr", "uk"))
_WORD = re.compile(r"[^\W\d_]+|'n")
_READ = 2000  # characters: enough to tell


def likely_language(text: str) -> str:
    """The ISO 639-1 code of the language that ``text`` is likely in; empty where that cannot be
    told, as of a name alone."""
    part = text[:_READ]
    scripts = Counter(found.lastgroup or "" for found in _BY_SCRIPT.finditer(part))
    if not scripts:
        return ""
    script = scripts.most_common(1)[0][0]
    if script in ("zh", "ja"):  # Japanese is written with both, Chinese without kana
        return "ja" if scripts["ja"] * 10 >= scripts["zh"] else "zh"
    if script not in ("latin", "ru"):
        return _by_letters(part, ("ur", "fa")) or "ar" if script == "ar" else script
    words = [word.casefold() for word in _WORD.findall(part)]
    codes = _CYRILLIC if script == "ru" else _COMMON.keys() - _CYRILLIC
    counts = {code: sum(word in _COMMON[code] for word in words) for code in sorted(codes)}
    if script == "ru" and (told := _by_letters(part, ("uk", "sr"))):
        return told
    first, second = sorted(counts, key=lambda code: -counts[code])[:2]
    if counts[first] < 2 or counts[first] == counts[second]:
        return ""
    return first


def languages(texts: Iterable[str]) -> dict[str, float]:
    """The share of each language among those ``texts`` of which it can be told."""
    found = Counter(filter(None, map(likely_language, texts)))
    return {code: count / found.total() for code, count in found.most_common()}


_EASILY_CONFUSED = (
    frozenset(("zh", "ja")),
    frozenset(("ar", "fa", "ur")),
    frozenset(("hi", "mr")),
    frozenset(("da", "no")),
)
"""Languages that short texts are easily taken for one another in."""


def told_apart(one: str, other: str) -> bool:
    """Whether two languages are two, and a short text can be told to be in the one."""
    return one != other and not any({one, other} <= group for group in _EASILY_CONFUSED)


def _by_letters(text: str, codes: Iterable[str]) -> str:
    """The language among ``codes`` that has letters of its own in ``text``."""
    counts = {code: sum(text.count(letter) for letter in _LETTERS[code]) for code in codes}
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] > 1 else ""
