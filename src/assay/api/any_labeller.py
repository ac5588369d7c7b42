"""What a caller may give as a labeller: a SPEC, a labeller, or a function of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay.labellers.base import Labeller
from assay.labellers.custom import labeller_from

AnyLabeller = str | Labeller | Callable[..., Any]
"""A SPEC, a labeller, or a function ``(task, unit) -> verdict``."""


def as_spec(given: AnyLabeller) -> tuple[str, Labeller | None]:
    """The SPEC that names what is given, and the labeller itself where it is not named by that
    alone. Raises SettingsError for what is no labeller."""
    if isinstance(given, str):
        return given, None
    name = getattr(given, "__qualname__", type(given).__qualname__)
    spec = f"{getattr(given, '__module__', 'custom')}:{name}"
    return spec, labeller_from(spec, given)
