"""From a model's reply to a verdict: tolerant of wrapping, strict about content.

What is tolerated: thinking before the answer, code fences, prose around the JSON, other letter
case, numbers as strings. What is never done: guess a verdict from free text (a protocol may have
a rule of its own for replies without JSON: ``Task.plain``).
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
_MOST_TOLD = 3  # faults of a verdict
_MOST_READ = 16  # times the reply's length, so that no nesting takes long
_BRACES = re.compile(r"[{}]")
_STRINGS_AND_BRACES = re.compile(r'\\.|"(?:[^"\\\n]|\\.)*+"|[{}]')
_BEGINS = re.compile(r'\s*+["}]')  # how JSON goes on after the brace that opens an object


class UnusableReply(Exception):
    """The reply holds no verdict; the text says what is wrong and is shown to the model."""


def parse_reply(task: AnyTask, unit: Unit, reply: str) -> Verdict:
    """The verdict in ``reply``; raises UnusableReply where there is none that fits.

    Of several JSON objects that fit, the last counts (models correct themselves); if they
    disagree within one reply the last is still what the model ended on.
    """
    text = _without_thoughts(reply) if "<" in reply else reply
    problem = "the reply holds no JSON object"
    candidates = list(islice(_objects(text), _MOST_CANDIDATES))
    if not candidates and task.plain is not None:
        said: Verdict | None = task.plain(unit, text)  # by the task's own rule
        if said is not None and task.check(unit, said) is None:
            return said
    for candidate in candidates:
        try:
            return verdict_in(task, unit, candidate)
        except UnusableReply as unusable:
            problem = str(unusable)
    raise UnusableReply(problem)


def verdict_in(task: AnyTask, unit: Unit, said: object) -> Verdict:
    """The verdict that plain JSON is; raises UnusableReply where it does not fit task and unit."""
    try:
        verdict: Verdict = task.verdict.model_validate(said)
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
        if closed is None:  # cut off while thinking: nothing after it counts
            return " ".join(remaining)
        place = closed.end()
    return " ".join([*remaining, reply[place:]])


_SEARCHED = 200_000
"""Characters at the end of a reply that are searched for JSON between other text."""


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every outermost JSON object in the text, the last first."""
    whole = json_object(text.strip())
    if whole is not None:
        yield whole
        return
    text = text[-_SEARCHED:]  # a model's thoughts come first
    # Where quotes are unbalanced they hide braces: then all braces count.
    for tokens in (_STRINGS_AND_BRACES, _BRACES):
        found = False
        left = _MOST_READ * len(text)
        before = len(text)
        for start, end in reversed(_spans(text, tokens)):
            if end > before:  # inside one that was found
                continue
            left -= end - start
            if left < 0:
                return
            value = json_object(text[start:end])
            if value is not None:
                found, before = True, start
                yield value
        if found:
            return


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """A text as the JSON object that it is, if it is one."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _spans(text: str, tokens: re.Pattern[str]) -> deque[tuple[int, int]]:
    """Start and end of what may be JSON objects by its braces, in order of their ends; of very
    many the last. Found in one pass, however deep they nest and whether or not they are closed."""
    found: deque[tuple[int, int]] = deque(maxlen=_MOST_SPANS)
    opened, inside, place = array("q"), 0, 0  # -1 for a brace of prose, where quotes mean nothing
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
