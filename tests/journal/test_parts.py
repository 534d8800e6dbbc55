"""A run whose journal has parts: one for each process that drove a share of its sessions."""

from pathlib import Path

from replayer.journal.events import RunStarted, SessionStarted, ShardClock, TurnStarted, Warned
from replayer.journal.log import JournalWriter, Reading, read
from replayer.journal.parts import facts, part_folder
from replayer.journal.salvage import salvaged
from replayer.journal.view import Fold, fold_from, load

SECOND = 1_000_000_000


def shard(folder: Path, number: int, *, ahead_s: float, at_s: float) -> None:
    """A part with one turn, sent 10 s after the run's begin, by clocks that are ahead."""
    own = part_folder(folder, number)
    own.mkdir(parents=True)
    ahead, shift = round(ahead_s * SECOND), round((10 - at_s) * SECOND)
    journal = JournalWriter(own)
    clock = ShardClock(shard=number, pid=7, host="h", ahead_ns=ahead, shift_ns=shift, bound_ns=50_000)
    session = f"a/t/{number}"
    at = round(at_s * SECOND)
    journal.append(clock.model_copy(update={"at": at - SECOND}))
    journal.append(
        SessionStarted(
            at=at, session=session, attempt=1, lane="a", trace="t", repeat=number, turns=1, mode="recorded",
            tools="recorded", cache_reset="no",
        )
    )  # fmt: skip
    turn = {"session": session, "attempt": 1, "turn": 0, "recorded_turn": 0, "body_bytes": 1}
    journal.append(TurnStarted(at=at + number, wall=110 + ahead_s, **turn))  # type: ignore[arg-type]
    journal.close()


def run(folder: Path) -> Path:
    folder.mkdir()
    journal = JournalWriter(folder)
    plan = {"lane": [{"name": "a"}], "traces": ["t"], "repeat": 2}
    journal.append(RunStarted(at=1, run_id="r", wall=100.0, version="0", plan=plan, turns={"t": 1}))
    shard(folder, 1, ahead_s=1.0, at_s=500)
    shard(folder, 2, ahead_s=-1.0, at_s=3)
    journal.append(Warned(at=20 * SECOND, message="last"))
    journal.close()
    return folder


def test_events_come_by_the_time_of_the_run_whatever_the_shards_clocks_say(tmp_path: Path) -> None:
    events = list(read(run(tmp_path / "run")))
    assert [event.at for event in events] == sorted(event.at for event in events)
    turns = [event for event in events if isinstance(event, TurnStarted)]
    assert [(turn.session, turn.at, turn.wall) for turn in turns] == [
        ("a/t/1", 10 * SECOND + 1, 110.0),
        ("a/t/2", 10 * SECOND + 2, 110.0),
    ]
    assert isinstance(events[0], RunStarted) and isinstance(events[-1], Warned)


def test_whoever_reads_on_gets_what_is_new_of_every_part(tmp_path: Path) -> None:
    reading, fold = Reading(run(tmp_path / "run")), Fold()
    for count, _ in enumerate(fold_from(reading, fold), 1):
        if count == 4:
            break
    rest = sum(1 for _ in fold_from(reading, fold))
    assert count + rest == 8 and not list(reading.events())
    shard(reading.folder, 3, ahead_s=0.0, at_s=0)
    assert len(list(reading.events())) == 3


def test_plain_values_have_the_run_s_wall_time(tmp_path: Path) -> None:
    walls = [fact["wall"] for fact in facts(run(tmp_path / "run")) if fact["type"] == "turn_started"]
    assert walls == [110.0, 110.0]


def test_a_torn_part_is_read_as_far_as_it_goes_and_salvaged_beside_the_others(tmp_path: Path) -> None:
    folder = run(tmp_path / "run")
    journal = part_folder(folder, 2) / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-9])
    assert sum(isinstance(event, TurnStarted) for event in read(folder)) == 1
    assert [(view.shard, view.clock_bound_ms) for view in load(folder).shards] == [(1, 0.05), (2, 0.05)]
    with salvaged(folder) as found:
        assert len([loss for loss in found.losses if loss.startswith("shards/2, line 3")]) == 1
        assert sum(isinstance(event, SessionStarted) for event in read(found.folder)) == 2
