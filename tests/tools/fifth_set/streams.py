"""Chat streams: ids, indexes, and the order of pieces."""

from tests.tools.fifth_set.build import Case, case
from tests.tools.fifth_set.wires import LS, PROTOCOL, PWD, both, deltas, piece
from tests.tools.fourth_set.build import chunk, events

ID, INDEX = "bad_call_id:parser", "bad_call_index:parser"
STREAMS = [
    # name, labels, usable, what may be found besides, stream
    (
        "ollama, all index 0",
        INDEX,
        True,
        "",
        deltas(
            piece(0, LS, id_="a", name="shell"),
            piece(0, PWD, id_="b", name="shell"),
            piece(0, "{}", id_="c", name="whoami"),
        ),
    ),
    (
        "index is null",
        INDEX,
        True,
        "",
        deltas(piece(None, LS, id_="a", name="shell"), piece(None, PWD, id_="b", name="shell")),
    ),
    ("begins at 1", INDEX, True, "", deltas(piece(1, LS, id_="a", name="shell"))),
    (
        "one id for both",
        ID,
        False,
        "",
        deltas(piece(0, LS, id_="call_0", name="shell"), piece(1, PWD, id_="call_0", name="shell")),
    ),
    ("ids are null", ID, False, "", deltas(piece(0, LS, name="shell"), piece(1, PWD, name="shell"))),
    ("one without id", ID, True, "", deltas(piece(0, LS, name="shell"))),
    ("object in one piece", PROTOCOL, True, "", deltas(piece(0, {"cmd": "ls"}, id_="a", name="shell"))),
    (
        "id of its own in each",
        PROTOCOL,
        True,
        "",
        deltas(
            piece(0, '{"cmd"', id_="a", name="shell"), piece(0, ': "ls"', id_="b"), piece(0, "}", id_="c")
        ),
    ),
    (
        "name in each",
        PROTOCOL,
        True,
        "",
        deltas(
            piece(0, '{"cmd"', id_="a", name="shell"),
            piece(0, ': "ls"', name="shell"),
            piece(0, "}", name="shell"),
        ),
    ),
    (
        "whole once more, xlam",
        "arguments_not_json:parser",
        False,
        "",
        deltas(
            piece(0, "", id_="a", name="open_file"),
            piece(0, '{"path": '),
            piece(0, '"a"}'),
            piece(0, '{"path": "a"}'),
        ),
    ),
    (
        "prefix, then whole",
        "arguments_not_json:parser",
        False,
        "",
        deltas(piece(0, "", id_="a", name="open_file"), piece(0, "{"), piece(0, '{"path": "a"}')),
    ),
    (
        "prefix twice",
        "arguments_not_json:parser",
        False,
        "",
        deltas(piece(0, "", id_="a", name="open_file"), piece(0, '{"path": "'), piece(0, '{"path": "a"}')),
    ),
    (
        "two objects in one call",
        "arguments_not_json:unknown",
        False,
        "arguments_not_json:parser",
        deltas(piece(0, "", id_="a", name="lookup"), piece(0, '{"key": "a"}'), piece(0, '{"key": "b"}')),
    ),
    (
        "stop beside two calls",
        "finish_contradicts:engine",
        True,
        "",
        deltas(
            both(piece(0, LS, id_="a", name="shell"), piece(1, PWD, id_="b", name="shell")), finish="stop"
        ),
    ),
    (
        "claims calls, has words",
        "finish_contradicts:engine",
        True,
        "",
        deltas({"content": "Both are equal."}),
    ),
    ("claims calls, has nothing", "empty_turn:unknown", False, "finish_contradicts:engine", deltas({})),
    ("no role at all", "", True, PROTOCOL, events(chunk({"content": "Done."}), chunk({}, "stop"), "[DONE]")),
    (
        "no done",
        PROTOCOL,
        True,
        "",
        events(chunk({"role": "assistant"}), chunk({"content": "Done."}), chunk({}, "stop")),
    ),
    (
        "breaks off",
        "engine_error:engine",
        False,
        "protocol:engine empty_turn:unknown",
        events(chunk({"role": "assistant"}), chunk({"content": "I am go"})),
    ),
    (
        "error after words",
        "engine_error:engine",
        False,
        PROTOCOL,
        events(
            chunk({"role": "assistant"}),
            chunk({"content": "I am"}),
            {
                "error": {
                    "message": "EngineCore encountered an issue.",
                    "type": "InternalServerError",
                    "code": 500,
                }
            },
            "[DONE]",
        ),
    ),
    (
        "aborted",
        "engine_error:engine",
        False,
        "",
        events(chunk({"role": "assistant"}), chunk({"content": "I am"}), chunk({}, "abort"), "[DONE]"),
    ),
    (
        "repetition",
        "collapsed:model",
        False,
        "",
        events(
            chunk({"role": "assistant"}),
            chunk({"content": "so so so so so so so so"}),
            chunk({}, "repetition"),
            "[DONE]",
        ),
    ),
]


def _stream_cases() -> list[Case]:
    return [
        case(f"stream, {name}", want, usable=usable, may=may, raw=raw, wire="chat", streamed=True)
        for name, want, usable, may, raw in STREAMS
    ]


CASES = _stream_cases()
