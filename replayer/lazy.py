"""What is not held for ever: parts that are imported when they are first asked for, and tables that drop what is old."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pkgutil import resolve_name
from typing import Generic, TypeVar, cast

T = TypeVar("T")
K = TypeVar("K")


class LazyTable(Mapping[str, T], Generic[T]):
    """`places` maps each name to where its part is defined (`module:name`), below `package`."""

    def __init__(self, package: str, places: Mapping[str, str]) -> None:
        self._package, self._places = package, places
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            self._loaded[name] = cast(T, resolve_name(f"{self._package}.{self._places[name]}"))
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class Newest(OrderedDict[K, T]):
    """Keeps so many entries: the one that was put in longest ago goes first."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: K, value: T) -> None:
        super().__setitem__(key, value)
        if len(self) > self._limit:
            self.popitem(last=False)
