"""Streams of the third set: ids, indices and pieces that the second set lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tests.tools.second_set.case import Case, parser, stream, warn
from tests.tools.second_set.grammars import Calls
from tests.tools.second_set.streams import ROLE, piece


def streams(forms: Mapping[str, Callable[[Calls], str]], contents: Calls) -> Iterator[Case]:
    bash, calls = '{"command": "ls"}', "tool_calls"
    yield stream(
        "third-id-changes-late",
        ROLE,
        piece(0, "", "Bash", "x1"),
        piece(0, bash[:6]),
        piece(0, bash[6:], None, "x9"),
        finish=calls,
        **warn("protocol"),
    )
    yield stream(
        "third-same-ids",
        ROLE,
        piece(0, bash, "Bash", "z"),
        piece(1, '{"path": "/"}', "List", "z"),
        finish=calls,
        fatal={"bad_call_id": "parser"},
    )
    yield stream("third-index-2", ROLE, piece(2, bash, "Bash", "z"), finish=calls, **warn("bad_call_index"))
    yield stream(
        "third-object", ROLE, piece(0, {"command": "ls"}, "Bash", "z"), finish=calls, **warn("protocol")
    )
    yield stream(
        "third-mixed",
        ROLE,
        piece(0, "", "Bash", "a"),
        piece(1, "", "List", "b"),
        piece(1, bash),
        piece(0, '{"path": "/"}'),
        finish=calls,
        fatal={"missing_parameter": "model"},
        allowed=frozenset({"unexpected_parameter"}),
        warnings=frozenset({"unexpected_parameter"}),
    )
    yield stream("third-nothing", ROLE, {"content": ""}, fatal={"empty_turn": "unknown"})
    yield stream(
        "third-late-call",
        ROLE,
        {"content": "Done."},
        finish="stop",
        after=[{"delta": piece(0, bash, "Bash", "z"), "finish_reason": None}],
        **warn("protocol", allowed=frozenset({"finish_contradicts"})),
    )
    yield stream(
        "third-sound-name-after-id",
        ROLE,
        piece(0, None, None, "z"),
        piece(0, None, "Bash"),
        piece(0, bash),
        finish=calls,
        sound=True,
    )
    yield stream("third-sound-no-role", {"content": "Do"}, {"content": "ne."}, sound=True)
    for form in (
        "hermes-list",
        "coder-one-line",
        "glm-one-line",
        "kimi-no-section",
        "claude-1",
        "step3",
        "mistral-call-id",
    ):
        text = forms[form](contents)
        yield stream(
            f"third-by-threes-{form}",
            ROLE,
            *({"content": text[at : at + 3]} for at in range(0, len(text), 3)),
            **parser(),
        )
