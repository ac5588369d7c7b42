"""From a model's reply to a verdict: tolerant of wrapping, strict about content.

What is tolerated: thinking before the answer, code fences, prose around the JSON, other letter
case, numbers as strings. What is never done: guess a verdict from free text (a protocol may have
a rule of its own for replies without JSON: ``Task.plain``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson
from pydantic import ValidationError

from assay.tasks.base import AnyTask, Unit, Verdict

_THINK = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_OPEN = re.compile(r"<(think|thinking|reasoning)>", re.IGNORECASE)
_MOST_CANDIDATES = 40


class UnusableReply(Exception):
    """The reply holds no verdict; the text says what is wrong and is shown to the model."""


def parse_reply(task: AnyTask, unit: Unit, reply: str) -> Verdict:
    """The verdict in ``reply``; raises UnusableReply where there is none that fits.

    Of several JSON objects that fit, the last counts (models correct themselves); if they
    disagree within one reply the last is still what the model ended on.
    """
    text = _without_thoughts(reply) if "<" in reply else reply
    problem = "the reply holds no JSON object"
    candidates = list(_objects(text))
    if not candidates and task.plain is not None:
        said = _by_rule(task, unit, text)
        if said is not None:
            return said
    for candidate in reversed(candidates):
        try:
            verdict: Verdict = task.verdict.model_validate(candidate)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            problem = f"field '{place}': {first['msg']}" if place else str(first["msg"])
            continue
        wrong = task.check(unit, verdict)
        if wrong is None:
            return verdict
        problem = wrong
    raise UnusableReply(problem)


def _by_rule(task: AnyTask, unit: Unit, text: str) -> Verdict | None:
    """What the task's own rule makes of a reply without JSON."""
    verdict: Verdict | None = task.plain(unit, text) if task.plain is not None else None
    return verdict if verdict is not None and task.check(unit, verdict) is None else None


def _without_thoughts(reply: str) -> str:
    text = _THINK.sub(" ", reply)
    # An unclosed <think> means the reply was cut off while thinking: nothing after it counts.
    unclosed = _OPEN.search(text)
    return text[: unclosed.start()] if unclosed else text


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every outermost JSON object in the text, in order."""
    whole = _loads(text.strip())
    if whole is not None:
        yield whole
        return
    start = text.find("{")
    tried = 0
    while start != -1 and tried < _MOST_CANDIDATES:
        tried += 1
        end = _matching_brace(text, start)
        if end is not None:
            found = _loads(text[start : end + 1])
            if found is not None:
                yield found
                start = text.find("{", end + 1)
                continue
        start = text.find("{", start + 1)


def _loads(text: str) -> dict[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _matching_brace(text: str, start: int) -> int | None:
    """Index of the brace that closes the one at ``start``, strings taken into account."""
    depth = 0
    in_string = escaped = False
    for index in range(start, len(text)):
        char = text[index]
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return index
    return None
