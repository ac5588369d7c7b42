"""Labels as rows of JSON Lines: export from a ledger, and import into one."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args, get_origin

from pydantic import ValidationError

from assay.ledger.hashes import is_hash
from assay.ledger.ledger import NewLabel
from assay.ledger.lines import WHOLE
from assay.model.errors import SettingsError
from assay.model.labels import Label, LabellerId, Status
from assay.model.records import folded_text
from assay.model.secrets import secret_in, secret_message
from assay.model.wording import quoted
from assay.tasks.base import AnyTask, Verdict, canonical, content_hash, unit_hash
from assay.tasks.registry import REGISTRY

_KINDS = ("model", "rules", "human", "recorded", "ensemble", "custom")
_NUMBERS = ("tokens_in", "tokens_out", "cost", "seconds")
_LIMIT = 1 << 63  # numbers from here on do not fit into the database


def label_row(label: Label, content: Mapping[str, Any]) -> dict[str, Any]:
    """A label as plain JSON with its unit's content, like :func:`assay.ledger.lines.lines_of`.
    :func:`label_from` reverses it."""
    who = label.labeller
    about = {
        **label._asdict(),
        "unit_hash": label.unit,
        "unit": content,
        "labeller": {"name": who.name, "kind": who.kind, "params": who.params},
        "status": label.status.value,
    }
    return {name: about[name] for name in WHOLE if name not in ("number", "kind", "params")}


def person(name: str) -> LabellerId:
    """The person called ``human:NAME``. Raises SettingsError for any other name."""
    found = _labeller(name)
    if found is None or not found.is_human:
        told = "Write human:NAME, with visible characters and ordinary spaces only."
        raise SettingsError(f"{name!r} is not a person's name. {told}")
    return found


def spelt_alike(name: str, names: Iterable[str]) -> str | None:
    """The name among ``names`` that differs from ``name`` only in case, width or white space, so
    that people would take it for the same; None if there is none."""
    if name in (names := set(names)):
        return None
    return next((one for one in sorted(names) if _read(one) == _read(name)), None)


def _read(name: str) -> str:
    return folded_text(unicodedata.normalize("NFKC", name))


def key_of(task: str, version: str, content: Mapping[str, Any], who: LabellerId) -> str:
    """The key of a question to a person."""
    asked = [task, version, dict(content), who.name, who.kind, dict(who.params)]
    return content_hash(canonical(asked))


def person_label(
    who: LabellerId,
    task: AnyTask,
    content: Mapping[str, Any],
    verdict: Mapping[str, Any],
    *,
    reason: str | None = None,
    overrules: str | None = None,
    detail: Mapping[str, Any] | None = None,
) -> NewLabel:
    """A person's label of a unit with ``content``, replacing the label with uid ``overrules``."""
    return NewLabel(
        key=key_of(task.name, task.version, content, who),
        task=task.name,
        version=task.version,
        unit=unit_hash(task.name, content),
        content=content,
        labeller=who,
        status=Status.OK,
        verdict=verdict,
        reason=reason,
        overrules=overrules,
        detail=detail or {},
    )


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a row is not a label, and what to do about it."""

    why: str
    cure: str


def label_from(
    row: dict[str, Any],
    known: Mapping[str, Label],
    contents: Mapping[str, Mapping[str, Any]],
    by: LabellerId | None,
) -> NewLabel | Problem | None:
    """The label in a row, what is wrong with the row, or None if the label is known.

    A row needs ``verdict`` and ``labeller`` (a name such as ``human:KIM``, or the object that an
    export writes; default ``by``), and either the ``uid`` of a ``known`` label, or ``task`` and
    ``unit`` (or the ``unit_hash`` of a unit in ``contents``). An exported row becomes a new label
    that overrules the old one, without its reasons, if a person changed the verdict or the reason
    and set the labeller to ``human:NAME`` (or left it empty, for ``by``).
    """
    original = known.get(str(row.get("uid")))
    if original is not None:
        row = {"task": original.task, "unit_hash": original.unit, **row}
    task = REGISTRY.get(row.get("task", "")) if isinstance(row.get("task"), str) else None
    if task is None and row.get("task") is None:
        if row.get("uid") is None:
            return Problem("There is no 'uid' and no 'task'.", "Keep them as exported.")
        return Problem(
            f"There is no label {row['uid']!r} in this ledger.",
            "Keep the uid as exported, or give task, unit and verdict of a new label.",
        )
    if task is None:
        return Problem(f"There is no task {row.get('task')!r}.", f"Tasks: {', '.join(REGISTRY)}.")
    labeller = _labeller(row["labeller"]) if row.get("labeller") is not None else by
    if labeller is None:
        cure = (
            'Give --by human:NAME, or write there "human:NAME" or an object with name, kind '
            f"({', '.join(_KINDS)}), params."
        )
        return Problem("There is no usable 'labeller'.", cure)
    secret = secret_in(row.get("labeller"))
    if secret is not None:
        return Problem("The 'labeller' contains a secret.", secret_message(secret))

    unit = row.get("unit", contents.get(str(row.get("unit_hash"))))
    if unit is None:
        return Problem(
            "There is no 'unit' and no known 'unit_hash'.",
            "Add the unit's content. If this is a sheet whose texts were changed, and its folder "
            "asks about something else now, write a new sheet.",
        )
    verdict: dict[str, Any] | None = None
    failed = row.get("status") == Status.FAILED.value and row.get("verdict") is None
    status = Status.FAILED if failed else Status.OK
    try:
        checked = task.unit.model_validate(unit)
        if status is Status.OK:
            made = task.verdict.model_validate(row.get("verdict"))
            check = (task.person_check if labeller.is_human else None) or task.check
            wrong = check(checked, made)
            if wrong:
                return Problem(
                    f"The verdict does not fit the unit: {wrong}.",
                    f"See what {task.name} asks for.",
                )
            verdict = made.model_dump(mode="json")
            unread = (
                None
                if original and row["verdict"] == original.verdict
                else next(_unknown_fields(row["verdict"], verdict), None)
            )
            if unread is not None:
                return Problem(
                    f"The verdict has no field '{unread}'.", f"Fields: {', '.join(verdict)}."
                )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "verdict"
        said = first["msg"].removeprefix("Value error, ")
        said = "is missing" if first["type"] == "missing" else said
        field = str(next(iter(first["loc"]), ""))
        shape = _shape_of(task.verdict, field)
        if shape and first["type"] in ("tuple_type", "model_type"):
            return Problem(f"'{field}' is not a JSON list.", f"Write it like this: {shape}.")
        given = first["input"]
        shown = f", not {quoted(given)}" if isinstance(given, str) and given else ""
        cure = f"Write '{field}' like this: {shape}" if shape else f"See what {task.name} asks for"
        return Problem(f"'{place}' {said}{shown}.", f"{cure}.")
    content = checked.model_dump(mode="json")
    given = row.get("reason")
    reason = given if isinstance(given, str) and given else None
    if original is not None:
        return _edited(original, task, content, labeller, verdict, reason, by)
    sample, detail = row.get("sample") or 0, row.get("detail")
    if not isinstance(sample, int) or abs(sample) >= _LIMIT:
        return Problem(f"'sample' {sample!r} is not an integer.", "Leave it out, or write 0.")
    for name in _NUMBERS:
        if abs(_number(row.get(name)) or 0) >= _LIMIT:
            return Problem(f"'{name}' {row[name]!r} is too large.", "Leave it out.")
    label = person_label(
        labeller,
        task,
        content,
        verdict or {},
        reason=_own_reason(verdict) or reason,
        overrules=_overrules(row),
        detail=detail if isinstance(detail, dict) else None,
    )
    label = replace(
        label,
        key=row["key"] if is_hash(row.get("key")) else label.key,
        version=str(row.get("version") or task.version),
        status=status,
        verdict=verdict,
        error=str(row["error"]) if row.get("error") else None,
        sample=sample,
        created=row["created"] if isinstance(row.get("created"), str) else None,
        **{name: _number(row.get(name)) for name in _NUMBERS},
    )
    if not _exported(row) or label.created is None:
        return label
    exported = replace(label, verdict=row.get("verdict"), reason=given)
    if exported.uid(label.created) != row["uid"]:
        return Problem(
            "This label is from another ledger, and was changed after it was exported there.",
            "First import that ledger's labels unchanged; then import this file with --by "
            "human:NAME.",
        )
    return label


def _exported(row: Mapping[str, Any]) -> bool:
    """Whether a row is from an export: it has a uid and the time of its making."""
    return isinstance(row.get("created"), str) and row.get("uid") is not None


def _overrules(row: Mapping[str, Any]) -> str | None:
    """The uid of the label that a row overrules. In an exported row it is kept even if it is not a
    hash, because the row's uid covers it."""
    given = row.get("overrules")
    if not isinstance(given, str):
        return None
    return given if is_hash(given) or _exported(row) else None


