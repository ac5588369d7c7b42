"""The packaged judge, which reads nothing twice in runs of the tests, whoever asks for it."""

from __future__ import annotations

import hashlib
import platform
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from unittest import mock

import numpy as np

from assay.cli import doctor
from assay.labellers.judge import labeller, model
from assay.labellers.judge.evidence import Tokens
from assay.labellers.judge.model import Floats, Network, settings

_AT_ONCE = 500


def _version() -> str:
    """What the network says hangs on: the model, how it is run, with what and on what machine."""
    code = Path(model.__file__).read_bytes()
    about = f"{settings().sha256} {version('onnxruntime')} {version('numpy')} {platform.node()}"
    return hashlib.sha256(code + about.encode()).hexdigest()[:16]


@contextmanager
def remembering(folder: Path) -> Iterator[None]:
    """Have the embedded judge keep what its network says of a pair of texts in a file, which other
    processes read too. What it says is the same bytes as if it were read again; tests of the
    network itself have one that remembers nothing."""
    path = folder / f"{_version()}.sqlite"
    for other in folder.glob("*.sqlite"):
        if other != path:
            other.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, timeout=60)) as db, db:
        db.execute("CREATE TABLE IF NOT EXISTS said (pair BLOB PRIMARY KEY, logits BLOB)")

    class Remembering(Network):
        def __init__(self) -> None:
            self.network = Network.packaged(1)  # other workers have the other cores
            self.tokenise = self.network.tokenise
            self.shape = self.network.logits([]).shape[1:]

        @classmethod
        def packaged(cls, threads: int | None = None) -> Network:
            return cls.only()

        @classmethod
        @cache
        def only(cls) -> Network:
            return cls()

        def logits(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> Floats:
            keys = [np.array([len(a), *a, *b], np.int32).tobytes() for a, b in pairs]
            with closing(sqlite3.connect(path, timeout=60)) as db:
                known = dict(_known(db, list(dict.fromkeys(keys))))
                new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in known}
                if new:
                    found = self.network.logits([*new.values()])
                    known |= {key: row.tobytes() for key, row in zip(new, found, strict=True)}
                    said = [(key, known[key]) for key in new]
                    with db:
                        db.executemany("INSERT OR IGNORE INTO said VALUES (?, ?)", said)
            rows = [np.frombuffer(known[key]).reshape(self.shape) for key in keys]
            return np.array(rows).reshape(len(keys), *self.shape)

    with (
        mock.patch.object(labeller, "Network", Remembering),
        mock.patch.object(doctor, "Network", Remembering),
    ):
        yield


def _known(db: sqlite3.Connection, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        places = ", ".join("?" * len(some))
        yield from db.execute(f"SELECT pair, logits FROM said WHERE pair IN ({places})", some)
