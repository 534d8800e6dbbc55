"""What is concluded of a lane is held against every other witness: counters, clock, pool, and what the server says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest

from replayer.prefix.chatml import PromptTokens
from replayer.prefix.tokenizers import Estimate
from replayer.signals.prefix_reuse.analyser import PrefixReuse
from replayer.signals.prefix_reuse.conclusion import ReuseConclusion, conclude
from replayer.signals.prefix_reuse.finding import PrefixFinding, TurnReuse
from replayer.signals.prefix_reuse.server_facts import ServerFacts
from replayer.traces.schema import Usage

TURNS = 8


def findings(count: Callable[[TurnReuse], int], **settings: Any) -> list[PrefixFinding]:
    """A prompt of 1,000 tokens that grows by 200 a turn; `count` is what the replies report as cached."""
    reuse = PrefixReuse(**{"block_size": 16, **settings})
    found = []
    for number in range(TURNS):
        turn = reuse.request(f"s/{number}", "x" * 1000 + "y" * 200 * number)
        usage = Usage(cached_tokens=count(turn), prompt_tokens=turn.prompt_tokens)
        found.append(reuse.reported(f"s/{number}", usage))
    return found


def concluded(found: Sequence[PrefixFinding], **server: Any) -> ReuseConclusion:
    prompt = sum(one.prompt_tokens for one in found)
    return conclude(found, ServerFacts(prompt=prompt, **server))


def ideal(found: Sequence[PrefixFinding]) -> int:
    return sum(one.ideal_tokens for one in found)


def test_zeros_that_only_the_replies_report_may_be_a_count_that_is_not_kept() -> None:
    result = concluded(findings(lambda turn: 0))
    assert (result.cause, result.fix) == ("unknown", None)
    assert "no hit was reported" in (result.verdict or "") and "recomputed" not in (result.verdict or "")


def test_zeros_that_the_servers_counter_confirms_are_a_cache_that_is_off() -> None:
    result = concluded(findings(lambda turn: 0), cached=0.0)
    assert result.cause == "cache_off" and set(result.causes) == {"cache_off"}
    assert any("counter says 0" in fact for fact in result.evidence)


def test_no_cache_is_called_off_that_the_server_says_is_on() -> None:
    """A salt for each request, a router or a template that begins with the time look the same from outside."""
    result = concluded(findings(lambda turn: 0, caching=True), cached=0.0)
    assert result.cause == "unknown"
    assert "the server says that its prefix cache is on" in (result.verdict or "")


@pytest.mark.parametrize(
    "count",
    [lambda turn: 0, lambda turn: turn.ideal // 2, lambda turn: turn.prompt_tokens - 1],
    ids=["zero", "half", "all"],
)
def test_replies_that_count_otherwise_than_the_server_are_not_believed(
    count: Callable[[TurnReuse], int],
) -> None:
    found = findings(count)
    result = concluded(found, cached=float(ideal(found)))
    assert result.cause == "counter_broken" and result.above is None
    assert f"the server's counter {ideal(found):,}" in result.evidence[0]
    assert "counted wrongly" in (result.verdict or "")
    not_alone = concluded(found, cached=float(ideal(found)), alone=False)
    assert not_alone.cause in (None, "unknown"), "counters of other clients, too, are no witness"


def test_more_cached_tokens_than_the_prompt_has_are_a_broken_count() -> None:
    result = concluded(findings(lambda turn: 3 * turn.ideal))
    assert result.cause == "counter_broken"
    assert result.reported is None or result.reported <= 1


@pytest.mark.parametrize("thoughts", [False, True])
def test_a_template_that_changes_the_beginning_is_not_the_clients_text(thoughts: bool) -> None:
    reuse, found = PrefixReuse(block_size=1), []
    messages: list[dict[str, Any]] = [{"role": "system", "content": "r" * 800}]
    for number in range(4):
        messages.append({"role": "user", "content": f"{number}" * 200})
        prompt = f"now {number}: " + "".join(message["content"] for message in messages)
        turn = reuse.request(str(number), prompt, [orjson.dumps(message) for message in messages])
        found.append(reuse.reported(str(number), Usage(cached_tokens=turn.ideal)))
        reply = {"role": "assistant", "content": "fine"}
        messages.append(reply | ({"reasoning_content": "Hm. " * 9} if thoughts else {}))
    assert {one.cause for one in found[1:]} == {"unknown"}
    assert all("template" in one.detail and one.lost_tokens > 800 for one in found[1:])


@pytest.mark.parametrize("peak", [0.03, None])
def test_preemptions_beside_an_idle_pool_are_not_why_this_lane_lost(peak: float | None) -> None:
    """Two replicas behind a router: half of the prefix is at the other one."""
    found = findings(lambda turn: turn.ideal // 2)
    server = {"preempted": 2.0, "kv_peak": peak, "pool_tokens": 200_000, "session_tokens": 2_600}
    assert concluded(found, **server).cause == "unknown"
    assert concluded(found, **server | {"kv_peak": 1.0}).cause == "eviction"


def test_a_pool_that_lanes_share_is_too_small_for_the_sessions_of_all_of_them() -> None:
    found = findings(lambda turn: turn.ideal // 2)
    server = {
        "kv_peak": 1.0,
        "preempted": 2.0,
        "pool_tokens": 20_000,
        "session_tokens": 2_600,
        "sessions": 16,
    }
    words = [concluded(found, lanes=lanes, **server).verdict or "" for lanes in (1, 2)]
    assert "pool too small for 16 sessions: 2 preemptions" in words[0] and "about 7 would fit" in words[0]
    assert "pool too small for 16 sessions of 2 lanes together: 2" in words[1]


def test_what_was_reused_was_not_evicted() -> None:
    """An engine that evicts in another order than the model reuses what the model thinks is gone."""
    reuse, found = PrefixReuse(block_size=16, capacity_tokens=1600), []
    for number, letter in enumerate("abababab"):
        reuse.request(f"s/{number}", letter * 1200)
        usage = Usage(cached_tokens=1184 * (number in (2, 5)), prompt_tokens=1200)
        found.append(reuse.reported(f"s/{number}", usage))
    result = concluded(found, kv_peak=1.0)
    assert result.cause == "eviction" and result.reported and result.evicted
    assert result.reported + result.evicted <= 1


def test_a_pool_is_filled_with_the_engines_tokens_where_ours_are_an_estimate() -> None:
    """The engine counts three tokens for each of ours: what would fit by our count has been evicted."""
    reuse, prompts, found = (
        PrefixReuse(block_size=1, capacity_tokens=6000, token_source="estimate"),
        PromptTokens(Estimate()),
        [],
    )
    for number in range(12):
        messages = [orjson.dumps({"role": "user", "content": f"{number % 3}" * 4000})]
        turn = reuse.request(f"s/{number}", prompts.prompt(messages, b"[]"), messages, thread=str(number % 3))
        usage = Usage(prompt_tokens=3 * turn.prompt_tokens, cached_tokens=0)
        found.append(reuse.reported(f"s/{number}", usage))
    result = concluded(found, kv_peak=1.0)
    assert result.cause == "eviction" and (result.evicted or 0) > 0.5


def test_silence_is_not_a_shortfall() -> None:
    reuse, found = PrefixReuse(block_size=16), []
    for number in range(TURNS):
        turn = reuse.request(f"s/{number}", "x" * 1000 + "y" * 200 * number)
        found.append(reuse.reported(f"s/{number}", Usage(prompt_tokens=turn.prompt_tokens)))
    assert "cannot be judged" in (concluded(found).verdict or "")
    counted = concluded(found, cached=float(ideal(found)))
    assert counted.source == "metrics" and "server's own counter" in (counted.verdict or "")


def test_an_unknown_server_that_never_reuses_anything_need_not_have_its_cache_off() -> None:
    """A router over replicas, a salt for each request and a template that begins with the time look the same."""
    reuse, found = PrefixReuse(block_size=None), []
    for number in range(TURNS):
        turn = reuse.request(f"s/{number}", "x" * 2000 + "y" * 200 * number)
        usage = Usage(cached_tokens=0, prompt_tokens=turn.prompt_tokens)
        found.append(reuse.reported(f"s/{number}", usage, ttft_ns=turn.prompt_tokens * 1_000_000))
    result = conclude(found, ServerFacts())
    assert (result.cause, result.fix) == ("unknown", None)
    assert "the prefix cache is off, its blocks are longer than" in (result.verdict or "")
    assert "a router, a salt" in (result.verdict or "")


def test_what_a_failed_request_left_in_the_cache_is_not_known() -> None:
    """Its prompt may have been computed or not: a request that reused nothing of it was not held against it."""
    found = findings(lambda turn: turn.ideal)
    found = [replace(one, least=0, reported_tokens=one.ideal_tokens // 2, gap=0) for one in found]
    verdict = concluded(found).verdict or ""
    assert verdict.startswith("healthy: ") and "the ideal is 0.0% to " in verdict
