"""What the parsers of a running SGLang server read in a text (`POST /parse_function_call`): no package is needed here.

The server parses and generates nothing. vLLM and llama.cpp serve no parser.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import httpx

from replayer.errors import ReplayerError
from replayer.tools.verdicts.engine_parsers import Parse, Reading, functions, read
from replayer.tools.verdicts.schema_check import Validator
from replayer.traces.schema import ToolSchema

PARSERS = (
    "deepseekv3 deepseekv31 deepseekv32 glm45 glm47 gpt-oss hermes kimi_k2 lfm2 llama3 mimo minimax-m2 mistral pythonic qwen25 "
    "qwen3_coder step3"
)
"""Names that SGLang's versions know; one that the server does not know is listed as failed."""
PATIENCE = 20.0
"""Seconds for one text."""


def served_readings(origin: str, text: str, tools: Sequence[ToolSchema]) -> list[Reading]:
    """What each parser of the server at `origin` reads, the one it was started with first."""
    validator = Validator(tools)
    try:
        with httpx.Client(base_url=origin.rstrip("/").removesuffix("/v1"), timeout=PATIENCE) as server:
            return [read(name, parse, text, validator) for name, parse in _parsers(server, tools)]
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ReplayerError(
            f"{origin}: no SGLang server answers ({error}); give its origin, such as http://host:30000"
        ) from None


def _parsers(server: httpx.Client, tools: Sequence[ToolSchema]) -> Iterator[tuple[str, Parse]]:
    own = _own_parser(server)
    for name in dict.fromkeys([*([own] if own else []), *PARSERS.split()]):

        def parse(text: str, name: str = name) -> list[tuple[str, str]]:
            asked = {"text": text, "tools": functions(tools), "tool_call_parser": name}
            answer = server.post("/parse_function_call", json=asked)
            if answer.status_code != httpx.codes.OK:
                raise ValueError(f"HTTP {answer.status_code}")
            return [(str(call["name"]), str(call["parameters"])) for call in answer.json()["calls"]]

        yield f"served {name}", parse


def _own_parser(server: httpx.Client) -> str | None:
    """What the server says of itself; asked first, so that a wrong address is one error instead of twenty."""
    answer = server.get("/server_info")
    if answer.status_code == httpx.codes.NOT_FOUND:
        answer = server.get("/get_server_info")
    answer.raise_for_status()
    try:
        own = answer.json().get("tool_call_parser")
    except (ValueError, AttributeError):
        return None
    return own if isinstance(own, str) else None
