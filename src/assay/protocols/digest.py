"""A digest of the labels that counted, whatever their order."""

from __future__ import annotations

import hashlib

import numpy as np

from assay.ledger.columns import by_part
from assay.ledger.hashes import SIZE
from assay.model.scratch import Parts, Scratch

_AT_ONCE = SIZE << 16  # bytes of uids that are put into parts at once


class CountedUids:
    """The uids of the labels that counted. They lie in a scratch, in parts by their first byte."""

    def __init__(self, scratch: Scratch) -> None:
        self._parts, self._new, self._count = Parts(scratch), bytearray(), 0

    def __len__(self) -> int:
        return self._count

    def add(self, uids: bytes) -> None:
        """Add uids, one behind the other."""
        self._count += len(uids) // SIZE
        self._new += uids
        if len(self._new) >= _AT_ONCE:
            self._put()

    def _put(self) -> None:
        uids = np.frombuffer(bytes(self._new), f"V{SIZE}")
        for part, some in by_part(uids.view(np.uint8)[::SIZE], uids):
            self._parts.add(part, some.tobytes())
        self._new.clear()

    def digest(self) -> str:
        """SHA-256 of the uids, sorted, a line each."""
        self._put()
        digest, begun = hashlib.sha256(), False
        for part in range(256):
            # Sorted as bytes, which is the order of their hexadecimal digits.
            uids = np.sort(np.frombuffer(self._parts.read(part), f"S{SIZE}")).tobytes()
            if uids:
                text = uids.hex("\n", SIZE)
                digest.update(f"\n{text}".encode() if begun else text.encode())
                begun = True
        return digest.hexdigest()