def _shape_of(verdict: type[Verdict], name: str) -> str:
    """An example, as JSON, of a verdict's list field; empty for any other field."""
    field = verdict.model_fields.get(name)
    if field is None or get_origin(field.annotation) is not tuple:
        return ""
    entry = next(iter(get_args(field.annotation)), None)
    if not (isinstance(entry, type) and issubclass(entry, Verdict)):
        return '["…", "…"]'
    named = [one for one, about in entry.model_fields.items() if about.is_required()]
    return "[{" + ", ".join(f'"{one}": …' for one in named) + "}]"


def _edited(
    original: Label,
    task: AnyTask,
    content: Mapping[str, Any],
    labeller: LabellerId,
    verdict: Mapping[str, Any] | None,
    reason: str | None,
    by: LabellerId | None,
) -> NewLabel | Problem | None:
    """The label, or the problem, that editing an exported row results in; None if unchanged."""
    if original.unit != unit_hash(task.name, content):
        return Problem("The unit of this label was changed.", "Change only the verdict.")
    changed = (original.verdict, original.reason) != (verdict, reason)
    if original.labeller == labeller:
        if not changed:
            return None
        labeller = by or labeller
        if not labeller.is_human:
            return Problem(
                f"This label of {labeller.name} was changed, but labels in the ledger never "
                "change.",
                'To record it as a person\'s correction, set "labeller": "human:NAME" in the '
                "line, or import with --by human:NAME.",
            )
    if verdict is None:
        return Problem("There is no verdict.", f"Add one: see what {task.name} asks for.")
    if original.version != task.version:
        return Problem(
            f"This label is for version {original.version} of {task.name}, which does not count.",
            f"Edit a label for version {task.version}.",
        )
    reasons = {original.reason, *_reasons(original.verdict)}
    own = _without_reasons(verdict, reasons)
    said = _own_reason(own) or (None if reason in reasons else reason)
    return person_label(labeller, task, content, own, reason=said, overrules=original.uid)


