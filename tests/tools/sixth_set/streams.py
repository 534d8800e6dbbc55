"""Streams of the three wires whose frames are wrong: ids, indexes, order, ends, errors inside."""

import json

from tests.tools.fifth_set.wires import (
    block,
    both,
    deltas,
    flow,
    item,
    item_events,
    message,
    named,
    piece,
    response,
    said,
    text_block,
    use,
)
from tests.tools.fourth_set.build import chunk, events
from tests.tools.sixth_set.build import CHAT, Case, case

LS, PWD = '{"command": "ls"}', '{"command": "pwd"}'
ID, INDEX, PROTOCOL, ERROR = (
    "bad_call_id:parser",
    "bad_call_index:parser",
    "protocol:engine",
    "engine_error:engine",
)
TORN = "arguments_not_json:parser|arguments_not_json:unknown|arguments_not_json:model"
ON_M, ON_R = {"wire": "messages", "streamed": True}, {"wire": "responses", "streamed": True}
ON_C = CHAT | {"streamed": True}
USED = chunk({}) | {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 20, "total_tokens": 29}}
ROLE = chunk({"role": "assistant", "content": ""})
DONE = "[DONE]"


def open_(index: object, id_: str | None, name: str, arguments: object = LS) -> dict:
    return piece(index, arguments, id_=id_, name=name)


