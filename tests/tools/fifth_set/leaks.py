"""Calls that stayed in the text: what the engines' parsers and the families really leave there.

The remark behind an entry names the mechanism, mostly from threads of the engines' trackers.
"""

from collections.abc import Iterator

from tests.tools.fifth_set.build import TOOLS, Call, Case, case

PARSER, MODEL = "leaked_markup:parser", "leaked_markup:model"
NS = "]<]minimax[>["
A = "antml" + ":"

#: A valid call of an offered tool, whole: a parser should have read it.
WRITTEN = {
    # hermes and its relatives: no parser set, tags of its own kind, streamed as content (vllm-mlx 107)
    "hermes pretty printed": '<tool_call>\n{\n  "name": "shell",\n  "arguments": {\n    "cmd": "git log --oneline | head -3",\n    "timeout_ms": 5000\n  }\n}\n</tool_call>',
    "hermes nested braces": '<tool_call>{"name": "shell", "arguments": {"cmd": "awk \'{print $1}\' a.txt", "env": {"LC_ALL": "C"}}}</tool_call>',
    "hermes third of three": 'I open them.\n<tool_call>\n{"name": "open_file", "arguments": {"path": "a.c"}}\n</tool_call>\n<tool_call>\n{"name": "open_file", "arguments": {"path": "b.c"}}\n</tool_call>\n<tool_call>\n{"name": "whoami", "arguments": {}}\n</tool_call>',
    "hermes closed by nothing": '<tool_call>\n{"name": "grep", "arguments": {"pattern": "TODO", "paths": ["src"]}}\n<|im_end|>',
    "hermes opened twice": '<tool_call>\n<tool_call>\n{"name": "open_file", "arguments": {"path": "Cargo.toml"}}\n</tool_call>',
    "hermes opening as closing": '<tool_call>\n{"name": "open_file", "arguments": {"path": "Cargo.toml"}}\n<tool_call>',
    "hermes with an id": '<tool_call>\n{"id": 0, "name": "shell", "arguments": {"cmd": "date"}}\n</tool_call>',
    "hermes id and type": '<tool_call>\n{"type": "function", "function": {"name": "shell", "arguments": {"cmd": "date"}}}\n</tool_call>',
    "exaone": '<think>\n\n</think>\n\n<tool_call>{"name": "grep", "arguments": {"pattern": "def main"}}</tool_call>',
    "plural tag": '<tool_calls>\n<tool_call>\n{"name": "shell", "arguments": {"cmd": "ls"}}\n</tool_call>\n</tool_calls>',
    "smollm3 in words": 'Sure, let me check that for you.\n\n<tool_call>{"name": "lookup", "arguments": {"key": 12}}</tool_call>',
    "jan name tags": '<tool_call>\n<name>shell</name>\n<arguments>\n{"cmd": "ls"}\n</arguments>\n</tool_call>',
    "dotted name": '<tool_call>\n{"name": "notes.add", "arguments": {"text": "done", "pinned": null}}\n</tool_call>',
    "mcp name": '<tool_call>\n{"name": "mcp__github__create_issue", "arguments": {"title": "Crash", "labels": ["bug"]}}\n</tool_call>',
    "parameters as the key": '<tool_call>\n{"name": "shell", "parameters": {"cmd": "df"}}\n</tool_call>',
    # qwen3 coder: tags lost or doubled (ollama 16693, 17914; llama.cpp 24807; vllm 37829)
    "coder opening lost": "I'll search first.\n\n<function=grep>\n<parameter=pattern>\nfn main\n</parameter>\n</function>\n</tool_call>",
    "coder parameter end doubled": "<tool_call>\n<function=open_file>\n<parameter=path>\nsrc/lib.rs\n</parameter>\n</parameter>\n</function>\n</tool_call>",
    "coder parameter end lost": "<tool_call>\n<function=open_file>\n<parameter=path>\nsrc/lib.rs\n<parameter=line>\n40\n</parameter>\n</function>\n</tool_call>",
    "coder array value": '<tool_call>\n<function=grep>\n<parameter=pattern>\nx\n</parameter>\n<parameter=paths>\n["src", "tests"]\n</parameter>\n</function>\n</tool_call>',
    "coder python boolean": "<tool_call>\n<function=grep>\n<parameter=pattern>\nx\n</parameter>\n<parameter=ignore_case>\nTrue\n</parameter>\n</function>\n</tool_call>",
    "coder no parameters": "<tool_call>\n<function=whoami>\n</function>\n</tool_call>",
    "coder value holds its own tags": "<tool_call>\n<function=shell>\n<parameter=cmd>\ncat > n.xml <<E\n<function=demo>\n</function>\nE\n</parameter>\n</function>\n</tool_call>",
    "coder indented": "<tool_call>\n  <function=shell>\n    <parameter=cmd>\n    make\n    </parameter>\n  </function>\n</tool_call>",
    "coder closing lost": "<tool_call>\n<function=shell>\n<parameter=cmd>\nmake\n</parameter>\n</function>",
    "nemotron 3": "</think>\n\n<tool_call>\n<function=shell>\n<parameter=cmd>\nnvidia-smi\n</parameter>\n</function>\n</tool_call>\n",
    "step 3.5": "<tool_call>\n<function=shell>\n<parameter=cmd>\nuptime\n</parameter>\n<parameter=timeout_ms>\n100\n</parameter>\n</function>\n</tool_call>",
    "seed with budget": "<seed:think>I look.</seed:think><seed:tool_call>\n<function=grep>\n<parameter=pattern>a|b</parameter>\n<parameter=context>3</parameter>\n</function>\n</seed:tool_call>",
    # llama and its pythonic relatives (vllm 22917: words before; lmstudio 1979)
    "pythonic after words": 'To find that I will search the sources.\n[grep(pattern="unsafe", ignore_case=True)]',
    "pythonic list value": '[grep(pattern="x", paths=["a", "b"], context=2)]',
    "pythonic empty": "[whoami()]",
    "pythonic single quotes": "[open_file(path='README.md', line=3)]",
    "pythonic three": '[whoami(), open_file(path="a"), shell(cmd="ls -la")]',
    "pythonic dotted": '[notes.add(text="buy milk")]',
    "llama 3 word function": '{"type": "function", "function": "shell", "parameters": {"cmd": "ls"}}',
    "llama 3 words then tag": 'Let me look.<|python_tag|>{"name": "open_file", "parameters": {"path": "a.txt"}}<|eom_id|>',
    "llama 3 header": '<|start_header_id|>assistant<|end_header_id|>\n\n<|python_tag|>{"name": "whoami", "parameters": {}}',
    "lfm single quotes": "<|tool_call_start|>[open_file(path='desktop/a.txt')]<|tool_call_end|>",
    "lfm two": "<|tool_call_start|>[whoami(), shell(cmd='date')]<|tool_call_end|>",
    "olmo multiline": '<function_calls>\ngrep(pattern="a",\n     paths=["x"])\n</function_calls>',
    # mistral: argument marker reaches the content, two forms mixed (rapid-mlx 579)
    "mistral pretty": '[TOOL_CALLS][\n  {\n    "name": "shell",\n    "arguments": {"cmd": "ls"}\n  }\n]',
    "mistral v13 empty": "[TOOL_CALLS]whoami[ARGS]{}",
    "mistral end token": '[TOOL_CALLS]open_file[ARGS]{"path": "x.py"}</s>',
    "magistral": '[THINK]I should list.[/THINK][TOOL_CALLS]shell[ARGS]{"cmd": "ls"}',
    "mistral v11 two": '[TOOL_CALLS]open_file[CALL_ID]aB3dE6gH9[ARGS]{"path": "a"}[TOOL_CALLS]open_file[CALL_ID]kL2mN5pQ8[ARGS]{"path": "b"}',
    "mistral name then json line": 'I look it up.\nlookup[ARGS]{"key": "tls"}',
    # deepseek (vllm 54686: closers and whole blocks in the answer)
    "deepseek v3 two": '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>whoami\n```json\n{}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>open_file\n```json\n{"path": "a"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "deepseek end lost": '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>shell<｜tool▁sep｜>{"cmd": "ls"}<｜tool▁call▁end｜>',
    "deepseek begin swallowed": 'shell<｜tool▁sep｜>{"cmd": "ls"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "deepseek v4": '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="shell">\n<｜DSML｜parameter name="cmd" string="true">git status 2>&1</｜DSML｜parameter>\n<｜DSML｜parameter name="timeout_ms" string="false">900</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
    "dsml after words": 'Let me run it.\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name="whoami">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
    "dsml head swallowed": '<｜DSML｜parameter name="cmd" string="true">make test</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
    "dsml marks lost": '<DSML|tool_calls>\n<DSML|invoke name="shell">\n<DSML|parameter name="cmd" string="true">ls</DSML|parameter>\n</DSML|invoke>\n</DSML|tool_calls>',
    # glm (vllm 44326: inline call without arguments is dropped in streams)
    "glm inline empty": "<tool_call>whoami</tool_call>",
    "glm two inline": "<tool_call>open_file<arg_key>path</arg_key><arg_value>a</arg_value></tool_call><tool_call>open_file<arg_key>path</arg_key><arg_value>b</arg_value></tool_call>",
    "glm list": '<tool_call>grep\n<arg_key>pattern</arg_key>\n<arg_value>x</arg_value>\n<arg_key>paths</arg_key>\n<arg_value>["a"]</arg_value>\n</tool_call>',
    "glm opening lost": "open_file\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n</tool_call>",
    "glm 4 9b": 'open_file\n{"path": "a.py"}',
    # kimi (llama.cpp 24658: names without the dot)
    "kimi underscores": '<|tool_calls_section_begin|><|tool_call_begin|>functions_shell_2<|tool_call_argument_begin|>{"cmd": "gh pr view 2"}<|tool_call_end|><|tool_calls_section_end|>',
    "kimi bare name": '<|tool_calls_section_begin|><|tool_call_begin|>shell<|tool_call_argument_begin|>{"cmd": "ls"}<|tool_call_end|><|tool_calls_section_end|>',
    "kimi two": '<|tool_calls_section_begin|><|tool_call_begin|>functions.whoami:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_call_begin|>functions.open_file:1<|tool_call_argument_begin|>{"path": "x"}<|tool_call_end|><|tool_calls_section_end|>',
    "kimi section plural lost": 'Let me check.<|tool_call_begin|>functions.grep:4<|tool_call_argument_begin|>{"pattern": "x"}<|tool_call_end|><|tool_call_section_end|>',
    "kimi argument marker lost": '<|tool_call_begin|>functions.shell:0{"cmd": "ls"}<|tool_call_end|>',
    # harmony (vllm-mlx 562, lmstudio 942, muse)
    "harmony on analysis": '<|channel|>analysis<|message|>We run grep.<|end|><|start|>assistant<|channel|>analysis to=functions.grep code<|message|>{"pattern": "Textual"}<|call|>',
    "harmony code": '<|start|>assistant<|channel|>commentary to=functions.shell code<|message|>{"cmd": "ls"}<|call|>',
    "harmony no namespace": '<|channel|>commentary to=shell<|constrain|>json<|message|>{"cmd": "ls"}<|call|>',
    "harmony preamble": '<|channel|>commentary<|message|>I will check the file.<|end|><|start|>assistant<|channel|>commentary to=functions.open_file <|constrain|>json<|message|>{"path": "a"}',
    "harmony tokens lost on analysis": 'assistantanalysis to=functions.shell code{"cmd": "ls"}',
    "muse atem": '<atem:function_calls>\n<atem:invoke name="open_file">\n<atem:parameter name="path">a.txt</atem:parameter>\n<atem:parameter name="line">3</atem:parameter>\n</atem:invoke>\n</atem:function_calls>',
    "muse routed": ' to=shell<|message|><atem:function_calls>\n<atem:invoke name="shell">\n<atem:parameter name="cmd">ls</atem:parameter>\n</atem:invoke>\n</atem:function_calls>',
    # minimax (vllm 51073, minimax-m2 14, lmstudio 1177)
    "minimax m3": f'{NS}<tool_call>\n{NS}<invoke name="open_file">{NS}<path>src/main.rs{NS}</path>{NS}<line>130{NS}</line>{NS}</invoke>\n{NS}</tool_call>',
    "minimax m3 after words": f'Let me read that part.{NS}<tool_call>\n{NS}<invoke name="shell">\n{NS}<cmd>cargo test{NS}</cmd>\n{NS}</invoke>\n{NS}</tool_call>',
    "minimax m3 marks lost": '<tool_call>\n<invoke name="open_file"><path>src/main.rs</path><line>130</line></invoke>\n</tool_call>',
    "minimax two invokes": '<minimax:tool_call>\n<invoke name="whoami">\n</invoke>\n<invoke name="open_file">\n<parameter name="path">a</parameter>\n</invoke>\n</minimax:tool_call>',
    "minimax arrows": '[TOOL_CALL]\n{tool => "shell", args => {\n  --cmd "ls -la"\n}}\n[/TOOL_CALL]',
    "minimax calls tag": '<tool_calls>\n{"name": "grep", "arguments": {"pattern": "x"}}\n</tool_calls>',
    # lm studio's own form, and what other servers write
    "lm studio": '[TOOL_REQUEST]{"name": "shell", "arguments": {"cmd": "ls"}}[END_TOOL_REQUEST]',
    "lm studio lines": 'I will look.\n[TOOL_REQUEST]\n{"name": "open_file", "arguments": {"path": "a"}}\n[END_TOOL_REQUEST]',
    "calling tool": '[Calling tool: shell({"cmd": "ls"})]',
    "inkling": '<|message_model|>shell<|content_invoke_tool_json|>{"cmd": "ls"}<|end_message|>',
    "inkling opener lost": 'shell<|content_invoke_tool_json|>{"cmd": "ls"}<|end_message|>',
    "hy3": "<tool_calls:opensource>\n<tool_call:opensource>shell<tool_sep:opensource>\n<arg_key:opensource>cmd</arg_key:opensource>\n<arg_value:opensource>ls</arg_value:opensource>\n</tool_call:opensource>\n</tool_calls:opensource>",
    "hunyuan answer": '<answer>\n<tool_calls>[{"name": "grep", "arguments": {"pattern": "x"}}]</tool_calls>\n</answer>',
    "ernie": '<tool_call>\n{"name": "shell", "arguments": {"cmd": "ls"}}\n</tool_call>\n<tool_call>\n{"name": "whoami", "arguments": {}}\n</tool_call>\n',
    "command a two": '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "whoami", "parameters": {}},\n    {"tool_call_id": "1", "tool_name": "open_file", "parameters": {"path": "a"}}\n]<|END_ACTION|>',
    "command a end lost": '<|START_THINKING|>I list.<|END_THINKING|><|START_ACTION|>[{"tool_call_id": "0", "tool_name": "shell", "parameters": {"cmd": "ls"}}]',
    "phi 4 plural": '<|tool_calls|>[{"name": "shell", "arguments": {"cmd": "ls"}}]<|/tool_calls|>',
    "gemma 4 list": '<|tool_call>call:grep{pattern:<|"|>a b<|"|>,paths:[<|"|>src<|"|>],ignore_case:true}<tool_call|>',
    "gemma 4 two": '<|tool_call>call:whoami{}<tool_call|><|tool_call>call:open_file{path:<|"|>x<|"|>,line:4}<tool_call|>',
    "functiongemma number": "<start_function_call>call:open_file{path:<escape>x<escape>,line:4}<end_function_call><start_function_response>",
    "gemma 3 tool code assigned": '```tool_code\nresult = shell(cmd="ls")\nprint(result)\n```',
    "apertus two": '<|tools_prefix|>[{"whoami": {}}, {"open_file": {"path": "a"}}]<|tools_suffix|>',
    "internlm interpreter words": 'I look at it.<|action_start|><|plugin|>{"name": "open_file", "parameters": {"path": "a"}}<|action_end|>\n',
    "functionary tag": '<function=open_file>{"path": "a"}</function>\n<function=whoami>{}</function>',
    "xlam after think": '<think>I list.</think>\n[{"name": "shell", "arguments": {"cmd": "ls"}}]',
    "granite 4": '<tool_call>\n{"name": "set_level", "arguments": {"channel": "a", "level": 0.5}}\n</tool_call><|end_of_text|>',
    "smolagents two lines": 'Thought: I need the user first.\n<code>\nwho = whoami()\nprint(open_file(path=f"/home/{who}/a"))\n</code>',
    "openai message in text": '{"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "shell", "arguments": "{\\"cmd\\": \\"ls\\"}"}}]}',
    "roo": "I look at the file.\n\n<open_file>\n<path>src/a.ts</path>\n<line>12</line>\n</open_file>",
    "claude invoke": 'I will check.\n\n<function_calls>\n<invoke name="grep">\n<parameter name="pattern">x</parameter>\n<parameter name="context">2</parameter>\n</invoke>\n</function_calls>',
    "claude namespaced": f'<{A}function_calls>\n<{A}invoke name="shell">\n<{A}parameter name="cmd">ls</{A}parameter>\n</{A}invoke>\n</{A}function_calls>',
    "tool use tag": '<tool_use>\n{"name": "shell", "input": {"cmd": "ls"}}\n</tool_use>',
    "tool use json": '{"type": "tool_use", "id": "toolu_01", "name": "open_file", "input": {"path": "a"}}',
    "attribute name": '<function name="open_file">\n<parameter name="path">a</parameter>\n</function>',
    "react json block": 'Thought: list it.\nAction:\n```json\n{"action": "shell", "action_input": {"cmd": "ls"}}\n```',
    "react lines": "Thought: which user is it?\nAction: whoami\nAction Input: {}",
    "tool call colon": 'tool_call: {"name": "shell", "arguments": {"cmd": "ls"}}',
    "in russian words": 'Сейчас посмотрю.\n<tool_call>\n{"name": "grep", "arguments": {"pattern": "ошибка"}}\n</tool_call>',
    "in chinese words": "我来查看文件。\n<tool_call>open_file\n<arg_key>path</arg_key>\n<arg_value>文档.md</arg_value>\n</tool_call>",
    "stop sequence ate the end": '<tool_call>\n{"name": "shell", "arguments": {"cmd": "ls"}}\n',
}

