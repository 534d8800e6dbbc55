"""Calls that did not arrive as calls: each family in several places, and what reporters saw of torn markup."""

from dataclasses import replace

from tests.tools.seventh_set.build import Case, Json, call, case
from tests.tools.seventh_set.families import BARE_FAMILIES, FAMILIES, JSON_FAMILIES, J, Writer, obj

VALUES: list[tuple[str, Json]] = [
    ("shell", {"cmd": "pytest -q tests/unit", "timeout_ms": 60000}),
    ("open_file", {"path": "src/größe.py", "start_line": 10, "end_line": 42}),
    ("grep", {"pattern": "class \\w+Error", "glob": "*.py", "case_sensitive": False}),
    ("apply_edit", {"path": "a/b.py", "edits": [{"find": "x = 1\n", "replace": 'x = "2"\n', "count": 1}]}),
    ("todo_write", {"todos": [{"text": "写测试", "status": "open"}, {"text": "ship", "status": "done"}]}),
    ("mcp__db__query", {"sql": "SELECT id FROM t WHERE a < 3 AND b > 4", "params": [1, "x"], "limit": 5}),
    ("fetch_url", {"url": "https://example.org/a?b=c&d=e", "method": "GET"}),
    ("shell", {"cmd": 'for f in *.txt; do\n  wc -l "$f"\ndone'}),
]
PROSE = [
    "Let me look at the failing test first.\n\n",
    "I'll check that now:\n",
    "好的，我先看一下。\n",
    "The cause is probably in the parser. ",
]
PARSER, MODEL = "leaked_markup:parser", "leaked_markup:model"


def _broken(text: str) -> str:
    """Lose the last closing brace that the arguments need."""
    cut = text.rindex("}")
    return text[:cut] + text[cut + 1 :]


def _family(number: int, family: str, write: Writer) -> list[Case]:
    name, arguments = VALUES[number % 8]
    other, its = VALUES[(number + 3) % 8]
    prose = PROSE[number % 4]
    text = write(name, arguments)
    found = [
        case(
            f"{family} alone" if number % 2 else f"{family} behind words",
            PARSER,
            content=text if number % 2 else prose + text,
        )
    ]
    if family not in ("cline", "smolagents"):  # their markup is any XML or code, unless it names a tool
        found.append(
            case(
                f"{family}, a tool not offered",
                MODEL,
                content=prose + write("deploy_site", {"target": "prod"}),
            )
        )
    if number % 2:
        found.append(
            case(f"{family} beside another call", PARSER, content=prose + text, calls=call(other, its))
        )
    else:
        found.append(
            case(
                f"{family} in the reasoning",
                "call_in_reasoning:parser",
                reasoning="I should see it first.\n" + text,
            )
        )
    if family in JSON_FAMILIES and number % 3:
        found.append(case(f"{family}, a brace lacks", MODEL, content=prose + _broken(text)))
    else:
        found.append(
            case(f"{family}, a parameter lacks", MODEL, content=prose + write("open_file", {"start_line": 3}))
        )
    last = [
        case(
            f"{family}, the delivered call again",
            f"~{PARSER}",
            content=prose + text,
            calls=call(name, arguments),
        ),
        case(f"{family} twice", PARSER, content=text + "\n" + write(other, its)),
        case(
            f"{family}, finish says calls",
            f"{PARSER} finish_contradicts:engine",
            wire="chat",
            finish="tool_calls",
            content=text,
        ),
        case(f"{family}, no tools offered", MODEL, tools=None, content=prose + text),
        case(
            f"{family}, choice none",
            MODEL,
            choice="none",
            content=prose + text,
            wire="chat" if number % 2 else "responses",
        ),
    ]
    found.append(last[number % 5 if family not in ("cline", "smolagents") else number % 3])
    if family == "harmony analysis":  # the channel says reasoning, its recipient a call
        found = [
            replace(each, want=each.want.replace(PARSER, f"{PARSER}|call_in_reasoning:parser"))
            for each in found
        ]
    return found


def _bare(number: int, family: str, write: Writer) -> list[Case]:
    name, arguments = VALUES[number % 8]
    other, its = VALUES[(number + 3) % 8]
    return [
        case(f"{family} alone", PARSER, content=write(name, arguments)),
        case(f"{family} behind words", PARSER, content=PROSE[number % 4].strip() + "\n" + write(other, its)),
        case(f"{family} beside another call", PARSER, content=write(name, arguments), calls=call(other, its)),
    ]


