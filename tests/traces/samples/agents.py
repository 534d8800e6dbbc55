"""SWE-agent, mini-swe-agent, OpenHands and ATIF."""

from __future__ import annotations

from typing import Any

SWE_QUERY: list[dict[str, Any]] = [
    {"role": "system", "content": "Solve.", "agent": "main", "message_type": "system_prompt"},
    {"role": "user", "content": [{"type": "text", "text": "Issue", "cache_control": {"type": "ephemeral"}}]},
]


def swe_agent(query: bool) -> dict[str, Any]:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "bash", "arguments": '{"command":  "ls"}'},
    }
    reply = {"role": "assistant", "content": "Look", "thought": "Look", "action": "ls", "tool_calls": [call]}
    result = {"role": "tool", "content": "OBSERVATION:\na", "tool_call_ids": ["call_1"], "agent": "main"}
    last = {"role": "assistant", "content": "Submit", "action": "submit", "agent": "main"}
    first, second = (
        [*SWE_QUERY],
        [*SWE_QUERY, reply, {**result, "content": "Old environment output: (1 line omitted)"}],
    )
    steps = [
        {
            "action": "ls",
            "observation": "a",
            "response": "Look",
            "thought": "Look",
            "state": "{}",
            "query": first,
        },
        {
            "action": "submit",
            "observation": "",
            "response": "Submit",
            "thought": "Submit",
            "state": {},
            "query": second,
        },
    ]
    if not query:
        steps = [{key: value for key, value in step.items() if key != "query"} for step in steps]
    demo = {"role": "user", "content": "A demonstration", "is_demo": True, "agent": "main"}
    history = [SWE_QUERY[0], demo, SWE_QUERY[1], {**reply, "agent": "main"}, result, last]
    return {
        "environment": "repo",
        "trajectory": steps,
        "history": history,
        "info": {"exit_status": "submitted"},
    }


def mini_swe_agent() -> dict[str, Any]:
    usage = {"prompt_tokens": 70, "completion_tokens": 5}
    extra = {
        "response": {"model": "m", "usage": usage},
        "timestamp": 1767000000.5,
        "actions": [{"command": "ls"}],
    }
    return {
        "trajectory_format": "mini-swe-agent-1.1",
        "info": {"exit_status": "Submitted", "model_stats": {"api_calls": 1}},
        "messages": [
            {"role": "system", "content": "Solve."},
            {"role": "user", "content": "Issue"},
            {"role": "assistant", "content": "THOUGHT\n```bash\nls\n```", "extra": extra},
            {"role": "user", "content": "a", "extra": {"returncode": 0}},
            {"role": "exit", "content": "done"},
        ],
    }


def openhands_v0() -> list[dict[str, Any]]:
    calls = [
        {
            "index": n,
            "id": f"t{n}",
            "type": "function",
            "function": {"name": "execute_bash", "arguments": '{"command": "ls"}'},
        }
        for n in (1, 2)
    ]
    message = {"role": "assistant", "content": "Look", "tool_calls": calls}
    response = {"id": "r1", "model": "m", "choices": [{"finish_reason": "tool_calls", "message": message}]}
    response["usage"] = {"prompt_tokens": 50, "completion_tokens": 5}

    def meta(n: int) -> dict[str, Any]:
        return {"function_name": "execute_bash", "tool_call_id": f"t{n}", "model_response": response}

    def event(number: int, **fields: Any) -> dict[str, Any]:
        return {"id": number, "timestamp": f"2025-04-30T16:00:{number:02d}", "source": "agent", **fields}

    def ran(number: int, call: int, code: int) -> dict[str, Any]:
        extras = {"metadata": {"exit_code": code, "working_dir": "/w"}}
        return event(number, observation="run", content="a", extras=extras, tool_call_metadata=meta(call))

    tools = [{"type": "function", "function": {"name": "execute_bash", "description": "", "parameters": {}}}]
    return [
        event(0, action="system", args={"content": "Be OpenHands.", "tools": tools}),
        event(1, action="message", args={"content": "Tidy"}) | {"source": "user"},
        event(2, action="run", args={"command": "ls"}, tool_call_metadata=meta(1)),
        event(3, action="run", args={"command": "ls"}, tool_call_metadata=meta(2)),
        ran(4, 2, 1),
        ran(5, 1, 0),
        event(6, action="change_agent_state", args={}),
        event(
            7,
            action="condensation",
            args={"forgotten_event_ids": [2, 3, 4, 5], "summary": "Listed.", "summary_offset": 2},
        ),
        event(8, action="message", args={"content": "Done"}),
    ]


def openhands_v1() -> list[dict[str, Any]]:
    def event(kind: str, number: int, source: str = "agent", **fields: Any) -> dict[str, Any]:
        return {
            "kind": kind,
            "id": f"e{number}",
            "timestamp": f"2026-01-01T00:00:{number:02d}",
            "source": source,
            **fields,
        }

    def text(value: str) -> list[dict[str, Any]]:
        return [{"type": "text", "text": value}]

    def act(number: int, call: str) -> dict[str, Any]:
        whole = {"id": call, "name": "terminal", "arguments": '{"command":  "ls"}'}
        more = {"tool_name": "terminal", "tool_call_id": call, "tool_call": whole, "llm_response_id": "r1"}
        return event("ActionEvent", number, thought=text("Look"), reasoning_content="hm", action={}, **more)

    tools = [{"type": "function", "function": {"name": "terminal", "description": "d", "parameters": {}}}]
    return [
        event("SystemPromptEvent", 0, system_prompt={"type": "text", "text": "Be OpenHands."}, tools=tools),
        event("MessageEvent", 1, "user", llm_message={"role": "user", "content": text("Tidy")}),
        act(2, "t1"),
        act(3, "t2"),
        event(
            "ObservationEvent",
            4,
            "environment",
            tool_call_id="t2",
            tool_name="terminal",
            observation={"content": text("b")},
        ),
        event("AgentErrorEvent", 5, tool_call_id="t1", tool_name="terminal", error="no such command"),
        event(
            "MessageEvent",
            6,
            llm_message={"role": "assistant", "content": text("Done")},
            llm_response_id="r2",
        ),
    ]


def atif() -> dict[str, Any]:
    call = {"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}
    reference = [{"trajectory_id": "sub"}]
    result = {
        "source_call_id": "c1",
        "content": "a",
        "subagent_trajectory_ref": reference,
        "extra": {"is_error": True},
    }
    tools = [{"type": "function", "function": {"name": "bash", "description": "d", "parameters": {}}}]
    agent = {"name": "terminus", "version": "2", "model_name": "m", "tool_definitions": tools}
    metrics = {"prompt_tokens": 30, "completion_tokens": 4, "cached_tokens": 10}
    sub = {
        "schema_version": "ATIF-v1.7",
        "trajectory_id": "sub",
        "agent": {"name": "sub", "version": "1"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Look"},
            {"step_id": 2, "source": "agent", "message": "ok"},
        ],
    }
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "s",
        "agent": agent,
        "steps": [
            {"step_id": 1, "source": "system", "message": "Be an agent."},
            {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "Tidy"}]},
            {
                "step_id": 3,
                "source": "agent",
                "timestamp": "2026-01-01T00:00:01Z",
                "message": "Look",
                "reasoning_content": "hm",
                "tool_calls": [call],
                "observation": {"results": [result]},
                "metrics": metrics,
            },
            {"step_id": 4, "source": "agent", "message": "Done", "llm_call_count": 1},
        ],
        "subagent_trajectories": [sub],
    }
