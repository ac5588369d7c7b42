"""Hashes as the ledger stores them: 16 bytes instead of 32 letters."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

SIZE, LETTERS = 16, 32
_HASH = re.compile("[0-9a-f]{32}")


def is_hash(text: object) -> bool:
    """Whether something is a hash as the ledger gives it: 32 hexadecimal digits."""
    return isinstance(text, str) and _HASH.fullmatch(text) is not None


def packed(text: str) -> bytes:
    """The 16 bytes of a hash; of any other text those of a hash of its own."""
    return bytes.fromhex(text) if is_hash(text) else hashed(text.encode(errors="surrogatepass"))


def as_stored(text: str) -> bytes | str:
    """A key, or the uid of a label that another takes the place of, as a ledger stores it: what
    files gave in place of one and is none, older Assays kept as it was, and a label's uid and
    digest cover it so."""
    return packed(text) if is_hash(text) else text


def hashed(data: bytes) -> bytes:
    """The first 128 bits of SHA-256."""
    return hashlib.sha256(data).digest()[:SIZE]


def all_hashed(data: Iterable[bytes]) -> list[bytes]:
    """The same of many."""
    sha = hashlib.sha256
    return [sha(one).digest()[:SIZE] for one in data]


def unpacked(stored: bytes | str) -> str:
    """A hash as it was before it was packed; what else stands in its place (:func:`as_stored`, or
    in a damaged ledger), as text."""
    return stored.hex() if isinstance(stored, bytes) else str(stored)


def letters(column: Iterable[object]) -> list[str | None]:
    """The same of many, of which some may be missing. Raises TypeError for what is stored by no
    Assay."""
    return [
        one.hex() if type(one) is bytes and len(one) == SIZE else _stand_in(one) for one in column
    ]


def _stand_in(stored: object) -> str | None:
    """What stands in place of a hash."""
    if stored is None or (type(stored) is str and not is_hash(stored)):
        return stored
    raise TypeError(f"{stored!r} is not how a hash is stored")
