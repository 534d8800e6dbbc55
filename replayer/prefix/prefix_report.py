"""Prefix reuse of a whole file of requests: what could be reused, and where requests part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from replayer.prefix.chatml import NAME as TEMPLATE
from replayer.prefix.chatml import PromptTokens
from replayer.prefix.tokenizers import Tokenizer
from replayer.requests.chat_requests import ChatRequest
from replayer.signals.prefix_reuse.analyser import PrefixReuse
from replayer.signals.prefix_reuse.conclusion import called_off, session_verdict, settled
from replayer.signals.prefix_reuse.divergence import Divergence
from replayer.signals.prefix_reuse.finding import PrefixFinding, TurnReuse
from replayer.signals.prefix_reuse.tokens import pack
from replayer.text import shared_start
from replayer.traces.schema import TokenShape
from replayer.wire.types import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is known of the engine. `capacity` is its KV pool in tokens."""

    block_size: int | None = None
    capacity: int | None = None
    speculative: bool = False


@dataclass(slots=True)
class PrefixReport:
    tokenizer: str
    settings: Settings
    turns: list[TurnReuse] = field(default_factory=list)
    findings: list[PrefixFinding] = field(default_factory=list)

    @property
    def prompt_tokens(self) -> int:
        return sum(turn.prompt_tokens for turn in self.turns)

    def rate(self, reused: int) -> float:
        return reused / self.prompt_tokens if self.prompt_tokens else 0.0

    def as_dict(self) -> JsonObject:
        sizes = self.turns[0].ideal_by_block_size if self.turns else {}
        counts = [found.reported_tokens for found in self.findings if found.reported_tokens is not None]
        return {
            "requests": len(self.turns),
            "prompt_tokens": self.prompt_tokens,
            "ideal_hit_rate": self.rate(sum(turn.ideal for turn in self.turns)),
            "ideal_by_block_size": {
                str(size): self.rate(sum(turn.ideal_by_block_size[size] for turn in self.turns))
                for size in sizes
            },
            "reported_tokens": sum(counts) if counts else None,
            "divergences": [entry for n in range(len(self.turns)) if (entry := self._entry(n))],
            "verdict": session_verdict(self.findings),
            "token_source": self.tokenizer,
            "template": TEMPLATE,
            "block_size": self.settings.block_size,
            "turns": [parts(turn) for turn in self.turns],
        }

    def _entry(self, number: int) -> JsonObject | None:
        """What `divergences` says of a request: where its messages part, else why the engine falls short."""
        turn, found = self.turns[number], self.findings[number]
        place = turn.divergence
        if place is None and found.cause is None:
            return None
        return {
            "request": number,
            "key": turn.key,
            "against": turn.previous,
            "message_index": place.message_index if place else None,
            "path": place.path if place else None,
            "offset": place.offset if place else None,
            "class": place.cause if place else found.cause,
            "token": turn.shared,
            "lost_tokens": turn.lost if place else found.lost_tokens,
            "excerpt_before": place.before if place else "",
            "excerpt_after": place.after if place else "",
            "detail": place.detail if place else found.detail,
        }


def parts(turn: TurnReuse) -> dict[str, int]:
    """A prompt in three parts: reused, computed again though it was sent before, and new."""
    again = max(0, turn.expected - turn.ideal)
    return {
        "prompt_tokens": turn.prompt_tokens,
        "reused": turn.ideal,
        "recomputed": again,
        "new": turn.prompt_tokens - turn.ideal - again,
    }


def analyse(requests: Iterable[ChatRequest], tokenizer: Tokenizer, settings: Settings) -> PrefixReport:
    """Each scope (model and cache salt) has its own cache; a recorded reply counts as generated."""
    report = PrefixReport(tokenizer.name, settings)
    scopes: dict[tuple[str, str], PrefixReuse] = {}
    prompts = PromptTokens(tokenizer)
    before: ChatRequest | None = None
    for request in requests:
        scope = request.scope, request.salt
        fresh = scope not in scopes
        if fresh:
            scopes[scope] = PrefixReuse(
                block_size=settings.block_size,
                capacity_tokens=settings.capacity,
                speculative_backoff=settings.speculative,
                token_source=tokenizer.name,
            )
        turn, found = _judge(request, scopes[scope], prompts)
        if fresh and before is not None and _continues(request, before):
            turn, found = _salted(turn, found, report.turns[-1], before.salt, request.salt)
        before = request
        report.turns.append(turn)
        report.findings.append(found)
    report.findings = settled(called_off(report.findings, "or its cached tokens are not counted"))
    return report


def _continues(request: ChatRequest, before: ChatRequest) -> bool:
    """The same conversation under another salt, which is a mistake; another conversation may have another one."""
    kept = request.messages[: len(before.messages)]
    return request.salt != before.salt and request.scope == before.scope and kept == before.messages


def _salted(
    turn: TurnReuse, found: PrefixFinding, last: TurnReuse, old: str, new: str
) -> tuple[TurnReuse, PrefixFinding]:
    offset, lost = shared_start(old, new), min(last.prompt_tokens, turn.prompt_tokens)
    place = Divergence(
        "random_id_or_hash", None, "cache_salt", offset, old, new, "a salt parts the caches of requests"
    )
    turn = replace(turn, divergence=place, expected=lost, previous=last.key)
    found = replace(
        found,
        cause=place.cause,
        lost_tokens=lost,
        path=place.path,
        offset=offset,
        excerpt_before=old[:60],
        excerpt_after=new[:60],
        detail=place.detail,
        expected=lost,
    )
    return turn, found


def _judge(
    request: ChatRequest, analyser: PrefixReuse, prompts: PromptTokens
) -> tuple[TurnReuse, PrefixFinding]:
    if request.tokens is not None:
        turn = analyser.request(request.key, shape_tokens(request.tokens))
    else:
        segments = prompts.prompt(request.messages, request.tools)
        turn = analyser.request(request.key, segments, request.messages, request.tools, marks=request.marks)
        if request.reply is not None:
            analyser.generated(request.key, prompts.reply(request.reply), request.reply)
    if request.usage is None:
        return turn, analyser.unasked(request.key)
    return turn, analyser.reported(request.key, request.usage)


def shape_tokens(shape: TokenShape) -> bytes:
    """Stand-in tokens of a token-only turn: equal block hashes give equal blocks."""
    size = shape.block_size
    whole = b"".join(pack((block & 0xFFFFFFFF,)) * size for block in shape.block_hashes)
    return whole[: 4 * shape.input_tokens].ljust(4 * shape.input_tokens, b"\0")
