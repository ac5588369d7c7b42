"""The reason recorded with a label, and whether the label is an edit of another one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from assay.formats.jsonl import one_text
from assay.model.labels import NO_RATIONALE, Rationale

_REASONS = ("reason", "reasoning", "explanation", "rationale", "justification", "comment")
EDITED_KEYS = ("annotation", "mode", "condition", "source")
_EDITED = re.compile(r"post[\s_-]?edit(?:ed|ing)?", re.IGNORECASE)
_FRESH = re.compile(r"(?:from[\s_-]?)?scratch|original|blind|manual", re.IGNORECASE)


def rationale_of(record: Mapping[str, Any]) -> Rationale:
    """The reason for a record's label, and whether the label is a post-edit."""
    reason = one_text(record, *_REASONS) or ""
    for name in EDITED_KEYS:
        value = record.get(name)
        if isinstance(value, str):
            if _EDITED.fullmatch(value.strip()):
                return Rationale(reason, True)
            if _FRESH.fullmatch(value.strip()):
                return Rationale(reason, False)
    return Rationale(reason) if reason else NO_RATIONALE
