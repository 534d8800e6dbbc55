"""A seventh set of exchanges, labelled from docs/faults.md alone before any of them was judged."""

from tests.tools.seventh_set import further, leaks, replies, sound, streams
from tests.tools.seventh_set.build import place

FAULTY = place([*leaks.CASES, *replies.CASES, *streams.CASES])
SOUND = place(sound.CASES)
FURTHER = place(further.FAULTY)
FURTHER_SOUND = place(further.SOUND)
