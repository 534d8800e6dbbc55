"""A later set of the same forms: heads and tokens of calls lost, words behind calls, odd tags, words of errors, answers."""

import re
from dataclasses import replace
from typing import Any

from tests.tools.seventh_set.build import Case, Json, call, case
from tests.tools.seventh_set.families import FAMILIES, JSON_FAMILIES, J, obj
from tests.tools.seventh_set.streams import body

PARSER, MODEL = "leaked_markup:parser", "leaked_markup:model"
EITHER = f"{PARSER}|{MODEL}"
CALLS: list[tuple[str, Json]] = [
    ("shell", {"cmd": "go test ./... -run Parse", "timeout_ms": 90000}),
    ("open_file", {"path": "internal/naïve.go", "start_line": 7}),
    ("grep", {"pattern": "TODO|FIXME", "case_sensitive": True}),
    ("remind", {"due": "2026-07-01T08:00:00Z", "note": "放行前检查"}),
]
SPECIAL = re.compile(
    r"<[|｜][^<>\n]{1,40}[|｜]>|\[(?:TOOL_CALLS|ARGS)\]|<tool_call\|>|<\|tool_call>|<\|\"\|>|<escape>"
)
OPENING = re.compile(r"<[^<>\n]+>|\[[A-Z_]+\]")


