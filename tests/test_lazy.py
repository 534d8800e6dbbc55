"""The dataclasses that share their methods behave as those of the standard library."""

import dataclasses
import pickle
from dataclasses import field

import orjson
import pytest

from replayer.lazy import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: list[int] = field(default_factory=list)
    note: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named(Point):
    """With a word of its own."""

    name: str = "a"

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Pair:
    a: int
    b: str


def test_equal_by_the_fields_that_are_compared() -> None:
    assert Point(1, [2], "one") == Point(1, [2], "other") != Point(2, [2])
    assert Named(x=1) != Point(1) and Point(1) != (1, [])
    assert Pair(1, "b") in {Pair(1, "b"): 0} and len({Pair(1, "b"), Pair(1, "b"), Pair(2, "b")}) == 2


def test_shown_as_the_standard_library_does_unless_the_class_does() -> None:
    assert repr(Point(1, [2], "one")) == "Point(x=1, y=[2])"
    assert repr(Named(x=1)) == "a" and Named.__doc__ == "With a word of its own."


def test_replaced_flattened_pickled_and_written_as_json() -> None:
    point = Point(1, [2])
    assert dataclasses.replace(point, x=3) == Point(3, [2])
    assert dataclasses.asdict(point) == {"x": 1, "y": [2], "note": ""}
    assert orjson.dumps(point) == b'{"x":1,"y":[2],"note":""}'
    assert pickle.loads(pickle.dumps(point)) == point
    match Pair(1, "b"):
        case Pair(a, b):
            assert (a, b) == (1, "b")


@dataclass(slots=True, kw_only=True)
class Counted:
    """One that changes."""

    given: int
    many: list[int] = field(default_factory=list)
    own: int = field(default=7, init=False)
    late: int = field(init=False)

    def __post_init__(self) -> None:
        self.late = self.given + self.own


@dataclass(slots=True, eq=False)
class Single:
    a: int = 1


def test_made_as_the_standard_library_makes_it() -> None:
    one, other = Counted(given=1), Counted(given=1)
    one.many.append(2)
    assert (one.late, other.many, other.own) == (8, [], 7) and one != other and other == Counted(given=1)
    assert Counted.__hash__ is None and Single() != Single() and hash(Single())
    for wrong in ("Counted(1)", "Counted()", "Counted(given=1, own=2)", "Pair(1)"):
        with pytest.raises(TypeError, match="__init__"):
            eval(wrong)  # mypy would see it
