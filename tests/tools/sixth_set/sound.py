"""Sound exchanges that look like faulty ones: talk about tools, code of parsers, logs, XML, other scripts."""

import json

from tests.tools.fifth_set.wires import (
    deltas,
    flow,
    item,
    item_events,
    message,
    piece,
    response,
    text_block,
    use,
)
from tests.tools.fourth_set.build import chunk, events, tool
from tests.tools.sixth_set.build import CHAT, TOOLS, WRITERS, Call, Case, case, made
from tests.tools.sixth_set.replies import FORMAT, LS, OBJECT, TEXT
from tests.tools.sixth_set.streams import DONE, ON_C, ON_M, ON_R, ROLE, USED, open_

NOTE = "leaked_markup:parser leaked_markup:model leaked_markup:unknown"
HERMES = f'<tool_call>\n{{"name": "Bash", "arguments": {LS}}}\n</tool_call>'
TALK = {
    "tags in code": "Hermes models wrap each call in `<tool_call>` and `</tool_call>`; the parser looks for both.",
    "fence of hermes": f"The format is:\n\n```xml\n{HERMES}\n```\n\nThe parser reads what stands between the tags.",
    "fence of coder": "Qwen3-Coder writes it so:\n```\n<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>\n```\nEach parameter has a line of its own.",
    "fence with tildes": f"~~~text\n{HERMES}\n~~~\nThis is what vLLM's hermes parser expects.",
    "fence of four": 'Use this in the README:\n````markdown\n```json\n{"name": "Bash"}\n```\n````\nThen commit.',
    "indented code": 'For example:\n\n    <tool_call>\n    {"name": "Bash", "arguments": {"command": "ls"}}\n    </tool_call>\n\nThe indentation marks it as code.',
    "table of markers": "| family | marker |\n|---|---|\n| Hermes | `<tool_call>` |\n| Mistral | `[TOOL_CALLS]` |\n| Kimi | `<\\|tool_calls_section_begin\\|>` |\n| DeepSeek | `<｜tool▁calls▁begin｜>` |",
    "parser in python": 'I changed the pattern:\n```python\nTOOL = re.compile(r"<tool_call>(.*?)</tool_call>", re.S)\nCALLS = "[TOOL_CALLS]"\nfor found in TOOL.findall(text):\n    call = json.loads(found)\n```\nThe tests pass.',
    "parser in rust": 'Here is the match arm:\n\n```rust\nmatch token {\n    "<|python_tag|>" => State::Call,\n    "<|eom_id|>" => State::Done,\n    _ => State::Text,\n}\n```',
    "json in a fence": '```json\n{\n  "name": "replayer",\n  "version": "1.0.0",\n  "parameters": {"a": 1}\n}\n```\nThis is the new `package.json`.',
    "json, bare, other keys": '{"status": "ok", "files": 2, "errors": []}',
    "json, a person": '{"name": "Ada Lovelace", "born": 1815}',
    "json, a name and parameters": '{"name": "learning-rate-sweep", "parameters": {"lr": [0.1, 0.01]}}',
    "list of objects": '[{"name": "a.txt", "size": 3}, {"name": "b.txt", "size": 5}]',
    "xml answer": '<?xml version="1.0"?>\n<project>\n  <name>demo</name>\n  <parameter name="level">3</parameter>\n</project>',
    "xml of maven": "<dependency>\n  <groupId>org.slf4j</groupId>\n  <artifactId>slf4j-api</artifactId>\n</dependency>",
    "html answer": "<h1>Results</h1>\n<p>Two files, <code>a.txt</code> and <code>b.txt</code>.</p>",
    "svg answer": '<svg viewBox="0 0 10 10"><path d="M0 0L10 10"/></svg>',
    "jinja of a template": "The template has `{% if tool_calls %}<tool_call>{{ call | tojson }}</tool_call>{% endif %}`, and nothing closes it.",
    "log with errors": 'The log says:\n\nERROR 500 Internal Server Error: engine died\nTraceback (most recent call last):\n  File "a.py", line 3, in <module>\nRuntimeError: CUDA out of memory\n\nThe cause is the batch size.',
    "words like errors": "error: the model's maximum context length is exceeded when the history grows; I raised the limit to 65536.",
    "shell session": "$ ls\na.txt  b.txt\n$ python -c 'print(1)'\n1\n\nBoth commands work.",
    "python call in prose": 'Call `Bash(command="ls")` from the agent and you see the files.',
    "python code with the tool's name": '```python\nresult = Bash(command="ls")\nassert result.ok\n```\nThis test fails since `Bash` is a class.',
    "diff": '```diff\n-<tool_call>\n+<function_call>\n {"name": "Bash"}\n```',
    "diff, bare": "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-print('a')\n+print('b')",
    "generics": "Use `Vec<Option<String>>` and `HashMap<&str, Box<dyn Fn()>>`; `<T>` is inferred.",
    "typescript": "const f = <T extends object>(x: Array<Record<string, T>>) => x as unknown as T[];",
    "latex": "The norm is \\(\\|x\\|_2 = \\sqrt{\\sum_i x_i^2}\\), hence \\[ \\frac{a}{b} < 1 \\].",
    "brackets": "[1] Smith 2020. [2] Doe 2021. See [the docs](https://example.org/a_b(c)).",
    "checklist": "- [x] parser\n- [ ] tests\n- [ ] docs\n\n[TODO] write the changelog",
    "ini": "[tool.ruff]\nline-length = 100\n\n[tool.mypy]\nstrict = true",
    "special tokens, listed": "The tokenizer adds `<|im_start|>`, `<|im_end|>`, `<|endoftext|>` and `</s>` as special tokens.",
    "think, explained": "Models put `<think>` … `</think>` around their thoughts; the server removes it.",
    "think tags before an answer": "<think>\nThey ask for a number.\n</think>\n\nThe answer is 4.",
    "think, closed only": "They ask for a number.\n</think>\n\nThe answer is 4.",
    "think, empty": "<think>\n\n</think>\n\nThe answer is 4.",
    "think with bracket tags": "[THINK]They ask for a number.[/THINK]The answer is 4.",
    "german": "Die Größe der Datei beträgt 5 MB – das ist „zu viel“, sagt der Prüfer.",
    "french": "L’été dernier, à Nîmes, j’ai mangé des crêpes « maison » : œufs, cœur, naïveté.",
    "portuguese": "Não há arquivos. A função está em São João; é preciso atenção às exceções.",
    "romanian": "Fișierele există; țineți cont de întârziere și de găsirea soluției.",
    "vietnamese": "Tệp này có hai dòng. Hãy kiểm tra lại đường dẫn của thư mục trước khi chạy.",
    "polish": "Zażółć gęślą jaźń: plik źródłowy został zmieniony.",
    "turkish": "Dosyada iki satır var; çıktıyı ğüşöçİı harfleriyle kaydettim.",
    "russian": "В папке два файла. Я проверил их содержимое и не нашёл ошибок.",
    "chinese": "文件夹里有两个文件：a.txt 和 b.txt。工具调用格式如《说明》所述，用“<tool_call>”标记。",
    "japanese": "フォルダには２つのファイルがあります。「ツール呼び出し」は不要です。",
    "korean": "폴더에는 파일이 두 개 있습니다. 도구를 호출할 필요가 없습니다.",
    "arabic": "يوجد ملفان في المجلد. لا حاجة إلى استدعاء الأداة.",
    "hebrew": "בתיקייה יש שני קבצים: \u200fa.txt ו-b.txt.",
    "hindi": "फ़ोल्डर में दो फ़ाइलें हैं। किसी उपकरण की ज़रूरत नहीं है।",
    "tamil": "கோப்புறையில் இரண்டு கோப்புகள் உள்ளன.",
    "thai": "ในโฟลเดอร์มีไฟล์สองไฟล์ ไม่ต้องเรียกใช้เครื่องมือ",
    "emoji": "Done ✅ 🎉 — 2 files 👨‍👩‍👧‍👦, 0 errors 🏳️‍🌈.",
    "one sign": "✓",
    "one digit": "4",
    "one point": ".",
    "maltese names": "Ġorġ u Ċensa jgħixu f’Ħal Għaxaq; il-fajl jinsab hemm.",
    "block elements": "Load: ▁▂▃▄▅▆▇█ 78 %\nIdle: ▁▁▁▂▁▁",
    "replacement sign, explained": "`\\ufffd` (U+FFFD) is shown where bytes are not UTF-8.",
    "mojibake, explained": "“Ã¼” instead of “ü” means that UTF-8 was read as Latin-1.",
    "byte tokens, explained": "SentencePiece writes bytes as `<0xC3>` and `<0xA9>` when a sign is not in its vocabulary.",
    "list of numbers": "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20",
    "poem with a refrain": "Row, row, row your boat,\nGently down the stream,\nMerrily, merrily, merrily, merrily,\nLife is but a dream.",
    "changelog": "## 1.2\n- ✅ Fixed the parser\n- ✅ Fixed the lexer\n- ✅ Fixed the docs\n\n## 1.1\n- ✅ Fixed the build",
    "yaml": "name: Bash\narguments:\n  command: ls\n",
    "action in prose": "Action items: 1. ask Bob; 2. write the tests. Observation: the cache is cold.",
    "thought in prose": "Thought experiment: if the queue is full, the request waits.",
    "to= in prose": "Send the mail with `to=functions@example.org`; the header `commentary` is optional.",
    "function call in prose": "The function call is cheap; `function call` overhead in C is a few nanoseconds.",
    "tool call bold": "**Tool calls:** none were needed. The answer is in the README.",
    "unused in prose": "The rows [unused1] and [unused2] of the vocabulary are free.",
    "calls in a quote": f"The user wrote:\n> {HERMES.replace(chr(10), ' ')}\n\nThat is Hermes' form.",
    "curl of a request": '```bash\ncurl -s http://localhost/v1/chat/completions -d \'{"tools": [], "tool_choice": "none"}\'\n```',
    "refusal": "I can't help with that.",
}
OLD = {"messages": [
    {"role": "user", "content": "What does this mean? <tool_call>\n{\"name\": \"Bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>"}]}  # fmt: skip