def _headless(number: int, family: str) -> list[Case]:
    """The first characters of the markup are lost, as where a stream's first pieces are held back and dropped."""
    text = FAMILIES[family](*CALLS[number % 4])
    opening = OPENING.match(text)
    if opening is None or family in ("cline", "smolagents", "claude damaged", "minimax 3"):
        return []
    half, whole = text[len(opening.group()) // 2 :], text[opening.end() :].lstrip("\n")
    found = [case(f"{family}, half of the first tag lost", EITHER, content=half)]
    if family not in ("granite 20b",):  # without it, a bare object
        found.append(case(f"{family}, the first tag lost", EITHER, content=whole))
    return found


def _stripped(number: int, family: str) -> list[Case]:
    """Every special token is lost, as where `skip_special_tokens` stands."""
    text = FAMILIES[family](*CALLS[number % 4])
    bare = SPECIAL.sub("", text)
    return [case(f"{family}, its tokens lost", PARSER, content=bare)] if bare != text else []


def _followed(number: int, family: str) -> list[Case]:
    text = FAMILIES[family](*CALLS[number % 4])
    places = [
        case(f"{family}, waits", PARSER, content=text + "\n\nWaiting."),
        case(
            f"{family} in a list",
            PARSER,
            content="Steps:\n\n1. Look at the file.\n2. Run the tests.\n\n" + text,
        ),
        case(f"{family} below a heading", PARSER, content="## Next step\n\n" + text + "\n"),
        case(f"{family} behind thoughts", PARSER, content="<think>\nI must look.\n</think>\n\n" + text),
        case(f"{family} and an end of turn", PARSER, content="I look." + "\n" + text + "<|im_end|>"),
        case(
            f"{family} behind code",
            PARSER,
            content="This fails:\n\n```go\nfunc Parse() {}\n```\n\nI look why.\n" + text,
        ),
        case(
            f"{family}, reasoning and spaces",
            "call_in_reasoning:parser",
            reasoning="I look.\n" + text + "\n",
            content=" \n",
        ),
    ]
    found = places[number % 7]
    if family == "harmony analysis":
        found = replace(found, want=f"{PARSER}|call_in_reasoning:parser")
    return [found]


INNER = obj("shell", {"cmd": "make lint"})
ODD = [
    *(case(f"odd tag {tag}", EITHER, content=f"I run it.\n<{tag}>\n{INNER}\n</{tag}>") for tag in ("TOOL_CALL", "Tool_Call", "toolcall", "tool-call", "function-call", "tool_use", "tool_request", "action", "invoke_tool", "api_call", "|tool_call|", "tool_code", "call")),
    case("an arrow", EITHER, content=f"→ tool_call: {INNER}"),
    case("a label", EITHER, content=f"Tool call: {INNER}"),
    case("bold label", EITHER, content=f"**Tool call**\n{INNER}"),
    case("two objects, one a line", EITHER, content=INNER + "\n" + obj("submit", {})),
    case("OpenAI's own form", EITHER, content=J({"tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "shell", "arguments": J({"cmd": "make"})}}]})),
    case("Anthropic's own form", EITHER, content=J({"type": "tool_use", "id": "toolu_1", "name": "shell", "input": {"cmd": "make"}})),
    case("Gemini's own form", EITHER, content=J({"functionCall": {"name": "shell", "args": {"cmd": "make"}}})),
    case("the call as Python prints it", EITHER, content="<tool_call>\n{'name': 'shell', 'arguments': {'cmd': 'make'}}\n</tool_call>"),
    case("print of a call", EITHER, content="<tool_code>\nprint(shell(cmd='make'))\n</tool_code>"),
    case("call in a fence of its name", "~leaked_markup:model|leaked_markup:parser", content=f"```tool_call\n{INNER}\n```"),
    case("wrapper of one family, tokens of another", EITHER, content='<tool_call>\n[TOOL_CALLS]shell[ARGS]{"cmd": "make"}\n</tool_call>'),
    case("qwen in seed's tag", EITHER, content="<seed:tool_call>\n" + INNER + "\n</seed:tool_call>"),
    case("parameter closed by its name", EITHER, content="<tool_call>\n<function=shell>\n<parameter=cmd>\nmake\n</cmd>\n</function>\n</tool_call>"),
    case("function closed by the wrapper", EITHER, content="<tool_call>\n<function=shell>\n<parameter=cmd>\nmake\n</parameter>\n</tool_call>"),
    case("equals written twice", EITHER, content="<tool_call>\n<function=shell>\n<parameter=parameter=cmd>\nmake\n</parameter>\n</function>\n</tool_call>"),
    case("attributes with single quotes", PARSER, content="<function_calls>\n<invoke name='shell'>\n<parameter name='cmd'>make</parameter>\n</invoke>\n</function_calls>"),
    case("glm with JSON for the pairs", EITHER, content='<tool_call>shell\n{"cmd": "make"}\n</tool_call>'),
    case("kimi without numbers", PARSER, content='<|tool_calls_section_begin|><|tool_call_begin|>functions.shell<|tool_call_argument_begin|>{"cmd": "make"}<|tool_call_end|><|tool_calls_section_end|>'),
    case("two sections", PARSER, content=FAMILIES["kimi"](*CALLS[0]) + FAMILIES["kimi"](*CALLS[1])),
    case("hermes, two in one tag", EITHER, content=f"<tool_call>\n{INNER}\n{obj('submit', {})}\n</tool_call>"),
    case("hermes, a list in the tag", EITHER, content=f"<tool_call>\n[{INNER}]\n</tool_call>"),
    case("in reasoning, words behind", "call_in_reasoning:parser", reasoning=f"I look.\n<tool_call>\n{INNER}\n</tool_call>\nNow I wait."),
]  # fmt: skip


def refused(name: str, want: str, answer: Json | str, wire: str = "chat") -> Case:
    return body(f"refused: {name}", want, answer, wire)


HISTORY, INPUT, ENGINE = "history_rejected:input", "engine_error:input", "engine_error:engine"
REFUSED = [
    refused("flat vLLM", INPUT, {"object": "error", "message": "top_p must be in (0, 1], got 3.0.", "type": "BadRequestError", "param": None, "code": 400}),
    refused("flat SGLang, too long", HISTORY, {"object": "error", "message": "The input (40213 tokens) is longer than the model's context length (32768 tokens).", "type": "BadRequestError", "code": 400}),
    refused("vLLM counts", HISTORY, {"error": {"message": "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 32768 tokens and your request has 30112 input tokens (8192 > 32768 - 30112).", "type": "BadRequestError", "code": 400}}),
    refused("llama.cpp parses its own output", ENGINE, {"error": {"code": 500, "message": "Failed to parse input at pos 12: <tool_call>", "type": "server_error"}}),
    refused("Ollama knows no model", INPUT, {"error": "model 'qwen9' not found"}),
    refused("LiteLLM, too long", HISTORY, {"error": {"message": "litellm.ContextWindowExceededError: prompt is too long: 210311 tokens > 200000 maximum", "type": None, "code": "400"}}),
    refused("LiteLLM, rate", ENGINE, {"error": {"message": "litellm.RateLimitError: RateLimitError: Too many requests", "type": "throttling_error", "code": "429"}}),
    refused("FastAPI", INPUT, {"detail": [{"loc": ["body", "model"], "msg": "Field required", "type": "missing"}]}),
    refused("no such path", f"{INPUT}|{ENGINE}", {"detail": "Not Found"}),
    refused("TGI", f"{HISTORY}|{INPUT}", {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 400 `max_new_tokens`", "error_type": "validation"}),
    refused("gateway time-out", ENGINE, "<html><head><title>504 Gateway Time-out</title></head></html>"),
    refused("Cloudflare", ENGINE, "<!DOCTYPE html><title>example.org | 524: A timeout occurred</title>"),
    refused("text alone", ENGINE, "Internal Server Error"),
    refused("KV cache", ENGINE, {"error": {"message": "KV cache pool is full. Retract failed.", "type": "InternalServerError", "code": 500}}),
    refused("Messages, key", INPUT, {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}, "messages"),
    refused("Messages, thinking first", HISTORY, {"type": "error", "error": {"type": "invalid_request_error", "message": "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block."}}, "messages"),
    refused("Messages, empty text", HISTORY, {"type": "error", "error": {"type": "invalid_request_error", "message": "messages: text content blocks must be non-empty"}}, "messages"),
    refused("Messages, credit", f"{INPUT}|{ENGINE}", {"type": "error", "error": {"type": "billing_error", "message": "Your credit balance is too low."}}, "messages"),
    refused("Responses, item without its pair", HISTORY, {"error": {"message": "Item 'rs_68' of type 'reasoning' was provided without its required following item.", "type": "invalid_request_error", "param": "input", "code": None}}, "responses"),
    refused("Responses, duplicate item", HISTORY, {"error": {"message": "Duplicate item found with id msg_9. Remove duplicate items from your input and try again.", "type": "invalid_request_error", "param": "input"}}, "responses"),
    refused("tools beyond their number", INPUT, {"error": {"message": "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 140 instead.", "type": "invalid_request_error", "param": "tools", "code": "array_above_max_length"}}),
    refused("name of a tool", INPUT, {"error": {"message": "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", "type": "invalid_request_error", "param": "tools[0].function.name"}}),
    refused("grammar", f"{INPUT}|{ENGINE}", {"error": {"message": "Failed to compile grammar: unsupported JSON schema keyword 'patternProperties'", "type": "BadRequestError", "code": 400}}),
    refused("parser of history", HISTORY, {"error": {"message": "Expecting ',' delimiter: line 1 column 24 (char 23) while rendering tool_calls arguments of messages[3]", "type": "BadRequestError", "code": 400}}),
]  # fmt: skip
FAULTY = [
    *(one for number, family in enumerate(FAMILIES) for one in _headless(number, family)),
    *(one for number, family in enumerate(FAMILIES) for one in _stripped(number, family)),
    *(one for number, family in enumerate(FAMILIES) for one in _followed(number, family)),
    *ODD,
    *REFUSED,
]


def fine(name: str, content: str, want: str = "", **more: Any) -> Case:
    return case(f"fine: {name}", want, content=content, **more)


SOUND = [
    fine("JSX", "Use it so:\n\n<Button onClick={() => shell({cmd: 'ls'})}>Run</Button>\n\nThat renders the button."),
    fine("Vue, unfenced", "<template>\n  <shell :cmd=\"cmd\" />\n</template>\nis all of the component."),
    fine("C++", "The type std::vector<std::function<int(int)>> holds them; a call is f[0](1)."),
    fine("Rust", "`fn parse<T: Into<String>>(x: T) -> Option<T>` and Vec<Box<dyn Fn(&str)>>."),
    fine("doctest", ">>> shell\n'sh'\n>>> grep('x')\n[]\n\nThat is what the doctest prints."),
    fine("Tool: in a list", "Tool: hammer\nMaterial: oak\nDuration: two hours"),
    fine("Function: as a heading", "Function: parse()\nPurpose: reads one line\nArguments: none"),
    fine("JSON of a deployment", '{"action": "deploy", "parameters": {"region": "eu"}}'),
    fine("JSON with a name and arguments", '{"name": "launch", "type": "node", "args": ["--inspect", "a.js"]}'),
    fine("package.json", '{\n  "name": "shell-tools",\n  "version": "1.0.0",\n  "scripts": {"test": "jest"}\n}'),
    fine("a tool's definition", '{"name": "shell", "description": "Runs a command.", "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}}}}'),
    fine("addresses", "Write to <ada@example.org> or <https://example.org/a?b=[c]>."),
    fine("check list", "- [x] parse\n- [ ] grep\n- [ ] shell\n\nTwo are left."),
    fine("BBCode", "[b]Done[/b]: the [url=https://a.b]log[/url] is clean."),
    fine("citations", "The limit is 4,096 tokens【3†L12-L15】 and rises later [2]."),
    fine("LaTeX", "We have $a<b$ and $\\langle x | y \\rangle$, so \\[f(x)=1\\] holds."),
    fine("Mermaid", "```mermaid\ngraph TD\n  A[shell] -->|calls| B[grep]\n```\nshows the flow."),
    fine("YAML", "tools:\n  - name: shell\n    arguments:\n      cmd: ls\n"),
    fine("SQL", "SELECT name, arguments FROM calls WHERE name = 'shell' AND arguments->>'cmd' = 'ls';"),
    fine("assembly", "call shell\nmov eax, [ebp+8]\nret"),
    fine("a log line", "2026-03-01 12:00:00 INFO call: shell{cmd=ls} took 3 ms"),
    fine("Prometheus", "tool_calls_total{name=\"shell\"} 42\ntool_calls_total{name=\"grep\"} 7\n\nThese are the two counters."),
    fine("a shell function", "shell() {\n  echo hi\n}\n\nPut this into your profile and restart the terminal."),
    fine("the tool named in words", "I used shell and grep; open_file(path) was not needed."),
    fine("tags of a diagram", "<svg><g><text>shell</text></g></svg>", user="Draw it as SVG, nothing else."),
    fine("Maven", "<dependency>\n  <groupId>a.b</groupId>\n  <artifactId>shell</artifactId>\n</dependency>"),
    fine("plist", "<key>name</key>\n<string>shell</string>\n<key>arguments</key>\n<array/>"),
    fine("INI", "[shell]\ncmd = ls\n[grep]\npattern = x"),
    fine("Markdown link", "See [shell](docs/shell.md) and [grep](docs/grep.md)."),
    fine("a quotation of a user", "You wrote “<tool_call> appears in my chat”; that is a parser that is not set up. Restart with `--tool-call-parser hermes`.", "~leaked_markup:unknown"),
    fine("Korean", "테스트가 모두 통과했습니다. `shell` 도구는 필요하지 않았습니다."),
    fine("Russian", "Все тесты прошли. Функция shell(cmd) больше не нужна."),
    fine("a poem", "Roses are red,\nviolets are blue,\nthe build is now green,\nand the linter is, too."),
    fine("numbers", "\n".join(f"{n * 17 % 101}\t{n * n % 89}" for n in range(40))),
    fine("base64", "```\n" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo" * 6 + "\n```"),
    fine("a stack trace", "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    shell(cmd=\"ls\")\nNameError: name 'shell' is not defined"),
    fine("console with prompts", "$ grep -rn shell .\n./a.py:3:shell(cmd)\n$ echo $?\n0"),
    fine("a regex with groups", "(?P<name>shell|grep)\\((?P<arguments>[^)]*)\\)"),
    fine("ReAct explained", "In ReAct the model writes a line `Action:` and a line `Action Input:`; the agent answers with `Observation:`."),
    fine("the answer is a tag", "</parameter>", MODEL, user="Which tag closes a parameter? Only the tag.", tools=None),
    *(case(f"fine: arguments with {family}", calls=call("apply_edit", {"path": "tests/data.txt", "edits": [{"find": "old", "replace": FAMILIES[family]("shell", {"cmd": "ls"})}]})) for family in list(JSON_FAMILIES)[::3]),
]  # fmt: skip
