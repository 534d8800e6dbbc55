"""Calls that stayed in the text: each family's grammar, control tokens lost, and who is to blame."""

from collections.abc import Iterator

from tests.tools.fourth_set.build import TOOLS, Call, Case, case

PARSER, MODEL = "leaked_markup:parser", "leaked_markup:model"

#: Each family's own grammar, whole, with values of its own: a parser should have read it.
WRITTEN = {
    "hermes": 'Let me check.\n<tool_call>\n{"name": "bash", "arguments": {"command": "git status --short"}}\n</tool_call>',
    "hermes one line": '<tool_call>{"name": "list_sessions", "arguments": {}}</tool_call>',
    "hermes two": '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>\n<tool_call>\n{"name": "read_file", "arguments": {"path": "b.py", "limit": 20}}\n</tool_call>',
    "hermes arguments first": '<tool_call>\n{"arguments": {"city": "Århus"}, "name": "get_weather"}\n</tool_call>',
    "hermes head swallowed": '{"name": "bash", "arguments": {"command": "make -j4"}}\n</tool_call>',
    "hermes special words": '<tool_call>\n{"name": "edit_file", "arguments": {"path": "x.html", "old": "<b>", "new": "<tool_call>"}}\n</tool_call>',
    "qwen3 coder": "I'll run the tests.\n\n<tool_call>\n<function=bash>\n<parameter=command>\npytest -q\n</parameter>\n<parameter=timeout>\n120\n</parameter>\n</function>\n</tool_call>",
    "qwen3 coder without wrapper": "<function=read_file>\n<parameter=path>\nsrc/main.rs\n</parameter>\n</function>",
    "qwen3 coder no opening": "Now the tests.\n<function=bash>\n<parameter=command>\ncargo test\n</parameter>\n</function>\n</tool_call>",
    "qwen3 coder argument of lines": "<tool_call>\n<function=edit_file>\n<parameter=path>\nf.py\n</parameter>\n<parameter=old>\nif a:\n    b()\n</parameter>\n<parameter=new>\nif a and c:\n    b()\n</parameter>\n</function>\n</tool_call>",
    "qwen3 coder tail": "\n<parameter=command>\nls -la\n</parameter>\n</function>\n</tool_call>",
    "llama 3.1 python tag": '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Lima"}}',
    "llama 3.1 bare": '{"name": "get_weather", "parameters": {"city": "Lima", "unit": "celsius"}}',
    "llama 3.1 type function": '{"type": "function", "name": "bash", "parameters": {"command": "uname -a"}}',
    "llama 3.1 two, semicolon": '<|python_tag|>{"name": "read_file", "parameters": {"path": "a"}}; {"name": "read_file", "parameters": {"path": "b"}}',
    "llama 3.1 custom": '<function=get_weather>{"city": "Quito"}</function>',
    "llama 3.1 custom eom": '<function=get_weather>{"city": "Quito"}</function><|eom_id|>',
    "llama 4 pythonic": '[get_weather(city="Oslo"), get_weather(city="Bergen", unit="celsius")]',
    "llama 4 python start": '<|python_start|>[bash(command="ls -la")]<|python_end|>',
    "mistral v3": '[TOOL_CALLS] [{"name": "bash", "arguments": {"command": "df -h"}}]',
    "mistral v3 id": '[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "README"}, "id": "Ab3dE5fG7"}]',
    "mistral v7": '[TOOL_CALLS]get_weather{"city": "Porto"}',
    "mistral v11": '[TOOL_CALLS]bash[CALL_ID]x81kd02ab[ARGS]{"command": "free -m"}',
    "mistral v13": 'I check the memory.[TOOL_CALLS]bash[ARGS]{"command": "free -m"}',
    "mistral two": '[TOOL_CALLS]read_file[ARGS]{"path": "a"}[TOOL_CALLS]read_file[ARGS]{"path": "b"}',
    "mistral token lost": 'bash[ARGS]{"command": "free -m"}',
    "mistral token lost after words": 'I look at the disk.bash[ARGS]{"command": "du -sh ."}',
    "mistral v7 token lost": 'get_weather{"city": "Porto"}',
    "deepseek v3": '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n```json\n{"command": "id"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "deepseek v3 words before": 'I will look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{"path": "etc/a.conf"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>',
    "deepseek v3.1": '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>bash<｜tool▁sep｜>{"command": "id -u"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "deepseek v3.1 inner only": '<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Kyiv"}<｜tool▁call▁end｜>',
    "deepseek v3.2 dsml": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="bash">\n<｜DSML｜parameter name="command" string="true">id</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
    "deepseek dsml number": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter name="path" string="true">a.c</｜DSML｜parameter>\n<｜DSML｜parameter name="limit" string="false">40</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
    "glm 4.5": "<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>npm ci</arg_value>\n</tool_call>",
    "glm 4.5 two keys": "Sure.\n<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>pkg/x.go</arg_value>\n<arg_key>limit</arg_key>\n<arg_value>80</arg_value>\n</tool_call>",
    "glm 4.7 joined": "<tool_call>bash<arg_key>command</arg_key><arg_value>npm test</arg_value></tool_call>",
    "glm empty": "<tool_call>list_sessions\n</tool_call>",
    "kimi k2": '<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>{"command": "ls"}<|tool_call_end|><|tool_calls_section_end|>',
    "kimi k2 second index": '<|tool_call_begin|>functions.read_file:3<|tool_call_argument_begin|>{"path": "go.mod"}<|tool_call_end|>',
    "kimi k2 tokens lost": 'functions.bash:0{"command": "ls -a"}',
    "harmony": '<|channel|>commentary to=functions.bash <|constrain|>json<|message|>{"command": "ls"}<|call|>',
    "harmony start": '<|start|>assistant<|channel|>commentary to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>{"city": "Riga"}<|call|>',
    "harmony recipient first": '<|start|>assistant to=functions.bash<|channel|>commentary<|message|>{"command": "pwd"}',
    "harmony tokens lost": 'commentary to=functions.bash json{"command": "ls"}',
    "harmony assistant tokens lost": 'assistantcommentary to=functions.read_file json{"path": "Makefile"}',
    "granite 3": '<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Pune"}}]',
    "granite 3 plain": '<tool_call>[{"name": "get_weather", "arguments": {"city": "Pune"}}]',
    "phi 4 mini": '<|tool_call|>[{"type": "function", "function": {"name": "bash", "arguments": {"command": "ls"}}}]<|/tool_call|>',
    "phi functools": 'functools[{"name": "bash", "arguments": {"command": "ls /srv"}}]',
    "command r": 'Action: ```json\n[\n    {\n        "tool_name": "search_docs",\n        "parameters": {"query": "tls"}\n    }\n]```',
    "command a": '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "bash", "parameters": {"command": "ls"}}\n]<|END_ACTION|>',
    "command a plan": 'I will list.<|END_THINKING|><|START_ACTION|>[{"tool_call_id": "0", "tool_name": "bash", "parameters": {"command": "ls"}}]<|END_ACTION|>',
    "minimax m1": '<tool_calls>\n{"name": "bash", "arguments": {"command": "ls"}}\n{"name": "list_sessions", "arguments": {}}\n</tool_calls>',
    "minimax m2": '<minimax:tool_call>\n<invoke name="bash">\n<parameter name="command">ls</parameter>\n</invoke>\n</minimax:tool_call>',
    "minimax m2 head gone": '<invoke name="read_file">\n<parameter name="path">a.txt</parameter>\n<parameter name="limit">3</parameter>\n</invoke>\n</minimax:tool_call>',
    "seed oss": "<seed:tool_call>\n<function=bash>\n<parameter=command>ls</parameter>\n</function>\n</seed:tool_call>",
    "internlm": '<|action_start|><|plugin|>\n{"name": "bash", "parameters": {"command": "ls"}}<|action_end|>',
    "nemotron": '<TOOLCALL>[{"name": "bash", "arguments": {"command": "ls"}}]</TOOLCALL>',
    "nemotron think": '<think>\n</think>\n\n<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Bern"}}]</TOOLCALL>',
    "xlam": '[{"name": "bash", "arguments": {"command": "ls"}}, {"name": "list_sessions", "arguments": {}}]',
    "xlam tool calls key": '{"tool_calls": [{"name": "bash", "arguments": {"command": "ls"}}]}',
    "step 3": '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="bash"><steptml:parameter name="command">ls</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
    "hunyuan": '<tool_calls>[{"name": "bash", "arguments": {"command": "ls"}}]</tool_calls>',
    "ernie": '<think>\nLook first.\n</think>\n\n\n<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>\n',
    "smolagents": 'Thought: I list the files.\nCode:\n```py\nfiles = bash(command="ls")\nprint(files)\n```<end_code>',
    "smolagents code tag": 'Thought: I list the files.\n<code>\nfiles = bash(command="ls")\nprint(files)\n</code>',
    "mcp xml": '<use_mcp_tool>\n<server_name>shell</server_name>\n<tool_name>bash</tool_name>\n<arguments>\n{"command": "ls"}\n</arguments>\n</use_mcp_tool>',
    "cline": "I read it.\n<read_file>\n<path>src/a.ts</path>\n</read_file>",
    "cline two": "<edit_file>\n<path>a.ts</path>\n<old>let</old>\n<new>const</new>\n</edit_file>",
    "react": 'Thought: I should look at the files.\nAction: bash\nAction Input: {"command": "ls"}',
    "react bare string": 'Thought: what is the weather?\nAction: get_weather\nAction Input: {"city": "Graz"}\nObservation:',
    "gemma function call": "<start_function_call>call:bash{command:<escape>ls<escape>}<end_function_call>",
    "gemma 4": '<|tool_call>call:bash{command:<|"|>ls -1<|"|>}<tool_call|>',
    "gemma tool code": '```tool_code\nget_weather(city="Nice")\n```',
    "gemma default api": '```tool_code\nprint(default_api.get_weather(city="Nice"))\n```',
    "jamba": '<tool_calls>[\n{"name": "bash", "arguments": {"command": "ls"}}\n]</tool_calls>',
    "functionary 3.2": '>>>bash\n{"command": "ls"}',
    "functionary all": '>>>all\nI look.\n>>>read_file\n{"path": "a.c"}',
    "olmo 3": '<function_calls>\nbash(command="ls")\nlist_sessions()\n</function_calls>',
    "lfm2": '<|tool_call_start|>[bash(command="ls")]<|tool_call_end|>Checking the files.',
    "invoke": '<function_calls>\n<invoke name="bash">\n<parameter name="command">ls</parameter>\n</invoke>\n</function_calls>',
    "solar": '<|tool_call:begin|>a1b2c3d4<|tool_call:name|>bash<|tool_call:args|>{"command": "ls"}<|tool_call:end|>',
    "apertus": '<|tools_prefix|>[{"bash": {"command": "ls"}}]<|tools_suffix|>',
    "qwen agent": '✿FUNCTION✿: bash\n✿ARGS✿: {"command": "ls"}\n✿RESULT✿',
    "doubao": '<|FunctionCallBegin|>[{"name": "bash", "parameters": {"command": "ls"}}]<|FunctionCallEnd|>',
    "longcat": "<longcat_tool_call>bash\n<longcat_arg_key>command</longcat_arg_key>\n<longcat_arg_value>ls</longcat_arg_value>\n</longcat_tool_call>",
    "function call tag": '<function_call>{"name": "bash", "arguments": {"command": "ls"}}</function_call>',
    "xai": '<xai:function_call name="bash"><parameter name="command">ls</parameter></xai:function_call>',
    "gigachat": 'function call<|role_sep|>\n{"name": "bash", "arguments": {"command": "ls"}}',
    "qwen tools tag": '<tools>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tools>',
    "parameter tags in hermes": "<tool_call>\n<bash>\n<parameter=command>ls</parameter>\n</bash>\n</tool_call>",
    "invoke in tool call": '<tool_call>\n<invoke name="bash">\n<parameter name="command">ls</parameter>\n</invoke>\n</tool_call>',
    "tool tag named": '<tool name="bash">\n<command>ls</command>\n</tool>',
    "arguments as a string": '<tool_call>\n{"name": "bash", "arguments": "{\\"command\\": \\"ls\\"}"}\n</tool_call>',
}

#: What no parser could have delivered.
HOPELESS = {
    "quotes not escaped": '<tool_call>\n{"name": "bash", "arguments": {"command": "grep "TODO" -r ."}}\n</tool_call>',
    "single quotes": "<tool_call>\n{'name': 'bash', 'arguments': {'command': 'ls'}}\n</tool_call>",
    "brace missing": '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}\n</tool_call>',
    "trailing comma": '[TOOL_CALLS][{"name": "bash", "arguments": {"command": "ls",}}]',
    "breaks off": 'I look.\n<tool_call>\n{"name": "bash", "arguments": {"command": "ls',
    "breaks off after the head": "<tool_call>\n<function=bash>\n",
    "deepseek breaks off": '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>bash<｜tool▁sep｜>{"comm',
    "kimi breaks off": "<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>",
    "unknown, hermes": '<tool_call>\n{"name": "send_email", "arguments": {"to": "a@b.c"}}\n</tool_call>',
    "unknown, qwen3 coder": "<tool_call>\n<function=str_replace_editor>\n<parameter=command>\nview\n</parameter>\n</function>\n</tool_call>",
    "unknown, mistral": '[TOOL_CALLS]web_fetch[ARGS]{"url": "http://a"}',
    "unknown, harmony": '<|channel|>commentary to=functions.apply_patch <|constrain|>json<|message|>{"patch": "x"}<|call|>',
    "unknown, minimax": '<minimax:tool_call>\n<invoke name="Task">\n<parameter name="prompt">x</parameter>\n</invoke>\n</minimax:tool_call>',
    "unknown, glm": "<tool_call>WebSearch\n<arg_key>q</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
    "no name": '<tool_call>\n{"command": "ls"}\n</tool_call>',
    "wrong type inside": '<tool_call>\n{"name": "close_ticket", "arguments": {"ticket": "twelve"}}\n</tool_call>',
    "required missing inside": '<tool_call>\n{"name": "edit_file", "arguments": {"path": "a"}}\n</tool_call>',
    "plays the tool": '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>\n<tool_response>\nREADME.md\n</tool_response>\nThere is one file.',
    "glm keys in hermes": '<tool_call>\n{"name": "bash"}\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>',
    "only the result": "<tool_response>\nREADME.md src\n</tool_response>\nThere is one file and a folder.",
}

CALL = Call("bash", '{"command": "ls"}')
SENT = '<tool_call>\n{"name": "%s", "arguments": %s}\n</tool_call>'

CASES: list[Case] = [
    *(case(f"leak {name}", PARSER, content=text) for name, text in WRITTEN.items()),
    *(case(f"hopeless {name}", MODEL, content=text) for name, text in HOPELESS.items()),
    case("no tools were offered", MODEL, content=WRITTEN["hermes"], asked={"tools": None}),
    case(
        "leak, choice none", MODEL, content=WRITTEN["mistral v13"], asked={"tool_choice": "none"}, wire="chat"
    ),
    case("copy beside the call", PARSER, usable=True, content=SENT % ("bash", CALL.arguments), calls=(CALL,)),
    case("another beside the call", PARSER, content=SENT % ("read_file", '{"path": "x"}'), calls=(CALL,)),
    case("qwen second beside", PARSER, content=WRITTEN["qwen3 coder"], calls=(CALL,)),
    case("mistral second beside", PARSER, content=WRITTEN["mistral v13"], calls=(CALL,)),
    case("pythonic second beside", PARSER, content='[get_weather(city="Oslo")]', calls=(CALL,)),
    case("invoke second beside", PARSER, content=WRITTEN["minimax m2 head gone"], calls=(CALL,)),
    case("unknown beside the call", MODEL, usable=True, content=HOPELESS["unknown, hermes"], calls=(CALL,)),
    case("stray close", PARSER, may=MODEL, usable=True, content="All is written.\n</tool_call>"),
    case("stray eot", PARSER, may=MODEL, usable=True, content="All is written.<|eot_id|>"),
    case("stray im_end", PARSER, may=MODEL, usable=True, content="All is written.<|im_end|>"),
    case("call, stray close", PARSER, usable=True, content="</tool_call>", calls=(CALL,)),
    case(
        "fenced after words",
        MODEL,
        usable=True,
        content='I run this:\n```json\n{"name": "bash", "arguments": {"command": "ls"}}\n```',
    ),
    case(
        "fenced alone",
        MODEL,
        usable=True,
        content='```json\n{"name": "bash", "arguments": {"command": "ls"}}\n```',
    ),
    case("reasoning hermes", "call_in_reasoning:parser", reasoning="I list.\n" + WRITTEN["hermes one line"]),
    case("reasoning qwen", "call_in_reasoning:parser", reasoning="Tests first.\n" + WRITTEN["qwen3 coder"]),
    case("reasoning kimi", "call_in_reasoning:parser", reasoning="I should look. " + WRITTEN["kimi k2"]),
    case("reasoning dsml", "call_in_reasoning:parser", reasoning="Go.\n\n" + WRITTEN["deepseek v3.2 dsml"]),
    case("reasoning minimax", "call_in_reasoning:parser", reasoning="Go.\n" + WRITTEN["minimax m2"]),
    case("reasoning glm", "call_in_reasoning:parser", reasoning="Install.\n" + WRITTEN["glm 4.5"]),
    case(
        "reasoning pythonic", "call_in_reasoning:parser", reasoning="Weather.\n" + WRITTEN["llama 4 pythonic"]
    ),
    case(
        "reasoning unknown", "call_in_reasoning:model", reasoning="Mail it.\n" + HOPELESS["unknown, hermes"]
    ),
    case("reasoning broken", "call_in_reasoning:model", reasoning="Grep.\n" + HOPELESS["quotes not escaped"]),
    case(
        "reasoning, no tools",
        "call_in_reasoning:model",
        reasoning="Go.\n" + WRITTEN["hermes"],
        asked={"tools": TOOLS[3:4]},
    ),
]


def surrounded() -> Iterator[Case]:
    """Yield every form again behind words, beside another call, and in the reasoning; made after the first score."""
    words, other = (
        "Certainly! Here is what I will do first.\n\n",
        (Call("search_docs", '{"query": "other"}'),),
    )
    for name, text in WRITTEN.items():
        yield case(f"words {name}", PARSER, content=words + text)
        yield case(f"beside {name}", PARSER, content=text, calls=other)
        yield case(f"thought {name}", "call_in_reasoning:parser", reasoning=words + text)
    for name, text in HOPELESS.items():
        if name != "only the result":
            yield case(f"words {name}", MODEL, content=words + text)
            yield case(f"thought {name}", "call_in_reasoning:model", reasoning=words + text)
