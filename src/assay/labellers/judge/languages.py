"""Which language a text is in where it is one that the judge cannot read."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

_READ = 200
"""Words that are looked at."""
_FEWEST = 4
"""Letters of another script, or words, below which a text is a name and in no language."""
_SHARE = 0.1
"""Share of words from which a language's own words say something."""

_SCRIPTS = (
    ("HIRAGANA", "Japanese"), ("KATAKANA", "Japanese"), ("HANGUL", "Korean"), ("CJK", "Chinese"),
    ("CYRILLIC", "a language in Cyrillic letters"), ("ARABIC", "a language in Arabic letters"),
    ("HEBREW", "Hebrew"), ("GREEK", "Greek"), ("DEVANAGARI", "a language in Devanagari"),
    ("BENGALI", "Bengali"), ("THAI", "Thai"), ("TAMIL", "Tamil"), ("TELUGU", "Telugu"),
    ("GEORGIAN", "Georgian"), ("ARMENIAN", "Armenian"),
)  # fmt: skip
_COMMON = {
    "English": "a in on no as the of and to is was that it for with as his he be by this are "
    "from at which have "
    "an or had not but they their were been has its who what when where did does how why can",
    "German": "der die das und ist nicht mit von den dem ein eine einer eines wird wurde werden "
    "für "
    "auf sich auch als aus bei nach wie sind zu im zum zur wer wann welche welcher hat haben",
    "French": "le la les des est et une dans du que qui pour pas sur au aux avec par ce cette "
    "son sa "
    "ses sont être été il elle nous ne où quand quel quelle ont",
    "Spanish": "el los las del que en una es por con para se su sus al lo como más fue ha este "
    "esta "
    "pero son qué quién cuándo dónde cuál un",
    "Italian": "il lo gli di che è e una per con del della dei delle non si nel nella sono da al "
    "alla "
    "come più anche ha chi quando dove quale un",
    "Portuguese": "os do da dos das que em uma um é para com não na por se foi ao mais "
    "são ele ela quem quando onde qual pelo pela",
    "Dutch": "de het een en van is dat niet met op voor zijn werd wordt aan ook bij naar uit "
    "door die "
    "wie wanneer waar welke hoe",
    "Swedish": "och att det som en ett är av för på med den till inte var har om vem när vad",
    "Polish": "na że się nie do jest to przez od po jak był była kto kiedy gdzie który",
    "Finnish": "ja on ei että se oli hän mutta kun tai joka kuka milloin missä mikä ovat",
}  # fmt: skip
_WORDS = {name: frozenset(text.split()) for name, text in _COMMON.items()}
_WORD = re.compile(r"[^\W\d_]+")


@lru_cache(maxsize=4096)
def other_language(text: str) -> str | None:
    """The language of ``text`` where it is not English; None where it is, or where the text is too
    short to tell, as names are."""
    found = _WORD.findall(text)[:_READ]
    letters = Counter(_script(char) for word in found for char in word)
    foreign = letters.total() - letters[""]
    if foreign > max(_FEWEST - 1, letters[""]):
        kana = letters["Japanese"]
        return "Japanese" if kana else max(letters, key=lambda one: (one != "", letters[one], one))
    if "¿" in text or "¡" in text:
        return "Spanish"
    said = [word.casefold() for word in found if len(word) > 1]
    hits = {name: sum(word in own for word in said) for name, own in _WORDS.items()}
    english = hits.pop("English")
    best = max(hits, key=hits.__getitem__)
    enough = hits[best] >= _SHARE * len(said) and len(_WORDS[best].intersection(said)) > 1
    return best if len(said) >= _FEWEST and enough and hits[best] > 2 * english else None


@lru_cache(maxsize=65536)
def _script(char: str) -> str:
    """The language, or languages, of a letter's script; empty for Latin letters."""
    if char.isascii():
        return ""
    name = unicodedata.name(char, "")
    return next((language for start, language in _SCRIPTS if name.startswith(start)), "")
