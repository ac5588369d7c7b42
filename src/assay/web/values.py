"""Plain values from labels and page requests, both of which are untrusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from math import log
from typing import Any

from assay.model.labels import WORKBENCH, Label, without_reasons
from assay.model.wording import counted
from assay.tasks.base import AnyTask, canonical, content_hash

Json = dict[str, Any]

_MOST_TEXT = 4000
"""Most characters of a text, and of all of a label's evidence together."""
_MOST_PARTS = 20


def comparable(verdict: Mapping[str, Any]) -> str:
    """A verdict without its reasons, as text: equal if people agree."""
    return canonical(without_reasons(verdict)).decode()


def reason_of(label: Label) -> str:
    """The label's reason, if any."""
    return str(label.reason or (label.verdict or {}).get("reason") or "")


def as_given(label: Label, content: Mapping[str, Any]) -> Json:
    """A label on a unit with this content, as shown again to the person who gave it."""
    said = label.detail.get(WORKBENCH)
    marked = said.get("evidence") if isinstance(said, Mapping) else None
    return {
        "uid": label.uid, "verdict": label.verdict, "reason": reason_of(label),
        "evidence": evidence_in(marked, content),
    }  # fmt: skip


def certainty_of(label: Label) -> float | None:
    """A machine verdict's distance from the decision threshold (log odds), if known; imported
    labels may contain anything."""
    with suppress(TypeError, ValueError, KeyError, AttributeError):
        probes, rulings = (label.detail.get(name, ()) for name in ("probes", "rulings"))
        found = [float(one["margin"]) - float(one["threshold"]) for one in probes]
        found += [_log_odds(one["yes"]) - _log_odds(one["threshold"]) for one in rulings]
        return min(map(abs, found), default=None)
    return None


def _log_odds(share: Any) -> float:
    p = min(max(float(share), 1e-4), 1 - 1e-4)  # labels hold four digits of it
    return log(p / (1 - p))


def moment_of(created: str) -> float:
    """Seconds since 1970, or 0 if an imported label does not say."""
    try:
        return datetime.fromisoformat(created).timestamp()
    except (ValueError, OverflowError):
        return 0.0


_LONG = ((86400, "day"), (3600, "hour"), (60, "minute"))


def ago(seconds: float) -> str:
    """Time since an event, in words."""
    if seconds < 2:
        return "just now"
    size, unit = next((one for one in _LONG if seconds >= 1.5 * one[0]), (1, "second"))
    many = f"{seconds / size:.0f}"  # infinite if nothing has happened yet
    return f"{many} {unit}{'' if many == '1' else 's'} ago"


def in_brief(verdict: Mapping[str, Any]) -> str:
    """A short form of a verdict, without its reasons."""
    values: list[str] = []

    def take(value: Any) -> None:
        if isinstance(value, dict):
            for one in value.values():
                take(one)
        elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
            values.append(counted(len(value), "item"))
        elif isinstance(value, list):
            values.append(", ".join(map(str, value)))
        else:
            values.append(("yes" if value else "no") if isinstance(value, bool) else str(value))

    take(without_reasons(verdict))
    return " · ".join(filter(None, values))[:80]


def beginning(task: AnyTask, content: Mapping[str, Any], most: int = 90) -> str:
    """The beginning of the judged text of a unit."""
    value = content.get(task.judged_fields[0], "")
    text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    return (text if len(text) <= most else f"{text[: most - 1]}…") or "(nothing yet)"


def texts_in(value: Any) -> Iterator[str]:
    """The texts of a field: the field itself, or the entries of a list."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (one for one in value if isinstance(one, str))


def anchor(question: str) -> str:
    """The anchor of a question on the bank's page."""
    return f"q{content_hash(question.encode())[:12]}"


def evidence_in(given: Any, content: Mapping[str, Any]) -> list[Json]:
    """Parts of the unit's texts that a person marked: field, character positions and text, up to
    the size limit."""
    found: list[Json] = []
    left = _MOST_TEXT
    for one in given if isinstance(given, list) else []:
        if not isinstance(one, dict) or len(found) == _MOST_PARTS:
            continue
        name, start, end = one.get("field"), one.get("start"), one.get("end")
        text = content.get(str(name))
        if isinstance(text, list) and isinstance(one.get("item"), int):
            text = text[one["item"]] if 0 <= one["item"] < len(text) else None
        if not isinstance(text, str) or type(start) is not int or type(end) is not int:
            continue
        if 0 <= start < end <= len(text):
            words = text[start : min(end, start + left)]
            left -= len(words)
            place = {"field": name, "start": start, "end": end, "text": words}
            found.append(
                place | ({"item": one["item"]} if isinstance(one.get("item"), int) else {})
            )
    return found


def uids_in(said: Mapping[str, Any]) -> Sequence[str]:
    """Uids of the labels by others that the page reports having shown."""
    found = said.get("seen")
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def text_in(given: Any) -> str:
    """A stripped text; empty for anything else."""
    return given.strip()[:_MOST_TEXT] if isinstance(given, str) else ""


def seconds_in(given: Any) -> float | None:
    """Seconds, or None if not given."""
    good = isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given < 1e6
    return round(float(given), 1) if good else None
