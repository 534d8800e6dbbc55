"""Sound exchanges that look faulty: markup in code, drafts, documents about calls, odd but legal arguments."""

import json

from tests.tools.fourth_set.build import Call, Case, case
from tests.tools.fourth_set.endings import FORMAT, SCHEMA, TEXT_FORMAT

FENCE = "```"


def code(words: str, language: str, body: str, after: str = "") -> str:
    """Return words, a fenced block, and words after it."""
    return f"{words}\n\n{FENCE}{language}\n{body}\n{FENCE}\n{after}".strip()


HERMES = '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'
QWEN = "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>"
ANSWERS = {
    "plain": "The tests pass. I changed two files.",
    "hermes in a fence": code(
        "Hermes models write a call like this:", "xml", HERMES, "The parser then reads the JSON."
    ),
    "qwen in a fence": code("Qwen3-Coder's format:", "", QWEN, "Values stand on lines of their own."),
    "mistral in a fence": code(
        "Mistral:", "text", '[TOOL_CALLS][{"name": "bash", "arguments": {"command": "ls"}}]', "Version 3."
    ),
    "template in a fence": code(
        "The template ends so:",
        "jinja",
        "{%- if tools %}<tools>{{ tools }}</tools>{%- endif %}\n<|im_start|>assistant",
        "Change the last line.",
    ),
    "tilde fence": "Look:\n\n~~~\n" + HERMES + "\n~~~\n\nThat is all.",
    "four ticks": "Look:\n\n````md\n```\n" + HERMES + "\n```\n````\n\nThat is all.",
    "indented fence": "1. Write this:\n\n   ```\n   <tool_call>{}</tool_call>\n   ```\n\n2. Save.",
    "inline code": "Wrap the JSON in `<tool_call>` and `</tool_call>`, as the parser expects.",
    "inline call": 'The model wrote `[get_weather(city="Oslo")]`, which is the pythonic form.',
    "python code": code(
        "Call it:", "python", 'result = bash(command="ls")\nprint(result)', "It prints the files."
    ),
    "python at the end": code(
        "So you can list files in a script:", "python", "import subprocess\nsubprocess.run(['ls'])"
    ),
    "shell at the end": code("Run this yourself:", "bash", "git push --force-with-lease"),
    "xml": code("The pom:", "xml", "<dependency>\n  <name>bash</name>\n</dependency>", "Add it."),
    "json asked for": '{"name": "replayer", "version": "1.2", "private": true}',
    "json config": code(
        "package.json:", "json", '{"name": "web", "scripts": {"test": "vitest"}}', "Then run npm test."
    ),
    "html prose": "Use <b>bold</b> and <i>italic</i>; <parameter> is no HTML element.",
    "generics": "The type is Result<Vec<Option<T>>, E>, so use map_err.",
    "word tool call": "I made one tool call, but the result was empty, so nothing changed.",
    "function in prose": "The function get_weather(city) returns a dictionary; call it with a name.",
    "call form in prose": 'Use get_weather(city="Oslo") when you only need one city.',
    "list of names": "- bash\n- read_file\n- edit_file\n\nThese tools are there.",
    "action in prose": "Action: none is needed.\n\nThe file is already right.",
    "headings": "## Thought\nThe cache is cold.\n\n## Action\nWarm it.\n\n## Observation\nHits rise.",
    "minutes": "Action items:\n1. Anna: write the test\n2. Ben: review",
    "refusal": "I'm sorry, but I can't help with breaking into that account.",
    "question": "Which of the two branches do you mean?",
    "one character": "7",
    "yes": "Yes.",
    "emoji": "✅",
    "number": "-1",
    "chinese": "测试全部通过，没有需要修改的文件。",
    "arabic": "تم تشغيل الاختبارات بنجاح.",
    "hebrew points": "הַבְּדִיקוֹת עָבְרוּ.",
    "hindi": "सभी परीक्षण सफल रहे।",
    "french accents": "L'été dernier, à Orléans, le café coûtait 2 €.",
    "portuguese tilde": "AÇÃO: NÃO É NECESSÁRIO. São Paulo fica à direita.",
    "maltese": "Il-ġurnata hija sabiħa u l-Ġimgħa ġejja; Ġanni Ġorġ għandu Ċavetta.",
    "icelandic": "Það er ekkert að; þetta er Ísland.",
    "mojibake explained": "`Ã©` is what you see when UTF-8 `é` is read as Latin-1; decode it once.",
    "replacement explained": "The character `\ufffd` (U+FFFD) stands for bytes that could not be decoded.",
    "byte tokens explained": "Llama's tokenizer writes unknown bytes as `<0xC3>`; GPT-2 shows a space as `Ġ`.",
    "tokenizer in a fence": code("Tokens:", "text", "ĠThe Ġcat Ġsat <0xC3><0xA9>", "Each Ġ is a space."),
    "diff": code("Patch:", "diff", "-<tool_call>\n+<function_call>\n", "Apply it."),
    "regex": r"The pattern `<tool_call>(.*?)</tool_call>` is not greedy.",
    "angle brackets": "Replace <path> and <city> with your values, e.g. <path> = /tmp.",
    "array of numbers": "[1, 2, 3, 5, 8]",
    "index of a list": "Use items[0](x) and matrix[i][j]; both are fine.",
    "python list call": "`[f(x=1) for x in xs]` builds the list.",
    "yaml": code(
        "Config:", "yaml", "tools:\n  - name: bash\n    parameters:\n      command: ls", "Restart after that."
    ),
    "logs": "12:00:01 INFO started\n12:00:02 INFO listening on 8080\n12:00:09 WARN slow query 1.2 s",
    "table": "| tool | calls |\n|---|---|\n| bash | 3 |\n| read_file | 9 |",
    "sql": code("Query:", "sql", "SELECT name, arguments FROM calls WHERE name = 'bash';"),
    "latex": r"\[ f(x) = \sum_{i=1}^{n} x_i^2 \]",
    "url": "See https://example.com/?name=bash&arguments=%7B%7D for the form.",
    "poem": "Roses are red,\nviolets are blue,\nthe build is green,\nand so are you.",
    "unfinished fence": "Here is the script:\n\n```python\nprint('hi')",
    "smolagents explained": code(
        "A smolagents step:",
        "text",
        "Thought: I list.\nCode:\n```py\nbash(command='ls')",
        "It ends with a tag.",
    ),
    "channel words": "The analysis channel is for reasoning; the final channel is for the user.",
    "to functions word": "In harmony the recipient is given as `to=functions.bash`.",
    "schema shown": code(
        "Its schema:",
        "json",
        '{"name": "bash", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}',
        "Send it as a tool.",
    ),
    "dictionary of a tool in words": 'The log has {"name": "bash"} on its first line, which is why the count is off by one.',
    "svelte": code(
        "Component:", "svelte", "<script>\n  export let name;\n</script>\n<bash>{name}</bash>", "Save it."
    ),
    "signature": "def get_weather(city: str, unit: str = 'celsius') -> dict is the signature that I would use here.",
    "many languages": "Hello, 你好, שלום, Привет, नमस्ते, こんにちは!",
    "stop word": "<EOF>",
    "two fences": code("Old:", "", HERMES) + "\n\n" + code("New:", "", QWEN, "The second nests."),
    "quote block": "> <tool_call> opens a call\n\nThat sentence stands in the model card.",
    "harmony in a fence": code(
        "Harmony:",
        "",
        "<|channel|>commentary to=functions.bash <|constrain|>json<|message|>{}<|call|>",
        "Then the tool runs.",
    ),
    "deepseek in a fence": code(
        "DeepSeek:",
        "",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>bash<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
        "So it goes.",
    ),
    "react in a fence": code(
        "ReAct:", "", 'Action: bash\nAction Input: {"command": "ls"}', "The loop reads both lines."
    ),
    "names the tokens": "Stop tokens are `<|eot_id|>`, `<|im_end|>` and `</s>`.",
    "kimi ids inline": "Kimi's ids look like `functions.bash:0`, with a counter.",
    "json lines asked for": '{"id": 1, "name": "anna"}\n{"id": 2, "name": "ben"}',
    "json list asked for": '[{"name": "anna", "age": 3}, {"name": "ben", "age": 5}]',
    "json with a tool's name": '{"tool": "hammer", "name": "claw hammer", "parameters": {"weight": 500}}',
    "python list of calls": "The test calls [abs(-1), max(2, 3)] and compares.",
    "go generics": code("Go:", "go", "func Map[T any](xs []T, f func(T) T) []T { return xs }"),
    "vue": code("Template:", "vue", "<template><list_sessions /></template>", "It renders the list."),
    "openapi": code("The path:", "yaml", "/bash:\n  post:\n    parameters: []", "No body is needed."),
    "korean": "모든 테스트가 통과했습니다.",
    "thai": "การทดสอบทั้งหมดผ่านแล้ว",
    "vietnamese": "Đã chạy xong; mọi thứ đều ổn. Ã là một chữ cái.",
    "maths with arrows": "f: A → B, x ↦ x², so f(⟨1, 2⟩) = ⟨1, 4⟩.",
    "footnote": "It is fast[1] and small[2].\n\n[1] see bench.md\n[2] see size.md",
    "step list": "\n".join(f"{n}. Check the file part{n}.py" for n in range(1, 13)),
}


