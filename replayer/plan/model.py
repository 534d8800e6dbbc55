"""What will be run: lanes × traces × repeats, checked before anything is sent."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from replayer.errors import PlanError
from replayer.requests.workload import Workload

Mode = Literal["recorded", "live"]
SandboxName = Literal["auto", "bubblewrap", "landlock", "container"]
ToolMode = Literal["recorded", "sandbox", "matched"]
Order = Literal["parallel", "sequential", "interleaved"]

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_NAME = re.compile(r"[\w.+@=-]+\Z")
_TIMING = re.compile(r"(asap|recorded|scaled:\d+(\.\d+)?)\Z")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LanePlan(_Strict):
    """One engine with one set of sampling settings. Where it comes from: `url`, `urls`, `launch` or `command`."""

    name: str
    url: str | None = None
    urls: tuple[str, ...] = ()
    launch: Literal["embedded", "simulated"] | None = None
    command: tuple[str, ...] = ()
    kind: str | None = None
    model: str | None = None
    api_key_env: str | None = None
    sampling: dict[str, Any] = Field(default_factory=dict)
    extra: dict[str, Any] = Field(default_factory=dict)
    """Request fields passed through unchecked."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Settings of an engine that replayer launches."""
    facts: dict[str, Any] = Field(default_factory=dict)
    """What the user knows of this lane and the server does not tell: layout, quantisation, GPU."""
    exclusive: str | None = None
    stream: bool = True
    on_collapse: Literal["stop", "observe"] = "stop"
    max_tokens: int | None = Field(default=None, gt=0)
    concurrency: int | None = Field(default=None, ge=1)
    """Sessions in flight on this lane; None is the plan's."""
    base: str | None = None
    """The lane that a matrix made this one from, and `setting` the values it took of each axis."""
    setting: dict[str, Any] = Field(default_factory=dict)

    @field_validator("api_key_env")
    @classmethod
    def _key_is_a_variable(cls, name: str | None) -> str | None:
        if name is not None and not _VARIABLE.match(name):
            raise ValueError(f"api_key_env {name!r} is no name of an environment variable")
        return name

    @field_validator("name")
    @classmethod
    def _name_is_a_word(cls, name: str) -> str:
        if not _NAME.match(name):
            raise ValueError(f"lane name {name!r} must be made of letters, digits and . _ + @ = -")
        return name

    @model_validator(mode="after")
    def _has_one_source(self) -> LanePlan:
        sources = [bool(self.url or self.urls), self.launch is not None]
        if sum(sources) != 1:
            raise ValueError(f"lane {self.name!r} needs one of url, urls or launch (embedded, simulated)")
        if self.command and not self.url:
            raise ValueError(f"lane {self.name!r} has a command but no url where its server will answer")
        return self


class Limits(_Strict):
    """When a finished run counts as broken (exit code 1)."""

    errors: float = Field(default=0.5, ge=0, le=1)
    """Largest share of a lane's turns that may end in an engine error."""
    lag_ms: float = Field(default=100.0, gt=0)
    """Largest p99 of the receiving loop's scheduling lag, in milliseconds."""


class Slo(_Strict):
    """What a request must keep to count towards goodput; a limit that is left out always holds."""

    ttft_ms: float | None = Field(default=None, gt=0)
    tpot_ms: float | None = Field(default=None, gt=0)
    e2e_ms: float | None = Field(default=None, gt=0)


