"""What lanes are to each other, as types: comparisons, sweeps, conclusions, and the whole document of a run."""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Literal, TypedDict

from replayer.lazy import dataclass
from replayer.metrics.documents import Better, LaneFigures, Rate
from replayer.wire.types import JsonObject

if TYPE_CHECKING:
    from replayer.journal.view_parts import ShardView


@dataclass(frozen=True, slots=True)
class Pair:
    """One comparison: b minus a. `low` and `high` are None where the sessions allow no interval."""

    a: str
    b: str
    metric: str
    better: Better
    aa: bool
    sequential: bool
    n_turns: int
    n_sessions: int
    value_a: float
    value_b: float
    difference: float
    low: float | None
    high: float | None
    p_value: float | None
    method: str
    p_value_adjusted: float | None = None
    decided: bool = False
    conclusion: str = ""
    scope: Literal["sessions", "these sessions"] = "sessions"
    """What the interval is about: sessions like these, or, below six, these sessions and no others."""
    needed: int | None = None
    needed_unit: str = ""
    needed_for: str = ""
    """The difference that so many would show in four of five such runs."""
    flips: float | None = None
    """Share of the turns that were usable on one of the two only."""
    between_runs: bool = False
    one_after_other: bool = False
    """No session of one lane was under way while one of the other was."""

    @property
    def winner(self) -> str | None:
        """The better lane; None where nothing is decided."""
        if not self.decided or self.aa:
            return None
        return self.b if (self.difference > 0) == (self.better == "higher") else self.a


@dataclass(frozen=True, slots=True)
class Ramp:
    """Throughput by requests at once, and where it saturates: nowhere, where the highest level was the first to reach the
    best. `knee` is None where the ramp does not begin at one request."""

    ramp: str
    points: list[tuple[float, float]]
    levels: int
    peak: float
    peak_at: float
    level: float
    saturated: bool
    knee: float | None
    lanes: list[str] = field(default_factory=list)
    """The lane of each point."""


@dataclass(frozen=True, slots=True)
class Level:
    """Two lanes at one answer length."""

    length: float
    value_a: float
    value_b: float
    difference: float
    low: float | None
    high: float | None
    n_sessions: int
    faster: str | None = None


Crossing = TypedDict("Crossing", {"from": str, "to": str, "after": float, "by": float, "estimate": float})
"""Where the faster lane changes between two lengths; at `estimate` the line through both differences is zero."""


@dataclass(frozen=True, slots=True)
class Crossover:
    a: str
    b: str
    levels: list[Level]
    crossovers: list[Crossing]
    conclusion: str


@dataclass(frozen=True, slots=True)
class Spread:
    """Of one figure over repeats: mean with Student's 95 % interval, standard deviation, coefficient of variation."""

    n: int
    mean: float
    sd: float
    cv: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Variance:
    lane: str
    repeats: int
    metrics: dict[str, Spread]


@dataclass(frozen=True, slots=True)
class Ranked:
    """One lane of a ranking; `toml` and `spec` are its settings to copy."""

    lane: str
    rank: int
    front: bool
    setting: JsonObject
    usable: Rate
    decode_tok_s: float | None
    collapsed_turns: int
    invalid_calls: int
    tool_calls: int
    toml: str
    spec: str | None


@dataclass(frozen=True, slots=True)
class Ranking:
    axes: list[str]
    lanes: list[Ranked]
    conclusion: str


@dataclass(frozen=True, slots=True)
class GridRow:
    """A model with its setting. `sessions`: by engine its lane and its figures by key."""

    model: str
    setting: str
    sessions: dict[str, JsonObject]
    ahead: dict[str, str | None]
    """By metric, the engine that is better than every other of the row."""


@dataclass(frozen=True, slots=True)
class ModelGrid:
    engines: list[str]
    rows: list[GridRow]


@dataclass(frozen=True, slots=True)
class ModeCount:
    """Usable replies of `n` in one mode, and how many had each fatal fault."""

    usable: int
    n: int
    faults: dict[str, int]


@dataclass(frozen=True, slots=True)
class ModeRow:
    """One wire of an engine. `differ`: prompts that one mode alone answered usably; `silent`: those whose calls one
    of the two changed or dropped, which only both together show."""

    lane: str
    engine: str
    wire: str
    streamed: ModeCount
    unstreamed: ModeCount
    differ: int
    silent: int


@dataclass(frozen=True, slots=True)
class Differential:
    """Wires x streamed or not. `same_prompts`: all rows are of the same turns."""

    same_prompts: bool
    rows: list[ModeRow]
    words: list[str]


Verdict = Literal["sound", "faults", "collapsed", "unfinished"]


@dataclass(frozen=True, slots=True)
class LaneConclusion:
    """`words` say all of it; `missing`, `reuse`, `pressure` and `bands` are the sentences in it on these, where there are any."""

    lane: str
    verdict: Verdict
    words: str
    short: str
    missing: str | None
    reuse: str | None
    pressure: str | None
    bands: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """A sentence on two lanes. `tone`: better, worse, differs (a lane from itself), or open (nothing is decided)."""

    tone: str
    metric: str | None
    words: str


@dataclass(frozen=True, slots=True)
class Answer:
    """`key` names the question for programs."""

    key: str
    question: str
    words: str


@dataclass(frozen=True, slots=True)
class Standing:
    """A lane's usable turns with their interval, and its effect against the first lane: `difference` in `metric`'s unit,
    with shares for points."""

    lane: str
    rank: int
    value: float | None
    low: float
    high: float
    n: int
    against: str | None = None
    metric: str | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    decided: bool = False


@dataclass(frozen=True, slots=True)
class Story:
    """What a run shows in ten seconds. `standings` is empty for a load plan: its lanes did different work."""

    headline: str
    answers: list[Answer]
    standings: list[Standing]

    def below(self) -> list[Answer]:
        """Under the headline, without the sentences that stand there."""
        said = set(sentences(self.headline))
        left = [
            replace(answer, words=" ".join(one for one in sentences(answer.words) if one not in said))
            for answer in self.answers
        ]
        return [answer for answer in left if answer.words]


def sentences(words: str) -> list[str]:
    return re.split(r"(?<=\.) ", words)


@dataclass(frozen=True, slots=True)
class Conclusions:
    story: Story
    sweeps: list[str]
    lanes: list[LaneConclusion]
    pairs: list[Difference]
    together: list[str]
    """The lanes' sentences where there are many lanes: those alike share one."""

    def sentences(self) -> list[str]:
        """All of them, in reading order."""
        lanes = self.together or [lane.words for lane in self.lanes]
        return [*(pair.words for pair in self.pairs), *self.sweeps, *lanes]


@dataclass(frozen=True, slots=True)
class Note:
    lane: str | None
    message: str


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The document of `report --json`."""

    run: str
    state: str
    mode: str
    tools: str
    incomplete_sessions: int
    stopped_early: str | None
    exit_code: int | None
    reasons: list[str]
    lanes: list[LaneFigures]
    warnings: list[Note]
    comparisons: list[Pair]
    saturation: list[Ramp]
    crossovers: list[Crossover]
    variance: list[Variance]
    ranking: Ranking | None
    models: ModelGrid | None
    differential: Differential | None
    conclusions: Conclusions
    shards: list[ShardView]
