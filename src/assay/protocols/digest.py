"""A digest of the labels that counted, whatever their order."""

from __future__ import annotations

import hashlib

import numpy as np

from assay.ledger.columns import by_part
from assay.model.scratch import Parts, Scratch

UID = 16
"""Bytes of a uid that is a hash."""

_AT_ONCE = UID << 16  # bytes of uids that are put into parts at once


class CountedUids:
    """The uids of the labels that counted. Those that are hashes lie in a scratch, in parts by
    their first byte; ``others`` are all others."""

    def __init__(self, scratch: Scratch) -> None:
        self.others: list[str] = []
        self._usual, self._new, self._count = Parts(scratch), bytearray(), 0

    def __len__(self) -> int:
        return self._count + len(self.others)

    def add(self, uids: bytes) -> None:
        """Add uids that are hashes, one behind the other."""
        self._count += len(uids) // UID
        self._new += uids
        if len(self._new) >= _AT_ONCE:
            self._put()

    def _put(self) -> None:
        uids = np.frombuffer(bytes(self._new), f"V{UID}")
        for part, some in by_part(uids.view(np.uint8)[::UID], uids):
            self._usual.add(part, some.tobytes())
        self._new.clear()

    def digest(self) -> str:
        """SHA-256 of the uids, sorted, a line each."""
        self._put()
        others = sorted(self.others)
        digest, begun = hashlib.sha256(), False
        for part in range(256):
            # Sorted as bytes, which is the order of their hexadecimal digits.
            uids = np.sort(np.frombuffer(self._usual.read(part), f"S{UID}")).tobytes()
            lines = uids.hex("\n", UID).split()
            # (No uid of a later part comes before one of this.)
            ends = f"{part + 1:02x}"
            while others and (part == 255 or others[0] < ends):
                lines.append(others.pop(0))
            if lines:
                text = "\n".join(sorted(lines))
                digest.update(f"\n{text}".encode() if begun else text.encode())
                begun = True
        return digest.hexdigest()
