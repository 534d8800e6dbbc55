"""A fifth set of exchanges, labelled from docs/faults.md and the engines' trackers before any rule was read."""

from tests.tools.fifth_set import (
    arguments,
    asked,
    endings,
    events,
    leaks,
    promises,
    sound,
    sound_forms,
    sound_requests,
    sound_wires,
    streams,
)
from tests.tools.fifth_set.build import Case, place

TRIED: list[Case] = [
    case for room in (leaks, arguments, streams, events, asked, endings, promises) for case in room.CASES
]
LAWFUL: list[Case] = [
    case for room in (sound, sound_requests, sound_forms, sound_wires) for case in room.CASES
]
FAULTY = place([each for each in TRIED if each.want])
SOUND = place([*LAWFUL, *(each for each in TRIED if not each.want)])
SURROUNDED = place(list(leaks.surrounded()))
