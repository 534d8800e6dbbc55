"""What is not made, or not held for ever: parts that are imported when they are first asked for, tables that drop what is
old, dataclasses that share their methods."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Generic, TypeVar, cast

T = TypeVar("T")
K = TypeVar("K")

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool, slots: bool, kw_only: bool = False) -> Callable[[type], type]:
        """The standard library's for frozen classes with slots, of which it compiles six methods each: a fifth of a
        command's start. Here only `__init__` is; that nothing is assigned to a field is for mypy to see."""
        assert frozen and slots

        def made(cls: type) -> type:
            cls.__doc__ = cls.__doc__ or cls.__name__  # else its signature is worked out and written there
            own = cls.__dict__.keys()
            found = dataclasses.dataclass(cls, slots=True, repr=False, eq=False, kw_only=kw_only)
            for name, method in _SHARED.items():
                if name not in own:
                    setattr(found, name, method)
            return found

        return made


def _compared(value: object) -> tuple[object, ...]:
    fields = value.__dataclass_fields__.values()  # type: ignore[attr-defined]
    return tuple([getattr(value, field.name) for field in fields if field.compare])


def _equal(one: object, other: object) -> bool:
    return _compared(one) == _compared(other) if other.__class__ is one.__class__ else NotImplemented


def _hashed(value: object) -> int:
    return hash(_compared(value))


def _shown(value: object) -> str:
    fields = value.__dataclass_fields__.values()  # type: ignore[attr-defined]
    shown = (f"{field.name}={getattr(value, field.name)!r}" for field in fields if field.repr)
    return f"{value.__class__.__qualname__}({', '.join(shown)})"


_SHARED = {"__eq__": _equal, "__hash__": _hashed, "__repr__": _shown}


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
