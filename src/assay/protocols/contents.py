"""What a run was asked and handed in, topic by topic, to tell whether evaluations are
comparable."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.tasks.base import canonical


@dataclass(frozen=True, slots=True)
class Content:
    """A topic of one run. ``answer`` and ``passages`` are plain JSON, None if the run has none; a
    passage is a text, or an id with its text or None. ``lines`` are the answer as people read it.
    Topics of the same ``session`` (turns of a conversation) are not independent."""

    question: str
    references: Sequence[str] = ()
    answerable: bool = True
    answer: Any = None
    passages: Any = None
    session: str | None = None
    lines: Sequence[str] = ()


def cited(text: str, citations: Iterable[object]) -> str:
    """A line of an answer, with its citations in brackets."""
    marks = ", ".join(map(str, citations))
    return f"{text} [{marks}]" if marks else text


def digest(value: Any) -> str:
    """The SHA-256 of a value as canonical JSON: ``sha256:…``."""
    return f"sha256:{hashlib.sha256(canonical(value)).hexdigest()}"
