"""What requests to an OpenAI-compatible server look like: lowered as it refuses parts of them."""

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
    """What the server is asked to constrain the reply to, from most to least."""

    SCHEMA = 0
    JSON = 1
    PLAIN = 2


@dataclass(slots=True)
class Form:
    """What requests look like; lowered as the server refuses parts of it. ``old_parameters``:
    ``max_tokens`` and ``temperature`` are understood. ``seed``: so is that. ``lengths``: so are
    those of lists in schemas. ``stream``: replies come in pieces, where they are asked for so."""

    mode: Mode = Mode.SCHEMA
    old_parameters: bool = True
    seed: bool = True
    lengths: bool = True
    stream: bool = True

    def copy(self) -> Form:
        return replace(self)

    def lower(self, reply: Reply, sent: Form) -> bool:
        """After the refusal of a request sent as ``sent``, ask for less; False where its form was
        not what the server minded. Another request may have lowered the form meanwhile."""
        message = message_of(reply).casefold()
        # No other form makes it shorter, though such messages name max_tokens and the like.
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


def message_of(reply: Reply, keys: Iterable[str] = ()) -> str:
    """What an error reply says, without keys and shortened."""
    body = json_object(reply.body)
    error: Any = (body or {}).get("error", body)
    if isinstance(error, dict):
        code = error.get("code") or error.get("type") or ""
        text = f"{error.get('message') or error.get('detail') or error} {code}".strip()
    else:
        text = str(error) if error else reply.body.decode("utf-8", "replace")
    return excerpt(text, keys)
