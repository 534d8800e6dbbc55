"""What users of engines and gateways reported in 2026, as exchanges; written after the set's first score."""

import json

from tests.tools.fifth_set.writers import M3
from tests.tools.fourth_set.build import INTEGER, STRING, tool
from tests.tools.sixth_set.build import CHAT, TOOLS, Call, Case, case

PARSER, MODEL = "leaked_markup:parser", "leaked_markup:model"
OFFERED = [
    *TOOLS,
    tool("task", "description prompt", description=STRING, prompt=STRING, subagent_type=STRING),
    tool("search", "query", query=STRING),
    tool("grepper", "pattern", pattern=STRING, **{"-A": INTEGER}),
    tool("patch", "path content", path=STRING, content=STRING, mode=STRING),
]
LS = '{"command": "ls"}'
BASH = Call("Bash", LS)


def _dsml(bar: str, blank: str = "") -> str:
    mark = f"{blank}{bar}{blank}DSML{blank}{bar}{blank}"
    return (
        f'<{mark}tool_calls>\n<{mark}invoke name="Bash">\n<{mark}parameter name="command" string="true">ls'
        f"</{mark}parameter>\n</{mark}invoke>\n</{mark}tool_calls>"
    )


def _said(name: str, want: str, content: str = "", **more: object) -> Case:
    return case(f"tracker: {name}", want, content=content, **{"asked": {"tools": OFFERED}} | more)


def _refused(name: str, want: str, kind: str, message: str, wire: str = "chat") -> Case:
    raw = json.dumps({"type": "error", "error": {"type": kind, "message": message}})
    return _said(name, want, raw=raw, streamed=False, wire=wire)


HISTORY, INPUT, BAD = "history_rejected:input", "engine_error:input", "invalid_request_error"
CASES: list[Case] = [
    _refused("thoughts lack", HISTORY, BAD, "thinking is enabled but reasoning_content is missing in assistant tool call message at index 3"),
    _refused("thoughts lack, block", HISTORY, BAD, "messages.5.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.", "messages"),
    _refused("result lacks", HISTORY, BAD, "No tool output found for function call call_abc.", "responses"),
    _refused("result late", HISTORY, "BadRequestError", "Please ensure that function response turn comes immediately after a function call turn."),
    _refused("image", INPUT, "BadRequestError", "The model does not support image input"),
    _refused("tool's schema", INPUT, BAD, "Invalid schema for function 'Bash': array schema missing items."),
    _refused("no status, engine's", "engine_error:engine", "api_error", "Internal server error", "messages"),
    _said("ReAct, result played", MODEL, f"Thought: I list.\nAction: Bash\nAction Input: {LS}\nObservation: a.txt and b.txt\nThought: I know it.\nAnswer: There are two files."),
    _said("thought, no answer", "call_in_reasoning:parser", may="empty_turn:unknown", reasoning="Let me check.\n\n" + _dsml("|")),
    _said("head of a call torn", PARSER, "<name>task\n</parameter>\n<parameter=description>\nAdd it\n</parameter>\n<parameter=prompt>\nGo.\n</parameter>\n</function>"),
    _said("arguments to nobody", MODEL, '<|channel|>commentary<|message|>{\n  "command": "ls"\n}<|end|>'),
    _said("analysis, tokens lost", PARSER, 'analysisWe need to answer in one word. It is "four".assistantfinalfour', usable=True),
    _said("analysis, tokens lost, call", PARSER, f"analysisWe list files.assistantcommentary to=functions.Bash json{LS}"),
    _said("parameters in the name", "unknown_tool:parser", calls=(Call("Read<arg_key>file_path</arg_key><arg_value>/a</arg_value>", "{}"),)),
    _said("thought's end in the name", "unknown_tool:parser", calls=(Call("Bash</think>", LS),)),
    _said("name as a tag", PARSER, "<tool><name>ping</name></tool>"),
    _said("keys that begin with a dash", PARSER, f'{M3}<tool_call>\n{M3}<invoke name="grepper">{M3}<pattern>x{M3}</pattern>{M3}<-A>3{M3}</-A>{M3}</invoke>\n{M3}</tool_call>'),
    _said("indented", PARSER, '<minimax:tool_call>\n  <invoke name="Bash">\n    <parameter name="command">ls</parameter>\n  </invoke>\n</minimax:tool_call>'),
    _said("two objects", PARSER, '{\n  "name": "Bash",\n  "arguments": {\n    "command": "ls"\n  }\n} {\n  "name": "ping",\n  "arguments": {}\n}'),
    _said("two bars", PARSER, _dsml("｜｜")),
    _said("one double bar", PARSER, _dsml("‖")),
    _said("bars with blanks", PARSER, _dsml("|", " ")),
    _said("first mark beside the call", f"{PARSER}|{MODEL}", "I look.\n\n<｜DSML｜function_calls", calls=(BASH,), usable=True),
    _said("round brackets", PARSER, '<|tool_call>call:search(query: "news")<tool_call|>'),
    _said("thought channel and a call", PARSER, '<|channel>thought\nI patch it.\n<channel|><|tool_call>call:patch{path:<|"|>a<|"|>,content:<|"|>print(1)<|"|>}<tool_call|>'),
    _said("thought channel alone", "empty_turn:unknown", "<|channel>thought\nI patch it.\n<channel|>"),
    _said("thought channel and an answer", "", "<|channel>thought\nThey ask.\n<channel|>It is 4."),
    _said("declaration", PARSER, "declaration:default_api:search{query:news}"),
    _said("name and brace", PARSER, 'search{query:<|"|>news<|"|>}'),
    _said("name and brace, quotes", PARSER, 'search{query: "news"}'),
    _said("a word in front", PARSER, 'count\n<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>'),
    _said("thought's end in a value", PARSER, calls=(Call("Bash", '{"command": "ls</think>"}'),), usable=True),
    _said("torn end tag in a value", PARSER, calls=(Call("Bash", '{"command": "ls\\n</parameter"}'),), usable=True),
    _said("nothing but the first mark", MODEL, "I look.\n<tool_call>"),
    _said("nothing but the name", MODEL, "<tool_call>\n<function=Bash>"),
    _said("harmony's parser gave up", "engine_error:engine", raw=json.dumps({"error": {"message": "Unexpected token 12606 while expecting start token 200006", "type": "InternalServerError", "code": 500}}), streamed=False, **CHAT),
    _said("swallowed, k3", "swallowed_parameter:parser", calls=(Call("Bash", json.dumps({"command": 'ls<|close|>argument<|sep|><|open|>argument key="timeout" type="number"<|sep|>5'})),)),
]  # fmt: skip