#: What no parser could have delivered: broken by the model, of a tool that was not offered, or of no tool's form.
HOPELESS = {
    "quotes inside": '<tool_call>\n{"name": "shell", "arguments": {"cmd": "echo "hi""}}\n</tool_call>',
    "raw tabs and lines": '<tool_call>\n{"name": "shell", "arguments": {"cmd": "cat <<E\nline\tone\nE"}}\n</tool_call>',
    "extra brace": '<tool_call>\n{"name": "shell", "arguments": {"cmd": "ls"}}}\n</tool_call>',
    "colon missing": '<tool_call>\n{"name" "shell", "arguments": {"cmd": "ls"}}\n</tool_call>',
    "html quotes": "<tool_call>\n{&quot;name&quot;: &quot;shell&quot;, &quot;arguments&quot;: {&quot;cmd&quot;: &quot;ls&quot;}}\n</tool_call>",
    "python words in json": '<tool_call>\n{"name": "grep", "arguments": {"pattern": "x", "ignore_case": True}}\n</tool_call>',
    "bad escape": '<tool_call>\n{"name": "grep", "arguments": {"pattern": "\\d+"}}\n</tool_call>',
    "comment in json": '[TOOL_CALLS]shell[ARGS]{"cmd": "ls" // list\n}',
    "pythonic unbalanced": 'Now the search.\n<|python_start|>[grep(pattern="x", paths=["a")]<|python_end|>',
    "kimi json broken": '<|tool_calls_section_begin|><|tool_call_begin|>functions.shell:0<|tool_call_argument_begin|>{"cmd": "ls}<|tool_call_end|><|tool_calls_section_end|>',
    "dsml broken off": '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="shell">\n<｜DSML｜parameter name="cmd" string="true">ls',
    "coder broken off in a value": "<tool_call>\n<function=shell>\n<parameter=cmd>\nfind . -name",
    "hermes broken off at the name": '<tool_call>\n{"name": "sh',
    "opening only": "I will now list the files.\n<tool_call>",
    "harmony broken off": '<|channel|>commentary to=functions.shell <|constrain|>json<|message|>{"cmd": "l',
    "glm broken off": "<tool_call>open_file\n<arg_key>path</arg_key>\n<arg_value>src/",
    "unknown, coder": "<tool_call>\n<function=write_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
    "unknown, kimi": '<|tool_call_begin|>functions.web_search:0<|tool_call_argument_begin|>{"q": "x"}<|tool_call_end|>',
    "unknown, dsml": '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="Bash">\n<｜DSML｜parameter name="command" string="true">ls</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
    "unknown, llama": '<|python_tag|>{"name": "brave_search", "parameters": {"query": "x"}}',
    "unknown, brave call": '<|python_tag|>brave_search.call(query="weather in Oslo")',
    "unknown, python code": "<|python_tag|>import os\nprint(os.listdir('.'))",
    "unknown, m3": f'{NS}<tool_call>\n{NS}<invoke name="list_dir">{NS}<path>.{NS}</path>{NS}</invoke>\n{NS}</tool_call>',
    "unknown, command": '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "directly_answer", "parameters": {}}]<|END_ACTION|>',
    "unknown, claude": '<function_calls>\n<invoke name="str_replace">\n<parameter name="path">a</parameter>\n</invoke>\n</function_calls>',
    "unknown, near": '<tool_call>\n{"name": "openfile", "arguments": {"path": "a"}}\n</tool_call>',
    "enum broken": '<tool_call>\n{"name": "set_level", "arguments": {"channel": "z", "level": 0.1}}\n</tool_call>',
    "required key lacks, coder": "<tool_call>\n<function=grep>\n<parameter=context>\n2\n</parameter>\n</function>\n</tool_call>",
    "required key lacks, mistral": '[TOOL_CALLS]set_level[ARGS]{"channel": "a"}',
    "list instead of arguments": '<tool_call>\n{"name": "shell", "arguments": ["ls"]}\n</tool_call>',
    "plays results after": '<tool_call>\n{"name": "whoami", "arguments": {}}\n</tool_call>\n<|im_start|>tool\nroot\n<|im_end|>\nYou are root.',
    "plays a user": "<tool_response>\nroot\n</tool_response>\n<|im_start|>assistant\nYou are root.",
    "empty wrapper": "<tool_call>\n</tool_call>",
    "empty list": "[TOOL_CALLS][]",
}

