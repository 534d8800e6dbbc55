"""What will be run: lanes × traces × repeats. The same keys stand in a plan file and, where marked, on the command line."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import (
    Field,
    SerializationInfo,
    field_serializer,
    field_validator,
    model_validator,
)

from replayer.plan.lane_secrets import Secrets, put_back, shown, started, taken_out
from replayer.plan.limits import Limits, Slo, Waiting
from replayer.plan.load_shape import Flag, From1, From1OrNone, LoadShape, Strict
from replayer.plan.spread import Spread
from replayer.requests.workload import Workload
from replayer.wire.credentials import with_login
from replayer.wire.types import Json, JsonObject

Mode = Literal["recorded", "live"]
SandboxName = Literal["auto", "bubblewrap", "landlock", "container"]
WireChoice = Literal["chat", "messages", "responses", "recorded"]
ToolMode = Literal["recorded", "sandbox", "matched"]
Order = Literal["parallel", "sequential", "interleaved"]

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_NAME = re.compile(r"[\w.+@=-]+\Z")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
_OWN_HEADERS = frozenset(
    """
    host content-length content-type transfer-encoding connection accept-encoding user-agent
    """.split()
)
_SECRET_HEADER = re.compile(r"(?i)auth|cookie|secret|passw|token|api-?key")
_TIMING = re.compile(r"(asap|recorded|scaled:\d+(\.\d+)?)\Z")


class LanePlan(Strict):
    """One engine with one set of sampling settings. Where it comes from: `url`, `urls`, `launch` or `command`."""

    name: str
    """What screens, reports and the journal call the lane; no two are alike."""
    url: str | None = None
    """Where its server answers."""
    urls: tuple[str, ...] = ()
    """Several replicas of one server; sessions are spread over them."""
    launch: Literal["embedded", "simulated"] | None = None
    """An engine that replayer starts itself, instead of `url`."""
    command: tuple[str, ...] = ()
    """Starts the server that answers at `url`; it is ended after the lane's sessions."""
    kind: str | None = None
    """Which engine it is (`vllm`, `sglang`, …); detected when omitted."""
    model: str | None = None
    """The name that requests carry; the server's first model when omitted."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the API key."""
    wire: WireChoice | None = None
    """The API that requests go over; None is the plan's."""
    sampling: JsonObject = Field(default_factory=dict)
    """Sampling fields of each request; one that the kind does not have is refused."""
    extra: JsonObject = Field(default_factory=dict)
    """Request fields passed through unchecked."""
    options: JsonObject = Field(default_factory=dict)
    """Settings of an engine that replayer launches."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Sent with every request: a value, `env:VARIABLE`, or a text with `{session}` for routers that keep a session on
    one replica."""
    facts: JsonObject = Field(default_factory=dict)
    """What the user knows of this lane and the server does not tell: layout, quantisation, GPU."""
    exclusive: str | None = None
    """Lanes with the same word here, such as `gpu0`, never run at the same time."""
    resources: dict[str, float] = Field(default_factory=dict)
    """What the server that `command` starts needs of a node of a Ray cluster, e.g. GPU = 2."""
    stream: bool = True
    """False: replies come whole, and have no times between tokens."""
    on_collapse: Literal["stop", "observe"] = "stop"
    """Whether a reply that repeats itself is stopped, or left running to its own end."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Token limit of each reply; None is the plan's."""
    concurrency: From1OrNone = None
    """Sessions in flight on this lane; None is the plan's."""
    base: str | None = None
    """The lane that a matrix made this one from, and `setting` the values it took of each axis."""
    setting: JsonObject = Field(default_factory=dict)
    secrets: Secrets = Field(default_factory=dict)
    """What stood in `url`, `urls`, `command`, `sampling` and `extra` and lets someone in: JSON has only where it stood."""

    @property
    def addresses(self) -> list[str]:
        """What is dialled: with the logins."""
        places = {"url": self.url} if self.url else {f"urls/{n}": url for n, url in enumerate(self.urls)}
        logins = {place: secret.get_secret_value() for place, secret in self.secrets.items() if secret}
        return [with_login(url, logins.get(place)) for place, url in places.items()]

    @property
    def sent_fields(self) -> JsonObject:
        """`sampling` and `extra` as requests carry them."""
        sampling = put_back(self.sampling, "sampling", self.secrets)
        return sampling | put_back(self.extra, "extra", self.secrets)

    def fields(self, model: str, max_tokens: int | None, own: Mapping[str, object]) -> JsonObject:
        """The request fields that are the same for every turn of the lane; `own` are those of its kind of engine."""
        fields: JsonObject = {"model": model}
        if self.stream:
            fields["stream_options"] = {"include_usage": True}
        limit = self.max_tokens or max_tokens
        if limit is not None:
            fields["max_tokens"] = limit
        return fields | dict(own) | self.sent_fields

    @property
    def start_command(self) -> list[str]:
        """`command` with its credentials in place."""
        return started(self.command, self.secrets)

    @property
    def start_options(self) -> JsonObject:
        """`options` with their credentials in place."""
        return put_back(self.options, "options", self.secrets)

    @property
    def start_secrets(self) -> list[str]:
        """What the server that `command` starts must not write into its log."""
        found = ((place, secret) for place, secret in self.secrets.items() if place.startswith("command/"))
        return [secret.get_secret_value() for _, secret in found if secret is not None]

    @property
    def lost_secrets(self) -> list[str]:
        """Where credentials stood that the run folder does not have."""
        return [place.replace("/", ".") for place, secret in self.secrets.items() if secret is None]

    @model_validator(mode="before")
    @classmethod
    def _secrets_are_taken_out(cls, values: object) -> object:
        return taken_out(values) if isinstance(values, dict) else values

    @field_serializer("secrets", when_used="json")
    def _secrets_are_not_written(self, secrets: Secrets, info: SerializationInfo) -> dict[str, str | None]:
        return shown(secrets, reveal=bool(info.context and info.context.get("reveal")))

    @field_validator("api_key_env")
    @classmethod
    def _key_is_a_variable(cls, name: str | None) -> str | None:
        if name is not None and not _VARIABLE.match(name):
            raise ValueError(
                "what api_key_env holds is not a name of an environment variable; put the key into one"
            )
        return name

    @field_validator("headers")
    @classmethod
    def _headers_can_be_sent(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not _HEADER.match(name) or name.lower() in _OWN_HEADERS:
                raise ValueError(f"header {name!r} cannot be set")
            if not value.isprintable() or not value.isascii():
                raise ValueError(f"the value of header {name} must be printable ASCII, or env:VARIABLE")
            if _SECRET_HEADER.search(name) and not value.startswith("env:"):
                raise ValueError(
                    f"header {name} holds a secret: give it as env:VARIABLE, which is never written"
                )
        return headers

    @field_validator("name")
    @classmethod
    def _name_is_a_word(cls, name: str) -> str:
        if not _NAME.match(name):
            raise ValueError(f"lane name {name!r} must be made of letters, digits and . _ + @ = -")
        if len(name) > 200:
            raise ValueError(f"lane name {name[:40]}… has {len(name)} characters; at most 200")
        return name

    @model_validator(mode="after")
    def _has_one_source(self) -> LanePlan:
        sources = [bool(self.url or self.urls), self.launch is not None]
        if sum(sources) != 1:
            raise ValueError(f"lane {self.name!r} needs one of url, urls or launch (embedded, simulated)")
        if self.command and not self.url:
            raise ValueError(f"lane {self.name!r} has a command but no url where its server will answer")
        if self.resources and not (self.command and min(self.resources.values()) > 0):
            raise ValueError(f"lane {self.name!r}: resources are amounts over 0 for the server of a command")
        return self


class Work(Strict):
    """What is replayed, against what, how often."""

    traces: tuple[str, ...] = ()
    """What is replayed: names of shipped sessions, trace files, patterns such as `sessions/*.trace.jsonl`."""
    workload: tuple[Workload, ...] = ()
    """Sessions to generate beside the recorded ones."""
    lane: tuple[LanePlan, ...] = ()
    """The engines and settings that are compared, side by side."""
    matrix: dict[str, tuple[Json, ...]] = Field(default_factory=dict)
    """Every combination of these values becomes a lane, e.g. `sampling.temperature = [0.0, 0.7]`."""
    aa: Annotated[bool, Flag("run every lane twice, to see how much it differs from itself")] = False
    repeat: Annotated[From1, Flag("times each trace is replayed on each lane", "N")] = 1
    seed: Annotated[int, Flag("random seed", "N")] = 0

    @field_validator("matrix", mode="before")
    @classmethod
    def _matrix_keys_are_paths(cls, matrix: object) -> object:
        """`sampling.temperature = […]` is a table in a table to TOML."""
        return dict(_flat(matrix)) if isinstance(matrix, dict) else matrix

    @model_validator(mode="after")
    def _lane_names_differ(self) -> Work:
        names = [lane.name for lane in self.lane]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two lanes are named {twice[0]!r}")
        return self


class Requests(Strict):
    """How a recorded turn becomes a request."""

    mode: Annotated[Mode, Flag("recorded history (default), or the engine's own replies")] = "recorded"
    wire: Annotated[
        Literal["chat", "messages", "responses", "recorded", "all"] | None,
        Flag("which API: chat, messages, responses, as recorded, or a lane for each", "W"),
    ] = None
    """None: as recorded where the recording holds the requests, else the dialect's own, else chat."""
    dialect: Annotated[
        str, Flag("how messages are written: openai-verbatim, zed, claude-code, codex", "D")
    ] = "openai-verbatim"
    profile: Annotated[
        str | None, Flag("fills what the recording lacks: zed, claude-code, codex, filler:N", "P")
    ] = None
    transform: Annotated[
        str | None, Flag("Python function, or command, that rewrites each request's messages", "M:F")
    ] = None
    max_turns: Annotated[From1OrNone, Flag("only the first N turns of each trace", "N")] = None
    max_tokens: Annotated[From1OrNone, Flag("tokens to ask for per turn", "N")] = None
    malformed: Literal["answer", "substitute"] = "answer"
    """Live mode: an unusable reply is answered as its client would, or the recorded turn stands for it."""
    differential: Annotated[
        bool,
        Flag(
            "ask everything again in the other mode (streamed or not), to see what the engine repairs or drops"
        ),
    ] = False
    """Best at temperature 0; the second request warms the prefix cache and doubles the load."""


class ToolUse(Strict):
    """Where tool results come from, and what executes calls."""

    tools: Annotated[ToolMode, Flag("where tool results come from")] = "recorded"
    sandbox: Annotated[SandboxName, Flag("isolation; auto never picks a weaker one (docs/sandbox.md)")] = (
        "auto"
    )
    workspace: Annotated[str | None, Flag("repository for the sandbox", "DIR[@COMMIT]")] = None
    map: Annotated[dict[str, str], Flag("recorded path A is B in the sandbox", "A=B")] = Field(
        default_factory=dict
    )


class Schedule(Strict):
    """When requests are sent, and how many at a time."""

    concurrency: Annotated[From1, Flag("sessions in flight per lane", "N")] = 1
    order: Annotated[Order, Flag("how lanes take turns")] = "parallel"
    timing: Annotated[str, Flag("asap (default), recorded or scaled:X", "T")] = "asap"
    warm_up: bool = True
    """Short requests to each server first, so that what it compiles at first use is in no figure."""
    cool_down: float = Field(default=0.0, ge=0)
    """Seconds of rest between blocks of sessions: lanes that take turns, and repeats."""
    telemetry_interval: float = Field(default=1.0, gt=0)
    """Seconds between two readings of a server's own figures and of its GPUs."""
    sync_every: Annotated[
        float,
        Field(ge=0, le=threading.TIMEOUT_MAX),
        Flag("force the journal to disk every S seconds (default 5; 0: at session ends only)", "S"),
    ] = 5.0
    sync_apart: Annotated[
        float,
        Field(ge=0, le=threading.TIMEOUT_MAX),
        Flag("seconds at least between two syncs at session ends (default 0.5; 0: one at each end)", "S"),
    ] = 0.5
    load: LoadShape = LoadShape()
    """Sessions that are kept alive, instead of a list of them."""

    @field_validator("timing")
    @classmethod
    def _timing_is_known(cls, timing: str) -> str:
        if not _TIMING.match(timing):
            raise ValueError(f"timing {timing!r} is not asap, recorded or scaled:X")
        return timing

    @property
    def pace(self) -> float | None:
        """Factor on the recorded gaps between turns; None sends each turn as soon as possible."""
        if self.timing == "asap":
            return None
        return 1.0 if self.timing == "recorded" else float(self.timing.removeprefix("scaled:"))


class Judgement(Strict):
    """What counts as good, and what ends or breaks a run."""

    observe_share: float = Field(default=0.1, ge=0, le=1)
    """Seeded share of alarms that is left running, so that their precision can be measured."""
    slo: Slo | None = None
    """What a request must keep to count towards goodput."""
    limits: Limits = Limits()
    """What a run must keep to be valid."""
    fail_if: Annotated[
        tuple[str, ...],
        Flag(
            'exit 1 when it holds, e.g. "collapsed_turns > 0" or "usable_turn_rate drops by > 0.02"', "EXPR"
        ),
    ] = ()
    baseline: Annotated[
        str | None, Flag("the run that --fail-if measures changes against (default: the first lane)", "RUN")
    ] = None
    stop_when_decided: Annotated[
        str | None,
        Flag(
            "end the run early once this metric, e.g. usable_turn_rate, is decided between all lanes",
            "METRIC",
        ),
    ] = None


class Plan(Judgement, Waiting, Spread, Schedule, ToolUse, Requests, Work):
    """A whole run. Its keys are grouped by use: a function takes the group that it needs."""

    @model_validator(mode="after")
    def _resources_are_of_a_cluster(self) -> Plan:
        asking = next((lane.name for lane in self.lane if lane.resources), None)
        if asking is not None and self.ray is None:
            raise ValueError(f"lane {asking!r} asks for resources, which only a Ray cluster gives: add --ray")
        return self

    @model_validator(mode="after")
    def _state_is_live(self) -> Plan:
        if "state=on" in self.dialect and self.mode != "live":
            raise ValueError(
                "codex:state=on leaves the history to the server, which holds its own replies: give mode live"
            )
        return self

    @model_validator(mode="after")
    def _load_fits_the_rest(self) -> Plan:
        load = self.load
        if not load.asked:
            return self
        if self.order == "interleaved":
            raise ValueError('sessions that are kept alive cannot take turns: order = "interleaved"')
        if self.stop_when_decided is not None:
            raise ValueError("stop_when_decided needs a list of sessions, not a load")
        if load.duration and self.repeat > 1:
            raise ValueError("a load with a duration has no repeats: it recycles its sessions")
        if load.duration and load.warm_up >= load.duration:
            raise ValueError("the load's warm_up is not shorter than its duration")
        if load.start != "beginning" and self.mode == "live":
            raise ValueError("a live session starts at its beginning")
        return self

    def alive(self, lane: LanePlan) -> int | None:
        """Sessions that a load keeps alive on a lane; None where as many are as arrive."""
        asked = lane.concurrency or self.load.sessions
        return asked or (self.concurrency if self.load.closed else None)


def _flat(values: JsonObject, path: str = "") -> Iterator[tuple[str, Json]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value
