"""Values by name that are made when they are looked up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Computed(Mapping[K, V]):
    """What ``value`` gives for each of some names; nothing is kept."""

    def __init__(self, names: Collection[K], value: Callable[[K], V]) -> None:
        self._names, self._value = names, value

    def __getitem__(self, name: K) -> V:
        if name not in self._names:
            raise KeyError(name)
        return self._value(name)

    def __iter__(self) -> Iterator[K]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
