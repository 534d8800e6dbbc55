"""OpenHands V0 events: a list, a folder of events, or evaluation output.

A reply is all actions of one model response; its message is taken from the response that the event holds, with the
exact argument text. Projection P: texts, calls, results rendered as the agent renders them (working directory, exit
code), condensations. Events that never reach the model (state changes, recalls without knowledge) become opaque.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from replayer.traces.chat import split, tool_schemas
from replayer.traces.importers.base import Importer, Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.exchange import usage_of
from replayer.traces.importers.openhands_log import EventLog, ended, with_place
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import (
    as_dict,
    as_int,
    as_list,
    as_str,
    dicts,
    epoch,
    opt_str,
)
from replayer.traces.schema import Content, Fidelity
from replayer.wire.types import JsonObject

_SILENT = frozenset(
    {"change_agent_state", "agent_state_changed", "null", "recall", "loadtool", "task_tracking_state"}
)
_FIDELITY = Fidelity(
    text="recorded", arguments="recorded", timing="recorded", usage="recorded", boundaries="recorded"
)


class OpenHandsV0(Importer):
    format = "openhands-v0"
    fidelity = _FIDELITY

    def matches(self, probe: Probe) -> bool:
        if _is_event(next((e for e in _events(probe.document) if "source" in e), None)):
            return True
        head = [as_dict(record) for record in probe.head]
        return any(_is_output(record) for record in head[:4]) or any(_is_event(r) for r in head[:4])

    def sessions(self, probe: Probe) -> Iterator[Session]:
        if any(_is_output(as_dict(record)) for record in probe.head[:4]):
            yield from _instances(probe)
            return
        events = _events(probe.document) or [as_dict(record) for _, record in probe.records()]
        yield Session(lambda builder: V0(builder).write(events))


def _is_event(event: object) -> bool:
    """V1 has objects where V0 has the name of an action or observation."""
    fields = as_dict(event)
    named = isinstance(fields.get("action"), str) or isinstance(fields.get("observation"), str)
    return named and "source" in fields and "id" in fields


def _is_output(record: JsonObject) -> bool:
    history = record.get("history")
    return isinstance(history, list) and ("instance_id" in record or "instruction" in record)


def _events(value: object) -> list[JsonObject]:
    """Events of a list, or of the old list of [action, observation] pairs."""
    found: list[JsonObject] = []
    for entry in as_list(value) or as_list(as_dict(value).get("history")):
        found += dicts(entry) if isinstance(entry, list) else [entry] if isinstance(entry, dict) else []
    return found


def _instances(probe: Probe) -> Iterator[Session]:
    for offset, record in probe.located():
        if _is_output(as_dict(record)):
            key = as_str(record.get("instance_id")) or str(offset)
            yield Session(
                partial(_write_instance, probe, offset),
                name=key,
                key=key,
                title=opt_str(record.get("instruction")),
            )


def _write_instance(probe: Probe, offset: int, builder: Builder) -> None:
    record = as_dict(probe.record_at(offset))
    builder.describe(title=as_str(record.get("instance_id")) or None)
    builder.remember(error=opt_str(record.get("error")), test_result=record.get("test_result"))
    model = opt_str(as_dict(as_dict(record.get("metadata")).get("llm_config")).get("model"))
    instruction = as_str(record.get("instruction"))
    V0(builder, model, extensions=False).write(_events(record.get("history")), instruction)


class V0:
    """`extensions`: recalled knowledge reaches the model. Evaluation runs switch that off; their usage shows it."""

    def __init__(self, builder: Builder, model: str | None = None, extensions: bool = True) -> None:
        self.builder, self.log, self.model = builder, EventLog(builder, model), model
        self.extensions = extensions
        self.spoken: set[str] = set()
        self.call_of: dict[Any, str] = {}
        self.derived = 0

    def write(self, events: list[JsonObject], instruction: str = "") -> None:
        self.builder.describe(agent="openhands")
        if instruction and not any(
            e.get("action") == "message" and e.get("source") == "user" for e in events
        ):
            self.log.said("instruction", self.builder.user(instruction))
        for event in events:
            self._event(event)
        self.log.close()
        fidelity = self.builder.header.fidelity
        if fidelity.system == "absent":
            self.builder.warn("these events hold no system prompt and no tool definitions")
        if self.derived:
            self.builder.fidelity(arguments="derived", boundaries="derived")
            self.builder.warn(
                f"{self.derived} actions hold no model response: their calls are rebuilt from the action"
            )

    def _event(self, event: JsonObject) -> None:
        action, observation = as_str(event.get("action")), as_str(event.get("observation"))
        metadata = as_dict(event.get("tool_call_metadata"))
        if action == "system":
            self._system(event)
        elif action == "message":
            self._message(event)
        elif action == "condensation":
            self._condensation(as_dict(event.get("args")))
        elif observation == "recall" or action in _SILENT or observation in _SILENT:
            self._recall(event)
        elif action and event.get("source") == "agent":
            self._action(event, metadata)
        elif "observation" in event:
            self._observation(event, metadata)
        else:
            self.builder.opaque(event)

    def _system(self, event: JsonObject) -> None:
        args = as_dict(event.get("args"))
        self.log.said(event.get("id"), self.builder.system(as_str(args.get("content"))))
        self.log.tool_set = self.builder.tools(tool_schemas(args.get("tools"))) or self.log.tool_set
        self.builder.source(version=opt_str(args.get("openhands_version")))

    def _message(self, event: JsonObject) -> None:
        text = as_str(as_dict(event.get("args")).get("content")) or as_str(event.get("message"))
        if event.get("source") == "agent":
            self.log.begin(f"event-{event.get('id')}", model=self.model, times=ended(event))
            self.log.produced.append((event.get("id"), self.builder.assistant(text)))
            self.log.close()
            return
        images = as_list(as_dict(event.get("args")).get("image_urls"))
        parts = [{"type": "image_url", "image_url": {"url": url}} for url in images if isinstance(url, str)]
        self.log.close()
        content: Content = ({"type": "text", "text": text}, *parts) if parts else text
        self.log.said(event.get("id"), self.builder.user(content))

    def _action(self, event: JsonObject, metadata: JsonObject) -> None:
        if isinstance(event.get("id"), str | int):
            self.call_of[event["id"]] = as_str(metadata.get("tool_call_id")) or _own_id(event["id"])
        response = as_dict(metadata.get("model_response"))
        if not response:
            self._bare_action(event)
            return
        key = as_str(response.get("id")) or f"event-{event.get('id')}"
        choice = next(iter(dicts(response.get("choices"))), {})
        self.log.begin(
            key,
            model=opt_str(response.get("model")) or self.model,
            usage=usage_of(response.get("usage")),
            times=ended(event),
            finish_reason=opt_str(choice.get("finish_reason")),
        )
        if key in self.spoken:
            return
        self.spoken.add(key)
        for item in split({**as_dict(choice.get("message")), "role": "assistant"})[0]:
            number = self.builder.add_model_item(item)
            self.log.produced.append((event.get("id"), number))

    def _bare_action(self, event: JsonObject) -> None:
        """Before function calling: the action stands for a call with an id of our own."""
        self.derived += 1
        args = as_dict(event.get("args"))
        thought = as_str(args.get("thought")) or as_str(args.get("content"))
        aside = ("thought", "content", "confirmation_state", "hidden")
        kept = {key: value for key, value in args.items() if key not in aside}
        self.log.begin(f"event-{event.get('id')}", model=self.model, times=ended(event))
        if thought:
            self.log.produced.append((event.get("id"), self.builder.assistant(thought)))
        call = self.builder.call(_own_id(event.get("id")), as_str(event.get("action")), kept)
        self.log.produced.append((event.get("id"), call))

    def _observation(self, event: JsonObject, metadata: JsonObject) -> None:
        extras = as_dict(event.get("extras"))
        code = as_int(as_dict(extras.get("metadata")).get("exit_code", extras.get("exit_code")))
        failed = event.get("observation") == "error" or code not in (None, 0, -1)
        call_id = as_str(metadata.get("tool_call_id"))
        if not call_id:
            cause = event.get("cause")
            call_id = self.call_of.get(cause, "") if isinstance(cause, str | int) else ""
            if self.builder.call_item(call_id) is None:
                self.log.said(event.get("id"), self.builder.user(_rendered(event)))
                return
        at, name = epoch(event.get("timestamp")), opt_str(metadata.get("function_name"))
        item = self.builder.answer(
            call_id, _rendered(event), is_error=failed, name=name, ended=at, exit_code=code
        )
        self.log.said(event.get("id"), item)

    def _recall(self, event: JsonObject) -> None:
        """Knowledge that was found for a user message follows it as user text; other silent events are opaque."""
        knowledge = dicts(as_dict(event.get("extras")).get("microagent_knowledge"))
        for entry in knowledge if self.extensions and "observation" in event else []:
            text = (
                "<EXTRA_INFO>\nThe following information has been included based on a keyword match for "
                f'"{as_str(entry.get("trigger"))}".\nIt may or may not be relevant to the user\'s request.\n\n'
                f"{as_str(entry.get('content'))}\n</EXTRA_INFO>"
            )
            self.log.said(event.get("id"), self.builder.user(text))
            self.builder.warn(
                "recalled knowledge is written in the agent's usual frame; the exact text is not stored"
            )
        self.builder.opaque(event)

    def _condensation(self, args: JsonObject) -> None:
        forgotten = {key for key in as_list(args.get("forgotten_event_ids")) if isinstance(key, str | int)}
        start, end = (as_int(args.get(f"forgotten_events_{side}_id")) for side in ("start", "end"))
        if start is not None and end is not None:
            forgotten |= set(range(start, min(end, start + 100_000) + 1))
        self.log.condense(forgotten, args.get("summary"), as_int(args.get("summary_offset")))


def _own_id(event: object) -> str:
    return f"event_{event}"


def _rendered(event: JsonObject) -> str:
    """The text that the model gets: a command's output carries directory and exit code behind it."""
    content, metadata = as_str(event.get("content")), as_dict(as_dict(event.get("extras")).get("metadata"))
    return with_place(content, metadata) if event.get("observation") == "run" else content