SECOND = {"messages": [
    {"role": "user", "content": "List."},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "call_00ab77", "type": "function", "function": {"name": "ping", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "call_00ab77", "content": "n\ufffdn"}]}  # fmt: skip
EDIT = {"file_path": "parser.py", "old_string": "x", "new_string": "y"}
KEPT = '{"city": "Bonn", "inhabitants": 330000}'
REQUESTS: list[Case] = [
    case("quotes the prompt", content=f"You sent {HERMES}, which is a call of `Bash`.", asked=OLD, may=NOTE, **CHAT),
    case("quotes a tool's result", content="The host is n\ufffdn.", asked=SECOND, **CHAT),
    case("schema kept", content=KEPT, asked=FORMAT, **CHAT),
    case("schema kept, blanks round it", content=f"\n  {KEPT}\n", asked=FORMAT, **CHAT),
    case("schema kept, on responses", content=KEPT, asked={"tools": None, "text": TEXT}, wire="responses"),
    case("schema asked, a call instead", calls=(Call("Bash", LS),), asked=FORMAT | {"tools": TOOLS}, **CHAT),
    case("object kept", content='{"a": [1, {"b": null}]}', asked=OBJECT, **CHAT),
    case("text format", content="Bonn.", asked={"tools": None, "response_format": {"type": "text"}}, **CHAT),
    case("json asked in words", content='{"name": "Bash", "version": 5}', user="Give me the shell's name and version as JSON."),
    case("none kept", content="Two files.", asked={"tool_choice": "none"}, **CHAT),
    case("required kept", calls=(Call("ping", "{}"),), asked={"tool_choice": "required"}, **CHAT),
    case("named kept, stop", calls=(Call("Bash", LS),), finish="stop", asked={"tool_choice": {"type": "function", "function": {"name": "Bash"}}}, **CHAT),
    case("not parallel, one", calls=(Call("Bash", LS),), asked={"parallel_tool_calls": False}, **CHAT),
    case("parallel, three", content="I look.", calls=(Call("Bash", LS, "a1"), Call("ping", "{}", "a2"), Call("Bash", LS, "a3"))),
    case("thoughts and an answer", reasoning="They want it short. <tool_call> is not needed.", content="Two files."),
    case("thoughts draft a call", reasoning=f"I could call {HERMES} but I know it.\nSo I answer at once.", content="Two files."),
    case("thoughts and a call", reasoning="I list the folder.", calls=(Call("Bash", LS),)),
    case("just below the limit", content="Two files.", spent=127, asked={"max_tokens": 128}),
]  # fmt: skip
CALLS: list[Case] = [
    made("value, hermes tags", "", "Edit", EDIT | {"new_string": 'START = "<tool_call>"\nEND = "</tool_call>"'}),
    made("value, a whole template", "", "Edit", EDIT | {"new_string": "{{ '<tool_call>\\n' }}{{ call | tojson }}{{ '\\n</tool_call>' }}"}),
    made("value, xml parameter", "", "Edit", EDIT | {"new_string": '<configuration>\n  <parameter name="a">1</parameter>\n</configuration>'}),
    made("value, mojibake table", "", "Edit", EDIT | {"new_string": 'FIXES = {"Ã¼": "ü", "Ã¤": "ä"}  # double encoding'}),
    made("value, replacement sign", "", "Bash", {"command": "grep -c $'\\xef\\xbf\\xbd' a.txt"}),
    made("value, bpe sign in code", "", "Edit", EDIT | {"new_string": 'text = token.replace("Ġ", " ").replace("▁", " ")'}),
    made("value, json as text", "", "Bash", {"command": 'echo \'{"name": "Bash", "arguments": {}}\' > call.json'}),
    made("value, empty text", "", "Edit", EDIT | {"new_string": ""}),
    made("value, emoji pair", "", "Bash", '{"command": "echo \\ud83d\\ude00"}'),
    made("whole number as 5.0", "", "Read", '{"file_path": "a", "limit": 5.0}'),
    made("blank text round", "", "Bash", ' {"command": "ls"}\n'),
    made("null where allowed", "", "web-search", {"query": "a", "site": None}),
    made("one of two", "", "schedule", {"when": {"cron": "0 5 * * 1"}, "options": {"retries": 2}}),
    made("day", "", "schedule", {"when": {"at": "2026-12-31"}}),
    made("points", "", "plot", {"points": [[1, 2], [3.5, -4e3]], "colour": "red"}),
    made("large number", "", "Bash", {"command": "ls", "timeout": 10**15}),
    made("nothing for none", "", "ping", {}),
    made("long script", "", "Bash", {"command": "\n".join(f"echo step {n}: {n * n}" for n in range(40))}),
    made("tool without parameters", "", "now", {}, asked={"tools": [{"type": "function", "function": {"name": "now"}}]}),
    made("tool of any keys", "", "put", {"a": 1, "b": [2]}, asked={"tools": [tool("put") | {"function": {"name": "put", "parameters": {"type": "object"}}}]}),
]  # fmt: skip
CHATS = {
    "pieces": deltas(open_(0, "a", "Bash", ""), piece(0, '{"command"'), piece(0, ': "l'), piece(0, 's"}')),
    "two calls, one after the other": deltas(open_(0, "a", "Bash"), open_(1, "b", "ping", "{}")),
    "same id in each delta": deltas(
        open_(0, "a", "Bash", ""), piece(0, '{"command": ', id_="a"), piece(0, '"ls"}', id_="a")
    ),
    "words, then a call": deltas({"content": "I look."}, open_(0, "a", "Bash")),
    "keep-alives": ": ping\n\n" + events(ROLE, chunk({"content": "Two."})) + ": ping\n\n" + events(chunk({}, "stop"), USED, DONE),
    "role in each delta": events(
        ROLE, chunk({"role": "assistant", "content": "Two "}), chunk({"role": "assistant", "content": "files."}), chunk({}, "stop"), USED, DONE
    ),
    "finish with the last words": events(ROLE, chunk({"content": "Two."}, "stop"), USED, DONE),
    "carriage returns": events(ROLE, chunk({"content": "Two."}), chunk({}, "stop"), USED, DONE).replace("\n", "\r\n"),
    "empty deltas": events(ROLE, chunk({}), chunk({"content": "Two."}), chunk({"content": ""}), chunk({}, "stop"), USED, DONE),
    "reasoning field": events(ROLE, chunk({"reasoning": "Hm."}), chunk({"content": "Two."}), chunk({}, "stop"), USED, DONE),
    "usage in each chunk": events(
        ROLE, chunk({"content": "Two."}) | {"usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}}, chunk({}, "stop"), USED, DONE
    ),
}  # fmt: skip
CALL = item("Bash", LS)
FRAMES: list[Case] = [
    *(case(f"chat: {name}", raw=raw, **ON_C) for name, raw in CHATS.items()),
    case("messages: words and a call", raw=message(text_block(0, "I look."), use(1, "Bash", '{"comm', 'and": "ls"}')), **ON_M),
    case("messages: a call without keys", raw=message(use(0, "ping")), **ON_M),
    case("messages: two calls", raw=message(use(0, "Bash", LS), use(1, "ping", "{}")), **ON_M),
    case("messages: words", raw=message(text_block(0, "Two."), reason="end_turn"), **ON_M),
    case("messages: stop sequence", raw=message(text_block(0, "Two."), reason="stop_sequence"), asked={"stop_sequences": ["END"]}, **ON_M),
    case("responses: a call", raw=flow(*item_events(0, CALL, '{"command": ', '"ls"}'), last=response(CALL)), **ON_R),
]  # fmt: skip
FENCED: list[Case] = [
    case(f"documented, {family}", content=f"A call of this family looks like this:\n\n```text\n{write('Bash', json.loads(LS))}\n```\n\nThe parser must read it.")
    for family, write in WRITERS.items()
    if "```" not in write("Bash", {})
][::3]  # fmt: skip
CASES: list[Case] = [
    *(case(name, content=content, may=NOTE if name in ("jinja of a template", "calls in a quote", "chinese") else "") for name, content in TALK.items()),
    *REQUESTS,
    *CALLS,
    *FRAMES,
    *FENCED,
]  # fmt: skip
