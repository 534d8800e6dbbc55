"""Sound answers, calls and thoughts that tempt: quoted markup, documents with calls in them."""

import json

from tests.tools.fifth_set.build import Call, Case, called, case
from tests.tools.fifth_set.wires import LS

ANSWERS = {
    # markup that is talked about
    "names the tag": "Qwen wraps each call in `<tool_call>` tags; vLLM's hermes parser looks for exactly that token.",
    "names tags without ticks": "The template writes <tool_call> and </tool_call> round each call, and the parser removes both.",
    "fence of hermes": 'A call looks like this:\n\n```xml\n<tool_call>\n{"name": "shell", "arguments": {"cmd": "ls"}}\n</tool_call>\n```\n\nThe parser turns it into `tool_calls`.',
    "fence of coder": "The format of Qwen3-Coder:\n\n```\n<tool_call>\n<function=shell>\n<parameter=cmd>\nls\n</parameter>\n</function>\n</tool_call>\n```\n\nEach parameter has tags of its own.",
    "fence of dsml": '```text\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name="shell">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>\n```\nThat is how DeepSeek V4 writes a call without arguments.',
    "tilde fence": "~~~\n[TOOL_CALLS]shell[ARGS]{}\n~~~\nis what Mistral writes since version 11.",
    "long fence": '````markdown\nUse it so:\n```json\n{"name": "shell", "arguments": {"cmd": "ls"}}\n```\n````\nThis is the page you asked for; shall I save it?',
    "inline kimi": "Kimi opens a call with `<|tool_call_begin|>functions.shell:0<|tool_call_argument_begin|>` and then writes the JSON.",
    "table of families": "| family | opening |\n|---|---|\n| Hermes | `<tool_call>` |\n| Mistral | `[TOOL_CALLS]` |\n| Llama 3 | `<|python_tag|>` |\n| Kimi | `<|tool_calls_section_begin|>` |",
    "regex of a parser": 'The pattern is `re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)`, which fails when the value holds the tag itself.',
    "code of a parser": 'Here is the change:\n\n```python\nTOOL_START = "<tool_call>"\n\ndef find(text: str) -> int:\n    return text.find(TOOL_START)\n```\n\nIt now returns -1 when there is none.',
    "diff of a template": '```diff\n-{{- "<tool_call>" }}\n+{{- "<tool_call>\\n" }}\n```\nOne newline was missing.',
    "log line": "The server logged `common_chat_peg_parse: unparsed peg-native output: <tool_call>` three times, so its parser refused the reply.",
    "explains harmony": "gpt-oss writes to channels. `<|channel|>analysis` holds thoughts, `<|channel|>final` the answer; a call goes to `to=functions.NAME`.",
    "explains think tags": "Use `<think>` only when the template opens it; most templates close `</think>` on their own.",
    "special tokens listed": "Special tokens: `<|im_start|>`, `<|im_end|>`, `<|endoftext|>`. None of them should reach the client.",
    "closing tag explained": "A stray `</tool_call>` at the end of an answer is a known bug of streaming parsers.",
    "function syntax": 'In Python you would write `shell(cmd="ls")`, in the API you send a JSON object.',
    "python fence that calls": 'You can test it so:\n\n```python\nfrom tools import shell\n\nprint(shell(cmd="ls -la"))\n```\n\nIt prints the listing.',
    "bash fence": "Run this on your machine:\n\n```bash\ngit rebase -i HEAD~3\ngit push --force-with-lease\n```",
    "call of another language": "Call `open_file(path)` first; it returns a handle. Then `grep(handle, pattern)` gives the lines.",
    # json and other data as the answer
    "json answer": '{"status": "ok", "files": 3, "errors": []}',
    "json list answer": '[{"file": "a.py", "lines": 10}, {"file": "b.py", "lines": 3}]',
    "json with name": '{"name": "Ada Lovelace", "born": 1815}',
    "json name and parameters": '{"name": "learning_rate_sweep", "parameters": {"lr": [0.1, 0.01]}}',
    "json fenced": 'The configuration:\n```json\n{"name": "my-app", "version": "1.0.0", "scripts": {"test": "jest"}}\n```',
    "json schema of the tool": 'The schema of `shell` is:\n```json\n{"type": "function", "function": {"name": "shell", "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}}}}}\n```',
    "yaml": "```yaml\nname: ci\non: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n```",
    "xml answer": '<?xml version="1.0"?>\n<project><name>demo</name><version>1</version></project>',
    "html answer": '<div class="card"><h1>Hello</h1><p>World</p></div>',
    "svg": '<svg xmlns="http://www.w3.org/2000/svg" width="9"><circle r="4"/></svg>',
    "latex": "The sum is $\\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}$.",
    "ini list": "[section]\nkey = value\n[other]\nlist = [1, 2]",
    "python list": "[1, 4, 9, 16]",
    "markdown links": "See [the docs](https://a.example/x) and [the code](https://b.example/y).",
    "footnote": "It is faster[^1].\n\n[^1]: by 3 %.",
    "checklist": "- [x] parser\n- [ ] tests\n- [ ] docs",
    "angle brackets": "Replace <path> by your own path and <user> by your name.",
    "generics": "`Map<String, List<Integer>>` becomes `dict[str, list[int]]`.",
    "shell redirect": "Use `cmd <in.txt >out.txt 2>&1` to keep both.",
    "template braces": "Jinja writes `{{ tools | tojson }}` there.",
    "mentions action": "The next Action: item on the list is the release; Owner: Kim.",
    "thought as a word": "Thought: this may be too early. I would wait for the second review.",
    "observation": "Observation: the cache is cold after each restart, which explains the slow first request.",
    "pipes": "a | b | c are joined; <| is an operator of F#, and |> is its twin.",
    "arrow tags": "In F# `x |> f` is `f x`; `f <| x` as well.",
    "to equals": "Set `to=ops@example.org` in the header; functions of the mailer ignore it.",
    # scripts and languages
    "german": "Ich habe die Datei geändert; alle Prüfungen laufen durch.",
    "french quotes": "C’est « prêt » : il ne reste qu’à fusionner.",
    "vietnamese": "Tôi đã sửa lỗi và chạy lại toàn bộ kiểm thử.",
    "polish": "Zmieniłem ścieżkę, żółć gęślą jaźń działa.",
    "hindi": "फ़ाइल सहेज ली गई है और सभी परीक्षण सफल हैं।",
    "arabic": "تم حفظ الملف ونجحت جميع الاختبارات.",
    "hebrew": "הקובץ נשמר וכל הבדיקות עוברות.",
    "thai": "บันทึกไฟล์แล้ว การทดสอบทั้งหมดผ่าน",
    "japanese": "ファイルを保存しました。すべてのテストが通りました。",
    "korean": "파일을 저장했고 모든 테스트가 통과했습니다.",
    "chinese": "文件已保存，所有测试都通过了。",
    "emoji": "Done 🎉👩🏽‍💻🇳🇴 — 3 ✅, 0 ❌",
    "icelandic": "Ég lagaði villuna í Þórði og ræsti aftur.",
    "a with tilde": "São Paulo, Ílhavo e Ávila: três cidades. Ã é uma letra maiúscula rara.",
    "portuguese capitals": "NÃO É POSSÍVEL. A AÇÃO FOI CANCELADA. CORAÇÃO, PÃO, MÃE.",
    "currency": "Preise: 5 €, 3 £, 12 ¥, ½ Liter, 20 °C, ±3 µm.",
    "one character": "7",
    "yes": "Yes.",
    "a dot": ".",
    "maltese g": "Ġanni u Ċensa qegħdin id-dar.",
    "turkish": "Ağ bağlantısı kuruldu, İstanbul sunucusu yanıt verdi.",
    "explains mojibake": "If you see `Ã©` instead of `é`, UTF-8 was read as Latin-1. `â€™` is the same for the apostrophe.",
    "explains replacement": "The character `\ufffd` (U+FFFD) stands for bytes that are no valid UTF-8.",
    "byte notation": "In a SentencePiece vocabulary `<0x0A>` is the token of a newline.",
    "block letter": "The bar ▁▂▃▄▅▆▇ shows the load over time.",
    "zero width within": "The word cafe\u200b has a zero width space at its end.",
}

