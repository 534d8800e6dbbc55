"""The same request in both modes: what only the two answers together show."""

from tests.tools.fifth_set.build import Call, Case, case

REPAIRED, DROPPED, DIFFERS = "silent_repair:parser", "silent_drop:parser", "stream_differs:engine"
COLD = {"wire": "chat", "spent": 40}
ZERO = {"temperature": 0}
CODER = "<tool_call>\n<function=shell>\n<parameter=cmd>\nls\n</parameter>\n</function>\n</tool_call>"
LS = (Call("shell", '{"cmd": "ls"}'),)


def pair(
    name: str, want: str, first: dict, second: dict, *, usable: bool, may: str = ""
) -> tuple[Case, Case]:
    """Return the answer that is judged, not streamed, and the streamed one beside it."""
    judged = case(f"pair, {name}", want, may=may, usable=usable, asked=ZERO, streamed=False, **COLD, **first)
    return judged, case("other", asked=ZERO, streamed=True, **COLD, **second)


PAIRS = [
    pair("the same", "", {"calls": LS}, {"calls": LS}, usable=True),
    pair("the same words", "", {"content": "Two files."}, {"content": "Two files."}, usable=True),
    pair(
        "spaces in the arguments", "", {"calls": LS}, {"calls": (Call("shell", '{"cmd":"ls"}'),)}, usable=True
    ),
    pair(
        "leaked when streamed",
        DIFFERS,
        {"calls": LS},
        {"content": CODER},
        usable=True,
    ),
    pair(
        "leaked when whole",
        f"{DIFFERS} leaked_markup:parser",
        {"content": CODER},
        {"calls": LS},
        usable=False,
        may=DROPPED,
    ),
    pair(
        "dropped when whole",
        f"{DROPPED} {DIFFERS}",
        {"content": "I look."},
        {"content": "I look.", "calls": LS},
        usable=False,
    ),
    pair(
        "dropped second",
        f"{DROPPED} {DIFFERS}",
        {"calls": LS},
        {"calls": (*LS, Call("whoami", "{}"))},
        usable=False,
    ),
    pair(
        "empty arguments when whole",
        f"missing_parameter:parser|{REPAIRED} {DIFFERS}",
        {"calls": (Call("shell", "{}"),)},
        {"calls": LS},
        usable=False,
        may=f"{REPAIRED} missing_parameter:model missing_parameter:parser",
    ),
    pair(
        "repaired",
        f"{REPAIRED} {DIFFERS}",
        {"calls": LS},
        {"content": '<tool_call>\n{"name": "shell", "arguments": {"cmd": "ls}\n</tool_call>'},
        usable=False,
        may="leaked_markup:model",
    ),
    pair(
        "broken as it was written",
        f"arguments_not_json:model {DIFFERS}",
        {"calls": (Call("shell", '{"cmd": "echo "a""}'),)},
        {"content": '<tool_call>\n{"name": "shell", "arguments": {"cmd": "echo "a""}}\n</tool_call>'},
        usable=False,
        may="leaked_markup:model",
    ),
    pair(
        "broken, written soundly",
        f"arguments_not_json:parser {DIFFERS}",
        {"calls": (Call("shell", '{"cmd": "ls'),)},
        {"calls": LS},
        usable=False,
        may=REPAIRED,
    ),
    pair(
        "other words",
        DIFFERS,
        {"content": "Two files."},
        {"content": "There are two files in it."},
        usable=True,
    ),
]