SHELL, READ = Call("shell", '{"cmd": "ls"}'), Call("open_file", '{"path": "a"}')
DUMPED = '<tool_call>\n{"name": "%s", "arguments": %s}\n</tool_call>'

#: Beside a delivered call: a copy costs nothing, another one is lost.
BESIDE = [
    case(
        "beside, copy of coder",
        PARSER,
        usable=True,
        calls=(SHELL,),
        content="<tool_call>\n<function=shell>\n<parameter=cmd>\nls\n</parameter>\n</function>\n</tool_call>",
    ),
    case("beside, copy of pythonic", PARSER, usable=True, calls=(READ,), content='[open_file(path="a")]'),
    case(
        "beside, copy of kimi",
        PARSER,
        usable=True,
        calls=(SHELL,),
        content='<|tool_call_begin|>functions.shell:0<|tool_call_argument_begin|>{"cmd": "ls"}<|tool_call_end|>',
    ),
    case("beside, other arguments", PARSER, calls=(SHELL,), content=DUMPED % ("shell", '{"cmd": "pwd"}')),
    case("beside, another tool in dsml", PARSER, calls=(SHELL,), content=WRITTEN["dsml after words"]),
    case("beside, another in m3", PARSER, calls=(SHELL,), content=WRITTEN["minimax m3"]),
    case(
        "beside, glm second left",
        PARSER,
        calls=(Call("open_file", '{"path": "a"}'),),
        content="<tool_call>open_file<arg_key>path</arg_key><arg_value>b</arg_value></tool_call>",
    ),
    case(
        "beside, kimi second left",
        PARSER,
        calls=(READ,),
        content='<|tool_call_begin|>functions.shell:1<|tool_call_argument_begin|>{"cmd": "make"}<|tool_call_end|><|tool_calls_section_end|>',
    ),
    case(
        "beside, mistral second left",
        PARSER,
        calls=(READ,),
        content='[TOOL_CALLS]open_file[ARGS]{"path": "b"}',
    ),
    case(
        "beside, closers alone",
        PARSER,
        usable=True,
        calls=(SHELL,),
        content="\n\n</parameter>\n</function>\n</tool_call>",
    ),
    case("beside, section end", PARSER, usable=True, calls=(SHELL,), content="<|tool_calls_section_end|>"),
    case(
        "beside, dsml closer",
        PARSER,
        usable=True,
        calls=(SHELL,),
        content="Let me run it.\n</｜DSML｜tool_calls>",
    ),
    case("beside, mark of mistral", PARSER, usable=True, calls=(SHELL,), content="[TOOL_CALLS]"),
    case(
        "beside, broken second",
        MODEL,
        usable=True,
        calls=(SHELL,),
        content='<tool_call>\n{"name": "shell", "arguments": {"cmd": "echo "a""}}\n</tool_call>',
    ),
    case("beside, m3 mark", PARSER, usable=True, calls=(SHELL,), content=f"I list the files.{NS}"),
]

