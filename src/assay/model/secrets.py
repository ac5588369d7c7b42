"""Secrets are known by their names and by their looks, and stand in nothing that is written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise

_SHORTEST_KEY = 8  # characters; a shorter one ("none") is a word, and is left in texts

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORDS = re.compile(
    r"pass(?:word|wd|phrase)s?|pwd|secrets?|credentials?|authorization|bearer|cookies?|jwt"
    r"|(?:api|auth|access|private|secret)(?:key|token)s?|sessionid"
)
_SECRET_ALONE = re.compile(r"keys?|token|auth|pass|pat|sas|signature|session")
# Before "token" and "key", what makes them no secret: parts of texts, names of caches.
_HARMLESS = re.compile(
    r"eos|bos|pad|unk|sep|cls|mask|stop|start|end|begin|image|audio|video|special|think|max|min|top"
    r"|cache|sort|first|last|next|new|bad|allowed|tool"
)
_LOOKS = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|nvapi|pplx|glpat|r8|ghp|gho|ghu|ghs|ghr|github_pat|hf|AKIA|ASIA|AIza"
    r"|xox[abeoprs]|ya29)[-_.]?(?=[\w.-]*[0-9A-Z])[A-Za-z0-9_.-]{16,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}"
    r"|(?i:\bbearer\s+[\w.~+/-]{8,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|://[^/\s:@]*:[^/\s@]+@"
)
_RUN = re.compile(r"[A-Za-z0-9]{24,}")
_HEXADECIMAL = re.compile(r"(?<![A-Za-z0-9])(?:[0-9a-f]{32,}|[0-9A-F]{32,})(?![A-Za-z0-9])")
_DIGEST = re.compile(r"sha|md5|digest|hash|version|revision|commit", re.I)
_CHANGES = (
    0.45  # of neighbouring characters that are of two kinds; .61 of random ones, few in words
)


def secret_in(value: object, name: str = "") -> str | None:
    """Where in ``value``, the entry called ``name``, a secret stands: the name of the entry, or
    ``""`` where it has none; None where there is none. A secret is known by its name, or by
    its looks (:func:`looks_secret`)."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            found = str(key) if _names_secret(str(key)) else secret_in(inner, str(key))
            if found is not None:
                return found
        return None
    if isinstance(value, list | tuple):
        return next((at for each in value if (at := secret_in(each, name)) is not None), None)
    if isinstance(value, str) and looks_secret(value, digest=bool(_DIGEST.search(name))):
        return name
    return None


def looks_secret(text: str, *, digest: bool = False) -> bool:
    """Whether ``text`` holds what looks like a key: the beginnings that providers give theirs, a
    JSON web token, a password in an address, or a long run of random characters. ``digest``: a
    hexadecimal one is what is expected here."""
    if _LOOKS.search(text) or (not digest and _HEXADECIMAL.search(text)):
        return True
    return any(_is_random(run) for run in _RUN.findall(text))


def _is_random(run: str) -> bool:
    kinds = ["d" if char.isdigit() else "u" if char.isupper() else "l" for char in run]
    changes = sum(a != b for a, b in pairwise(kinds))
    return len(set(kinds)) == 3 and changes >= _CHANGES * (len(run) - 1)


def _names_secret(name: str) -> bool:
    """Whether an entry of this name holds a secret; "max_tokens" and the like hold none."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return False
    together = (*words, *(a + b for a, b in pairwise(words)))
    if any(_SECRET_WORDS.fullmatch(each) for each in together):
        return True
    if "".join(words).endswith(("apikey", "password", "secret", "authtoken")):
        return True
    if len(words) == 1:
        return _SECRET_ALONE.fullmatch(words[0]) is not None
    return words[-1] in ("key", "token", "auth", "pat") and not _HARMLESS.fullmatch(words[-2])


def keys_of_environment() -> list[str]:
    """The keys that stand in variables that Assay reads keys from."""
    return [
        value.strip()
        for name, value in os.environ.items()
        if name == "OPENAI_API_KEY" or (name.startswith("ASSAY_") and name.endswith("_API_KEY"))
    ]


def without_keys(text: str, keys: Iterable[str] | None = None) -> str:
    """``text`` with ``[key]`` for each of ``keys`` (those of the environment where None) that has
    eight characters or more. For errors, logs and reports: what a model says is data, and stays."""
    for key in keys_of_environment() if keys is None else keys:
        if len(key) >= _SHORTEST_KEY:
            text = text.replace(key, "[key]")
    return text
