"""How replies end, and what is damaged, empty or miscounted in them."""

import json

from tests.tools.fifth_set.build import Call, Case, case
from tests.tools.fifth_set.wires import CHAT, flow, message, response, said, text_block, use
from tests.tools.fourth_set.build import chunk, events

CUT = "truncated:budget"
LIMIT = {"finish": "length", "spent": 96, "asked": {"max_tokens": 96}}
QUIET = {"spent": 96, "asked": {"max_tokens": 96}}
WAYS = (
    "First the parser reads the header, then it looks up the length of the body and ",
    "그 다음에는 설정 파일을 열어서 캐시의 크기를 확인하고 ",
)
CUTS = [
    case("cut, words", CUT, content=WAYS[0], **LIMIT),
    case("cut, korean", CUT, content=WAYS[1], **LIMIT),
    case("cut, in the thoughts", CUT, reasoning=WAYS[0], **LIMIT),
    case("cut, after the thoughts", CUT, reasoning=WAYS[0], content="The", **LIMIT),
    case("cut, in a call", CUT, calls=(Call("shell", '{"cmd": "find / -name \\"*.p'),), **LIMIT),
    case("cut, in a key", CUT, calls=(Call("shell", '{"cmd": "ls", "timeo'),), **LIMIT),
    case("cut, before the arguments", CUT, calls=(Call("shell", ""),), streamed=True, **LIMIT),
    case(
        "cut, braces closed by the engine", CUT, calls=(Call("make_event", '{"title": "Release"}'),), **LIMIT
    ),
    case("cut, says stop", CUT, content=WAYS[0], finish="stop", **QUIET, **CHAT),
    case("cut, says calls", CUT, calls=(Call("shell", '{"cmd": "ls'),), finish="tool_calls", **QUIET, **CHAT),
    case("cut, second of two", CUT, calls=(Call("whoami", "{}"), Call("shell", '{"cm')), **LIMIT),
    case("cut, nothing seen", CUT, may="empty_turn:unknown", **LIMIT),
    case(
        "cut, nothing seen, required",
        CUT,
        finish="length",
        spent=96,
        asked={"max_tokens": 96, "tool_choice": "required"},
        **CHAT,
    ),
    case(
        "cut, in leaked coder",
        CUT,
        may="leaked_markup:parser leaked_markup:model",
        content="<tool_call>\n<function=shell>\n<parameter=cmd>\nfind . -na",
        **LIMIT,
    ),
    case(
        "cut, in leaked dsml",
        CUT,
        may="leaked_markup:parser leaked_markup:model",
        content='<｜DSML｜tool_calls>\n<｜DSML｜invoke name="shell">\n<｜DSML｜para',
        **LIMIT,
    ),
    case(
        "cut, in leaked m3",
        CUT,
        may="leaked_markup:parser leaked_markup:model",
        content=']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="sh',
        **LIMIT,
    ),
    case(
        "cut, max completion tokens",
        CUT,
        content=WAYS[0],
        finish="length",
        spent=96,
        asked={"max_completion_tokens": 96},
        **CHAT,
    ),
    case(
        "cut, a wrong name all the same",
        f"{CUT} unknown_tool:model",
        calls=(Call("bash", '{"cmd": "l'),),
        **LIMIT,
    ),
    case(
        "cut, first finished and wrong",
        f"{CUT} wrong_type:model",
        calls=(Call("open_file", '{"path": 1}'), Call("shell", '{"c')),
        **LIMIT,
    ),
    case(
        "cut, context full on messages",
        CUT,
        raw=message(text_block(0, WAYS[0]), reason="model_context_window_exceeded"),
        wire="messages",
        streamed=True,
    ),
    case(
        "cut, pause",
        "",
        raw=message(text_block(0, "I go on searching."), reason="pause_turn"),
        wire="messages",
        streamed=True,
    ),
    case(
        "cut, max tokens with tool use",
        CUT,
        raw=message(use(0, "shell", '{"cmd": "l'), reason="max_tokens", out=96),
        wire="messages",
        streamed=True,
        asked={"max_tokens": 96},
    ),
    case(
        "cut, responses says completed",
        CUT,
        raw=json.dumps(
            response(said(WAYS[0]), usage={"input_tokens": 9, "output_tokens": 96, "total_tokens": 105})
        ),
        wire="responses",
        streamed=False,
        asked={"max_tokens": 96},
    ),
]

TURN = "Let me check the file once more to be sure that the change is in place. "
JAPANESE = "もう一度ファイルを確認します。変更が反映されているか見てみましょう。"
LOOPS = [
    case("loop, sentence", "collapsed:model", content="Sure. " + TURN * 50),
    case("loop, japanese", "collapsed:model", content=JAPANESE * 60),
    case("loop, in thoughts", "collapsed:model", reasoning="Hmm. " + TURN * 50),
    case(
        "loop, to the limit",
        "collapsed:model",
        content=TURN * 50,
        finish="length",
        spent=900,
        asked={"max_tokens": 900},
    ),
    case("loop, word", "collapsed:model", content="The result is " + "null, " * 600),
    case("loop, brackets", "collapsed:model", content='{"a": [' + "}]" * 900, **CHAT),
    case(
        "loop, in a command", "collapsed:model", calls=(Call("shell", json.dumps({"cmd": "true && " * 400})),)
    ),
    case(
        "loop, calls in the text",
        "collapsed:model",
        may="leaked_markup:parser leaked_markup:model",
        content='<tool_call>\n{"name": "whoami", "arguments": {}}\n</tool_call>\n' * 80,
    ),
]

