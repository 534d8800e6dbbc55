"""Calls that were left in the text: grammars of newer families, and odd forms of the older ones."""

from collections.abc import Iterator

from tests.tools.fifth_set.writers import Arguments, J
from tests.tools.sixth_set.build import CHAT, WRITERS, Call, Case, case

PARSER, MODEL, EITHER = (
    "leaked_markup:parser",
    "leaked_markup:model",
    "leaked_markup:parser|leaked_markup:model",
)
THOUGHT = "call_in_reasoning:parser"
VALUES: list[tuple[str, Arguments]] = [
    ("Bash", {"command": "git log --oneline -5"}),
    (
        "Edit",
        {
            "file_path": "src/app.py",
            "old_string": "if a < b:\n    x = 1",
            "new_string": "if a <= b:\n    x = 2",
        },
    ),
    ("web-search", {"query": "größte Primzahl < 1000", "max_results": 3}),
    ("Bash", {"command": 'jq -r ".items[] | {n: .name}" a.json && echo "done"', "timeout": 60}),
    ("mcp__jira__get_issue", {"key": "CORE-118"}),
    ("Read", {"file_path": "docs/über uns (neu).md", "offset": 10, "limit": 40}),
    ("Bash", {"command": "cat > /tmp/x <<'EOT'\nline 1\n\nline 3\nEOT", "run_in_background": False}),
]
WORDS = (
    "I'll check the history first.\n\n",
    "Ich sehe mir das an: ",
    "次にファイルを確認します。\n",
    "",
    "Let me look at that.\n",
    "",
)
BARE = {"kimi lost", "ds3 lost", "rwkv", "telechat json"}
AFTER = (Call("ping", "{}"),)


def _placed() -> Iterator[Case]:
    """Yield each grammar twice: a call that could be read, and another place or another fault."""
    for number, (family, write) in enumerate(WRITERS.items()):
        name, arguments = VALUES[number % len(VALUES)]
        text = write(name, arguments)
        yield case(f"{family}, {name}", PARSER, content=WORDS[number % 6] + text)
        place = number % 5
        if place == 1 and family in BARE:
            place = 2
        if place == 0:
            yield case(
                f"{family}, in the thoughts",
                THOUGHT,
                may="empty_turn:unknown",
                reasoning=f"They want it. {text}",
            )
        elif place == 1:
            yield case(f"{family}, of no tool", MODEL, content=write("delete_branch", {"name": "old"}))
        elif place == 2:
            yield case(f"{family}, beside a call", PARSER, content="Two things.\n" + text, calls=AFTER)
        elif place == 3:
            tempting = write("Bash", {"command": "python -c 'print({1: [2, \"}\"]})' > out.txt"})
            yield case(f"{family}, tempting value", PARSER, content="First this.\n\n" + tempting)
        else:
            yield case(f"{family}, two calls", PARSER, content=text + "\n" + write("ping", {}))


