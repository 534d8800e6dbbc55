"""A fourth set of exchanges, labelled from docs/faults.md and the families' own grammars before any rule was read."""

from tests.tools.fourth_set import calls, endings, leaks, refusals, sound
from tests.tools.fourth_set.build import on_wires

FAULTY = on_wires([*leaks.CASES, *calls.CASES, *endings.CASES, *refusals.CASES])
SOUND = on_wires(sound.CASES)
SURROUNDED = on_wires(list(leaks.surrounded()))
