"""A digest of the labels that counted, whatever their order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

UID = 16
"""Bytes of a uid that is a hash."""

_AT_ONCE = 100_000


def labels_digest(uids: tuple[bytearray, Sequence[str]]) -> str:
    """SHA-256 of uids, sorted, a line each: those that are hashes, one behind the other, which are
    sorted where they are, and all others as texts."""
    usual, others = uids
    # Sorted as bytes, which is the order of their hexadecimal digits.
    ordered = np.frombuffer(usual, f"S{UID}")
    ordered.sort()
    if others:
        names = sorted([*usual.hex("\n", UID).split(), *others])
        return hashlib.sha256("\n".join(names).encode()).hexdigest()
    digest = hashlib.sha256()
    for start in range(0, len(ordered), _AT_ONCE):
        digest.update(b"\n" if start else b"")
        digest.update(ordered[start : start + _AT_ONCE].tobytes().hex("\n", UID).encode())
    return digest.hexdigest()