def args(**values: object) -> str:
    """Return arguments as a model writes them."""
    return json.dumps(values, ensure_ascii=False)


CALLS = {
    "ordinary": ("bash", args(command="ls -la")),
    "none needed": ("list_sessions", "{}"),
    "spaces only inside": ("list_sessions", "{ }"),
    "spaces round it": ("bash", ' \n{"command": "ls"}\n'),
    "pretty": ("bash", '{\n  "command": "ls",\n  "timeout": 5\n}'),
    "escaped unicode": ("get_weather", '{"city": "\\u6771\\u4eac"}'),
    "emoji pair": ("bash", '{"command": "echo \\ud83d\\ude00"}'),
    "unicode plain": ("get_weather", args(city="東京")),
    "accents": ("get_weather", args(city="Ærøskøbing")),
    "float that is whole": ("read_file", '{"path": "a", "limit": 20.0}'),
    "large number": ("read_file", '{"path": "a", "offset": 900719925474099312345}'),
    "exponent": ("read_file", '{"path": "a", "limit": 1e2}'),
    "further key": ("bash", args(command="ls", description="List the files")),
    "empty string": ("edit_file", args(path="a", old="x", new="")),
    "long": (
        "edit_file",
        args(path="a.py", old="x", new="\n".join(f"value_{n} = {n * n}" for n in range(300))),
    ),
    "quotes": ("bash", args(command="echo \"a 'b' c\" | sed 's/\\//x/g'")),
    "xml": ("edit_file", args(path="p.xml", old="<a>", new='<a><b attr="1">x</b></a>')),
    "markup written to a test": (
        "edit_file",
        args(path="tests/test_hermes.py", old="pass", new=f"TEXT = '''{HERMES}'''\nassert parse(TEXT)"),
    ),
    "markup of qwen in a template": (
        "edit_file",
        args(path="t.jinja", old="a", new="{{ '<tool_call>\\n<function=' + name + '>' }}"),
    ),
    "grep for markup": ("bash", args(command="grep -rn '<tool_call>' src/ | head")),
    "grep for token": ("bash", args(command="grep -c '\\[TOOL_CALLS\\]' log.txt")),
    "heredoc": ("bash", args(command='cat > a.json <<\'E\'\n{"name": "bash", "arguments": {}}\nE')),
    "html file": (
        "edit_file",
        args(path="i.html", old="", new="<!doctype html>\n<body><invoke></invoke></body>"),
    ),
    "json in a string": (
        "bash",
        args(command='curl -d \'{"model": "m", "tools": []}\' localhost:8000/v1/chat/completions'),
    ),
    "regex": ("bash", args(command=r"rg -e '^\s+<parameter=(\w+)>'")),
    "null byte words": ("bash", args(command="printf '\\x00\\xff' | xxd")),
    "replacement in sed": ("bash", args(command="sed -i 's/\\xef\\xbf\\xbd//g' a.txt")),
    "windows path": ("read_file", args(path="C:\\Users\\ann\\a.txt")),
    "tabs": ("edit_file", args(path="Makefile", old="all:\n\tcc a.c", new="all:\n\tcc -O2 a.c")),
    "date": ("search_docs", args(query="tls", filters={"lang": "de", "since": "2026-02-28"}, top_k=50)),
    "empty object inside": ("search_docs", args(query="tls", filters={})),
    "empty list": ("todo_write", args(items=[])),
    "nested": (
        "todo_write",
        args(items=[{"title": "ä", "status": "open"}, {"title": "b", "status": "done"}]),
    ),
    "strict": ("close_ticket", args(ticket=0)),
    "negative": ("close_ticket", args(ticket=-7)),
    "sound repeats": (
        "edit_file",
        args(path="m.py", old="a", new="\n".join("0, 0, 0, 1," for _ in range(12))),
    ),
    "css": ("edit_file", args(path="a.css", old="a", new=".a::before { content: 'Ġ'; }")),
    "dsml in a test": (
        "edit_file",
        args(path="t.py", old="x", new="DSML = '<｜DSML｜invoke name=\"f\"></｜DSML｜invoke>'"),
    ),
    "glm in a document": (
        "edit_file",
        args(path="glm.md", old="x", new="A call: `<arg_key>a</arg_key><arg_value>b</arg_value>`"),
    ),
    "byte letters in a vocabulary": (
        "edit_file",
        args(path="vocab.json", old="", new='{"Ġthe": 262, "Ġof": 286, "ĊĊ": 628}'),
    ),
    "latin one test": ("edit_file", args(path="test_utf8.py", old="", new="assert fix('Ã©') == 'é'")),
    "ant file": (
        "edit_file",
        args(
            path="build.xml",
            old="",
            new="<target><parameter name='a'>b</parameter>\n<parameter name='c'>d</parameter></target>",
        ),
    ),
    "minified": (
        "edit_file",
        args(path="a.js", old="x", new="!function(e){for(var t=0;t<9;t++)e[t](t)}(window);"),
    ),
}
THOUGHTS = {
    "draft of a call, then an answer": ("Maybe " + HERMES + " but it is not needed.", "It is not needed."),
    "draft in words": (
        "I could call bash with ls. No: the user only asked why.",
        "Because the port is taken.",
    ),
    "drafts, then an answer": (
        "The format is\n" + QWEN + "\nand I explain it.",
        "The format nests a function in a call.",
    ),
    "json draft": ('{"city": "Rome"} would be the answer, I format it.', "Rome."),
    "think words": ("Okay, the user greets.", "Hello!"),
    "chinese": ("用户在打招呼。", "你好！"),
}
SHELL = Call("bash", args(command="ls"))
READS = tuple(Call("read_file", args(path=f"src/{name}.py")) for name in "abcdef")
QUOTED = "Explain this: " + HERMES
SOUND_FORMAT = '{"city": "Rome", "people": 2748109}'
CHAT = {"wire": "chat"}
WARNED = {"quote block": "leaked_markup:unknown", "further key": "unexpected_parameter:model"}
"""Usable, with a warning that docs/faults.md provides for."""
CASES: list[Case] = [
    *(case(f"answer {name}", may=WARNED.get(name, ""), content=text) for name, text in ANSWERS.items()),
    *(case(f"call {name}", may=WARNED.get(name, ""), calls=(Call(*call),)) for name, call in CALLS.items()),
    *(
        case(f"thoughts {name}", reasoning=thought, content=text)
        for name, (thought, text) in THOUGHTS.items()
    ),
    case("six calls", calls=READS),
    case("words and a call", content="I look at the files.", calls=(SHELL,)),
    case("the same call twice", calls=(SHELL, SHELL)),
    case("draft, then the call", reasoning="I write " + HERMES + " now.", calls=(SHELL,)),
    case("quoted from the prompt", content="You sent " + HERMES + " which asks for a listing.", user=QUOTED),
    case("quoted at the end", content="The call that you sent is:\n" + HERMES, user=QUOTED),
    case("damaged in the prompt", content="Your text is “SÃ£o Paulo”.", user="Why is SÃ£o Paulo shown so?"),
    case("schema kept", content=SOUND_FORMAT, asked=FORMAT, **CHAT),
    case("schema kept, pretty", content='{\n  "city": "Rome",\n  "people": 1\n}\n', asked=FORMAT, **CHAT),
    case("schema kept, responses", content=SOUND_FORMAT, asked=TEXT_FORMAT, wire="responses"),
    case("schema, but a call", calls=(SHELL,), asked={"response_format": SCHEMA}, **CHAT),
    case(
        "json object kept",
        content='{"a": [1]}',
        asked={"response_format": {"type": "json_object"}, "tools": None},
        **CHAT,
    ),
    case("format text", content="Hello.", asked={"response_format": {"type": "text"}}, **CHAT),
    case(
        "named, ends with stop",
        calls=(SHELL,),
        finish="stop",
        asked={"tool_choice": {"type": "function", "function": {"name": "bash"}}},
        **CHAT,
    ),
    case("required kept", calls=(SHELL,), asked={"tool_choice": "required"}, **CHAT),
    case("none kept", content="I only explain.", asked={"tool_choice": "none"}, **CHAT),
    case("not parallel kept", calls=(SHELL,), asked={"parallel_tool_calls": False}, **CHAT),
    case("no tools", content="Hello.", asked={"tools": None}),
    case(
        "no tools, json",
        content='{"name": "bash", "arguments": {"command": "ls"}}',
        user="Write an example of a call as JSON.",
        asked={"tools": None, "response_format": {"type": "json_object"}},
        **CHAT,
    ),
    case("stopped at a sequence", content="one, two, ", finish="stop", asked={"stop": ["three"]}, **CHAT),
    case("harmony ids", calls=(Call("bash", args(command="ls"), "functions.bash:0"),)),
    case("short ids", calls=(Call("bash", args(command="ls"), "x81kd02ab"),)),
    case("exactly one below the limit", content="All is well.", spent=63, asked={"max_tokens": 64}),
    case(
        "refusal field",
        raw='{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":"I cannot help with that."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":8,"total_tokens":17}}',
        streamed=False,
        **CHAT,
    ),
]
