"""Embedded judges that read nothing twice in runs of the tests, whoever asks for them."""

from __future__ import annotations

import hashlib
import platform
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from unittest import mock

import numpy as np

from assay.cli import doctor
from assay.labellers.judge import labeller, model
from assay.labellers.judge.evidence import Tokens
from assay.labellers.judge.model import Floats, Network, packaged_tokenise
from assay.labellers.judge.packages import JUDGES, JudgePackage
from assay.labellers.judge.texts import ABILITIES
from assay.model.errors import PrerequisiteError

_AT_ONCE = 500


def _version(judge: JudgePackage) -> str:
    """What a network says hangs on: the model, how it is run, with what and on what machine."""
    code = Path(model.__file__).read_bytes()
    about = f"{judge.settings.sha256} {version('onnxruntime')} {version('numpy')} {platform.node()}"
    return hashlib.sha256(code + about.encode()).hexdigest()[:16]


@contextmanager
def remembering(folder: Path) -> Iterator[None]:
    """Have embedded judges keep what their networks say of a pair of texts in files, which other
    processes read too. What they say is the same bytes as if it were read again; tests of the
    networks themselves have ones that remember nothing."""
    paths: dict[str, Path] = {}
    for judge in JUDGES.values():
        with suppress(PrerequisiteError):  # it is not installed
            paths[judge.settings.sha256] = folder / f"{_version(judge)}.sqlite"
    for other in set(folder.glob("*.sqlite")) - set(paths.values()):
        other.unlink(missing_ok=True)
    for path in paths.values():
        with closing(sqlite3.connect(path, timeout=60)) as db, db:
            db.execute("CREATE TABLE IF NOT EXISTS said (pair BLOB PRIMARY KEY, logits BLOB)")

    class Remembering(Network):
        def __init__(self, judge: JudgePackage, path: Path) -> None:
            judge.network()  # is in order; what was read before needs no more of it
            self.judge, self.path = judge, path
            self.tokenise = packaged_tokenise()

        @cached_property
        def network(self) -> Network:
            return Network.of(self.judge, 1)  # other workers have the other cores

        @classmethod
        def of(cls, judge: JudgePackage, threads: int | None = None) -> Network:
            path = paths.get(judge.settings.sha256)
            return Network.of(judge, threads) if path is None else cls.only(judge, path)

        @classmethod
        @cache
        def only(cls, judge: JudgePackage, path: Path) -> Network:
            return cls(judge, path)

        def logits(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> Floats:
            keys = [np.array([len(a), *a, *b], np.int32).tobytes() for a, b in pairs]
            with closing(sqlite3.connect(self.path, timeout=60)) as db:
                known = dict(_known(db, list(dict.fromkeys(keys))))
                new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in known}
                if new:
                    found = self.network.logits([*new.values()])
                    known |= {key: row.tobytes() for key, row in zip(new, found, strict=True)}
                    said = [(key, known[key]) for key in new]
                    with db:
                        db.executemany("INSERT OR IGNORE INTO said VALUES (?, ?)", said)
            rows = [np.frombuffer(known[key]) for key in keys]
            return np.array(rows).reshape(len(keys), len(ABILITIES), 3)

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
