"""A third set of exchanges: forms that chat templates and parsers have and the second set lacks, and other contents.

Labelled from the description of each failure and committed before the judge saw them: a text that holds a valid call of
an offered tool was lost by the parser; one that no parser could read is the model's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.tools.second_set.case import WARNED_LEAK, Case, Json, body, both, model, parser, warn
from tests.tools.second_set.grammars import FAMILIES, Calls, around, dumps, each, objects, plain, tagged
from tests.tools.third_set_streams import streams


def keywords(calls: Calls, between: str = "\n") -> str:
    return between.join(f"{n}({', '.join(f'{k}={v!r}' for k, v in a.items())})" for n, a in calls)


def fields(calls: Calls, *, quoted: bool) -> str:
    """The messages of OpenAI, written out as text."""
    made = [
        {"type": "function", "function": {"name": n, "arguments": dumps(a) if quoted else a}}
        for n, a in calls
    ]
    return dumps({"tool_calls": made})


_STEP = tagged(
    '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="%N">',
    '<steptml:parameter name="%K">%V</steptml:parameter>',
    "</steptml:invoke><｜tool_call_end｜>",
    "",
)
FORMS: dict[str, Callable[[Calls], str]] = {
    "hermes-arguments-first": each('<tool_call>\n{"arguments": %A, "name": "%N"}\n</tool_call>'),
    "hermes-parameters": each('<tool_call>{"name": "%N", "parameters": %A}</tool_call>'),
    "hermes-list": around("<tool_call>\n", objects, "\n</tool_call>"),
    "hermes-end-lost": each('<tool_call>\n{"name": "%N", "arguments": %A}'),
    "hermes-start-lost": each('{"name": "%N", "arguments": %A}\n</tool_call>'),
    "coder-one-line": tagged("<tool_call><function=%N>", "<parameter=%K>%V</parameter>", "</function></tool_call>"),
    "coder-no-function-end": tagged("<tool_call>\n<function=%N>\n", "<parameter=%K>\n%V\n</parameter>\n", "</tool_call>"),
    "function-name-attribute": tagged('<function name="%N">\n', '<parameter name="%K">%V</parameter>\n', "</function>"),
    "step3": around("<｜tool_calls_begin｜>", _STEP, "<｜tool_calls_end｜>"),
    "olmo3": around("<function_calls>\n", keywords, "\n</function_calls>"),
    "llama-call": each('<|python_tag|>{"type": "function", "name": "%N", "parameters": %A}', "; "),
    "llama-dot-call": lambda c: "<|python_tag|>" + "; ".join(f"{n}.call({keywords([('', a)])[1:-1]})" for n, a in c),
    "llama-function-tag": each("<function=%N>%A</function><|eom_id|>"),
    "granite-20b": each('<function_call> {"name": "%N", "arguments": %A}'),
    "granite-3": around("<|tool_call|>", lambda c: dumps([{"arguments": a, "name": n} for n, a in c]), ""),
    "mistral-spaced": around("[TOOL_CALLS] ", lambda c: dumps([{"name": n, "arguments": a, "id": "a1b2c3d4e"} for n, a in c]), ""),
    "mistral-call-id": each("[TOOL_CALLS]%N[CALL_ID]a1b2c3d4%I[ARGS]%A", ""),
    "deepseek-ascii-bars": around("<|tool▁calls▁begin|>", each("<|tool▁call▁begin|>%N<|tool▁sep|>%A<|tool▁call▁end|>", ""), "<|tool▁calls▁end|>"),
    "dsml-tool-calls": around("<｜DSML｜tool_calls>\n", FAMILIES["dsml"], "\n</｜DSML｜tool_calls>"),
    "kimi-no-section": each("<|tool_call_begin|>functions.%N:%I<|tool_call_argument_begin|>%A<|tool_call_end|>", ""),
    "kimi-head-lost": each("%N:%I<|tool_call_argument_begin|>%A<|tool_call_end|>", ""),
    "glm-one-line": tagged("<tool_call>%N", "<arg_key>%K</arg_key><arg_value>%V</arg_value>", "</tool_call>", ""),
    "minimax-m1": around("<tool_calls>\n", each('{"name": "%N", "arguments": %A}'), "\n</tool_calls>"),
    "phi-4-mini": around("<|tool_call|>", objects, "<|/tool_call|>"),
    "internlm-arguments": each('<|action_start|><|plugin|>{"name": "%N", "arguments": %A}<|action_end|>', ""),
    "command-ids": around("<|START_ACTION|>[\n", each('{"tool_call_id": "%I", "tool_name": "%N", "parameters": %A}', ",\n"), "\n]<|END_ACTION|>"),
    "command-fence": lambda c: f"Action: ```json\n{objects(c, 'tool_name', 'parameters')}\n```",
    "nemotron-end-lost": around("<TOOLCALL>", objects, ""),
    "claude-1": tagged("<function_calls>\n<invoke>\n<tool_name>%N</tool_name>\n<parameters>\n", "<%K>%V</%K>\n", "</parameters>\n</invoke>\n</function_calls>"),
    "openai-message": lambda c: fields(c, quoted=True),
    "openai-message-objects": lambda c: fields(c, quoted=False),
    "openai-legacy": each('{"function_call": {"name": "%N", "arguments": %A}}'),
    "multi-tool-use": lambda c: dumps({"tool_uses": [{"recipient_name": f"functions.{n}", "parameters": a} for n, a in c]}),
    "harmony-role": each("<|start|>assistant to=functions.%N<|channel|>commentary json<|message|>%A<|call|>", ""),
    "harmony-no-end": each("<|start|>assistant<|channel|>commentary to=functions.%N <|constrain|>json<|message|>%A", ""),
    "pangu": around("[unused11]", objects, "[unused12]"),
    "namespace-xml": tagged('<ns:invoke name="%N">\n', '<ns:parameter name="%K">%V</ns:parameter>\n', "</ns:invoke>"),
    "cline": tagged("<%N>\n", "<%K>\n%V\n</%K>\n", "</%N>"),
    "action-input": each("Thought: I need it.\nAction: %N\nAction Input:\n%A\n"),
    "tool-code": around("<tool_code>\n", lambda c: f"print({keywords(c[:1])})", "\n</tool_code>"),
    "lfm2-json": around("<|tool_call_start|>", objects, "<|tool_call_end|>"),
    "seed-thought": lambda c: "<seed:think>I list it.</seed:think>" + FAMILIES["seed"](c),
}  # fmt: skip
CONTENTS: tuple[Calls, ...] = (
    [("Bash", {"command": "grep -rn 'TODO' src/ | sort -u"})],
    [("Read", {"file_path": "/srv/日本語/メモ.md", "limit": 20})],
    [("Bash", {"command": "cat <<'EOF' > a.sh\nset -e\necho \"done\"\nEOF"})],
    [("List", {"path": "/srv"}), ("Bash", {"command": "pwd"})],
)
BEFORE = ("", "Now I look at the file.\n", "好的，我来看一下。\n\n", "Let me check that.\n\n")


def cases() -> Iterator[Case]:
    yield from _lost()
    yield from _not_a_call()
    yield from _hidden_and_cut()
    yield from _delivered()
    yield from _demanded()
    yield from streams(FORMS, CONTENTS[1])
    yield from _answers()
    yield from _errors()
    yield from _sound()


def _lost() -> Iterator[Case]:
    for number, (form, render) in enumerate(FORMS.items()):
        for turn in (0, 1):
            at = (number + 2 * turn) % len(CONTENTS)
            yield from both(
                f"third-lost-{form}-{at}", BEFORE[(number + turn) % 4] + render(CONTENTS[at]), **parser()
            )
    yield from both("third-lost-beside-another", FORMS["hermes-list"]([("Bash", {"command": "pwd"})]),
                    ("Bash", '{"command": "ls"}'), **parser())  # fmt: skip
    for form in ("coder-one-line", "glm-one-line", "mistral-call-id", "kimi-no-section"):
        text = FORMS[form](CONTENTS[0])
        delivered = ("Bash", dumps(CONTENTS[0][0][1]))
        yield from both(f"third-copy-{form}", text, delivered, warnings=WARNED_LEAK)


def _not_a_call() -> Iterator[Case]:
    """What no parser could have delivered."""
    broken = (
        "hermes-parameters",
        "llama-call",
        "mistral-spaced",
        "command-ids",
        "minimax-m1",
        "phi-4-mini",
        "lfm2-json",
        "kimi-no-section",
    )
    for form in broken:
        sound = FORMS[form]([("Bash", {"command": "ls @"})])
        yield from both(f"third-broken-{form}", sound.replace("ls @", 'echo "x" > a'), **model())
        unknown = FORMS[form]([("SearchWeb", {"query": "rust lifetimes"})])
        yield from both(f"third-unknown-{form}", unknown, **model())
        lacking = FORMS[form]([("Read", {"limit": 5})])
        yield from both(f"third-lacking-{form}", lacking, **model())
    for form in ("coder-one-line", "glm-one-line", "step3"):
        yield from both(f"third-unknown-{form}", FORMS[form]([("SearchWeb", {"query": "x"})]), **model())
        yield from both(f"third-lacking-{form}", FORMS[form]([("Edit", {"path": "/a"})]), **model())
    fenced = {"json": "```json\n{}\n```", "tool_code": "```tool_code\n{}\n```", "xml": "```xml\n{}\n```"}
    texts = {"json": dumps({"name": "Bash", "arguments": {"command": "ls"}}), "tool_code": 'Bash(command="ls")',
             "xml": FAMILIES["hermes"]([("Bash", {"command": "ls"})])}  # fmt: skip
    for name, fence in fenced.items():
        yield from both(
            f"third-fenced-{name}", "I run this:\n\n" + fence.format(texts[name]), **warn("leaked_markup")
        )
    none: Json = {"tools": None, "tool_choice": None}
    for form in ("hermes-parameters", "coder-one-line", "mistral-spaced"):
        yield from both(f"third-no-tools-{form}", FORMS[form](CONTENTS[0]), request=none, **model())
    played = "<tool_response>\nmain.py  util.py\n</tool_response>\nThere are two files."
    yield from both("third-plays-the-tool", played, **model())


def _hidden_and_cut() -> Iterator[Case]:
    forms = (
        "hermes-list",
        "coder-one-line",
        "glm-one-line",
        "kimi-no-section",
        "mistral-call-id",
        "harmony-role",
        "claude-1",
        "minimax-m1",
    )
    for number, form in enumerate(forms):
        text = FORMS[form](CONTENTS[number % 4])
        yield from both(
            f"third-hidden-{form}",
            reasoning=f"The user wants the list.\n{text}",
            fatal={"call_in_reasoning": "parser"},
        )
        unknown = FORMS[form]([("SearchWeb", {"query": "x"})])
        yield from both(
            f"third-hidden-unknown-{form}",
            reasoning=f"I search.\n{unknown}",
            fatal={"call_in_reasoning": "model"},
        )
        whole_call = {"leaked_markup": "parser"} if form in ("kimi-no-section", "minimax-m1") else {}
        cut: Json = {"fatal": {"truncated": "budget", **whole_call}, "allowed": WARNED_LEAK}
        yield from both(f"third-cut-{form}", text[: 2 * len(text) // 3], finish="length", tokens=400, **cut)
        drafted = f"Perhaps {text} would do. But the user only asked for an opinion, so I answer."
        yield from both(f"third-drafted-{form}", "I would keep it.", reasoning=drafted, sound=True)


def _delivered() -> Iterator[Case]:
    bad = {
        "bracket-missing": '{"command": "ls"',
        "bracket-twice": '{"command": "ls"}}',
        "infinity": '{"command": "ls", "timeout": Infinity}',
        "hex": '{"command": "ls", "timeout": 0x10}',
        "comment": '{"command": "ls" /* list */}',
        "tab": '{"command": "a\tb"}',
        "bad-escape": '{"command": "a\\d"}',
        "half-pair": '{"command": "\\ud83d"}',
        "leading-zero": '{"command": "ls", "timeout": 05}',
        "plus": '{"command": "ls", "timeout": +5}',
        "two": '{"command": "ls"}{"command": "pwd"}',
        "prefix": 'json{"command": "ls"}',
        "fence": '```json\n{"command": "ls"}\n```',
        "smart-quotes": "{“command”: “ls”}",
    }
    for name, text in bad.items():
        yield from both(f"third-not-json-{name}", "", ("Bash", text), fatal={"arguments_not_json": "unknown"})
    for name, text in {"number": "7", "true": "true", "empty-list": "[]"}.items():
        yield from both(
            f"third-not-object-{name}", "", ("Bash", text), fatal={"arguments_not_object": "model"}
        )
    wrong: dict[str, tuple[str, str, str]] = {
        "missing-both": ("Edit", "{}", "missing_parameter"),
        "missing-second": ("Edit", '{"path": "/a"}', "missing_parameter"),
        "deep-type": ("Edit", '{"path": "/a", "edits": [{"old": 1, "new": "x"}]}', "wrong_type"),
        "deep-extra": ("Edit", '{"path": "/a", "edits": [{"old": "a", "new": "x", "all": true}]}', "unexpected_parameter"),
        "object-for-text": ("Bash", '{"command": {"cmd": "ls"}}', "wrong_type"),
        "list-for-text": ("Bash", '{"command": ["ls", "-l"]}', "wrong_type"),
        "null-for-text": ("Bash", '{"command": null}', "wrong_type"),
        "text-for-integer": ("Bash", '{"command": "ls", "timeout": "30"}', "wrong_type"),
        "enum-case": ("Plan", '{"status": "Open"}', "bad_value"),
        "negative": ("Read", '{"file_path": "/a", "limit": -4}', "bad_value"),
        "half": ("Plan", '{"status": "open", "day": "2026-3-1"}', "bad_value"),
        "name-lower": ("read", '{"file_path": "/a"}', "unknown_tool"),
        "name-other": ("str_replace", '{"path": "/a"}', "unknown_tool"),
        "name-space": ("Bash ", '{"command": "ls"}', "unknown_tool"),
        "name-namespace": ("functions.Read", '{"file_path": "/a"}', "unknown_tool"),
    }  # fmt: skip
    for name, (tool, text, klass) in wrong.items():
        yield from both(f"third-{name}", "", (tool, text), fatal={klass: "model"})
    swallowed = {
        "coder": "make test\n</parameter>\n<parameter=timeout>\n600\n</parameter>\n</function>",
        "invoke": 'make test</parameter>\n<parameter name="timeout">600</parameter>',
        "glm": "make test</arg_value><arg_key>timeout</arg_key><arg_value>600",
        "step": 'make test</steptml:parameter><steptml:parameter name="timeout">600',
    }
    for name, value in swallowed.items():
        yield from both(
            f"third-swallowed-{name}",
            "",
            ("Bash", dumps({"command": value})),
            fatal={"swallowed_parameter": "parser"},
            allowed=WARNED_LEAK,
        )
    following = {
        "coder": "ls</parameter></function></tool_call><tool_call><function=List><parameter=path>/a",
        "kimi": "ls\"}<|tool_call_end|><|tool_call_begin|>functions.List:1<|tool_call_argument_begin|>{\"path\": \"/a",
        "hermes": 'ls"}}\n</tool_call>\n<tool_call>\n{"name": "List", "arguments": {"path": "/a',
        "mistral": 'ls"}[TOOL_CALLS]List[ARGS]{"path": "/a',
    }  # fmt: skip
    for name, value in following.items():
        yield from both(f"third-next-in-value-{name}", "", ("Bash", dumps({"command": value})), **parser())
    yield from both(
        "third-two-calls-one-bad",
        "",
        ("Bash", '{"command": "ls"}'),
        ("Read", '{"limit": 2}'),
        fatal={"missing_parameter": "model"},
    )
    yield from both(
        "third-damaged-path",
        "",
        ("Read", dumps({"file_path": "/srv/cafÃ©/menÃ¼.txt"})),
        fatal={"damaged_text": "engine"},
    )


def _demanded() -> Iterator[Case]:
    ls, pwd = ("Bash", '{"command": "ls"}'), ("Bash", '{"command": "pwd"}')
    ignored = {"fatal": {"choice_ignored": "engine"}}
    yield from both("third-none", "I look.", ls, request={"tool_choice": "none"}, **ignored)
    yield from both(
        "third-required-text", "There is nothing to do.", request={"tool_choice": "required"}, **ignored
    )
    named: Json = {"tool_choice": {"type": "function", "function": {"name": "List"}}}
    yield from both("third-named", "", ls, finish="stop", request=named, **ignored)
    yield from both("third-named-right", "", ("List", "{}"), finish="stop", request=named, sound=True)
    yield from both(
        "third-parallel",
        "",
        ls,
        pwd,
        ls,
        request={"parallel_tool_calls": False},
        fatal={"parallel_ignored": "engine"},
    )
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    wanted: Json = {"tools": None, "tool_choice": None,
                    "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}}  # fmt: skip
    for name, text in {"text": "yes", "string": '{"ok": "true"}', "list": '[{"ok": true}]', "python": "{'ok': True}",
                       "thought": '<think>Is it?</think>It is {"ok": true}'}.items():  # fmt: skip
        yield from both(f"third-format-{name}", text, request=wanted, fatal={"breaks_schema": "engine"})
    yield from both("third-format-holds", '{"ok": false}', request=wanted, sound=True)
    yield from both("third-format-more", '{"ok": true, "why": "all pass"}', request=wanted, sound=True)


def _answers() -> Iterator[Case]:
    for name, text in {"polish": "Plik zostaÅ‚ zapisany.", "lost": "Die Dat\ufffdi ist da.", "bytes": "Fertig<0xE2><0x9C><0x85>",
                       "bpe": "AllĠtestsĠpass.", "korean": "íŒŒì¼ì„ ì €ìž¥í–ˆìŠµë‹ˆë‹¤."}.items():  # fmt: skip
        yield from both(f"third-damaged-{name}", text, **warn("damaged_text"))
    for name, text in {
        "nothing": "",
        "blanks": " \n\n ",
        "joiners": "\u2060\u200d",
        "end-token": "<|im_end|>",
        "empty-thought": "<think>\n\n</think>\n",
    }.items():
        yield from both(f"third-empty-{name}", text, fatal={"empty_turn": "unknown"}, allowed=WARNED_LEAK)
    sigh = "I will look. " + "(Sigh)… (Laughter)… " * 70
    yield from both("third-collapse", sigh, fatal={"collapsed": "model"})
    yield from both("third-collapse-limit", sigh, finish="length", tokens=400, fatal={"collapsed": "model"})
    yield from both(
        "third-cut-stop", "The tests show that", finish="stop", tokens=400, fatal={"truncated": "budget"}
    )
    for number, token in enumerate(("<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<｜end▁of▁sentence｜>")):
        yield from both(f"third-token-{number}", f"All is done.{token}", **warn("leaked_markup"))


def _errors() -> Iterator[Case]:
    history, engine = {"history_rejected": "input"}, {"engine_error": "engine"}
    messages: dict[str, tuple[str, int, dict[str, str]]] = {
        "alternate": ("Conversation roles must alternate user/assistant/user/assistant/...", 400, history),
        "context": (
            "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens",
            400,
            history,
        ),
        "last-role": ("Expected last role to be one of: [user, tool], but got assistant", 400, history),
        "oom": ("torch.OutOfMemoryError: CUDA out of memory", 500, engine),
        "nccl": ("NCCL error: unhandled system error, role=prefill", 500, engine),
        "busy": ("Too many requests in the queue", 503, engine),
    }
    for name, (message, code, fatal) in messages.items():
        yield body(
            f"third-error-{name}", {"error": {"message": message, "type": "x", "code": code}}, fatal=fatal
        )


SOUND = (
    "The parser reads `<tool_call>` blocks and returns their JSON.",
    "Use `[TOOL_CALLS]` only with Mistral's template.",
    "Run it like this:\n\n```bash\nls -la /tmp\n```\n\nThen tell me what you see.",
    "```xml\n<dependency>\n  <name>bash</name>\n</dependency>\n```\nThat is all.",
    "Add this to the settings:\n\n```json\n{\"name\": \"Bash\", \"enabled\": true}\n```",
    "The class `Read(file_path)` wraps `open`; `List()` wraps `os.listdir`.",
    "Bash: the shell. Read: the builtin. Edit: neither.",
    "1. Read the file.\n2. Edit line 3.\n3. List what changed.",
    "I read /srv/main.py. It defines parse(line: str) -> Row and nothing else.",
    "The route is GET /tools/{name}/calls?limit=10.",
    "<details>\n<summary>Log</summary>\nall tests pass\n</details>",
    "x < y and y > z, so x<z holds only if y<z.",
    "Der Test läuft. Größe: 5 µm, Temperatur: 20 °C, Preis: 3 €.",
    "Ça y est, l’été est fini ; « voilà » le résultat.",
    "ファイルを保存しました。テストはすべて通りました。",
    "파일을 저장했습니다. 테스트가 모두 통과했습니다.",
    "Файл сохранён; «тесты» проходят — все 12.",
    "تم حفظ الملف، وكل الاختبارات ناجحة.",
    "ไฟล์ถูกบันทึกแล้ว",
    "The function calls itself; the tool calls nothing.",
    "Thought: none of these is needed. Answer: 42.",
    "| tool | calls |\n|---|---|\n| Bash | 3 |\n| Read | 5 |",
    "print('Bash(command=\"ls\")') prints the text, it runs nothing.",
    "The token <|endoftext|> has the id 50256 in GPT-2's vocabulary.",
    "In C++ a std::vector<int> v{1, 2, 3}; is enough.",
    "Yes.",
    "👍",
    "42",
    "There is `{\"command\": \"ls\"}` in the log, which is what you sent.",
    "Status: ok\nPlan: done\nNext: nothing",
)  # fmt: skip
ARGUMENTS: tuple[tuple[str, Json], ...] = (
    ("Bash", {"command": "grep -c '<tool_call>' log.txt"}),
    ("Bash", {"command": "python -c 'print({\"name\": \"Bash\"})'"}),
    ("Bash", {"command": "curl -s http://127.0.0.1/v1 -d '{\"tool_choice\": \"none\"}' | jq ."}),
    ("Bash", {"command": "printf 'é\\n' | iconv -t latin1", "timeout": 5}),
    ("Bash", {"command": "cat > page.html <<'E'\n<parameter name=\"x\">1</parameter>\nE"}),
    ("Bash", {"command": "echo 好的 && echo 完成"}),
    ("Read", {"file_path": "C:\\work\\main.py", "limit": 1}),
    ("Edit", {"path": "/a.py", "edits": [{"old": "x = 1\n", "new": "x = \"<b>1</b>\"\n"}]}),
    ("Edit", {"path": "/a.md", "edits": []}),
    ("Plan", {"status": "open", "day": "2026-03-01"}),
    ("List", {}),
    ("Status", {}),
)  # fmt: skip


def _sound() -> Iterator[Case]:
    for number, text in enumerate(SOUND):
        yield from both(f"third-sound-{number}", text, sound=True)
        thought = f"Let me think. {plain(CONTENTS[number % 4][0][1])} might do, but no."
        yield from both(f"third-sound-thought-{number}", text, reasoning=thought, sound=True)
    for number, (tool, value) in enumerate(ARGUMENTS):
        yield from both(f"third-sound-call-{number}", "", (tool, dumps(value)), sound=True)
        yield from both(
            f"third-sound-said-{number}",
            "I look at it.",
            (tool, dumps(value)),
            reasoning="I need it.",
            sound=True,
        )
