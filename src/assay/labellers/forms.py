"""The features that requests to an OpenAI-compatible server use, reduced as it refuses some."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from assay.labellers.replies import json_object
from assay.labellers.transport import Reply
from assay.model.secrets import excerpt
from assay.tasks.schemas import LIST_LENGTHS

_FORMAT_WORDS = ("response_format", "json_schema", "json_object", "guided", "grammar", "schema")
_LENGTH_WORDS = ("context length", "context_length", "maximum context", "too long", "too many tok")
_SEED = re.compile(r"\bseed\b")
_STREAM = re.compile(r"\bstream(?:ing|_options)?\b")


class Mode(IntEnum):
    """How the server constrains the reply, from most to least."""

    SCHEMA = 0
    JSON = 1
    PLAIN = 2


@dataclass(slots=True)
class RequestForm:
    """Features that the server supports, as far as known. ``old_parameters``: ``max_tokens`` and
    ``temperature``. ``seed``: the parameter. ``lengths``: lengths of lists in schemas. ``stream``:
    streamed replies, if these are wanted."""

    mode: Mode = Mode.SCHEMA
    old_parameters: bool = True
    seed: bool = True
    lengths: bool = True
    stream: bool = True

    def copy(self) -> RequestForm:
        return replace(self)

    def lower(self, reply: Reply, sent: RequestForm) -> bool:
        """After the refusal of a request of form ``sent``, drop the feature that was refused.
        Returns False if the refusal was not about the form. Another request may have reduced this
        form meanwhile."""
        message = error_message(reply).casefold()
        # The prompt is too long, which no form changes, though such messages name max_tokens.
        if any(word in message for word in _LENGTH_WORDS):
            return False
        if sent.stream and _STREAM.search(message):
            self.stream = False
            return True
        if sent.seed and _SEED.search(message):
            self.seed = False
            return True
        if sent.old_parameters and ("max_completion_tokens" in message or "temperature" in message):
            self.old_parameters = False
            return True
        if sent.lengths and any(word.casefold() in message for word in LIST_LENGTHS):
            self.lengths = False
            return True
        if sent.mode is not Mode.PLAIN and any(word in message for word in _FORMAT_WORDS):
            self.mode = max(self.mode, Mode(sent.mode + 1))
            return True
        return False


def error_message(reply: Reply, keys: Iterable[str] = ()) -> str:
    """The message of an error reply, shortened and without keys."""
    body = json_object(reply.body)
    error: Any = (body or {}).get("error", body)
    if isinstance(error, dict):
        code = error.get("code") or error.get("type") or ""
        text = f"{error.get('message') or error.get('detail') or error} {code}".strip()
    else:
        text = str(error) if error else reply.body.decode("utf-8", "replace")
    return excerpt(text, keys)
