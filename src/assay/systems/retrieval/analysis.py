"""Text analysis: turn text in any script into terms, the same way for index and queries.

A term is a run of letters, digits and their marks, lower-cased and in Unicode compatibility form
(NFKC, which unifies full-width and half-width forms). Digits of all scripts are unified; the points
of Arabic and Hebrew are removed. Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese, written
without spaces or with endings attached to words, become single characters (with their marks) and
pairs of neighbours; a query uses pairs, and a single character only if it stands alone. Traditional
and simplified characters remain distinct.

Why pairs, not a segmenter: they retrieve about as well (Kwok, *Comparing representations in Chinese
information retrieval*, SIGIR 1997), need no dictionary, and split query and text alike. Stemmers
and stop words are tantivy's.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from assay.model.errors import SettingsError
from assay.model.extras import import_extra
from assay.model.languages import NAMES

STEMMERS = {
    code: NAMES[code].lower()
    for code in (
        "ar", "da", "de", "el", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ro", "ru",
        "sv", "ta", "tr",
    )
}  # fmt: skip
"""Languages with a stemmer, under tantivy's names."""

FORM = 3
"""Version of the analysis, raised when terms change; an index of another version is rebuilt."""

_STOPWORDS = frozenset(
    ["da", "de", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ru", "sv"]
)
_LONGEST = 240  # most bytes of a term (80 Indic or Thai letters); longer ones are noise
_TERM = r"[\p{L}\p{N}\p{M}]+"
_PAIRED = (
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf"
    "\u1000-\u102a\u103f\u1050-\u1055\u1780-\u17b3\u3005-\u3007\u3041-\u3096\u309d-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7a3"
    "\U00020000-\U0003134f"
)
_MARKS = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u1059"
    "\u17b4-\u17d3\u3099\u309a"
)
_RUN = re.compile(f"(?:[{_PAIRED}][{_MARKS}]*)+")
_CHARACTER = re.compile(f"[{_PAIRED}][{_MARKS}]*")
_CAPITAL_I = str.maketrans({"I": "ı", "İ": "i"})


@dataclass(frozen=True, slots=True)
class Analysis:
    """Settings of the analysis. ``language``: ISO 639-1 code, or ``none`` for no stemming at all.
    ``stopwords``: drop the language's stop words. ``pairs``: split text written without spaces;
    otherwise a run of such characters is one term."""

    language: str = "en"
    stemming: bool = True
    stopwords: bool = False
    pairs: bool = True

    def __post_init__(self) -> None:
        if self.language not in (*NAMES, "none"):
            known = ", ".join((*NAMES, "none"))
            raise SettingsError(
                f"--language {self.language!r} is not supported: use one of {known}."
            )
        if self.stopwords and self.language not in _STOPWORDS:
            raise SettingsError(f"There is no list of stop words for {self.language!r}.")

    def __str__(self) -> str:
        stemmed = self.stemming and self.language in STEMMERS
        words = "stems" if stemmed else "whole words"
        name = NAMES.get(self.language, "any language")
        stopped = ", no stop words" if self.stopwords else ""
        return f"{name}, {words}{stopped}{'' if self.pairs else ', no pairs'}"

    def analyzer(self) -> Analyzer:
        """Create the analyser. Raises PrerequisiteError if tantivy is missing."""
        tantivy = backend()
        builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.regex(_TERM))
        builder = builder.filter(tantivy.Filter.remove_long(_LONGEST))
        builder = builder.filter(tantivy.Filter.lowercase())
        name = STEMMERS.get(self.language)
        if self.stopwords:
            builder = builder.filter(tantivy.Filter.stopword(name))
        if self.stemming and name:
            builder = builder.filter(tantivy.Filter.stemmer(name))
        return Analyzer(builder.build(), turkish=self.language == "tr", pairs=self.pairs)


class Analyzer:
    """Turns texts into terms. ``tokenizer`` is tantivy's, applied to the output of
    :meth:`prepared`."""

    def __init__(self, tokenizer: Any, *, turkish: bool, pairs: bool) -> None:
        self.tokenizer = tokenizer
        self._turkish = turkish
        self._pairs = pairs

    def analyze(self, text: str) -> list[str]:
        """The terms of a passage, in order."""
        return list(self.tokenizer.analyze(self.prepared(text)))

    def query(self, text: str) -> list[str]:
        """The terms of a query, in order."""
        return list(self.tokenizer.analyze(self.prepared(text, _of_query)))

    def prepared(self, text: str, of_run: Any = None) -> str:
        """``text`` normalised, with single characters and pairs separated by spaces."""
        if self._turkish:
            text = unicodedata.normalize("NFC", text).translate(_CAPITAL_I)
        if text.isascii():
            return text
        text = unicodedata.normalize("NFKC", text).translate(_folding())
        return _RUN.sub(of_run or _of_passage, text) if self._pairs else text


def _of_passage(run: re.Match[str]) -> str:
    characters = _CHARACTER.findall(run.group())
    pairs = zip(characters, [*characters[1:], ""], strict=True)
    return f" {' '.join(f'{one} {one}{two}' if two else one for one, two in pairs)} "


def _of_query(run: re.Match[str]) -> str:
    characters = _CHARACTER.findall(run.group())
    if len(characters) == 1:
        return f" {characters[0]} "
    return f" {' '.join(map(''.join, pairwise(characters)))} "


@cache
def _folding() -> dict[int, str | int | None]:
    """Character folding: digits of all scripts, the dotted capital I, Greek final sigma and accents
    are replaced; joiners, soft hyphens, the points of Arabic and Hebrew, Arabic elongation and the
    Hindi dot for loanwords are removed."""
    digits = {
        code: str(unicodedata.decimal(chr(code)))
        for code in range(128, 0x20000)  # there are no digits beyond
        if unicodedata.category(chr(code)) == "Nd"
    }
    gone = (0xAD, 0x640, 0x670, 0x93C, 0x200C, 0x200D, *range(0x591, 0x5BE), *range(0x64B, 0x653))
    letters = str.maketrans("İςёЁάέήίόύώϊϋΐΰΆΈΉΊΌΎΏ", "iσеЕαεηιουωιυιυΑΕΗΙΟΥΩ")
    return {**digits, **letters, **dict.fromkeys(gone), **dict.fromkeys((0x5BF, 0x5C1, 0x5C2))}


def backend() -> Any:
    """The tantivy module, imported when first needed."""
    return import_extra("tantivy", "An index needs tantivy", "retrieval")
