"""Secrets are known by their names and by their looks, and stand in nothing that is written."""

from __future__ import annotations

import os
import re
import unicodedata
from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from urllib.parse import unquote

from assay.model.wording import printable

_SHORTEST_KEY = 8  # characters; a shorter one ("none") is a word, and is left in texts
_EXCERPT = 300  # characters
_READ = 100_000  # characters of an error that keys are looked for in

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_WHOSE = (
    "api|auth|oauth|access|private|secret|client|session|bearer|refresh|bot|user|login|admin|root"
    "|hf|openai|azure|github|gitlab|google|anthropic|aws|db|master|service|signing|encryption|ssh"
)
_SECRET_WORDS = re.compile(
    r"(?:\w*pass(?:word|wd|phrase|code)s?|passwort|kennwort|p[as]?wd|pw|\w*secrets?|creds?"
    r"|\w*credentials?|authorization|bearer|cookies?|jwt|oauth|connectionstring|connstr|dsn"
    rf"|(?:{_WHOSE})(?:keys?|tokens?|pass|auth)|sessionid)"
)
_SECRET_ALONE = re.compile(r"keys?|token|auth|pass|pat|sas|signature|session")
# Before "token" and "key", what makes them no secret: parts of texts, names of caches and columns.
_HARMLESS = re.compile(
    r"eos|bos|pad|unk|sep|cls|mask|stop|start|end|begin|image|audio|video|special|think|max|min|top"
    r"|cache|sort|first|last|next|new|bad|allowed|tool|primary|foreign|public|partition|group|join"
    r"|dedup|index|lookup|order|prompt|completion|input|output|answer|name"
)
_LOOKS = re.compile(
    # A look ahead without a limit takes time that grows with the square of a hostile text.
    r"(?<![A-Za-z0-9])(?:(?:sk|pk|rk|gsk|xai|nvapi|pplx|glpat|gldt|glrt|r8|gh[oprsu]|github_pat|hf"
    r"|xox[abeoprs]|xapp|ya29|tvly)[-_.]|(?:npm|jina|shpat|dckr_pat|dop_v1|lsv2_pt)_|pypi-AgE"
    r"|AKIA|ASIA|AIza)(?=[\w.-]{0,64}[0-9A-Z])[\w.-]{12,}"
    r"|(?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8}"
    r"|(?i:\b(?:bearer|basic)\s{1,9}[\w.~+/-]{8})"
    r"|-----BEGIN [A-Z ]{0,40}(?:PRIVATE KEY|PGP)"
    r"|(?i:\b(?:authorization|x?[-_ ]?api[-_ ]?key|passw(?:or)?d|pwd|passphrase|client[-_ ]?secret"
    r"|access[-_ ]?token|auth[-_ ]?token|accountkey|sharedaccesskey)"
    r"[\"']?\s{0,9}[:=]\s{0,9}[\"']?[^\s\"']{6})"
    # In an address: a user alone, or a password, which may hold anything. A port is none.
    r"|://[^/\s@?#]{1,200}@"
    r"|://[^/\s:@]{0,200}:(?!\d{1,5}(?:[/?#\s]|$))[^\n@]{1,200}@"
    r"|(?<![\w.+:/-])(?!mailto:)[\w.+-]{1,64}:(?!//)[^\s@/]{1,100}@(?!sha\d|md5)[\w\[]"
)
_RUN = re.compile(r"[A-Za-z0-9]{24,}")
_MARKED_RUN = re.compile(r"[A-Za-z0-9_+=-]{36,}")  # base64, whose marks cut it into short runs
_HEXADECIMAL = re.compile(
    r"(?<![A-Za-z0-9])(?=[0-9]{0,64}[A-Fa-f])(?:[0-9a-f]{32,}+|[0-9A-F]{32,}+)(?![A-Za-z0-9])"
)
_SAID_DIGEST = re.compile(
    r"(?i:sha|md5|rev|commit|digest|blobs?|snapshots?|tree|[@#])[\w\"']{0,8}[-:=/ ]{0,3}$"
)
_DIGEST = re.compile(
    r"sha\d*|md|digest|hash(?:es)?|checksum|etag|version|revision|rev|commit|uid|fingerprint"
)
_MARKS = re.compile(r"[_+=-]")
_CHANGES = 0.45  # of neighbouring characters are of two kinds; .61 of random ones, few in words
_MORE_CHANGES = 0.5  # in names of models, whose marks are left out, there are more than in words
_FEWER_CHANGES = 0.25  # of small letters and digits alone; .4 of random ones
_SMALL = 32  # characters at least of such a run


def secret_in(value: object, name: str = "") -> str | None:
    """Where in ``value``, the entry called ``name``, a secret stands: the name of the entry, or
    ``""`` where it has none; None where there is none. A secret is known by its name, or by
    its looks (:func:`looks_secret`)."""
    if isinstance(value, Mapping):
        whose = value.get("name") or value.get("key")  # {name = "Authorization", value = "…"}
        if "value" in value and isinstance(whose, str) and _holds(whose, value["value"]):
            return whose
        for key, inner in value.items():
            if looks_secret(str(key)):
                return ""
            found = str(key) if _holds(str(key), inner) else secret_in(inner, str(key))
            if found is not None:
                return found
        return None
    if isinstance(value, list | tuple):
        # A header written as a pair.
        if len(value) == 2 and isinstance(value[0], str) and _holds(value[0], value[1]):
            return value[0]
        return next((at for each in value if (at := secret_in(each, name)) is not None), None)
    if isinstance(value, str) and looks_secret(
        value, digest=any(map(_DIGEST.fullmatch, _words(name)))
    ):
        return name
    return None