def _unknown_fields(given: Any, read: Any) -> Iterator[str]:
    """Fields of the verdict ``given`` that the task does not have: typing errors in their names,
    which would otherwise go unnoticed."""
    if isinstance(given, Mapping) and isinstance(read, Mapping):
        for name, inner in given.items():
            if name in read:
                yield from _unknown_fields(inner, read[name])
            else:
                yield str(name)
    elif isinstance(given, list) and isinstance(read, list):
        for one, other in zip(given, read, strict=False):
            yield from _unknown_fields(one, other)


def _own_reason(verdict: Mapping[str, Any] | None) -> str | None:
    """The verdict's own reason."""
    reason = (verdict or {}).get("reason")
    return reason if isinstance(reason, str) and reason else None


def _reasons(value: Any) -> Iterator[str]:
    """Every reason in a verdict, for the whole or for a part."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name == "reason" and isinstance(inner, str):
                yield inner
            else:
                yield from _reasons(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _reasons(inner)


def _without_reasons(value: Any, reasons: Collection[str | None]) -> Any:
    """A verdict without these reasons."""
    if isinstance(value, Mapping):
        return {
            name: "" if name == "reason" and inner in reasons else _without_reasons(inner, reasons)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_without_reasons(inner, reasons) for inner in value]
    return value


def _number(value: Any) -> Any:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _labeller(value: Any) -> LabellerId | None:
    if isinstance(value, str) and value.strip():
        name = value.strip()
        kind = name.partition(":")[0]
        if kind == "human":
            return _human(name)
        return LabellerId(name, kind if kind in _KINDS else "recorded", {})
    if isinstance(value, dict) and isinstance(value.get("name"), str) and value["name"]:
        who, given, params = value["name"], value.get("kind"), value.get("params") or {}
        if who.startswith("human:"):
            # An export's object edited to a person's name keeps the machine's kind and params.
            return _human(who)
        if given in _KINDS and given != "human" and isinstance(params, dict):
            return LabellerId(who, given, params)
    return None


def _human(name: str) -> LabellerId | None:
    """The person of this name, or None if the name is empty, has unprintable characters or has
    white space around it, so that it could be mistaken for another."""
    own = name.removeprefix("human:")
    seen = own.strip() == own and own.isprintable() and own
    return LabellerId(name, "human", {}) if seen else None