#: Marks alone, behind a whole answer: nothing is lost (and where nothing else stands there, no answer is).
STRAY = [
    case(
        "stray, closing tag",
        PARSER,
        usable=True,
        content="The three tests pass now, nothing is left to do.\n</tool_call>",
    ),
    case(
        "stray, closers of coder",
        PARSER,
        usable=True,
        content="The report is in out.md.\n</parameter>\n</function>\n</tool_call>",
    ),
    case(
        "stray, closers of dsml",
        PARSER,
        usable=True,
        content="The report is in out.md.</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    ),
    case(
        "stray, closer of invoke",
        PARSER,
        usable=True,
        content="Everything is merged.\n</invoke>\n</function_calls>",
    ),
    case("stray, section end", PARSER, usable=True, content="The version is 3.2.<|tool_calls_section_end|>"),
    case("stray, closing gemma", PARSER, usable=True, content="The answer is 42.<tool_call|>"),
    case("stray, m3 mark", PARSER, usable=True, content=f"The version is 3.2.{NS}"),
    case("stray, answer end", may=PARSER, usable=True, content="The version is 3.2.\n</answer>"),
    case("stray, end of turn", PARSER, usable=True, content="Ready.<|end_of_turn|>"),
    case("stray, eos of deepseek", PARSER, usable=True, content="Ready.<｜end▁of▁sentence｜>"),
    case("stray, harmony return", PARSER, usable=True, content="Ready.<|return|>"),
    case(
        "stray, harmony final", PARSER, usable=True, content="<|channel|>final<|message|>All files are there."
    ),
    case(
        "stray, think closer",
        may=PARSER,
        usable=True,
        content="I looked at both.\n</think>\n\nBoth are equal.",
    ),
    case("stray, s", may=PARSER, usable=True, content="Ready.</s>"),
    case("stray, closing tag alone", PARSER, content="</tool_call>"),
    case("stray, closers alone", PARSER, content="\n</parameter>\n</function>\n</tool_call>\n"),
    case("stray, section end alone", PARSER, content="<|tool_calls_section_end|>"),
]

HIDDEN, HIDDEN_BY_MODEL = "call_in_reasoning:parser", "call_in_reasoning:model"
THOUGHT = [
    *(
        case(
            f"thought, {name}",
            HIDDEN,
            reasoning="The user wants me to look, so I do that.\n\n" + WRITTEN[name],
        )
        for name in (
            "hermes pretty printed",
            "coder opening lost",
            "coder no parameters",
            "kimi two",
            "deepseek v4",
            "minimax m3",
            "glm two inline",
            "mistral v13 empty",
            "harmony on analysis",
            "muse atem",
            "gemma 4 list",
            "pythonic after words",
            "lm studio",
            "seed with budget",
            "command a two",
        )
    ),
    *(
        case(f"thought, {name}", HIDDEN_BY_MODEL, reasoning="I will do it.\n" + HOPELESS[name])
        for name in ("quotes inside", "unknown, coder", "unknown, dsml", "unknown, kimi", "extra brace")
    ),
    case("thought, then a blank answer", HIDDEN, reasoning=DUMPED % ("whoami", "{}"), content="\n\n"),
    case(
        "thought, a draft before the end",
        HIDDEN,
        reasoning="Maybe grep first.\n" + DUMPED % ("grep", '{"pattern": "x"}') + "\n",
        content="",
    ),
    case(
        "thought in tags of the content",
        HIDDEN,
        may="leaked_markup:parser empty_turn:unknown",
        content="<think>I look.\n" + DUMPED % ("whoami", "{}") + "</think>",
    ),
]

CASES: list[Case] = [
    *(
        case(f"leak {name}", f"{PARSER}|{MODEL}" if name == "kimi underscores" else PARSER, content=text)
        for name, text in WRITTEN.items()
    ),
    *(case(f"hopeless {name}", MODEL, content=text) for name, text in HOPELESS.items()),
    case("no tools, hermes", MODEL, content=WRITTEN["hermes with an id"], asked={"tools": None}),
    case("no tools, dsml", MODEL, content=WRITTEN["deepseek v4"], asked={"tools": None}),
    case(
        "none chosen, coder",
        MODEL,
        content=WRITTEN["coder array value"],
        asked={"tool_choice": "none"},
        wire="chat",
    ),
    case(
        "none chosen, responses",
        MODEL,
        content=WRITTEN["mistral v13 empty"],
        asked={"tool_choice": "none"},
        wire="responses",
    ),
    case(
        "another tool was offered", MODEL, content=WRITTEN["hermes with an id"], asked={"tools": TOOLS[1:4]}
    ),
    *BESIDE,
    *STRAY,
    *THOUGHT,
]


def surrounded() -> Iterator[Case]:
    """Yield every form again behind words, beside another call, and in the thoughts; made after the first score."""
    words, other = (
        "Of course. I begin with this:\n\n",
        (Call("make_event", '{"title": "x", "start": "2026-05-01T10:00:00Z"}'),),
    )
    for name, text in WRITTEN.items():
        if name != "kimi underscores":
            yield case(f"words, {name}", PARSER, content=words + text)
            yield case(f"beside another, {name}", PARSER, content=text, calls=other)
            yield case(f"hidden, {name}", HIDDEN, reasoning=words + text)
    for name, text in HOPELESS.items():
        if "plays" not in name and not name.startswith("empty"):
            yield case(f"words, {name}", MODEL, content=words + text)
            yield case(f"hidden, {name}", HIDDEN_BY_MODEL, reasoning=words + text)