EMPTY = "empty_turn:unknown"
BLANK = [
    case("blank, nothing at all", EMPTY),
    case("blank, thoughts alone", EMPTY, reasoning="I have seen enough. I answer now."),
    case("blank, a newline", EMPTY, content="\n"),
    case("blank, joiners", EMPTY, content="\u2060\u200c\u00ad"),
    case("blank, ideographic space", EMPTY, content="\u3000\u3000"),
    case("blank, an empty think block", EMPTY, may="leaked_markup:parser", content="<think></think>"),
    case(
        "blank, thoughts of m3",
        EMPTY,
        may="leaked_markup:parser",
        content="<mm:think>I answer now.</mm:think>",
    ),
    case(
        "blank, thoughts of magistral",
        EMPTY,
        may="leaked_markup:parser",
        content="[THINK]I answer now.[/THINK]",
    ),
    case(
        "blank, an end token",
        EMPTY + "|leaked_markup:parser",
        may=EMPTY + " leaked_markup:parser",
        content="<|im_end|>",
    ),
    case(
        "blank, message without blocks", EMPTY, raw=message(reason="end_turn"), wire="messages", streamed=True
    ),
    case(
        "blank, empty text block",
        EMPTY,
        raw=message(text_block(0, ""), reason="end_turn"),
        wire="messages",
        streamed=True,
    ),
    case("blank, no items", EMPTY, raw=flow(last=response()), wire="responses", streamed=True),
    case(
        "blank, reasoning item",
        EMPTY,
        raw=json.dumps(
            response(
                {
                    "type": "reasoning",
                    "id": "rs",
                    "summary": [{"type": "summary_text", "text": "**Looking**"}],
                }
            )
        ),
        wire="responses",
        streamed=False,
    ),
    case(
        "blank, tool_calls null",
        EMPTY,
        raw='{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":null},"finish_reason":"stop"}]}',
        wire="chat",
        streamed=False,
    ),
]

HURT = "damaged_text:engine"
DAMAGED = [
    case(
        "damaged, norwegian twice",
        HURT,
        usable=True,
        content="Filen ble lagret pÃ¥ nytt, og alle prÃ¸vene er grÃ¸nne.",
    ),
    case(
        "damaged, dashes twice",
        HURT,
        usable=True,
        content="The fix â€” one line â€” is in; I didnâ€™t touch the rest.",
    ),
    case(
        "damaged, replacement inside",
        HURT,
        usable=True,
        content="Le r\ufffdsultat est enregistr\ufffd dans le dossier.",
    ),
    case("damaged, last emoji", HURT, usable=True, content="All tests pass \ufffd"),
    case("damaged, korean lost", HURT, usable=True, content="모든 테스트가 \ufffd\ufffd\ufffd 통과했습니다."),
    case(
        "damaged, byte fallback",
        HURT,
        usable=True,
        content="Das Ergebnis ist gr<0xC3><0xB6><0xC3><0x9F>er als vorher.",
    ),
    case("damaged, byte fallback emoji", HURT, usable=True, content="Done <0xF0><0x9F><0x8E><0x89>"),
    case("damaged, gpt 2 letters", HURT, usable=True, content="AllĠtestsĠpassĠnow.ĊNothingĠisĠleft."),
    case("damaged, sentencepiece", HURT, usable=True, content="▁All▁tests▁pass▁now,▁nothing▁is▁left."),
    case("damaged, greek twice", HURT, usable=True, content="ÎŸÎ»Î± Ï„Î± Ï„ÎµÏƒÏ„ Ï€Î­ÏÎ±ÏƒÎ±Î½."),
    case("damaged, chinese twice", HURT, usable=True, content="æ‰€æœ‰æµ‹è¯•éƒ½é€šè¿‡äº†ã€‚"),
]


def usage(**counts: object) -> str:
    """Return a stream that ends with this usage."""
    return events(
        chunk({"role": "assistant"}),
        chunk({"content": "Done."}),
        chunk({}, "stop"),
        chunk({}) | {"choices": [], "usage": counts},
        "[DONE]",
    )


COUNTED = [
    case(
        "usage, below zero",
        "protocol:engine",
        usable=True,
        raw=usage(prompt_tokens=-3, completion_tokens=2, total_tokens=-1),
        wire="chat",
        streamed=True,
    ),
    case(
        "usage, words",
        "protocol:engine",
        usable=True,
        raw=usage(prompt_tokens=9, completion_tokens="two", total_tokens=11),
        wire="chat",
        streamed=True,
    ),
    case(
        "usage, on messages",
        "protocol:engine",
        usable=True,
        raw=message(text_block(0, "Done."), reason="end_turn", out=-4),
        wire="messages",
        streamed=True,
    ),
    case(
        "usage, on responses",
        "protocol:engine",
        usable=True,
        raw=json.dumps(response(said("Done."), usage={"input_tokens": "9", "output_tokens": 2})),
        wire="responses",
        streamed=False,
    ),
]

CASES: list[Case] = [*CUTS, *LOOPS, *BLANK, *DAMAGED, *COUNTED]