CHATS = [
    # name, label, usable, what may be found besides, stream
    ("one id for three", ID, False, "", deltas(open_(0, "c", "Bash"), open_(1, "c", "Bash", PWD), open_(2, "c", "ping", "{}"))),
    ("two without ids", ID, False, "", deltas(open_(0, None, "Bash"), open_(1, None, "ping", "{}"))),
    ("one with an empty id", ID, True, "", deltas(open_(0, "", "Bash"))),
    ("all at index 0, own ids", INDEX, True, "", deltas(open_(0, "a", "Bash"), open_(0, "b", "ping", "{}"))),
    ("begins at index 1", INDEX, True, "", deltas(open_(1, "a", "Bash"), open_(2, "b", "ping", "{}"))),
    ("index jumps", INDEX, True, "", deltas(open_(0, "a", "Bash"), open_(5, "b", "ping", "{}"))),
    ("no index at all", INDEX, True, "", deltas(open_(None, "a", "Bash"))),
    ("pieces under each other's index", INDEX + "|" + TORN, False, "arguments_not_json:parser arguments_not_json:model arguments_not_json:unknown " + INDEX,
     deltas(open_(0, "a", "Bash", ""), open_(1, "b", "Bash", ""), piece(0, '{"command": '), piece(1, '{"command": '), piece(1, '"ls"}'), piece(1, '"pwd"}'))),
    ("id new in each delta", PROTOCOL, True, ID, deltas(open_(0, "a", "Bash", '{"comm'), piece(0, 'and": "', id_="b"), piece(0, 'ls"}', id_="c"))),
    ("arguments as an object", PROTOCOL, True, "", deltas(open_(0, "a", "Bash", {"command": "ls"}))),
    ("call without a name", PROTOCOL, False, "unknown_tool:model unknown_tool:parser " + ID, deltas(piece(0, LS, id_="a"))),
    ("role comes last", PROTOCOL, True, "", events(chunk(open_(0, "a", "Bash")), ROLE, chunk({}, "tool_calls"), USED, DONE)),
    ("delta after the finish", PROTOCOL, True, "", events(ROLE, chunk({"content": "Two "}), chunk({}, "stop"), chunk({"content": "files."}), USED, DONE)),
    ("no end mark", PROTOCOL, True, "", events(ROLE, chunk({"content": "Two files."}), chunk({}, "stop"), USED)),
    ("no finish, no end", ERROR, False, PROTOCOL, events(ROLE, chunk({"content": "Two fi"}))),
    ("no finish in a call", ERROR, False, PROTOCOL + " " + TORN.replace("|", " "), events(ROLE, chunk(open_(0, "a", "Bash", '{"comm')))),
    ("error inside", ERROR, False, "", events(ROLE, chunk({"content": "Two"}), {"error": {"message": "CUDA error: device-side assert triggered", "type": "InternalServerError", "code": 500}}, DONE)),
    ("error inside, no end", ERROR, False, PROTOCOL, events(ROLE, chunk({"content": "Two"}), {"object": "error", "message": "Internal server error", "code": 500})),
    ("error at once, refused", "engine_error:input|history_rejected:input", False, "", events({"error": {"message": "This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens.", "type": "BadRequestError", "code": 400}}, DONE)),
    ("event torn", ERROR + "|" + PROTOCOL, False, f"{ERROR} {PROTOCOL} empty_turn:unknown", events(ROLE) + 'data: {"choices": [{"index": 0, "delta": {"content": "Tw'),
    ("line that is no json", ERROR + "|" + PROTOCOL, True, f"{ERROR} {PROTOCOL}", events(ROLE, chunk({"content": "Two"}), "{broken", chunk({"content": " files."}), chunk({}, "stop"), USED, DONE)),
    ("nothing but the end", ERROR + "|empty_turn:unknown", False, f"{PROTOCOL} {ERROR} empty_turn:unknown", events(DONE)),
    ("keep-alives and no more", ERROR + "|empty_turn:unknown", False, f"{PROTOCOL} {ERROR}", ": ping\n\n: ping\n\n: ping\n\n"),
    ("usage below zero", PROTOCOL, True, "", events(ROLE, chunk({"content": "Two."}), chunk({}, "stop"), USED | {"usage": {"prompt_tokens": 9, "completion_tokens": -1, "total_tokens": 8}}, DONE)),
    ("role of another", PROTOCOL, True, "", events(chunk({"role": "user", "content": "Two."}), chunk({}, "stop"), USED, DONE)),
    ("usage in words", PROTOCOL, True, "", events(ROLE, chunk({"content": "Two."}), chunk({}, "stop"), USED | {"usage": {"prompt_tokens": "nine", "completion_tokens": 2, "total_tokens": 11}}, DONE)),
    ("empty", "empty_turn:unknown", False, "", events(ROLE, chunk({}, "stop"), USED, DONE)),
    ("stop with a call", "finish_contradicts:engine", True, "", deltas(open_(0, "a", "Bash"), finish="stop")),
    ("calls without one", "finish_contradicts:engine", True, "", deltas({"content": "Done."}, finish="tool_calls")),
    ("arguments twice, whole", TORN, False, "", deltas(open_(0, "a", "Bash", ""), piece(0, '{"command": '), piece(0, '"ls"}'), piece(0, LS))),
    ("arguments begin late", TORN, False, "", deltas(open_(0, "a", "Bash", ""), piece(0, 'mmand": "ls"}'))),
    ("last brace lost", TORN, False, "", deltas(open_(0, "a", "Bash", ""), piece(0, '{"command": '), piece(0, '"ls"'))),
    ("both in one delta, one id", ID, False, "", deltas(both(open_(0, "a", "Bash"), open_(1, "a", "ping", "{}")))),
]  # fmt: skip
START = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
MESSAGES = [
    ("two calls in one block", TORN + "|" + INDEX + "|" + PROTOCOL, False, f"{INDEX} {PROTOCOL} arguments_not_json:parser", message(use(0, "Bash", LS, PWD))),
    ("block not ended", PROTOCOL, True, "", message(use(0, "Bash", LS, stop=False))),
    ("one index for two", PROTOCOL + "|" + INDEX, False, f"{PROTOCOL} {INDEX}", message(text_block(0, "I look."), use(0, "Bash", LS))),
    ("text delta in a call", PROTOCOL, False, "arguments_not_json:parser missing_parameter:parser missing_parameter:model arguments_not_json:unknown", message(block(0, START, {"type": "text_delta", "text": LS}))),
    ("json delta in words", PROTOCOL, False, "empty_turn:unknown bad_call_id:parser finish_contradicts:engine", message(block(0, {"type": "text", "text": ""}, {"type": "input_json_delta", "partial_json": LS}), reason="end_turn")),
    ("message begins twice", PROTOCOL, False, "", message(text_block(0, "Two."), reason="end_turn").replace("event: content_block_start", message(reason=None, stop=False) + "event: content_block_start", 1)),
    ("tool_use without a block", "finish_contradicts:engine", True, "", message(text_block(0, "Two files."))),
    ("end_turn with a block", "finish_contradicts:engine", True, "", message(use(0, "Bash", LS), reason="end_turn")),
    ("no message_stop", PROTOCOL, True, "", message(text_block(0, "Two files."), reason="end_turn", stop=False)),
    ("ends in a block", ERROR, False, PROTOCOL, message(text_block(0, "Two fi", stop=False), reason=None, stop=False)),
    ("error event", ERROR, False, PROTOCOL, message(text_block(0, "Two", stop=False), reason=None, stop=False) + named({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})),
    ("input in the start, and in deltas", "", True, PROTOCOL, message(block(0, START | {"input": {"command": "ls"}}, {"type": "input_json_delta", "partial_json": LS}))),
    ("ids equal", ID, False, "", message(use(0, "Bash", LS, id_="toolu_1"), use(1, "ping", "{}", id_="toolu_1"))),
    ("delta of no block", PROTOCOL, False, "", message(text_block(0, "Two."), [{"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta", "text": "?"}}], reason="end_turn")),
    ("needs a key, no delta", "missing_parameter:parser", False, PROTOCOL, message(use(0, "Bash"))),
    ("words after the stop", PROTOCOL, True, "", message(text_block(0, "Two."), reason="end_turn", stop=False) + named(*text_block(1, "More."), {"type": "message_stop"})),
]  # fmt: skip
CALL, OTHER = item("Bash", LS), item("ping", "{}", "call_2")
RESPONSES = [
    ("output differs from the deltas", PROTOCOL, True, "silent_repair:parser", flow(*item_events(0, CALL, '{"command": ', '"pwd"}'), last=response(CALL))),
    ("item without a name", PROTOCOL, False, "unknown_tool:model unknown_tool:parser", flow(*item_events(0, item("", LS), LS), last=response(item("", LS)))),
    ("call in the output only", "", True, PROTOCOL, flow(last=response(CALL))),
    ("item never done", PROTOCOL, False, "", flow(*item_events(0, CALL, LS)[:-1], last=response(CALL))),
    ("call lost from the output", PROTOCOL, True, "silent_drop:parser", flow(*item_events(0, CALL, LS), last=response())),
    ("no end", ERROR, False, PROTOCOL, flow(*item_events(0, CALL, LS), last=response(CALL)).split("event: response.completed")[0]),
    ("failed", ERROR, False, "", named({"type": "response.created", "response": response(status="in_progress")}, {"type": "response.failed", "response": response(status="failed", error={"code": "server_error", "message": "The engine died."})})),
    ("error event", ERROR, False, PROTOCOL, named({"type": "response.created", "response": response(status="in_progress")}, {"type": "error", "code": "server_error", "message": "boom"})),
    ("ids equal", ID, False, "", flow(*item_events(0, CALL, LS), *item_events(1, item("ping", "{}"), "{}"), last=response(CALL, item("ping", "{}")))),
    ("incomplete by tokens", "truncated:budget", False, "", named({"type": "response.created", "response": response(status="in_progress")}, {"type": "response.incomplete", "response": response(said("The first of the"), status="incomplete", incomplete_details={"reason": "max_output_tokens"})})),
    ("nothing in the output", "empty_turn:unknown", False, PROTOCOL, flow(last=response())),
]  # fmt: skip


