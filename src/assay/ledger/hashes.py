"""Hashes as the ledger stores them: 16 bytes instead of 32 letters."""

from __future__ import annotations

_SIZE, _LETTERS = 16, 32


def packed(text: str) -> bytes | str:
    """A hash of 32 hexadecimal digits as its 16 bytes; any other text as it is."""
    if len(text) != _LETTERS:
        return text
    try:
        found = bytes.fromhex(text)
    except ValueError:
        return text
    return found if found.hex() == text else text


def unpacked(stored: bytes | str) -> str:
    """What ``packed`` was given."""
    return stored.hex() if isinstance(stored, bytes) else stored


def as_packed(stored: object) -> str:
    """The same. Raises TypeError for what ``packed`` does not give: nobody would find it."""
    if type(stored) is bytes and len(stored) == _SIZE:
        return stored.hex()
    if type(stored) is not str or packed(stored) != stored:
        raise TypeError(f"{stored!r} is not how a hash is stored")
    return stored
