"""What is not made, or not held for ever: parts that are imported when they are first asked for, tables that drop what is
old, dataclasses that share their methods."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Generic, TypeVar, cast

T = TypeVar("T")
K = TypeVar("K")

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        *, slots: bool, frozen: bool = False, kw_only: bool = False, eq: bool = True
    ) -> Callable[[type], type]:
        """The standard library's for classes with slots, of which it compiles up to six methods each: a fifth of a command's
        start. Here `__init__` is compiled when the first object is made, the other methods are shared. That nothing is
        assigned to a frozen object's field is for mypy to see."""
        assert slots

        def made(cls: type) -> type:
            cls.__doc__ = cls.__doc__ or cls.__name__  # else its signature is worked out and written there
            own = cls.__dict__.keys()
            found = dataclasses.dataclass(cls, slots=True, repr=False, eq=False, init=False, kw_only=kw_only)
            hashed = _hashed if frozen else None
            compared = {"__eq__": _equal, "__hash__": hashed} if eq else {}
            for name, method in {"__init__": _first_init(found), "__repr__": _shown, **compared}.items():
                if name not in own:
                    setattr(found, name, method)
            return found

        return made


def _first_init(cls: type) -> Callable[..., None]:
    def __init__(self: object, *args: object, **named: object) -> None:
        _compile_init(cls)(self, *args, **named)

    return __init__


def _compile_init(cls: type) -> Callable[..., None]:
    """As `dataclasses` writes it."""
    scope: dict[str, object] = {"unset": _UNSET}
    places: list[str] = []
    named: list[str] = []
    lines: list[str] = []
    for field in dataclasses.fields(cls):
        name, value, made = field.name, field.name, field.default_factory is not dataclasses.MISSING
        scope[f"made_{name}"], scope[f"default_{name}"] = field.default_factory, field.default
        default = "unset" if made else f"default_{name}" if field.default is not dataclasses.MISSING else ""
        if field.init:
            (named if field.kw_only else places).append(f"{name}={default}" if default else name)
            value = f"made_{name}() if {name} is unset else {name}" if made else name
        elif default:
            value = f"made_{name}()" if made else default
        if field.init or default:
            lines.append(f" self.{name}={value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    taken = ", ".join(["self", *places, *(["*", *named] if named else [])])
    exec("\n".join([f"def __init__({taken}):", *(lines or [" pass"])]), scope)
    init = cast(Callable[..., None], scope["__init__"])
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = init  # type: ignore[misc]
    return init


_UNSET = object()
_GETTERS: dict[type, Callable[[object], object]] = {}


def _compared(value: object) -> object:
    """The fields that make it what it is."""
    cls = value.__class__
    if cls not in _GETTERS:
        names = [field.name for field in dataclasses.fields(cls) if field.compare]  # type: ignore[arg-type]
        _GETTERS[cls] = attrgetter(*names) if names else bool
    return _GETTERS[cls](value)


def _equal(one: object, other: object) -> bool:
    return _compared(one) == _compared(other) if other.__class__ is one.__class__ else NotImplemented


def _hashed(value: object) -> int:
    return hash(_compared(value))


def _shown(value: object) -> str:
    fields = value.__dataclass_fields__.values()  # type: ignore[attr-defined]
    shown = (f"{field.name}={getattr(value, field.name)!r}" for field in fields if field.repr)
    return f"{value.__class__.__qualname__}({', '.join(shown)})"


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