SHELL = {"cmd": "ls -la src"}
HERMES = FAMILIES["hermes"]("shell", SHELL)
CODER = FAMILIES["qwen coder"]
TORN = [
    case("head taken, torn JSON", PARSER, content='"cmd": "ls -la src"}}\n</tool_call>'),
    case("head taken, name stays", PARSER, content='shell", "arguments": {"cmd": "ls -la src"}}\n</tool_call>'),
    case("head taken, value of a parameter", PARSER, content="git diff --stat HEAD~3\n</parameter>\n</function>\n</tool_call>"),
    case("head taken, second parameter", PARSER, content="<parameter=cmd>\nls\n</parameter>\n</function>\n</tool_call>"),
    case("head taken, minimax", PARSER, content='<parameter name="cmd">ls -la</parameter>\n</invoke>\n</minimax:tool_call>'),
    case("head taken, glm", PARSER, content="<arg_key>cmd</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>"),
    case("head taken, kimi", PARSER, content='<|tool_call_argument_begin|>{"cmd": "ls"}<|tool_call_end|><|tool_calls_section_end|>'),
    case("head taken, gemma", PARSER, content='shell{cmd:<|"|>ls<|"|>}<tool_call|>'),
    case("only end tags came", PARSER, content="</function>\n</tool_call>"),
    case("only the end of a section came", PARSER, content="<|tool_calls_section_end|>"),
    case("end tags behind an answer", f"~{PARSER}", content="The tests pass now, and I changed two files.\n</tool_call>"),
    case("end of section behind an answer", f"~{PARSER}", content="Everything is green; nothing else is to do.<|tool_calls_section_end|>"),
    case("parameter ends behind an answer", f"~{PARSER}", content="All three modules are typed now.\n</parameter>\n</function>\n</tool_call>"),
    case("breaks off in JSON", MODEL, content='I look.\n<tool_call>\n{"name": "shell", "arguments": {"cmd": "ls -'),
    case("breaks off in a parameter", MODEL, content="<tool_call>\n<function=shell>\n<parameter=cmd>\nls -la"),
    case("breaks off behind the name", MODEL, content="[TOOL_CALLS]shell[ARGS]"),
    case("breaks off behind the section", MODEL, content="Let me see.<|tool_calls_section_begin|><|tool_call_begin|>functions.sh"),
    case("breaks off in gemma", MODEL, content='<|tool_call>call:shell{cmd:<|"|>ls'),
    case("plays the tool", MODEL, content="Done.\n<tool_response>\n{\"exit\": 0}\n</tool_response>\nAll tests pass."),
    case("plays tool and assistant", MODEL, content="<|im_start|>tool\n3 files<|im_end|>\n<|im_start|>assistant\nThere are 3 files."),
    case("a brace too many", MODEL, content='<tool_call>\n{"name": "shell", "arguments": {"cmd": "ls"}}}\n</tool_call>'),
    case("quotes not escaped", MODEL, content='<tool_call>\n{"name": "shell", "arguments": {"cmd": "echo "hi""}}\n</tool_call>'),
    case("single quotes", MODEL, content="<tool_call>\n{'name': 'shell', 'arguments': {'cmd': 'ls'}}\n</tool_call>"),
    case("next call in an argument", PARSER, calls=call("shell", {"cmd": "ls\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=shell>\n<parameter=cmd>\npwd"})),
    case("next call in an argument, hermes", PARSER, calls=call("shell", {"cmd": 'ls"}}\n</tool_call>\n<tool_call>\n{"name": "shell", "arguments": {"cmd": "pwd'})),
    case("next call in an argument, kimi", PARSER, calls=call("shell", {"cmd": 'ls<|tool_call_end|><|tool_call_begin|>functions.shell:1<|tool_call_argument_begin|>{"cmd": "pwd'})),
    case("next call in an argument, minimax", PARSER, calls=call("shell", {"cmd": 'ls</parameter>\n</invoke>\n<invoke name="shell">\n<parameter name="cmd">pwd'})),
    case("next call in an argument, glm", PARSER, calls=call("shell", {"cmd": "ls</arg_value>\n</tool_call>\n<tool_call>shell\n<arg_key>cmd</arg_key>\n<arg_value>pwd"})),
    case("another family's parameters in tool_call", PARSER, content='<tool_call>\n<invoke name="shell">\n<parameter name="cmd">ls</parameter>\n</invoke>\n</tool_call>'),
    case("function tag without its wrapper", PARSER, content="<function=shell>\n<parameter=cmd>\nls\n</parameter>\n</function>"),
    case("opening tag doubled by drafts", "leaked_markup:parser|leaked_markup:model", content="<tool_call>\n<<function=shell>\n<parameter=cmd>\nls\n</parameter>\n</function>\n</tool_call>"),
    case("a lone opening tag beside the call", f"~{PARSER}|leaked_markup:model", content="<tool_call>", calls=call("shell", SHELL)),
    case("a fenced call below words", f"~{PARSER}|leaked_markup:model", content=f"I run this:\n\n```json\n{obj('shell', SHELL)}\n```"),
    case("control token behind an answer", f"~{PARSER}|leaked_markup:model", content="The build works again.<|im_end|>"),
    case("end of turn behind an answer", f"~{PARSER}|leaked_markup:model", content="Es läuft wieder.<|eot_id|>"),
    case("hermes in thoughts in the content", "call_in_reasoning:parser", content=f"<think>I must look.\n{HERMES}\n</think>"),
    case("coder in thoughts never closed", "call_in_reasoning:parser", content="<think>I must look.\n" + CODER("shell", SHELL)),
    case("draft in the reasoning ends it", "call_in_reasoning:parser", reasoning="I need the file.\n" + CODER("open_file", {"path": "a.py"})),
    case("broken draft in the reasoning", "call_in_reasoning:model", reasoning='I look.\n<tool_call>\n{"name": "shell", "arguments": {"cmd": "ls"}\n</tool_call>'),
    case("unknown tool in the reasoning", "call_in_reasoning:model", reasoning="Ship it.\n" + FAMILIES["kimi"]("deploy_site", {"target": "x"})),
    case("reasoning then white space", "call_in_reasoning:parser", reasoning="I look.\n" + HERMES, content="\n\n"),
    case("required, and it leaked", "leaked_markup:parser", choice="required", content=HERMES, may="choice_ignored:engine"),
    case("no argument, hermes", PARSER, content='<tool_call>\n{"name": "submit", "arguments": {}}\n</tool_call>'),
    case("no argument, coder", PARSER, content="I am done.\n<tool_call>\n<function=submit>\n</function>\n</tool_call>"),
    case("no argument, glm", PARSER, content="<tool_call>submit</tool_call>"),
    case("no argument, kimi", PARSER, content="<|tool_calls_section_begin|><|tool_call_begin|>functions.submit:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"),
    case("no argument, dsml", PARSER, content='<｜DSML｜function_calls>\n<｜DSML｜invoke name="submit">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>'),
    case("no argument, lfm", PARSER, content="<|tool_call_start|>[submit()]<|tool_call_end|>"),
    case("arguments as text in hermes", "leaked_markup:parser|leaked_markup:model", content="<tool_call>\n" + J({"name": "shell", "arguments": J(SHELL)}) + "\n</tool_call>"),
    case("parameters swallowed", "swallowed_parameter:parser", calls=call("shell", {"cmd": "ls\n</parameter>\n<parameter=timeout_ms>\n3000"})),
    case("parameters swallowed, invoke", "swallowed_parameter:parser", calls=call("open_file", {"path": 'a.py</parameter>\n<parameter name="start_line">4'})),
    case("parameters swallowed, glm", "swallowed_parameter:parser", calls=call("grep", {"pattern": "x</arg_value>\n<arg_key>glob</arg_key>\n<arg_value>*.py"})),
    case("parameters swallowed, gemma", "swallowed_parameter:parser", calls=call("open_file", {"path": 'a.py<|"|>,start_line:4'})),
    case("parameters swallowed, dsml", "swallowed_parameter:parser", calls=call("shell", {"cmd": 'ls</｜DSML｜parameter>\n<｜DSML｜parameter name="cwd" string="true">/src'})),
    case("parameters swallowed, longcat", "swallowed_parameter:parser", calls=call("shell", {"cmd": "ls</longcat_arg_value>\n<longcat_arg_key>cwd</longcat_arg_key>\n<longcat_arg_value>/src"})),
    case("parameters swallowed, beside a sound call", "swallowed_parameter:parser", calls=[call("submit"), call("shell", {"cmd": "ls\n</parameter>\n<parameter=cwd>\n/src"})]),
    case("name with markup", "unknown_tool:parser", calls=call("shell<arg_key>cmd", {"cmd": "ls"}), may="missing_parameter:parser"),
    case("name with the end of a tag", "unknown_tool:parser", calls=call("shell</function", {"cmd": "ls"})),
    case("name with a token", "unknown_tool:parser", calls=call("<|channel|>shell", {"cmd": "ls"})),
    case("name with harmony", "unknown_tool:parser", calls=call("shell<|channel|>commentary", {"cmd": "ls"})),
]  # fmt: skip
CASES = [
    *(
        found
        for number, (family, write) in enumerate(FAMILIES.items())
        for found in _family(number, family, write)
    ),
    *(
        found
        for number, (family, write) in enumerate(BARE_FAMILIES.items())
        for found in _bare(number, family, write)
    ),
    *TORN,
]
