"""How text becomes terms: tantivy's tokenisers and stemmers, the same for index and queries."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from assay.model.errors import PrerequisiteError, SettingsError

LANGUAGES = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "fi": "finnish", "fr": "french", "hu": "hungarian", "it": "italian",
    "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip
"""Languages with a stemmer, by ISO 639-1 code."""

UNSPACED = frozenset(("ja", "zh", "th", "lo", "km", "my"))
"""Languages written without spaces: every character is a term of its own there."""

_STOPWORDS = frozenset(
    ["da", "de", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ru", "sv"]
)
_LONGEST = 80  # characters of a term; longer ones are noise
_CHARACTERS = (
    r"[\x{0e00}-\x{0e7f}\x{0e80}-\x{0eff}\x{1000}-\x{109f}\x{1780}-\x{17ff}\x{3040}-\x{30ff}"
    r"\x{3400}-\x{4dbf}\x{4e00}-\x{9fff}\x{f900}-\x{faff}\x{20000}-\x{3134f}]|[\p{L}\p{N}]+"
)


@dataclass(frozen=True, slots=True)
class Analysis:
    """``language``: ISO 639-1 code, or ``none`` for no stemming whatever else is said.
    ``stopwords``: leave the language's stop words out."""

    language: str = "en"
    stemming: bool = True
    stopwords: bool = False

    def __post_init__(self) -> None:
        known = (*LANGUAGES, *sorted(UNSPACED), "none")
        if self.language not in known:
            raise SettingsError(f"--language {self.language!r}: use one of {', '.join(known)}.")
        if self.stopwords and self.language not in _STOPWORDS:
            raise SettingsError(f"There is no list of stop words for {self.language!r}.")

    def analyzer(self) -> Any:
        """The tantivy analyser. Raises PrerequisiteError where tantivy is missing."""
        tantivy = backend()
        kind = tantivy.Tokenizer
        tokenizer = kind.regex(_CHARACTERS) if self.language in UNSPACED else kind.simple()
        builder = tantivy.TextAnalyzerBuilder(tokenizer)
        builder = builder.filter(tantivy.Filter.remove_long(_LONGEST))
        builder = builder.filter(tantivy.Filter.lowercase())
        name = LANGUAGES.get(self.language)
        if self.stopwords:
            builder = builder.filter(tantivy.Filter.stopword(name))
        if self.stemming and name:
            builder = builder.filter(tantivy.Filter.stemmer(name))
        return builder.build()


def backend() -> Any:
    """The tantivy module, imported when first needed."""
    try:
        return importlib.import_module("tantivy")
    except ImportError as error:
        raise PrerequisiteError(
            "An index needs tantivy: pip install 'assay-rag[retrieval]'"
        ) from error
