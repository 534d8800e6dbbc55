"""Harbor's Agent Trajectory Interchange Format, versions 1.0 to 1.8.

Each agent step that an LLM made is a turn; its context is every step before it, with the observations as results.
Projection P: messages, reasoning, calls (argument text re-serialised: ATIF holds objects), results in listed order,
metrics, tool definitions, embedded subagents at any depth as threads. Steps marked as copied context are sent but are no
turns; counts of a step that stands for several LLM calls are sums and are kept as raw usage only.
"""

from __future__ import annotations

from collections.abc import Iterator

from replayer.traces.chat import tool_schemas
from replayer.traces.importers.base import Importer, Session
from replayer.traces.importers.builder import Builder
from replayer.traces.importers.pieces import content_of, text_of
from replayer.traces.importers.probe import Probe
from replayer.traces.importers.values import as_dict, as_int, as_str, as_text, dicts, epoch, opt_str
from replayer.traces.schema import Fidelity, Thread, Times, Usage
from replayer.wire.types import JsonObject


class Atif(Importer):
    format = "atif"
    fidelity = Fidelity(text="recorded", arguments="derived", timing="recorded", boundaries="recorded")

    def matches(self, probe: Probe) -> bool:
        document = as_dict(probe.document)
        version = as_str(document.get("schema_version"))
        return isinstance(document.get("steps"), list) and (version.startswith("ATIF") or "agent" in document)

    def sessions(self, probe: Probe) -> Iterator[Session]:
        document = as_dict(probe.document)
        name = opt_str(as_dict(document.get("agent")).get("name"))
        yield Session(lambda builder: _write(builder, document), title=name)


def _write(builder: Builder, document: JsonObject) -> None:
    agent = as_dict(document.get("agent"))
    builder.describe(agent=opt_str(agent.get("name")))
    builder.source(version=opt_str(document.get("schema_version")))
    builder.remember(
        session_id=opt_str(document.get("session_id")),
        agent_version=opt_str(agent.get("version")),
        final_metrics=as_dict(document.get("final_metrics")) or None,
        notes=opt_str(document.get("notes")),
    )
    if following := opt_str(document.get("continued_trajectory_ref")):
        builder.warn(f"the session goes on in another file: {following}")
    _write_thread(builder, document, "main")


def _write_thread(builder: Builder, document: JsonObject, name: str) -> None:
    children: dict[str, int] = {}
    _Trajectory(builder, document, name, children).write()
    for number, child in enumerate(dicts(document.get("subagent_trajectories")), start=1):
        key = as_str(child.get("trajectory_id")) or as_str(child.get("session_id"))
        own = f"sub-{key or number}" if name == "main" else f"{name}-{key or number}"
        builder.thread(Thread(id=own, parent=name, parent_call=children.get(key)))
        _write_thread(builder, child, own)


class _Trajectory:
    def __init__(self, builder: Builder, document: JsonObject, thread: str, children: dict[str, int]) -> None:
        self.builder, self.document, self.thread, self.children = builder, document, thread, children
        agent = as_dict(document.get("agent"))
        self.model = opt_str(agent.get("model_name"))
        self.tool_set = builder.tools(tool_schemas(agent.get("tool_definitions")))
        self.context: list[int] = []

    def write(self) -> None:
        for step in dicts(self.document.get("steps")):
            source = step.get("source")
            if source == "agent":
                self._agent(step)
            elif source == "system":
                self.context.append(self.builder.system(text_of(content_of(step.get("message")))))
            elif source == "user":
                self.context.append(self.builder.user(content_of(step.get("message"))))
            else:
                self.builder.opaque(step)
            if source != "agent":
                self._observation(step, [])

    def _agent(self, step: JsonObject) -> None:
        builder = self.builder
        produced: list[int] = []
        if reasoning := opt_str(step.get("reasoning_content")):
            produced.append(builder.reasoning(reasoning))
        if text := text_of(content_of(step.get("message"))):
            produced.append(builder.assistant(text))
        calls = [(as_str(call.get("tool_call_id")), call) for call in dicts(step.get("tool_calls"))]
        for call_id, call in calls:
            value = call.get("arguments", {})
            # our own export keeps text that is no JSON object under `_raw`
            arguments = as_str(value["_raw"]) if set(as_dict(value)) == {"_raw"} else as_text(value)
            produced.append(builder.call(call_id, as_str(call.get("function_name")), arguments))
        if step.get("llm_call_count") != 0 and not step.get("is_copied_context"):
            self._turn(step, produced, bool(calls))
        self.context = [*self.context, *produced]
        self._observation(step, [call_id for call_id, _ in calls])

    def _turn(self, step: JsonObject, produced: list[int], calls: bool) -> None:
        several = (as_int(step.get("llm_call_count")) or 0) > 1
        if several:
            self.builder.warn(
                "some steps stand for several LLM calls each; how their prompts grew is not in the source"
            )
        ended = epoch(step.get("timestamp"))
        effort = step.get("reasoning_effort")
        self.builder.turn(
            self.context,
            produced,
            thread=self.thread,
            tool_set=self.tool_set,
            model=opt_str(step.get("model_name")) or self.model,
            params={"reasoning_effort": effort} if effort else {},
            usage=_usage(step.get("metrics"), several),
            times=Times(ended=ended) if ended else None,
            finish_reason="tool_calls" if calls else "stop",
        )

    def _observation(self, step: JsonObject, calls: list[str]) -> None:
        for result in dicts(as_dict(step.get("observation")).get("results")):
            content = content_of(result.get("content"))
            call_id = opt_str(result.get("source_call_id")) or (calls[0] if len(calls) == 1 else None)
            failed = as_dict(result.get("extra")).get("is_error") is True
            if call_id is None:
                self.context.append(self.builder.user(content))
            else:
                self.context.append(self.builder.result(call_id, content, is_error=failed))
                self._references(result, self.builder.call_item(call_id))

    def _references(self, result: JsonObject, call: int | None) -> None:
        for reference in dicts(result.get("subagent_trajectory_ref")):
            for key in ("trajectory_id", "session_id"):
                if call is not None and isinstance(reference.get(key), str):
                    self.children[reference[key]] = call
            if path := opt_str(reference.get("trajectory_path")):
                self.builder.warn(f"a subagent's trajectory lies in another file and is not read: {path}")


def _usage(metrics: object, several: bool) -> Usage | None:
    raw = as_dict(metrics)
    if "prompt_tokens" not in raw and "completion_tokens" not in raw:
        return None
    if several:
        return Usage(raw=raw)
    return Usage(
        prompt_tokens=as_int(raw.get("prompt_tokens")),
        cached_tokens=as_int(raw.get("cached_tokens")),
        completion_tokens=as_int(raw.get("completion_tokens")),
        raw={k: v for k, v in raw.items() if not k.endswith("token_ids") and k != "logprobs"},
    )
