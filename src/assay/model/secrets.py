"""Find secrets by their name or form, and keep them out of everything that is written."""

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

_SHORTEST_KEY = 8  # characters; a shorter key ("none") may be a word, and is not redacted
_EXCERPT = 300  # characters
_READ = 100_000  # characters of an error that are searched for keys

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
# Words before "token" or "key" that make it harmless: parts of texts, caches, columns.
_HARMLESS = re.compile(
    r"eos|bos|pad|unk|sep|cls|mask|stop|start|end|begin|image|audio|video|special|think|max|min|top"
    r"|cache|sort|first|last|next|new|bad|allowed|tool|primary|foreign|public|partition|group|join"
    r"|dedup|index|lookup|order|prompt|completion|input|output|answer|name"
)
_LOOKS = re.compile(
    # Unlimited look-ahead would take quadratic time on hostile text.
    r"(?<![A-Za-z0-9])(?:(?:sk|pk|rk|gsk|xai|nvapi|pplx|glpat|gldt|glrt|r8|gh[oprsu]|github_pat|hf"
    r"|xox[abeoprs]|xapp|ya29|tvly)[-_.]|(?:npm|jina|shpat|dckr_pat|dop_v1|lsv2_pt)_|pypi-AgE"
    r"|AKIA|ASIA|AIza)(?=[\w.-]{0,64}[0-9A-Z])[\w.-]{12,}"
    r"|(?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8}"
    r"|(?i:\b(?:bearer|basic)\s{1,9}[\w.~+/-]{8})"
    r"|-----BEGIN [A-Z ]{0,40}(?:PRIVATE KEY|PGP)"
    r"|(?i:\b(?:authorization|x?[-_ ]?api[-_ ]?key|passw(?:or)?d|pwd|passphrase|client[-_ ]?secret"
    r"|access[-_ ]?token|auth[-_ ]?token|accountkey|sharedaccesskey)"
    r"[\"']?\s{0,9}[:=]\s{0,9}[\"']?[^\s\"']{6})"
    # In an address: a user name, or a password, which may contain anything. A port is not one.
    r"|://[^/\s@?#]{1,200}@"
    r"|://[^/\s:@]{0,200}:(?!\d{1,5}(?:[/?#\s]|$))[^\n@]{1,200}@"
    r"|(?<![\w.+:/-])(?!mailto:)[\w.+-]{1,64}:(?!//)[^\s@/]{1,100}@(?!sha\d|md5)[\w\[]"
)
_RUN = re.compile(r"[A-Za-z0-9]{24,}")
_MARKED_RUN = re.compile(r"[A-Za-z0-9_+=-]{36,}")  # base64, which its symbols cut into short runs
_HEXADECIMAL = re.compile(
    r"(?<![A-Za-z0-9])(?=[0-9]{0,64}[A-Fa-f])(?:[0-9a-f]{32,}+|[0-9A-F]{32,}+)(?![A-Za-z0-9])"
)
_NAMES_DIGEST = re.compile(
    r"(?i:sha|md5|rev|commit|digest|blobs?|snapshots?|tree|[@#])[\w\"']{0,8}[-:=/ ]{0,3}$"
)
_DIGEST = re.compile(
    r"sha\d*|md|digest|hash(?:es)?|checksum|etag|version|revision|rev|commit|uid|fingerprint"
)
_MARKS = re.compile(r"[_+=-]")
_CHANGES = 0.45  # share of neighbouring characters of different kinds; .61 if random, low in words
_MORE_CHANGES = 0.5  # model names without their symbols have more changes than words
_FEWER_CHANGES = 0.25  # for lower-case letters and digits only; .4 if random
_LOWER_CASE_RUN = 32  # least length of such a run


def secret_in(value: object, name: str = "") -> str | None:
    """Find a secret in ``value``, an entry called ``name``, by its name or by :func:`looks_secret`.
    Returns the name of the entry that holds the secret ("" if it has no name), or None."""
    if isinstance(value, Mapping):
        header = value.get("name") or value.get("key")  # {name = "Authorization", value = "…"}
        if "value" in value and isinstance(header, str) and _holds(header, value["value"]):
            return header
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


def secret_message(name: str) -> str:
    """A message about what :func:`secret_in` found, and what to do."""
    where = f"'{name}'" if name and not looks_secret(name) else "What stands here"
    return (
        f"{where} is the name of a secret or looks like it contains one, and would be written to "
        "the ledger and to reports. Take it out, and put the key into OPENAI_API_KEY or "
        "ASSAY_<NAME>_API_KEY."
    )


