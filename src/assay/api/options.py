"""Arguments that are one of a few words."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from assay.ledger.policy import POLICY_HELP as POLICY_HELP
from assay.model.errors import SettingsError

E = TypeVar("E", bound=StrEnum)


def one_of(kind: type[E], value: str, name: str) -> E:
    """The member of ``kind`` that ``value`` is. Raises SettingsError with those there are; ``name``
    is the argument's."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(f"'{one.value}'" for one in kind)
        raise SettingsError(f"{name} is {value!r}; it is one of {known}.") from None