LS = {"command": "ls"}
TAGGED = f'{{"name": "Bash", "arguments": {J(LS)}}}'
CODER = "<function=Bash>\n<parameter=command>\nls -la\n</parameter>\n</function>"
INVOKE = '<invoke name="Bash"><parameter name="command">ls</parameter></invoke>'
BEGUN = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>"
ODD = [
    # name, label, content
    ("hermes, end only", PARSER, TAGGED + "\n</tool_call>"),
    ("hermes, begin only", PARSER, "<tool_call>\n" + TAGGED),
    ("hermes, begun twice", EITHER, f"<tool_call>\n<tool_call>\n{TAGGED}\n</tool_call>"),
    ("hermes, end twice", EITHER, f"<tool_call>\n{TAGGED}\n</tool_call>\n</tool_call>"),
    ("hermes, python quotes", MODEL, "<tool_call>\n{'name': 'Bash', 'arguments': {'command': 'ls'}}\n</tool_call>"),
    ("hermes, a brace short", MODEL, '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}\n</tool_call>'),
    ("hermes, comma behind", MODEL, '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls",}}\n</tool_call>'),
    ("hermes, raw newline", MODEL, '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls\npwd"}}\n</tool_call>'),
    ("hermes, no name", MODEL, '<tool_call>\n{"arguments": {"command": "ls"}}\n</tool_call>'),
    ("hermes, no arguments", MODEL, '<tool_call>\n{"name": "Bash"}\n</tool_call>'),
    ("hermes, wrong type", MODEL, '<tool_call>\n{"name": "Bash", "arguments": {"command": 5}}\n</tool_call>'),
    ("hermes, near name", MODEL, '<tool_call>\n{"name": "bash_tool", "arguments": {"command": "ls"}}\n</tool_call>'),
    ("hermes, wrapped function", EITHER, '<tool_call>\n{"type": "function", "function": {"name": "ping", "arguments": {}}}\n</tool_call>'),
    ("hermes, list of two", PARSER, f'<tool_call>\n[{TAGGED}, {{"name": "ping", "arguments": {{}}}}]\n</tool_call>'),
    ("hermes, two in one tag", EITHER, f"<tool_call>\n{TAGGED}\n{TAGGED}\n</tool_call>"),
    ("hermes, tools tag", PARSER, f"<tools>\n{TAGGED}\n</tools>"),
    ("hermes, plays the answer", MODEL, f"<tool_call>\n{TAGGED}\n</tool_call>\n<tool_response>\na.txt\n</tool_response>\nThere is one file."),
    ("hermes, answer behind", PARSER, f"<tool_call>\n{TAGGED}\n</tool_call>\nI have started the command."),
    ("coder, no wrapper", PARSER, CODER),
    ("coder, wrapper's end", PARSER, "I look.\n" + CODER + "\n</tool_call>"),
    ("coder, parameter not ended", EITHER, "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</function>\n</tool_call>"),
    ("coder, function not ended", EITHER, "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n</tool_call>"),
    ("coder, words for a number", MODEL, "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n<parameter=timeout>\nsoon\n</parameter>\n</function>\n</tool_call>"),
    ("coder, required lacks", MODEL, "<tool_call>\n<function=Bash>\n<parameter=timeout>\n5\n</parameter>\n</function>\n</tool_call>"),
    ("coder, quoted names", EITHER, '<tool_call>\n<function="Bash">\n<parameter="command">ls</parameter>\n</function>\n</tool_call>'),
    ("coder, attributes", PARSER, '<tool_call>\n<function name="Bash">\n<parameter name="command">ls</parameter>\n</function>\n</tool_call>'),
    ("coder, nothing to pass", PARSER, "<tool_call>\n<function=ping>\n</function>\n</tool_call>"),
    ("coder, json inside", PARSER, f"<tool_call>\n<function=Bash>\n{J(LS)}\n</function>\n</tool_call>"),
    ("coder, html in the value", PARSER, "<tool_call>\n<function=Edit>\n<parameter=file_path>\na.html\n</parameter>\n<parameter=old_string>\n<p>a</p>\n</parameter>\n<parameter=new_string>\n<p>a &amp; b</p>\n</parameter>\n</function>\n</tool_call>"),
    ("llama, two with a semicolon", PARSER, '{"name": "ping", "parameters": {}}; {"name": "Bash", "parameters": {"command": "ls"}}'),
    ("llama, typed", PARSER, '{"type": "function", "name": "Bash", "parameters": {"command": "ls"}}'),
    ("llama, tag and words", PARSER, 'Sure.<|python_tag|>{"name": "Bash", "parameters": {"command": "ls"}}'),
    ("llama, header", PARSER, '<|start_header_id|>assistant<|end_header_id|>\n\n{"name": "Bash", "parameters": {"command": "ls"}}'),
    ("pythonic, two", PARSER, "[Bash(command='ls'), ping()]"),
    ("pythonic, nested", PARSER, "[plot(points=[[1, 2.5], [-3, 4]], colour='red')]"),
    ("pythonic, positional", EITHER, "<|python_start|>[Bash('ls')]<|python_end|>"),
    ("mistral, three", PARSER, f'[TOOL_CALLS]Bash[ARGS]{J(LS)}[TOOL_CALLS]ping[ARGS]{{}}[TOOL_CALLS]mcp__jira__get_issue[ARGS]{{"key": "A-1"}}'),
    ("mistral, spaces", PARSER, f'[TOOL_CALLS] [{{"name": "Bash", "arguments": {J(LS)}}}]'),
    ("mistral, list with ids", PARSER, f'[TOOL_CALLS][{{"name": "Bash", "arguments": {J(LS)}, "id": "Ab3dE6gH9"}}]</s>'),
    ("mistral, begun", MODEL, '[TOOL_CALLS]Bash[ARGS]{"command": "ls'),
    ("mistral, lost head", PARSER, f"Bash[ARGS]{J(LS)}"),
    ("ds31, two", PARSER, f"{BEGUN}Bash<｜tool▁sep｜>{J(LS)}<｜tool▁call▁end｜><｜tool▁call▁begin｜>ping<｜tool▁sep｜>{{}}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
    ("ds31, broken", MODEL, f'{BEGUN}Bash<｜tool▁sep｜>{{"command": ls}}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'),
    ("ds3, of no tool", MODEL, f"{BEGUN}function<｜tool▁sep｜>rm_all\n```json\n{{}}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
    ("dsml, torn", MODEL, '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="Bash">\n<｜DSML｜parameter name="command" string="true">ls'),
    ("glm, lost begin", PARSER, "Bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>"),
    ("glm, of no tool", MODEL, "<tool_call>deploy\n<arg_key>env</arg_key>\n<arg_value>prod</arg_value>\n</tool_call>"),
    ("glm, key without value", MODEL, "<tool_call>Bash\n<arg_key>command</arg_key>\n</tool_call>"),
    ("kimi, of no tool", MODEL, "<|tool_calls_section_begin|><|tool_call_begin|>functions.deploy:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"),
    ("kimi, plain id", PARSER, f"<|tool_calls_section_begin|><|tool_call_begin|>Bash:3<|tool_call_argument_begin|>{J(LS)}<|tool_call_end|><|tool_calls_section_end|>"),
    ("harmony, final after", PARSER, f"<|channel|>commentary to=functions.Bash <|constrain|>json<|message|>{J(LS)}<|call|><|start|>assistant<|channel|>final<|message|>Done."),
    ("harmony, of no tool", MODEL, "<|channel|>commentary to=functions.deploy <|constrain|>json<|message|>{}<|call|>"),
    ("harmony, broken", MODEL, '<|channel|>commentary to=functions.Bash <|constrain|>json<|message|>{"command": "ls"<|call|>'),
    ("command, old", PARSER, f'Action:```json\n[\n    {{"tool_name": "Bash", "parameters": {J(LS)}}}\n]```'),
    ("minimax m1, two lines", PARSER, f'<tool_calls>\n{TAGGED}\n{{"name": "ping", "arguments": {{}}}}\n</tool_calls>'),
    ("minimax m2, two", PARSER, f'<minimax:tool_call>\n{INVOKE}\n<invoke name="ping">\n</invoke>\n</minimax:tool_call>'),
    ("minimax m2, of no tool", MODEL, '<minimax:tool_call>\n<invoke name="deploy">\n<parameter name="env">prod</parameter>\n</invoke>\n</minimax:tool_call>'),
    ("invoke, single quotes", PARSER, "<function_calls><invoke name='Bash'><parameter name='command'>ls</parameter></invoke></function_calls>"),
    ("claude, result played", MODEL, f"<function_calls>{INVOKE}</function_calls>\n<function_results>\na.txt\n</function_results>\nOne file."),
    ("olmo, two lines", PARSER, '<function_calls>\nBash(command="ls")\nping()\n</function_calls>'),
    ("smolagents, code", PARSER, 'Thought: I list the folder.\n<code>\nfiles = Bash(command="ls")\nprint(files)\n</code>'),
    ("smolagents, fence", PARSER, "Thought: I list the folder.\nCode:\n```py\nfiles = Bash(command='ls')\nprint(files)\n```<end_code>"),
    ("react", PARSER, f"Thought: I need the folder.\nAction: Bash\nAction Input: {J(LS)}\nObservation:"),
    ("openai body", PARSER, f'{{"tool_calls": [{{"id": "call_1", "type": "function", "function": {{"name": "Bash", "arguments": {J(J(LS))}}}}}]}}'),
    ("parallel wrapper", EITHER, f'<|python_tag|>{{"tool_uses": [{{"recipient_name": "functions.Bash", "parameters": {J(LS)}}}]}}'),
    ("cwm", PARSER, "<tool: function>\nBash ls -la src\n</tool>"),
    ("cline", PARSER, "<Bash>\n<command>ls</command>\n</Bash>"),
    ("gemma fence", PARSER, '```tool_code\nBash(command="ls")\n```'),
    ("gemma 4, two", PARSER, '<|tool_call>call:Bash{command:<|"|>ls<|"|>,timeout:5}<tool_call|><|tool_call>call:ping{}<tool_call|>'),
    ("gemma 4, of no tool", MODEL, '<|tool_call>call:deploy{env:<|"|>prod<|"|>}<tool_call|>'),
    ("granite, of no tool", MODEL, '<|tool_call|>[{"name": "deploy", "arguments": {}}]'),
    ("nemotron, torn", MODEL, '<TOOLCALL>[{"name": "Bash", "arguments": {"command": "ls"'),
    ("jamba, two", PARSER, f'<tool_calls>[\n    {TAGGED},\n    {{"name": "ping", "arguments": {{}}}}\n]</tool_calls>'),
    ("lfm, two", PARSER, '<|tool_call_start|>[Bash(command="ls"), ping()]<|tool_call_end|>'),
    ("seed, thought before", PARSER, "<seed:think>I look.</seed:think><seed:tool_call>\n<function=Bash>\n<parameter=command>ls</parameter>\n</function>\n</seed:tool_call>"),
]  # fmt: skip
TAILS = [
    ("tail, hermes json", PARSER, 'nd": "ls"}}\n</tool_call>'),
    ("tail, coder", PARSER, "ls -la\n</parameter>\n</function>\n</tool_call>"),
    ("tail, kimi", PARSER, 'mand": "ls"}<|tool_call_end|><|tool_calls_section_end|>'),
    ("tail, glm", PARSER, "<arg_value>ls</arg_value>\n</tool_call>"),
    (
        "tail, dsml",
        PARSER,
        'mmand" string="true">ls</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
    ),
]
NONE_OFFERED = {"tools": None}
PLACES = [
    case("no tools, hermes", MODEL, content=f"<tool_call>\n{TAGGED}\n</tool_call>", asked=NONE_OFFERED),
    case("no tools, coder", MODEL, content=f"<tool_call>\n{CODER}\n</tool_call>", asked=NONE_OFFERED),
    case("choice none, hermes", MODEL, content=f"<tool_call>\n{TAGGED}\n</tool_call>", asked={"tool_choice": "none"}, **CHAT),
    case("thoughts, hermes and no answer", THOUGHT, may="empty_turn:unknown", reasoning=f"I list it.\n<tool_call>\n{TAGGED}\n</tool_call>"),
    case("thoughts, coder ends them", THOUGHT, reasoning=f"I list it.\n<tool_call>\n{CODER}\n</tool_call>", content="I list the folder."),
    case("thoughts, kimi, of no tool", "call_in_reasoning:model", may="empty_turn:unknown",
         reasoning="Go.<|tool_calls_section_begin|><|tool_call_begin|>functions.deploy:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"),
    case("think tag not closed, call", f"{PARSER}|{THOUGHT}", may="empty_turn:unknown", content=f"<think>I list it.\n<tool_call>\n{TAGGED}\n</tool_call>"),
    case("think closed, call", PARSER, content=f"<think>I list it.</think>\n<tool_call>\n{TAGGED}\n</tool_call>"),
    case("a copy beside the call", PARSER, usable=True, content=f"<tool_call>\n{TAGGED}\n</tool_call>", calls=(Call("Bash", J(LS)),)),
    case("another beside the call", PARSER, content='<tool_call>\n{"name": "Bash", "arguments": {"command": "pwd"}}\n</tool_call>', calls=(Call("Bash", J(LS)),)),
    case("only a fence", EITHER, usable=True, content=f"```xml\n<tool_call>\n{TAGGED}\n</tool_call>\n```"),
    case("next call in the value", PARSER, calls=(Call("Bash", J({"command": f"ls\n</tool_call>\n<tool_call>\n{TAGGED}"})),)),
    case("next coder in the value", PARSER, calls=(Call("Bash", J({"command": f"ls\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n{CODER}"})),)),
    case("swallowed, coder", "swallowed_parameter:parser", calls=(Call("Bash", J({"command": "ls\n</parameter>\n<parameter=timeout>\n30"})),)),
    case("swallowed, invoke", "swallowed_parameter:parser",
         calls=(Call("Edit", J({"file_path": "a</parameter>\n<parameter name=\"replace_all\">true", "old_string": "x", "new_string": "y"})),)),
    case("swallowed, glm", "swallowed_parameter:parser", calls=(Call("Bash", J({"command": "ls</arg_value>\n<arg_key>timeout</arg_key>\n<arg_value>30"})),)),
    case("im_end behind the answer", PARSER, usable=True, content="There are two files.<|im_end|>"),
    case("eot behind the answer", PARSER, usable=True, content="There are two files.<|eot_id|>"),
    case("end_of_turn behind the answer", PARSER, usable=True, content="There are two files.<end_of_turn>"),
    case("analysis in front", PARSER, usable=True, content="<|channel|>analysis<|message|>They ask for files.<|end|><|start|>assistant<|channel|>final<|message|>Two files."),
    case("plays the user", EITHER, usable=True, content="Two files.<|im_end|>\n<|im_start|>user\nAnd how large are they?<|im_end|>\n<|im_start|>assistant\nSmall."),
    case("plays the tool", MODEL, content="Two files.<|im_end|>\n<|im_start|>tool\na.txt b.txt<|im_end|>"),
    case("end tags alone", PARSER, usable=True, content="There are two files.\n</tool_call>"),
    case("end tag is all", f"{PARSER}", may="empty_turn:unknown", content="</tool_call>"),
    case("name with markup", "unknown_tool:parser", calls=(Call("Bash<|channel|>commentary", J(LS)),)),
    case("name with a tag", "unknown_tool:parser", calls=(Call("<function=Bash>", J(LS)),)),
]  # fmt: skip
CASES: list[Case] = [
    *_placed(),
    *(case(name, label, content=content) for name, label, content in ODD),
    *(case(name, label, content=content) for name, label, content in TAILS),
    *PLACES,
]