def _whole(choice: dict, **more: object) -> str:
    return json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0} | choice],
                       "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}} | more)  # fmt: skip


def _calls(*calls: dict) -> dict:
    return {
        "message": {"role": "assistant", "content": None, "tool_calls": list(calls)},
        "finish_reason": "tool_calls",
    }


def _one(arguments: object = LS, **more: object) -> dict:
    return {"id": "a", "type": "function", "function": {"name": "Bash", "arguments": arguments}} | more


WHOLE = [
    ("whole, arguments as an object", PROTOCOL, True, "", _whole(_calls(_one({"command": "ls"})))),
    ("whole, ids equal", ID, False, "", _whole(_calls(_one(), _one(PWD)))),
    ("whole, id is null", ID, True, "", _whole(_calls(_one(id=None)))),
    ("whole, name is null", PROTOCOL, False, "unknown_tool:model unknown_tool:parser", _whole(_calls(_one(function={"name": None, "arguments": LS})))),
    ("whole, no choices", ERROR + "|" + PROTOCOL + "|empty_turn:unknown", False, f"{ERROR} {PROTOCOL} empty_turn:unknown", _whole({}, choices=[])),
    ("whole, no message", ERROR + "|" + PROTOCOL + "|empty_turn:unknown", False, f"{ERROR} {PROTOCOL} empty_turn:unknown", _whole({"finish_reason": "stop"})),
    ("whole, usage above the limit", "truncated:budget", False, "", _whole({"message": {"role": "assistant", "content": "And so on with"}, "finish_reason": "stop"}, usage={"prompt_tokens": 9, "completion_tokens": 4100, "total_tokens": 4109})),
    ("whole, refused inside 200", ERROR, False, "", _whole({}, choices=None, error={"message": "worker crashed", "code": 500})),
]  # fmt: skip
ROOMS = ((CHATS, ON_C), (MESSAGES, ON_M), (RESPONSES, ON_R), (WHOLE, CHAT | {"streamed": False}))
CASES: list[Case] = [
    case(f"{where['wire']}: {name}", want, may=may, usable=usable, raw=raw, **where)
    for room, where in ROOMS
    for name, want, usable, may, raw in room
]