class Plan(_Strict):
    """A whole run. The same keys stand in a plan file."""

    traces: tuple[str, ...] = ()
    workload: tuple[Workload, ...] = ()
    """Sessions to generate beside the recorded ones."""
    lane: tuple[LanePlan, ...] = ()
    mode: Mode = "recorded"
    tools: ToolMode = "recorded"
    sandbox: SandboxName = "auto"
    """Which isolation executes calls; weaker ones than `auto` are never chosen by themselves."""
    repeat: int = Field(default=1, ge=1)
    concurrency: int = Field(default=1, ge=1)
    """Sessions in flight per lane."""
    order: Order = "parallel"
    max_turns: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    timing: str = "asap"
    profile: str | None = None
    dialect: str = "openai-verbatim"
    workspace: str | None = None
    map: dict[str, str] = Field(default_factory=dict)
    transform: str | None = None
    matrix: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    seed: int = 0
    observe_share: float = Field(default=0.1, ge=0, le=1)
    """Seeded share of alarms that is left running, so that their precision can be measured."""
    telemetry_interval: float = Field(default=1.0, gt=0)
    warm_up: bool = True
    aa: bool = False
    cool_down: float = Field(default=0.0, ge=0)
    """Seconds of rest between blocks of sessions: lanes that take turns, and repeats."""
    malformed: Literal["answer", "substitute"] = "answer"
    """Live mode: an unusable reply is answered as its client would, or the recorded turn stands for it."""
    differential: bool = False
    """Send every request again in the other mode, streamed or not, so that silent repairs and drops show. Best at
    temperature 0; the second request warms the prefix cache and doubles the load."""
    slo: Slo | None = None
    limits: Limits = Limits()
    fail_if: tuple[str, ...] = ()
    baseline: str | None = None
    """The run that conditions on changes are measured against; None is the first lane."""
    stop_when_decided: str | None = None
    """End the run as soon as this metric is decided between all lanes."""

    @field_validator("timing")
    @classmethod
    def _timing_is_known(cls, timing: str) -> str:
        if not _TIMING.match(timing):
            raise ValueError(f"timing {timing!r} is not asap, recorded or scaled:X")
        return timing

    @field_validator("matrix", mode="before")
    @classmethod
    def _matrix_keys_are_paths(cls, matrix: Any) -> Any:
        """`sampling.temperature = […]` is a table in a table to TOML."""
        return dict(_flat(matrix)) if isinstance(matrix, dict) else matrix

    @model_validator(mode="after")
    def _lane_names_differ(self) -> Plan:
        names = [lane.name for lane in self.lane]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two lanes are named {twice[0]!r}")
        return self

    @property
    def pace(self) -> float | None:
        """Factor on the recorded gaps between turns; None sends each turn as soon as possible."""
        if self.timing == "asap":
            return None
        return 1.0 if self.timing == "recorded" else float(self.timing.removeprefix("scaled:"))


@dataclass(frozen=True, slots=True, order=True)
class Session:
    """One trace replayed on one lane, once. `repeat` counts from 0."""

    lane: str
    trace: str
    repeat: int

    @property
    def id(self) -> str:
        return f"{self.lane}/{self.trace}/{self.repeat}"


def load_plan(path: Path) -> dict[str, Any]:
    """Read a plan file (TOML). Raises PlanError naming the file and the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PlanError(f"plan file {path} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"plan file {path} cannot be read: {error}") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"plan file {path} is not valid TOML: {error}") from None


def make_plan(values: dict[str, Any], origin: str = "the plan") -> Plan:
    """Check a plan's values, expand its matrix and its A/A lanes. Raises PlanError with one sentence."""
    try:
        plan = Plan.model_validate(values)
    except ValidationError as error:
        raise PlanError(f"{origin}: {_first_problem(error)}") from None
    lanes = tuple(itertools.chain.from_iterable(_expand(lane, plan.matrix, origin) for lane in plan.lane))
    if plan.aa:
        lanes = tuple(itertools.chain.from_iterable(_twice(lane) for lane in lanes))
    return make_plan_unexpanded(plan, lanes, origin)


def make_plan_unexpanded(plan: Plan, lanes: Sequence[LanePlan], origin: str) -> Plan:
    """`plan` with these lanes, and with the generated traces after the named ones."""
    generated = [name for workload in plan.workload for name in workload.traces]
    values = plan.model_dump() | {
        "lane": [lane.model_dump() for lane in lanes],
        "traces": tuple(dict.fromkeys([*plan.traces, *generated])),
    }
    try:
        return Plan.model_validate(values | {"matrix": {}, "aa": False})
    except ValidationError as error:
        raise PlanError(f"{origin}: {_first_problem(error)}") from None


