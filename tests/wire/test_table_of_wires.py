"""The same prompts over each wire of real engines, streamed and not: usable turns, and why the others are not.

Captured from vLLM 0.21.0 and SGLang 0.5.12 (H200) and llama.cpp (CPU) at temperature 0; the cases are those in which two cells differ.
"""

from __future__ import annotations

import pytest

from replayer.metrics.differential import mode_row, put_together
from replayer.tools.verdicts.request_facts import read_request
from replayer.tools.verdicts.schema_check import Validator
from replayer.tools.verdicts.validation import Case, alone
from replayer.tools.verdicts.verdict import Modes, modes_as_dict
from replayer.wire.reply import assemble
from replayer.wire.types import WIRES
from tests.wire.captured import FIXTURES, load

USABLE, CUT, ERROR, EMPTY, LEAKED = "", "truncated", "engine_error", "empty_turn", "leaked_markup"
TABLE = {
    # engine/case: chat, messages, responses, each not streamed and streamed
    "sglang/length": (
        CUT,
        CUT,
        CUT,
        CUT,
        USABLE,
        USABLE,
    ),  # Responses: status completed though it was cut, usage 0
    "sglang/tool-auto": (USABLE, USABLE, USABLE, USABLE, ERROR, ERROR),  # Responses refuses every tool
    "sglang/tool-auto-fewshot": (USABLE, USABLE, USABLE, USABLE, ERROR, ERROR),
    "sglang/tool-text-and-call": (USABLE, USABLE, USABLE, USABLE, ERROR, ERROR),
    "sglang/reasoning-think-fewshot": (USABLE, USABLE, USABLE, USABLE, EMPTY, EMPTY),
    "sglang/reasoning-think-tool": (USABLE, USABLE, USABLE, USABLE, ERROR, ERROR),
    # llama.cpp of spring 2026 reads 28 tokens less over Responses
    "llama.cpp-2026.4/tool-auto-fewshot": (
        USABLE,
        USABLE,
        USABLE,
        USABLE,
        f"{CUT} {LEAKED}",
        f"{CUT} {LEAKED}",
    ),
    "vllm/tool-auto": (USABLE, CUT, CUT, CUT, CUT, CUT),
    "vllm/tool-parallel": (
        USABLE,
        USABLE,
        USABLE,
        USABLE,
        CUT,
        CUT,
    ),  # Responses writes 78 more tokens of tools
    "vllm/reasoning-think-tool": (USABLE, USABLE, USABLE, USABLE, EMPTY, EMPTY),
}
CELLS = [(wire, stream) for wire in WIRES for stream in (False, True)]


def cell(case: str, wire: str, stream: bool) -> Modes:
    engine, _, name = case.partition("/")
    server = "reasoning-" if name.startswith("reasoning-") else ""
    mode = "stream" if stream else "nonstream"
    capture = load(FIXTURES / engine / f"{server}{wire}-{name.removeprefix('reasoning-')}-{mode}")
    request = read_request(capture.request)
    reply = assemble(capture.body, wire=capture.wire, status=capture.status)
    return alone(Case(reply, Validator(request.tools), request), stream=stream)


@pytest.mark.parametrize("case", TABLE)
def test_each_cell_of_a_case(case: str) -> None:
    found = [next(iter(cell(case, wire, stream).values())) for wire, stream in CELLS]
    assert [" ".join(one.faults) for one in found] == list(TABLE[case])


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("llama.cpp-2026.4", "chat 1/1, chat streamed 1/1, messages 1/1, messages streamed 1/1, responses 0/1, responses streamed 0/1"),
        ("sglang", "chat 5/6, chat streamed 5/6, messages 5/6, messages streamed 5/6, responses 1/6, responses streamed 1/6"),
        ("vllm", "chat 3/3, chat streamed 2/3, messages 2/3, messages streamed 2/3, responses 0/3, responses streamed 0/3"),
    ],
)  # fmt: skip
def test_the_table_of_an_engine(engine: str, words: str) -> None:
    rows = []
    for wire in WIRES:
        cells = [
            (cell(case, wire, False), cell(case, wire, True)) for case in TABLE if case.startswith(engine)
        ]
        prompts = [
            (modes_as_dict(whole) or {}) | (modes_as_dict(streamed) or {}) for whole, streamed in cells
        ]
        rows.append(mode_row(wire, engine, wire, prompts))
    found = put_together(rows, same_prompts=True)
    assert found is not None and found.words == [f"{engine}, same prompt: {words}"]