TEXT = 'file with\n<tool_call>\n{"name": "x", "arguments": {}}\n</tool_call>\n'
SENT = [
    called("call, empty object", "", "whoami", "{}"),
    called("call, spaces in the object", "", "whoami", "{ }"),
    called("call, newline behind", "", "open_file", '{"path": "a"}\n'),
    called("call, pretty", "", "shell", '{\n  "cmd": "ls",\n  "timeout_ms": 0\n}'),
    called("call, unicode", "", "notes.add", '{"text": "Größe ✓ 測試 🚀"}'),
    called("call, escaped unicode", "", "notes.add", '{"text": "\\ud83d\\ude80 \\u00e9"}'),
    called("call, escapes", "", "shell", '{"cmd": "printf \\"a\\\\tb\\\\n\\" | tr -d \'\\\\r\'"}'),
    called("call, whole as float", "", "open_file", '{"path": "a", "line": 12.0}'),
    called("call, exponent", "", "shell", '{"cmd": "sleep 1", "timeout_ms": 1e3}'),
    called("call, text that is a number", "", "notes.add", '{"text": "02134"}'),
    called("call, number for either", "", "lookup", '{"key": 12}'),
    called("call, digits for either", "", "lookup", '{"key": "12", "tag": null}'),
    called("call, null allowed", "", "notes.add", '{"text": "a", "pinned": null}'),
    called(
        "call, choice is null",
        "",
        "make_event",
        '{"title": "t", "start": "2026-05-01T10:00:00+02:00", "repeat": null}',
    ),
    called(
        "call, choice", "", "make_event", '{"title": "t", "start": "2026-05-01T10:00:00Z", "repeat": "daily"}'
    ),
    called(
        "call, by reference",
        "",
        "make_event",
        '{"title": "t", "start": "2026-05-01T10:00:00.250Z", "room": {"name": "x", "floor": 3}, "attendees": []}',
    ),
    called("call, empty texts", "", "shell", '{"cmd": "", "cwd": ""}'),
    called("call, free keys", "", "shell", '{"cmd": "env", "env": {"A": "1", "B_C": ""}}'),
    called("call, dotted", "", "notes.add", '{"text": "a"}'),
    called("call, mcp", "", "mcp__github__create_issue", '{"title": "a", "labels": []}'),
    called("call, edge values", "", "grep", '{"pattern": "x", "context": 20}'),
    called("call, level", "", "set_level", '{"channel": "c", "level": 1}'),
    called("call, negative zero", "", "set_level", '{"channel": "c", "level": -0.0}'),
    called("call, markup in a file", "", "shell", json.dumps({"cmd": f"cat > t.txt <<'E'\n{TEXT}E"})),
    called(
        "call, note about tags",
        "",
        "notes.add",
        json.dumps({"text": "The closing tag </parameter> was lost in <function=shell>."}),
    ),
    called("call, searches the tag", "", "grep", '{"pattern": "<tool_call>", "paths": ["src"]}'),
    called("call, searches the closer", "", "grep", '{"pattern": "</parameter>\\\\s*<parameter="}'),
    called("call, searches mistral", "", "grep", '{"pattern": "\\\\[TOOL_CALLS\\\\]"}'),
    called(
        "call, writes a template",
        "",
        "shell",
        json.dumps({"cmd": "printf '<|im_start|>assistant\\n' > t.jinja"}),
    ),
    called(
        "call, html in a note",
        "",
        "notes.add",
        json.dumps({"text": '<parameter name="x">1</parameter> is how Claude writes one.'}),
    ),
    called(
        "call, xml in a file",
        "",
        "shell",
        json.dumps(
            {
                "cmd": 'cat > c.xml <<E\n<params>\n<parameter name="a">1</parameter>\n<parameter name="b">2</parameter>\n</params>\nE'
            }
        ),
    ),
    called(
        "call, mojibake is searched",
        "",
        "grep",
        json.dumps({"pattern": "Ã©|Ã¼", "paths": ["."]}, ensure_ascii=False),
    ),
    called(
        "call, long text", "", "notes.add", json.dumps({"text": " ".join(f"word{n}" for n in range(900))})
    ),
    called(
        "call, json in text",
        "",
        "notes.add",
        json.dumps({"text": json.dumps({"name": "shell", "arguments": {"cmd": "ls"}})}),
    ),
    case("calls, three", calls=(Call("whoami", "{}"), Call("shell", LS), Call("open_file", '{"path": "a"}'))),
    case("calls, the same twice", calls=(Call("shell", LS), Call("shell", LS))),
    case("calls, twelve", calls=tuple(Call("open_file", json.dumps({"path": f"f{n}"})) for n in range(12))),
    case("calls, words and one", content="I look at the folder first.", calls=(Call("shell", LS),)),
    case("calls, words that name it", content="I use `shell` with `ls`:", calls=(Call("shell", LS),)),
    case(
        "calls, thoughts and one",
        reasoning="The user wants the list, so I call shell with ls.",
        calls=(Call("shell", LS),),
    ),
    case(
        "calls, thoughts, words, two",
        reasoning="Both.",
        content="First the list.",
        calls=(Call("shell", LS), Call("whoami", "{}")),
    ),
    case(
        "calls, fence about another",
        content='The file has:\n```json\n{"name": "open_file"}\n```\nI read the rest.',
        calls=(Call("open_file", '{"path": "a"}'),),
    ),
]

