"""Roles of docstrings (``:func:`name```, for people and editors that read reST) become code on the
site. Used by mkdocstrings, see mkdocs.yml."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_ROLE = re.compile(r":[a-z]+:`~?([^`]+)`")


class Roles(Extension):
    """Writes roles as code, in the docstrings of all that is shown."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called for each object once it is read."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(r"`\1`", obj.docstring.value)