def secret_told(name: str) -> str:
    """What :func:`secret_in` found, in words, and the cure."""
    where = f"'{name}'" if name and not looks_secret(name) else "What stands here"
    return (
        f"{where} is the name of a secret or holds what looks like one, and would be written to "
        "the ledger and to reports. Take it out, and put the key into OPENAI_API_KEY or "
        "ASSAY_<NAME>_API_KEY."
    )


def looks_secret(text: str, *, digest: bool = False) -> bool:
    """Whether ``text`` holds what looks like a key: the beginnings that providers give theirs, a
    JSON web token, a password in an address, or a long run of random characters. ``digest``: a
    hexadecimal one is what is expected here."""
    if _LOOKS.search(text) or any(map(_is_random, _RUN.findall(text))):
        return True
    if any(_changes(_MARKS.sub("", run)) >= _MORE_CHANGES for run in _MARKED_RUN.findall(text)):
        return True
    return not digest and any(
        any(map(str.isdigit, hit.group()))
        # (20: as far back as the pattern can reach)
        and not _SAID_DIGEST.search(text, max(0, hit.start() - 20), hit.start())
        for hit in _HEXADECIMAL.finditer(text)
    )


def _is_random(run: str) -> bool:
    if _changes(run) >= _CHANGES:
        return True
    small = len(run) >= _SMALL and run.islower() and not _HEXADECIMAL.fullmatch(run)
    return small and _changes(run, kinds=2) >= _FEWER_CHANGES


def _changes(run: str, kinds: int = 3) -> float:
    """The share of neighbouring characters that are of two kinds; 0 where ``run`` has fewer
    ``kinds`` (digits, capitals, small letters)."""
    each = ["d" if char.isdigit() else "u" if char.isupper() else "l" for char in run]
    if len(set(each)) < kinds:
        return 0.0
    return sum(a != b for a, b in pairwise(each)) / (len(each) - 1)


def _holds(name: str, value: object) -> bool:
    """Whether the entry ``name`` is that of a secret: "max_tokens" and the like hold none, nor
    does what is a number or a yes or no."""
    if value is None or isinstance(value, bool | float) or not _names_secret(name):
        return False
    # A password may be all digits; beside other names a number is a count or a limit.
    return not isinstance(value, int) or "pass" in name.casefold()


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(unicodedata.normalize("NFKC", name)[:200])]


def _names_secret(name: str) -> bool:
    words = _words(name)
    if not words:
        return False
    together = (*words, *(a + b for a, b in pairwise(words)))
    if any(_SECRET_WORDS.fullmatch(each) for each in together):
        return True
    if len(words) == 1:
        return _SECRET_ALONE.fullmatch(words[0]) is not None
    return words[-1] in ("key", "token", "auth", "pat") and not _HARMLESS.fullmatch(words[-2])


def names_a_key(variable: str) -> bool:
    """Whether Assay reads keys from a variable of this name."""
    own = variable.startswith("ASSAY_") and variable.endswith("_API_KEY")
    return own or variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


def keys_of_environment() -> list[str]:
    """The keys that stand in variables that Assay reads keys from, and, as ``USER:PASSWORD``, the
    passwords in addresses of proxies."""
    found = [value.strip() for name, value in os.environ.items() if names_a_key(name)]
    for address in (value for name, value in os.environ.items() if name.lower()[-6:] == "_proxy"):
        pair = address.rpartition("@")[0].rpartition("://")[2]
        if ":" in pair:
            found += [pair, unquote(pair)]  # as an address has it, and as the proxy is told
    return found


def without_keys(text: str, keys: Iterable[str] = ()) -> str:
    """``text`` with ``[key]`` for each of ``keys`` and of those of the environment that has eight
    characters or more, however it is written (:func:`_spellings`). For errors, logs and reports:
    what a model says is data, and stays."""
    # The longest first: a key may begin with another, and its rest would stay.
    for key in sorted({*keys, *keys_of_environment()}, key=len, reverse=True):
        if len(key) >= _SHORTEST_KEY:
            text = _spellings(key).sub("[key]", text)
    return text


def told(error: object) -> str:
    """The words of an error or fault as anybody may see them: without keys, its lines printable."""
    return "\n".join(map(printable, without_keys(str(error)).split("\n")))


def excerpt(text: str, keys: Iterable[str] = ()) -> str:
    """The beginning of ``text``, on one line and without the keys. What is cut first may end in
    half a key, which nothing knows any more."""
    return without_keys(" ".join(text.split())[:_READ], keys)[:_EXCERPT]


@lru_cache(maxsize=64)
def _spellings(key: str) -> re.Pattern[str]:
    """The ways in which ``key`` is written: in any case, with any of its characters escaped as in
    addresses, JSON or HTML, in base64 (also within a longer text) and in hexadecimal."""
    data = key.encode("utf-8", "surrogatepass")
    escaped = "".join(
        # %25 and several backslashes: what was escaped twice, such as an address in an address, or
        # JSON in JSON.
        f"(?:{re.escape(char)}|{''.join(f'%(?:25)?{byte:02x}' for byte in char.encode())}"
        rf"|\\+u{ord(char):04x}|\\+{re.escape(char)}|&#0*{ord(char)};|&#x0*{ord(char):x};)"
        for char in key
    )
    ways = [escaped, data.hex()]
    for shift in range(3):  # where it begins within three bytes; the characters it shares are left
        coded = b64encode(b"\0" * shift + data).decode().rstrip("=")
        inner = coded[-(-shift * 8 // 6) : len(coded) - ((shift + len(data)) % 3 != 0)]
        # Both alphabets: that of addresses has - and _ for + and /.
        ways.append("".join("[+-]" if c == "+" else "[/_]" if c == "/" else c for c in inner))
    return re.compile("|".join(ways), re.IGNORECASE)
