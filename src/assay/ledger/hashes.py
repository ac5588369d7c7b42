"""Hashes as the ledger stores them: 16 bytes instead of 32 letters."""

from __future__ import annotations

_SIZE, LETTERS = 16, 32


class Odd(str):
    """What stands in the place of a hash and is none, for stores that tell columns' types apart."""

    __slots__ = ()


def packed(text: str) -> bytes | str:
    """A hash of 32 hexadecimal digits as its 16 bytes; any other text as it is."""
    if len(text) != LETTERS:
        return Odd(text)
    try:
        found = bytes.fromhex(text)
    except ValueError:
        return Odd(text)
    # Capital letters would not come back.
    return found if found.hex() == text else Odd(text)


def unpacked(stored: bytes | str) -> str:
    """What ``packed`` was given."""
    return stored.hex() if isinstance(stored, bytes) else stored


def as_packed(stored: object) -> str:
    """The same. Raises TypeError for what ``packed`` does not give: nobody would find it."""
    if type(stored) is bytes and len(stored) == _SIZE:
        return stored.hex()
    if not isinstance(stored, str) or packed(stored) != stored:
        raise TypeError(f"{stored!r} is not how a hash is stored")
    return stored
