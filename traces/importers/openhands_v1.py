"""OpenHands V1 events (software-agent-sdk): a list or a folder of events.

A reply is all actions of one `llm_response_id`. Projection P: texts, reasoning with its provider's form, calls with
exact argument text, results rendered as the agent renders them and errors, condensations; other events become opaque.
Usage is in the folder's `base_state.json`, not in the events.
"""

from __future__ import annotations

from pathlib import Path

from replayer.traces.chat import tool_schemas
from replayer.traces.importers.base import Importer
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.openhands_log import EventLog, ended, joined, with_place
from replayer.traces.importers.pieces import counts_of
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import (
    as_dict,
    as_int,
    as_list,
    as_str,
    as_text,
    dicts,
    epoch,
    loads,
    opt_str,
)
from replayer.traces.schema import Fidelity
from replayer.wire.types import JsonObject


class OpenHandsV1(Importer):
    format = "openhands-v1"
    fidelity = Fidelity(text="recorded", arguments="recorded", timing="recorded", boundaries="recorded")

    def matches(self, probe: Probe) -> bool:
        head = [as_dict(record) for record in (_v1_list(probe.document) or probe.head)[:8]]
        return any(as_str(e.get("kind")).endswith(("Event", "Condensation")) and "source" in e for e in head)

    def write(self, builder: Builder, probe: Probe) -> None:
        events = _v1_list(probe.document) or [as_dict(record) for _, record in probe.records()]
        V1(builder, _usages(probe.path)).write(events)


def _usages(folder: Path) -> dict[str, JsonObject]:
    """Token usage by the id of a response, from the state that lies beside the events."""
    try:
        state = as_dict(loads((folder / "base_state.json").read_bytes()))
    except (OSError, ValueError):
        return {}
    by_usage = as_dict(as_dict(state.get("stats")).get("usage_to_metrics"))
    counts = [usage for metrics in by_usage.values() for usage in dicts(as_dict(metrics).get("token_usages"))]
    return {as_str(usage.get("response_id")): usage for usage in counts}


def _v1_list(document: object) -> list[JsonObject]:
    return dicts(document) or dicts(as_dict(document).get("events"))


class V1:
    def __init__(self, builder: Builder, usages: dict[str, JsonObject]) -> None:
        self.builder, self.log, self.usages = builder, EventLog(builder), usages

    def write(self, events: list[JsonObject]) -> None:
        self.builder.describe(agent="openhands")
        for event in events:
            self._event(as_str(event.get("kind")), event)
        self.log.close()
        if not self.usages:
            self.builder.warn("V1 events carry no usage; token counts are estimates")

    def _event(self, kind: str, event: JsonObject) -> None:
        key = event.get("id")
        if kind == "SystemPromptEvent":
            prompt = event.get("system_prompt")
            self.log.said(key, self.builder.system(as_str(as_dict(prompt).get("text")) or as_text(prompt)))
            self.log.tool_set = self.builder.tools(tool_schemas(event.get("tools")))
            names = [opt_str(tool.get("title")) for tool in dicts(event.get("tools"))]
            if self.log.tool_set is None and any(names):
                self.builder.remember(tool_names=names)
                self.builder.warn("tools are named without their parameters; see `tool_names` in the header")
        elif kind == "MessageEvent":
            self._message(key, event, as_dict(event.get("llm_message")))
        elif kind == "ActionEvent":
            self._action(key, event)
        elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
            self._observation(key, kind, event)
        elif kind == "Condensation":
            forgotten = {k for k in as_list(event.get("forgotten_event_ids")) if isinstance(k, str | int)}
            self.log.condense(forgotten, event.get("summary"), as_int(event.get("summary_offset")))
        else:
            self.builder.opaque(event)

    def _message(self, key: object, event: JsonObject, message: JsonObject) -> None:
        text = joined(message.get("content"))
        if event.get("source") == "agent" or message.get("role") == "assistant":
            self._begin(key, event)
            if reasoning := opt_str(message.get("reasoning_content")):
                self.log.produced.append((key, self.builder.reasoning(reasoning)))
            self.log.produced.append((key, self.builder.assistant(text)))
            self.log.close()
            return
        self.log.close()
        extended = joined(event.get("extended_content"))
        self.log.said(key, self.builder.user(f"{text}\n{extended}" if extended else text))

    def _begin(self, key: object, event: JsonObject) -> None:
        response = as_str(event.get("llm_response_id"))
        counted = self.usages.get(response)
        usage = counts_of(
            counted, "prompt_tokens", "cache_read_tokens", "completion_tokens", "reasoning_tokens"
        )
        facts = {"usage": usage, "model": opt_str(counted.get("model"))} if counted else {}
        self.log.begin(response or f"event-{key}", times=ended(event), **facts)

    def _action(self, key: object, event: JsonObject) -> None:
        self._begin(key, event)
        if not any(item for _, item in self.log.produced):
            self._said_before_the_call(key, event)
        call = as_dict(event.get("tool_call"))
        function = as_dict(call.get("function")) or call
        arguments = function.get("arguments", as_dict(event.get("action")))
        call_id = as_str(event.get("tool_call_id")) or as_str(call.get("id"))
        name = as_str(event.get("tool_name")) or as_str(function.get("name"))
        self.log.produced.append((key, self.builder.call(call_id, name, arguments)))

    def _said_before_the_call(self, key: object, event: JsonObject) -> None:
        """Thinking and text come with the first action of a response."""
        blocks = dicts(event.get("thinking_blocks"))
        reasoning = as_str(event.get("reasoning_content")) or "".join(
            as_str(b.get("thinking")) for b in blocks
        )
        opaque = event.get("responses_reasoning_item") or event.get("reasoning_details") or blocks or None
        if reasoning or opaque:
            self.log.produced.append((key, self.builder.reasoning(reasoning, opaque)))
        if text := joined(event.get("thought")):
            self.log.produced.append((key, self.builder.assistant(text)))

    def _observation(self, key: object, kind: str, event: JsonObject) -> None:
        observation = as_dict(event.get("observation"))
        key_of_text = {"AgentErrorEvent": "error", "UserRejectObservation": "rejection_reason"}.get(kind, "")
        text = as_str(event.get(key_of_text)) or _rendered(observation, event.get("observation"))
        code = as_int(observation.get("exit_code", as_dict(observation.get("metadata")).get("exit_code")))
        failed = (
            kind != "ObservationEvent" or observation.get("is_error") is True or code not in (None, 0, -1)
        )
        call_id = as_str(event.get("tool_call_id"))
        at, name = epoch(event.get("timestamp")), opt_str(event.get("tool_name"))
        item = self.builder.answer(call_id, text, is_error=failed, name=name, ended=at, exit_code=code)
        self.log.said(key, item)


def _rendered(observation: JsonObject, whole: object) -> str:
    """What the model gets: a header on errors, the text, and behind a command's output where it ran."""
    text = joined(observation.get("content", observation.get("output", whole)))
    if metadata := as_dict(observation.get("metadata")):
        text = with_place(text, metadata)
    return f"[An error occurred during execution.]\n{text}" if observation.get("is_error") is True else text
