"""What every evaluation writes beside its scores: the labels that counted, and the manifest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from assay.ledger.chain import Head
from assay.ledger.columns import narrow
from assay.ledger.hashes import packed
from assay.ledger.lines import Block
from assay.model.labels import LabellerId
from assay.model.version import __version__
from assay.model.wording import printable
from assay.protocols.folder import Folder, relative_to
from assay.protocols.manifest import REPORT, replace_manifest
from assay.protocols.output import sha256, write_pieces
from assay.protocols.places import Place, UsedLabels
from assay.protocols.ranked import Ranked
from assay.tasks.base import AnyTask

_QUOTED = json.JSONEncoder(ensure_ascii=False).encode
_UID = 16  # bytes of a uid that is a hash, as in ``digest``
_CUT = len(b'{"uid":"')


class PlacesUsed:
    """Where each label that counted was used: JSON strings, separated by commas, as ``named`` names
    a place. One place that takes several things from a label, such as the nuggets of an answer, is
    named once."""

    def __init__(self, used: UsedLabels, named: Callable[[Place], str]) -> None:
        self._named = named
        parts, numbers = [], [np.zeros(0, np.uint8)]
        for some, places, which in used.columns():
            parts.append((places, narrow(which)))
            numbers.append(narrow(some))
        self._parts = parts
        self._ends = np.cumsum([len(which) for _, which in parts])
        every = np.concatenate(numbers)
        del numbers
        self._order = narrow(np.argsort(every, kind="stable"))
        self._numbers = every[self._order]

    def among(self, first: int, last: int) -> dict[int, bytes]:
        """By its number in the ledger, of labels from ``first`` to ``last``."""
        begin, end = np.searchsorted(self._numbers, [first, last + 1]).tolist()
        which = self._order[begin:end]
        parts = np.searchsorted(self._ends, which, side="right")
        texts: list[bytes] = [b""] * len(which)
        for part in np.unique(parts).tolist():
            own = np.flatnonzero(parts == part)
            places, at = self._parts[part]
            begin_of_part = int(self._ends[part]) - len(at)
            own_places = places.at(at[which[own] - begin_of_part])
            for number, place in zip(own.tolist(), own_places, strict=True):
                # (What orjson gives keeps a kilobyte each.)
                texts[number] = _QUOTED(self._named(place)).encode()
        found: dict[int, bytes] = {}
        for number, text in zip(self._numbers[begin:end].tolist(), texts, strict=True):
            known = found.setdefault(number, text)
            if known is not text and known != text and not known.endswith(b"," + text):
                found[number] = b"%b,%b" % (known, text)
        return found


def models_of(used: UsedLabels) -> dict[str, Counter[str]]:
    """By task, how many labels are by which model, as the servers named them; a label that is
    used twice counts once."""
    models: dict[str, Counter[str]] = {}
    for (task, model), count in used.count(
        lambda label: (label.task, label.detail.get("model"))
    ).items():
        if model is not None:
            models.setdefault(task, Counter())[str(model)] += count
    return models


def renamed(models: Mapping[str, Mapping[str, int]]) -> list[str]:
    """A warning for each task whose labels are by models of several names."""
    return [
        f"{task}: the server's model changed its name between labels: "
        + ", ".join(f"{count:,} are by '{printable(name)}'" for name, count in sorted(own.items()))
        + ". They may be different models."
        for task, own in sorted(models.items())
        if len(own) > 1
    ]


class Counted:
    """The uids of the labels that counted. ``usual`` are those that are hashes, 16 bytes each, one
    behind the other (an object of its own would take 90 bytes), ``others`` all others."""

    def __init__(self) -> None:
        self.usual = bytearray()
        self.others: list[str] = []

    def __len__(self) -> int:
        return len(self.usual) // _UID + len(self.others)

    @property
    def uids(self) -> tuple[bytearray, list[str]]:
        """Both, as :func:`assay.protocols.digest.labels_digest` takes them."""
        return self.usual, self.others


def write_labels(path: Path, lines: Iterable[Block], places: PlacesUsed) -> tuple[str, Counted]:
    """Write ``labels.jsonl``: those of ``lines`` that have a place, each with its ``used_at``.
    Returns the SHA-256 of the file and which labels it holds."""
    counted = Counted()
    return write_pieces(path, _used_lines(lines, places, counted)), counted


def _used_lines(blocks: Iterable[Block], places: PlacesUsed, counted: Counted) -> Iterator[bytes]:
    for block in blocks:
        every = list(map(places.among(block.first, block.last).get, block.rowids()))
        used_at = [place for place in every if place is not None]
        if len(used_at) == len(every) and len(block.uids) == _UID * len(every):
            counted.usual += block.uids
            yield from block.used(used_at)
            continue
        lines = [
            line for line, place in zip(block.lines(), every, strict=True) if place is not None
        ]
        for line in lines:
            uid = packed(line[_CUT : line.index(b'","', _CUT)].decode())
            if isinstance(uid, str):
                counted.others.append(uid)
            else:
                counted.usual += uid
        some = zip(lines, used_at, strict=True)
        yield b"".join([b'%b,"used_at":[%b]}\n' % each for each in some])


def write_manifest(
    folder: Folder,
    *,
    policy: str,
    settings: Mapping[str, object],
    tasks: Iterable[AnyTask],
    labellers: Mapping[str, LabellerId | None],
    models: Mapping[str, Mapping[str, int]],
    inputs: Mapping[Path, str],
    counted: int,
    stands_on: str,
    labels_sha256: str,
    outputs: Mapping[Path, str],
    warnings: Iterable[str],
    head: Head,
    ranked: Ranked | None = None,
) -> Path:
    """Write ``out/manifest.json`` and return its path: versions, settings, policy, labellers and
    digests of all that went in and came out.

    ``inputs`` are the SHA-256 of the files read, ``outputs`` those of the files in ``out/``;
    ``models`` counts by task which models the servers said that they were; ``counted`` labels
    counted, ``stands_on`` says whose, and ``labels_sha256`` is the digest of their uids; ``head``
    is the ledger's. ``ranked`` says what gives the scores of rankings again.
    """
    templates = {path.name: sha256(path) for path in sorted((folder.path / "prompts").glob("*.j2"))}
    document = {
        "assay": __version__,
        "protocol": folder.protocol,
        "policy": policy,
        "settings": dict(settings),
        "tasks": {task.name: task.version for task in tasks},
        "labellers": {
            task: None if who is None else {"name": who.name, "params": dict(who.params)}
            for task, who in labellers.items()
        },
        "models_as_reported": {task: dict(models[task]) for task in sorted(models)},
        "own_prompts": templates,
        "inputs": {relative_to(folder.path, path): digest for path, digest in inputs.items()},
        "labels_counted": counted,
        "stands_on": stands_on,
        "labels_sha256": labels_sha256,
        "ledger": head.in_manifest(),
        "report": REPORT,
        "reproduce": [] if ranked is None else ranked.commands(folder.out_in_words),
        "outputs": {relative_to(folder.out, path): digest for path, digest in outputs.items()},
        "warnings": list(warnings),
    }
    return replace_manifest(folder.out, document)
