"""A sixth set of exchanges, labelled from docs/faults.md and the engines' parsers before any rule was read."""

from tests.tools.sixth_set import leaks, replies, sound, streams, trackers
from tests.tools.sixth_set.build import place

FAULTY = place([*leaks.CASES, *replies.CASES, *streams.CASES])
SOUND = place(sound.CASES)
REPORTED = place(trackers.CASES)
