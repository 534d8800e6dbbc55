"""Tables of parts by name, each imported when it is first asked for: who uses one part loads no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pkgutil import resolve_name
from typing import Generic, TypeVar, cast

T = TypeVar("T")


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