LONG = """The user asks why the second start is slower. I can think of three reasons. The page cache may be cold, because
another process read a large file in between. Or the index is rebuilt: the log of yesterday shows a line about it, and
the time of that line fits. The third reason would be the network, but both hosts are the same, so I leave it aside.

Let me weigh the first two. A cold cache costs about as much as reading the file once, which is four seconds here; the
user speaks of forty. A rebuilt index takes a minute on this disk. Hmm, forty seconds lie between the two, though nearer
to the rebuild. Was the version changed? Yes: the lock file names 3.2 where it was 3.1, and the notes of 3.2 mention a
new format. So the index was written anew once, and the next start should be quick again. I should say how to check it:
look for the word "migrating" in the log, and start once more. If it is slow again, the cause is another one.

One more doubt: the folder is on a share. Then the lock of the index could wait for another machine. The question says
nothing about that; I mention it in half a sentence and stop."""
THOUGHT = [
    case("thought, long", reasoning=LONG, content="They differ in field 21."),
    case(
        "thought, names tags",
        reasoning="The template of Qwen opens <tool_call>, so I should explain that.",
        content="It opens a tag.",
    ),
    case(
        "thought, draft then answer",
        reasoning='I could call <tool_call>{"name": "whoami", "arguments": {}}</tool_call> but I know the answer already: it is root.',
        content="You are root.",
    ),
    case(
        "thought, draft then the call",
        reasoning='I will send {"name": "shell", "arguments": {"cmd": "ls"}} now.',
        calls=(Call("shell", LS),),
    ),
    case(
        "thought, quotes a fence",
        reasoning="Format:\n```\n<tool_call>\n{}\n</tool_call>\n```\nSo I explain it.",
        content="A tag round JSON.",
    ),
    case(
        "thought, spanish",
        reasoning="El usuario quiere saber la versión; la tengo.",
        content="Es la versión 3.2.",
    ),
    case(
        "thought, many waits",
        reasoning="Wait, is it 3? Let me count again: a, b, c. Wait, d too. So it is 4. Hmm, yes, 4.",
        content="Four.",
    ),
]

MENTIONS = ("names tags without ticks",)
"""A mention is a warning."""
CASES: list[Case] = [
    *(
        case(f"answer, {name}", content=text, may="leaked_markup:unknown" if name in MENTIONS else "")
        for name, text in ANSWERS.items()
    ),
    *SENT,
    *THOUGHT,
]
