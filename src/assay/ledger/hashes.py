"""Hashes as the ledger stores them: 16 bytes instead of 32 letters."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

SIZE, LETTERS = 16, 32
_HASH = re.compile("[0-9a-f]{32}")


def is_hash(text: object) -> bool:
    """Whether a value is a hash as the ledger shows it: 32 lower-case hexadecimal digits."""
    return isinstance(text, str) and _HASH.fullmatch(text) is not None


def packed(text: str) -> bytes:
    """The 16 bytes of a hash. Any other text is hashed."""
    return bytes.fromhex(text) if is_hash(text) else hashed(text.encode(errors="surrogatepass"))


def as_stored(text: str) -> bytes | str:
    """A key, or the uid of an overruled label, as a ledger stores it. Text from a file that is not
    a hash stays as it is, because older Assays kept it so and uids and digests cover it."""
    return packed(text) if is_hash(text) else text


def hashed(data: bytes) -> bytes:
    """The first 128 bits of SHA-256."""
    return hashlib.sha256(data).digest()[:SIZE]


def all_hashed(data: Iterable[bytes]) -> list[bytes]:
    """:func:`hashed` for many values."""
    sha = hashlib.sha256
    return [sha(one).digest()[:SIZE] for one in data]


def unpacked(stored: bytes | str) -> str:
    """A packed hash as 32 digits. Anything else in its place (from :func:`as_stored`, or in a
    damaged ledger) is returned as text."""
    return stored.hex() if isinstance(stored, bytes) else str(stored)


def letters(column: Iterable[object]) -> list[str | None]:
    """:func:`unpacked` for a column that may hold None. Raises TypeError for values that Assay
    never stores."""
    return [
        one.hex() if type(one) is bytes and len(one) == SIZE else _stand_in(one) for one in column
    ]


def _stand_in(stored: object) -> str | None:
    """Check and return a value stored in place of a hash."""
    if stored is None or (type(stored) is str and not is_hash(stored)):
        return stored
    raise TypeError(f"{stored!r} is not how a hash is stored")