def _flat(values: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _twice(lane: LanePlan) -> Iterator[LanePlan]:
    yield lane
    base = f"{lane.base}.again" if lane.base else None
    yield lane.model_copy(update={"name": f"{lane.name}.again", "base": base})


def _expand(lane: LanePlan, matrix: dict[str, tuple[Any, ...]], origin: str) -> Iterator[LanePlan]:
    """Every combination of the matrix becomes a lane; a key is a dotted path such as `sampling.temperature`.

    Paths joined with `+` take the same value. A lane that varies its load takes turns with itself.
    """
    if not matrix:
        yield lane
        return
    for values in itertools.product(*matrix.values()):
        setting = {_axis(key): value for key, value in zip(matrix, values, strict=True)}
        changed = lane.model_dump()
        for key, value in zip(matrix, values, strict=True):
            for path in key.split("+"):
                _set(changed, path.removeprefix("lane."), value, origin)
        suffix = "".join(f"+{name}={value}" for name, value in setting.items())
        changed |= {
            "name": lane.name + re.sub(r"[^\w.+@=-]", "-", suffix),
            "base": lane.name,
            "setting": setting,
        }
        if "concurrency" in setting:
            changed["exclusive"] = lane.exclusive or lane.name
        try:
            yield LanePlan.model_validate(changed)
        except ValidationError as error:
            raise PlanError(f"{origin}: matrix: {_first_problem(error)}") from None


def _axis(key: str) -> str:
    """The short name of a matrix key: the last word of its path, or of the first of several."""
    return key.partition("+")[0].rpartition(".")[2]


def _set(values: dict[str, Any], dotted: str, value: Any, origin: str) -> None:
    head, _, rest = dotted.partition(".")
    if head not in LanePlan.model_fields:
        raise PlanError(
            f"{origin}: matrix key {dotted!r} is not a lane setting{_hint(head, LanePlan.model_fields)}"
        )
    if rest:
        values[head] = {**values[head], rest: value}
    else:
        values[head] = value


def _first_problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        key = str(problem["loc"][-1])
        known = _known_keys(problem["loc"])
        return f"unknown key {where!r}{_hint(key, known)}"
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    return f"{where}: {problem['msg'].lower()}"


_TABLES: dict[str, type[BaseModel]] = {"limits": Limits, "slo": Slo, "workload": Workload}


def _known_keys(loc: tuple[int | str, ...]) -> list[str]:
    model: type[BaseModel] = Plan
    if loc[0] == "lane" and len(loc) > 2:
        model = LanePlan
    elif len(loc) > 1 and loc[0] in _TABLES:
        model = _TABLES[str(loc[0])]
    return list(model.model_fields)


def _hint(key: str, known: Sequence[str] | dict[str, Any]) -> str:
    near = get_close_matches(key, list(known), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(known))}"


def sessions(plan: Plan, traces: Sequence[str]) -> list[Session]:
    """All sessions of a plan, repeat by repeat, so that an early end leaves whole comparisons."""
    return [
        Session(lane.name, trace, repeat)
        for repeat in range(plan.repeat)
        for trace in traces
        for lane in plan.lane
    ]


def batches(plan: Plan, todo: Sequence[Session]) -> list[list[list[Session]]]:
    """The order of work: phases one after another, each a set of queues that run at the same time.

    `parallel`: one queue per lane, lanes of one `exclusive` group in blocks. `sequential`: lane after lane, repeat
    after repeat. `interleaved`: one session at a time, A B B A, so that drift hits both lanes alike.
    """
    if plan.order == "interleaved":
        return _interleaved(plan, todo)
    if plan.order == "sequential":
        return [[queue] for lane in plan.lane for queue in _by_repeat(lane, todo)]
    by_lane = {lane.name: [session for session in todo if session.lane == lane.name] for lane in plan.lane}
    phases = _parallel(plan, by_lane)
    return [part for phase in phases for part in _rested(phase)] if plan.cool_down else phases


def _by_repeat(lane: LanePlan, todo: Sequence[Session]) -> list[list[Session]]:
    mine = [session for session in todo if session.lane == lane.name]
    return [
        [session for session in mine if session.repeat == n]
        for n in sorted({session.repeat for session in mine})
    ]


def _rested(phase: list[list[Session]]) -> Iterator[list[list[Session]]]:
    """A phase repeat by repeat, so that there is a moment to rest in."""
    for repeat in sorted({session.repeat for queue in phase for session in queue}):
        parts = [[session for session in queue if session.repeat == repeat] for queue in phase]
        yield [part for part in parts if part]


def _interleaved(plan: Plan, todo: Sequence[Session]) -> list[list[list[Session]]]:
    order: list[list[list[Session]]] = []
    for _, group in itertools.groupby(todo, key=lambda session: (session.repeat, session.trace)):
        lanes = list(group)
        order.append([lanes if len(order) % 2 == 0 else lanes[::-1]])
    exclusive = {lane.name for lane in plan.lane if lane.exclusive}
    blocks = [[[c for c in todo if c.lane == name]] for name in sorted(exclusive)]
    open_lanes = [[[c for c in queue if c.lane not in exclusive] for queue in phase] for phase in order]
    return [phase for phase in [*open_lanes, *blocks] if any(phase)]


def _parallel(plan: Plan, by_lane: dict[str, list[Session]]) -> list[list[list[Session]]]:
    groups: dict[str, list[list[Session]]] = {}
    for lane in plan.lane:
        if by_lane[lane.name]:
            groups.setdefault(lane.exclusive or f"/{lane.name}", []).append(by_lane[lane.name])
    phases = itertools.zip_longest(*groups.values())
    return [[queue for queue in phase if queue] for phase in phases]
