"""A digest of the labels that counted, whatever their order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

UID = 16
"""Bytes of a uid that is a hash."""

_AT_ONCE = 100_000 * UID


def labels_digest(uids: tuple[bytes | bytearray, Sequence[str]]) -> str:
    """SHA-256 of uids, sorted, a line each: those that are hashes, one behind the other, and all
    others as texts."""
    usual, others = uids
    # Sorted as bytes, which is the order of their hexadecimal digits.
    ordered = np.sort(np.frombuffer(usual, f"S{UID}")).tobytes()
    digest = hashlib.sha256()
    if others:
        names = sorted([*ordered.hex("\n", UID).split(), *others])
        return hashlib.sha256("\n".join(names).encode()).hexdigest()
    for start in range(0, len(ordered), _AT_ONCE):
        digest.update(b"\n" if start else b"")
        digest.update(ordered[start : start + _AT_ONCE].hex("\n", UID).encode())
    return digest.hexdigest()
