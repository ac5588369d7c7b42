"""The record of an evaluation beside its scores: the labels that counted, and the manifest."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, compress, groupby
from json.encoder import encode_basestring
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.ledger.chain import Head
from assay.ledger.columns import by_part
from assay.ledger.hashes import SIZE
from assay.ledger.lines import Lines
from assay.model.errors import SettingsError
from assay.model.labels import LabellerId
from assay.model.paths import file_sha256, path_inside
from assay.model.scratch import Parts, Scratch
from assay.model.version import __version__
from assay.model.wording import printable
from assay.protocols.folder import Folder, relative_to
from assay.protocols.label_shares import label_basis
from assay.protocols.manifest import REPORT, read_manifest, replace_manifest
from assay.protocols.output import FileData, write_bytes, write_packed, write_pieces
from assay.protocols.places import Place, PlaceColumns, UsedLabels
from assay.protocols.ranked import ranked_files
from assay.protocols.results import Result
from assay.protocols.scores import means_command, score_files
from assay.protocols.sides import beside_files
from assay.tasks.base import AnyTask

if TYPE_CHECKING:
    from assay.ledger.parquet import AnyLedger

_AT_ONCE = SIZE << 16  # bytes of uids that are put into parts at once


class CountedUids:
    """The uids of the labels that counted, in a scratch, partitioned by their first byte."""

    def __init__(self, scratch: Scratch) -> None:
        self._parts, self._new, self._count = Parts(scratch), bytearray(), 0

    def __len__(self) -> int:
        return self._count

    def add(self, uids: bytes) -> None:
        """Add concatenated uids."""
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
        """SHA-256 of the sorted uids, one per line."""
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


_PART = 1 << 14  # labels whose uses are named at once
_USE = np.dtype([("number", "u8"), ("columns", "u4"), ("codes", "u4", 3)])
"""A use of a label: its number in the ledger, and its place (index of the columns, codes)."""


class PlacesUsed:
    """Where each label that counted was used, as comma-separated JSON strings; ``named`` names a
    place. A place that takes several things (nuggets of an answer) from one label is named once."""

    def __init__(self, used: UsedLabels, named: Callable[[Place], str]) -> None:
        self._named = named
        self._columns: list[PlaceColumns] = []
        self.scratch = used.scratch
        self._parts = Parts(self.scratch)
        self._texts_of_part: dict[int, dict[int, str]] = {}
        for numbers, places, which in used.columns():
            if not self._columns or self._columns[-1] is not places.columns:
                self._columns.append(places.columns)
            uses = np.empty(len(numbers), _USE)
            uses["number"], uses["columns"] = numbers, len(self._columns) - 1
            uses["codes"] = places.codes[which]
            for part, some in by_part(numbers // _PART, uses):
                self._parts.add(part, some.tobytes())

    def of(self, numbers: Iterable[int]) -> Iterator[str | None]:
        """The places of labels, given by their numbers in the ledger in ascending order; None for a
        label that did not count."""
        for part, own in groupby(numbers, _PART.__rfloordiv__):
            if part not in self._texts_of_part:
                self._texts_of_part = {part: self._texts(part)}
            yield from map(self._texts_of_part[part].get, own)

    def _texts(self, part: int) -> dict[int, str]:
        """The places of the labels in one part."""
        uses = np.frombuffer(self._parts.read(part), _USE)
        found: dict[int, str] = {}
        for columns in np.unique(uses["columns"]).tolist():  # which is the order of use
            own = uses[uses["columns"] == columns]
            places = self._columns[columns].named(own["codes"])
            quoted = map(encode_basestring, map(self._named, places))
            for number, text in zip(own["number"].tolist(), quoted, strict=True):
                known = found.setdefault(number, text)
                if known is not text and known != text and not known.endswith("," + text):
                    found[number] = f"{known},{text}"
        return found


def models_of(used: UsedLabels) -> dict[str, Counter[str]]:
    """By task, the number of different labels by each model, as the servers named it."""
    models: dict[str, Counter[str]] = {}
    for (task, model), count in used.count(
        lambda label: (label.task, label.detail.get("model"))
    ).items():
        if model is not None:
            models.setdefault(task, Counter())[str(model)] += count
    return models


def model_warnings(models: Mapping[str, Mapping[str, int]]) -> list[str]:
    """A warning for each task whose labels are by models of several names."""
    return [
        f"{task}: the server's model changed its name between labels: "
        + ", ".join(f"{count:,} are by '{printable(name)}'" for name, count in sorted(own.items()))
        + ". They may be different models."
        for task, own in sorted(models.items())
        if len(own) > 1
    ]


def require_asked(folder: Folder, result: Result, ledger: AnyLedger) -> None:
    """Raise SettingsError if ``out/`` holds scores by another labeller's labels and the present one
    was not asked anything yet: ranges from worst to best would replace the scores."""
    before, now = read_manifest(folder.out), _labellers(result)
    if before.get("policy") != result.policy or not before.get("labels_counted"):
        return
    then = before.get("labellers") or {}
    others = [task for task, who in now.items() if then.get(task) and then[task] != who]
    unheard = [task for task in others if result.missing.get(task)]
    if not unheard:
        return
    new = [result.labellers[task] for task in others]
    if any(result.used.count(lambda label: label.labeller in new and label.task in others)):
        return  # it was asked, if not yet about everything
    given = [(label.task, _named(label.labeller)) for label in ledger.usable_by_each()]
    unheard = [task for task in unheard if (task, then[task]) in given]
    if not unheard:
        return
    task = unheard[0]
    who, other = printable(then[task]["name"]), now[task]
    since = printable(other["name"]) if other else "the folder's labeller, which is not available,"
    if since == who:
        since = f"{who} as it is now"
    known = "".join(f"{one.rstrip('.')}. " for one in result.warnings if who in one)
    raise SettingsError(
        f"{folder.out} holds scores by labels of {who}; {since} has not been asked yet "
        f"({result.task_titles[task]}), so they are not overwritten. {known}If they "
        "were made with --labeller, give that again. To ask for new labels: 'assay evaluate "
        "FOLDER'. To have scores without labels, move out/ away."
    )


def _labellers(result: Result) -> dict[str, dict[str, Any] | None]:
    """Who labels each task, as manifests say it."""
    return {task: who if who is None else _named(who) for task, who in result.labellers.items()}


def _named(who: LabellerId) -> dict[str, Any]:
    return {"name": who.name, "params": dict(who.params)}


def _used_lines(
    blocks: Iterable[Lines], places: PlacesUsed, counted: CountedUids
) -> Iterator[bytes]:
    """The labels that were used, as JSON lines with ``used_at``; adds their uids to ``counted``."""
    for numbers, uids, _, objects in blocks:
        used = [*places.of(numbers)]
        counted.add(b"".join(compress(uids, used)))
        pairs = zip(compress(objects, used), filter(None, used), strict=True)
        yield "".join([f'{one},"used_at":[{at}]}}\n' for one, at in pairs]).encode()


def write_out(
    folder: Folder,
    result: Result,
    tasks: Iterable[AnyTask],
    inputs: Mapping[Path, str],
    lines: Iterable[Lines],
    places: PlacesUsed,
    checked: Callable[[], Head],
) -> list[Path]:
    """Write the files of ``out/`` and return their paths. ``inputs`` are the SHA-256 of the files
    read, ``lines`` the labels; ``checked`` checks the ledger and returns its head."""
    out, found = folder.out, result.findings
    files: dict[Path, FileData] = {
        out / name: data
        for name, data in chain(
            score_files(found.scores, found.per_topic, found.more_scores, found.by_category()),
            found.files.items(),
            beside_files(result.beside()),
            ranked_files(found.ranked),
        )
    }
    gzipped = {out / name: out / of for name, of in found.packed.items()}
    for place in {path.parent for path in (*files, *gzipped)}:  # each may be a link
        path_inside(out, place.relative_to(out), f"{folder.path}: out/")
    labels = out / "labels.jsonl"
    # Written first, as writing checks the labels: if one was changed, nothing else is written.
    counted = CountedUids(places.scratch)
    labels_sha256 = write_pieces(labels, _used_lines(lines, places, counted))
    digests = {
        path: write_bytes(path, data) if isinstance(data, bytes) else write_pieces(path, data())
        for path, data in files.items()
    }
    digests |= {path: write_packed(path, of) for path, of in gzipped.items()}
    digests[labels] = labels_sha256
    manifest = write_manifest(
        folder,
        result,
        tasks=tasks,
        inputs=inputs,
        counted=counted,
        outputs=digests,
        head=checked(),
    )
    return [*files, *gzipped, labels, manifest]


def write_manifest(
    folder: Folder,
    result: Result,
    *,
    tasks: Iterable[AnyTask],
    inputs: Mapping[Path, str],
    counted: CountedUids,
    outputs: Mapping[Path, str],
    head: Head,
) -> Path:
    """Write ``out/manifest.json`` and return its path: versions, settings, policy, labellers, and
    digests of all inputs and outputs. ``inputs`` are the SHA-256 of the files read, ``outputs``
    those of the files in ``out/``, ``counted`` the labels that counted, and ``head`` is the
    ledger's."""
    templates = {
        path.name: file_sha256(path) for path in sorted((folder.path / "prompts").glob("*.j2"))
    }
    models, ranked, out = result.models, result.findings.ranked, folder.out
    document = {
        "assay": __version__,
        "protocol": folder.protocol,
        "policy": result.policy,
        "settings": dict(result.settings),
        "tasks": {task.name: task.version for task in tasks},
        "labellers": _labellers(result),
        "models_as_reported": {task: dict(models[task]) for task in sorted(models)},
        "own_prompts": templates,
        "inputs": {relative_to(folder.path, path): digest for path, digest in inputs.items()},
        "labels_counted": len(counted),
        "stands_on": label_basis(replace(result, evened=None)),  # of the files beside this one
        **({"uneven": sorted(result.uneven)} if result.uneven else {}),
        "labels_sha256": counted.digest(),
        "ledger": head.in_manifest(),
        "report": REPORT,
        "reproduce": [
            *([] if ranked is None else ranked.commands()),
            *result.findings.commands,
            *means_command(result.findings.scores, result.findings.per_topic),
        ],
        "outputs": {path.relative_to(out).as_posix(): one for path, one in outputs.items()},
        "warnings": list(result.warnings),
    }
    return replace_manifest(out, document)
