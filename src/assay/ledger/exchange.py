"""Labels as JSON Lines: out of a ledger, and into one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from assay.ledger.sqlite import Ledger, NewLabel
from assay.model.errors import Fault, FormatError
from assay.model.labels import Label, LabellerId, Status
from assay.tasks.base import canonical, content_hash, unit_hash
from assay.tasks.registry import REGISTRY

_KINDS = ("model", "rules", "human", "recorded", "ensemble", "custom")
_NUMBERS = ("tokens_in", "tokens_out", "cost", "seconds")


def label_row(label: Label, content: Mapping[str, Any]) -> dict[str, Any]:
    """A label as plain JSON, with its unit's content; ``import_file`` gives the same
    label back."""
    return {
        "uid": label.uid,
        "key": label.key,
        "task": label.task,
        "version": label.version,
        "unit_hash": label.unit,
        "unit": content,
        "labeller": {
            "name": label.labeller.name,
            "kind": label.labeller.kind,
            "params": label.labeller.params,
        },
        "sample": label.sample,
        "status": label.status.value,
        "verdict": label.verdict,
        "reason": label.reason,
        "error": label.error,
        "overrules": label.overrules,
        "tokens_in": label.tokens_in,
        "tokens_out": label.tokens_out,
        "cost": label.cost,
        "seconds": label.seconds,
        "created": label.created,
        "detail": label.detail,
    }


@dataclass(frozen=True, slots=True)
class Imported:
    """``added`` labels were new, ``known`` were in the ledger already."""

    added: int
    known: int


def import_file(ledger: Ledger, path: Path) -> Imported:
    """Read labels from JSON Lines into the ledger, all or nothing.

    A row needs ``task``, ``unit`` (or the ``unit_hash`` of a unit that the ledger holds),
    ``verdict`` and ``labeller`` (a name such as ``human:KIM``, or the object that an export
    writes). A row of an export in which a person changed the labeller to ``human:NAME`` and the
    verdict becomes a new label that overrules the old one. Raises FormatError with every faulty
    line; then nothing was imported.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        cure = "Give the name of a JSON Lines file."
        raise FormatError([Fault(str(path), 0, None, f"{error.strerror}.", cure)]) from error
    known = {label.uid: label for label in ledger.labels()}
    contents = ledger.units()
    faults: list[Fault] = []
    labels: list[NewLabel] = []
    already = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        made = _label_from(line, known, contents)
        if isinstance(made, _Problem):
            faults.append(Fault(str(path), number, None, made.why, made.cure))
        elif made is None or (made.created is not None and made.uid(made.created) in known):
            already += 1
        else:
            labels.append(made)
    if faults:
        raise FormatError(faults)
    added = ledger.add(labels)
    return Imported(len(added), already + len(labels) - len(added))


@dataclass(frozen=True, slots=True)
class _Problem:
    why: str
    cure: str


def _label_from(
    line: bytes, known: Mapping[str, Label], contents: Mapping[str, Mapping[str, Any]]
) -> NewLabel | _Problem | None:
    """The label that a line holds, what is wrong with it, or None where it is known."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return _Problem(f"This is not JSON ({error}).", "One JSON object a line.")
    if not isinstance(row, dict):
        return _Problem("This is not a JSON object.", "One JSON object a line.")
    task = REGISTRY.get(row.get("task", "")) if isinstance(row.get("task"), str) else None
    if task is None:
        return _Problem(f"There is no task {row.get('task')!r}.", f"Tasks: {', '.join(REGISTRY)}.")
    labeller = _labeller(row.get("labeller"))
    if labeller is None:
        cure = f'Write "human:NAME", or an object with name, kind ({", ".join(_KINDS)}), params.'
        return _Problem("There is no usable 'labeller'.", cure)

    unit = row.get("unit", contents.get(str(row.get("unit_hash"))))
    if unit is None:
        return _Problem("There is no 'unit', nor a known 'unit_hash'.", "Give the unit's content.")
    verdict: dict[str, Any] | None = None
    status = Status.FAILED if row.get("status") == Status.FAILED.value else Status.OK
    try:
        checked = task.unit.model_validate(unit)
        if status is Status.OK:
            made = task.verdict.model_validate(row.get("verdict"))
            wrong = None if labeller.is_human else task.check(checked, made)
            if wrong:
                return _Problem(f"The verdict does not fit the unit: {wrong}.", "")
            verdict = made.model_dump(mode="json")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        return _Problem(f"'{place}' {first['msg']}.", f"See what {task.name} asks for.")
    content = checked.model_dump(mode="json")
    identity = unit_hash(task.name, content)

    original = known.get(str(row.get("uid")))
    overrules = row.get("overrules")
    edited = original is not None and original.labeller != labeller
    if original is not None and not edited:
        if original.verdict == verdict and original.unit == identity:
            return None
        return _Problem(
            f"This label of {labeller.name} was changed, but labels are never changed.",
            'Set "labeller": "human:NAME" in the line, to record it as a person\'s correction.',
        )
    if edited and original is not None:
        if original.unit != identity:
            return _Problem("The unit of this label was changed.", "Change the verdict only.")
        overrules = original.uid
    detail = row.get("detail") if isinstance(row.get("detail"), dict) and not edited else {}
    reason = row.get("reason") if not edited else None
    said = (verdict or {}).get("reason") or reason or None
    kept_key = None if edited else row.get("key")
    return NewLabel(
        key=(
            kept_key
            if isinstance(kept_key, str)
            else _key(task.name, task.version, content, labeller)
        ),
        task=task.name,
        version=str(row.get("version") or task.version),
        unit=identity,
        content=content,
        labeller=labeller,
        status=status,
        verdict=verdict,
        reason=said if isinstance(said, str) else None,
        error=str(row["error"]) if row.get("error") else None,
        sample=int(row.get("sample") or 0),
        overrules=overrules if isinstance(overrules, str) else None,
        created=row["created"] if isinstance(row.get("created"), str) and not edited else None,
        detail=detail or {},
        **({} if edited else {name: _number(row.get(name)) for name in _NUMBERS}),
    )


def _number(value: Any) -> Any:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _labeller(value: Any) -> LabellerId | None:
    if isinstance(value, str) and value.strip():
        name = value.strip()
        kind = name.partition(":")[0]
        if kind == "human" and not name.partition(":")[2].strip():
            return None
        return LabellerId(name, kind if kind in _KINDS else "recorded", {})
    if isinstance(value, dict) and isinstance(value.get("name"), str) and value["name"]:
        who, given, params = value["name"], value.get("kind"), value.get("params") or {}
        if who.startswith("human:"):
            # An export's object edited to a person's name keeps the machine's kind and params.
            return LabellerId(who, "human", {}) if who != "human:" else None
        if given in _KINDS and given != "human" and isinstance(params, dict):
            return LabellerId(who, given, params)
    return None


def _key(task: str, version: str, content: Mapping[str, Any], labeller: LabellerId) -> str:
    asked = [task, version, dict(content), labeller.name, labeller.kind, dict(labeller.params)]
    return content_hash(canonical(asked))
