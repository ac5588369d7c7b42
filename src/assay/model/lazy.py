"""A mapping whose values are computed on look-up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LazyMapping(Mapping[K, V]):
    """Maps each of ``names`` to ``value(name)``, computed anew at every look-up."""

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