def looks_secret(text: str, *, digest: bool = False) -> bool:
    """Whether ``text`` contains what looks like a key: a provider's prefix, a JSON web token, a
    password in an address, or a long run of random characters. ``digest``: a hexadecimal digest is
    expected here and is not a secret."""
    if _LOOKS.search(text) or any(map(_is_random, _RUN.findall(text))):
        return True
    if any(_changes(_MARKS.sub("", run)) >= _MORE_CHANGES for run in _MARKED_RUN.findall(text)):
        return True
    return not digest and any(
        any(map(str.isdigit, hit.group()))
        # 20 characters: as far back as the pattern can reach
        and not _NAMES_DIGEST.search(text, max(0, hit.start() - 20), hit.start())
        for hit in _HEXADECIMAL.finditer(text)
    )


def _is_random(run: str) -> bool:
    if _changes(run) >= _CHANGES:
        return True
    small = len(run) >= _LOWER_CASE_RUN and run.islower() and not _HEXADECIMAL.fullmatch(run)
    return small and _changes(run, kinds=2) >= _FEWER_CHANGES


def _changes(run: str, kinds: int = 3) -> float:
    """The share of neighbouring characters of different kinds (digits, capitals, lower case), or 0
    if ``run`` has fewer than ``kinds`` kinds."""
    each = ["d" if char.isdigit() else "u" if char.isupper() else "l" for char in run]
    if len(set(each)) < kinds:
        return 0.0
    return sum(a != b for a, b in pairwise(each)) / (len(each) - 1)


def _holds(name: str, value: object) -> bool:
    """Whether the entry ``name`` holds a secret; numbers, booleans and "max_tokens" do not."""
    if value is None or isinstance(value, bool | float) or not _names_secret(name):
        return False
    # A password may be all digits; under other names, a number is a count or a limit.
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


def is_key_variable(variable: str) -> bool:
    """Whether Assay reads a key from the environment variable of this name."""
    own = variable.startswith("ASSAY_") and variable.endswith("_API_KEY")
    return own or variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


def environment_keys() -> list[str]:
    """The keys in environment variables, and the ``USER:PASSWORD`` of proxy addresses."""
    found = [value.strip() for name, value in os.environ.items() if is_key_variable(name)]
    for address in (value for name, value in os.environ.items() if name.lower()[-6:] == "_proxy"):
        pair = address.rpartition("@")[0].rpartition("://")[2]
        if ":" in pair:
            found += [pair, unquote(pair)]  # as in the address, and as sent to the proxy
    return found


def redact_keys(text: str, keys: Iterable[str] = ()) -> str:
    """Replace ``keys``, and the keys of the environment, by ``[key]``, in any of their spellings.
    Keys of fewer than eight characters stay. For errors, logs and reports: what a model says is
    data and is not redacted."""
    # The longest first: if a key begins with another one, its rest would stay.
    for key in sorted({*keys, *environment_keys()}, key=len, reverse=True):
        if len(key) >= _SHORTEST_KEY:
            text = _spellings(key).sub("[key]", text)
    return text


def safe_text(error: object) -> str:
    """The text of an error or fault for display: without keys, every line printable."""
    return "\n".join(map(printable, redact_keys(str(error)).split("\n")))


def excerpt(text: str, keys: Iterable[str] = ()) -> str:
    """The beginning of ``text`` on one line, without keys."""
    # Redact before cutting: half a key at the end would not be recognised.
    return redact_keys(" ".join(text.split())[:_READ], keys)[:_EXCERPT]


@lru_cache(maxsize=64)
def _spellings(key: str) -> re.Pattern[str]:
    """Matches the spellings of ``key``: in any case, with any characters escaped as in URLs, JSON
    or HTML, in base64 (also as part of a longer text) and in hexadecimal."""
    data = key.encode("utf-8", "surrogatepass")
    escaped = "".join(
        # %25 and several backslashes: escaped twice, as a URL in a URL or JSON in JSON.
        f"(?:{re.escape(char)}|{''.join(f'%(?:25)?{byte:02x}' for byte in char.encode())}"
        rf"|\\+u{ord(char):04x}|\\+{re.escape(char)}|&#0*{ord(char)};|&#x0*{ord(char):x};)"
        for char in key
    )
    spellings = [escaped, data.hex()]
    for shift in range(
        3
    ):  # offset within three bytes; characters shared with neighbours are left out
        coded = b64encode(b"\0" * shift + data).decode().rstrip("=")
        inner = coded[-(-shift * 8 // 6) : len(coded) - ((shift + len(data)) % 3 != 0)]
        # Both alphabets: the URL-safe one has - and _ for + and /.
        spellings.append("".join("[+-]" if c == "+" else "[/_]" if c == "/" else c for c in inner))
    return re.compile("|".join(spellings), re.IGNORECASE)
