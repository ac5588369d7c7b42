"""Parse a model's reply into a verdict: tolerant of wrapping, strict about content.

Thinking before the answer, code fences, prose around the JSON, different case and numbers as
strings are tolerated. A verdict is never guessed from free text, but a task may have a rule of its
own for replies without JSON (``Task.plain``).
"""

from __future__ import annotations

import re
from array import array
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

import orjson
from pydantic import ValidationError

from assay.tasks.base import AnyTask, Unit, Verdict

_THOUGHTS = ("think", "thinking", "reasoning")
_OPEN = re.compile(rf"<({'|'.join(_THOUGHTS)})>", re.IGNORECASE)
_CLOSE = {name: re.compile(f"</{name}>", re.IGNORECASE) for name in _THOUGHTS}
_MOST_CANDIDATES = 40
_MOST_SPANS = 10_000
_MOST_TOLD = 3  # faults of a verdict that are listed
_MOST_READ = 16  # parse at most this many times the reply's length, however deep the nesting
_BRACES = re.compile(r"[{}]")
_STRINGS_AND_BRACES = re.compile(r'\\.|"(?:[^"\\\n]|\\.)*+"|[{}]')
_BEGINS = re.compile(r'\s*+["}]')  # what follows the opening brace of a JSON object


class UnusableReply(Exception):
    """The reply has no usable verdict; the message says why, and is shown to the model."""


def parse_reply(task: AnyTask, unit: Unit, reply: str) -> Verdict:
    """The verdict in ``reply``. Raises UnusableReply if no JSON object in it fits. The last of
    several fitting objects counts, as models correct themselves."""
    text = _without_thoughts(reply) if "<" in reply else reply
    problem = "the reply contains no JSON object"
    candidates = list(islice(_objects(text), _MOST_CANDIDATES))
    if not candidates and task.plain is not None:
        verdict: Verdict | None = task.plain(unit, text)  # by the task's own rule
        if verdict is not None and task.check(unit, verdict) is None:
            return verdict
    for candidate in candidates:
        try:
            return verdict_in(task, unit, candidate)
        except UnusableReply as unusable:
            problem = str(unusable)
    raise UnusableReply(problem)


def verdict_in(task: AnyTask, unit: Unit, value: object) -> Verdict:
    """Validate plain JSON as a verdict. Raises UnusableReply if it does not fit task and unit."""
    try:
        verdict: Verdict = task.verdict.model_validate(value)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        problems = []
        for fault in faults[:_MOST_TOLD]:
            place = ".".join(map(str, fault["loc"]))
            problems.append(f"field '{place}': {fault['msg']}" if place else fault["msg"])
        if len(faults) > _MOST_TOLD:
            problems.append(f"and {len(faults) - _MOST_TOLD} more")
        raise UnusableReply("; ".join(problems)) from None
    wrong = task.check(unit, verdict)
    if wrong is not None:
        raise UnusableReply(wrong)
    return verdict


def _without_thoughts(reply: str) -> str:
    remaining, place = [], 0
    while opened := _OPEN.search(reply, place):
        remaining.append(reply[place : opened.start()])
        closed = _CLOSE[opened[1].lower()].search(reply, opened.end())
        if closed is None:  # cut off while thinking: the rest does not count
            return " ".join(remaining)
        place = closed.end()
    return " ".join([*remaining, reply[place:]])


_SEARCHED = 200_000
"""Characters at the end of a reply that are searched for JSON in other text."""


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield every outermost JSON object in the text, the last first."""
    whole = json_object(text.strip())
    if whole is not None:
        yield whole
        return
    text = text[-_SEARCHED:]  # a model thinks first
    # Unbalanced quotes hide braces; the second pass counts all braces.
    for tokens in (_STRINGS_AND_BRACES, _BRACES):
        found = False
        budget = _MOST_READ * len(text)
        before = len(text)
        for start, end in reversed(_spans(text, tokens)):
            if end > before:  # inside an object that was found
                continue
            budget -= end - start
            if budget < 0:
                return
            value = json_object(text[start:end])
            if value is not None:
                found, before = True, start
                yield value
        if found:
            return


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object that a text is, or None."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _spans(text: str, tokens: re.Pattern[str]) -> deque[tuple[int, int]]:
    """Start and end of candidate JSON objects, by their braces, in order of their ends. One pass
    finds them, however deeply they nest; of very many, the last are kept."""
    found: deque[tuple[int, int]] = deque(maxlen=_MOST_SPANS)
    opened = array("q")  # starts of open braces, -1 in prose, where quotes have no meaning
    inside = place = 0
    while token := (tokens if inside else _BRACES).search(text, place):
        place = token.end()
        if token[0] == "{":
            begins = _BEGINS.match(text, place) is not None
            opened.append(token.start() if begins else -1)
            inside += begins
        elif token[0] == "}" and opened:
            start = opened.pop()
            if start >= 0:
                inside -= 1
                found.append((start, place))
    return found
