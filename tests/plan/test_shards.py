"""Sessions dealt out to processes: nothing lost, nothing double, whatever their number."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from replayer.plan.schedule import Session, Share, shards

SESSIONS = st.lists(
    st.builds(
        Session, lane=st.sampled_from("ab"), trace=st.text("xyz#1", min_size=1), repeat=st.integers(0, 4)
    ),
    unique=True,
)


@given(SESSIONS, st.integers(1, 9))
def test_the_parts_hold_every_session_once(todo: list[Session], n: int) -> None:
    parts = shards(todo, n)
    assert len(parts) == n
    assert sorted(itertools.chain.from_iterable(parts)) == sorted(todo)
    assert parts == shards(todo, n)


@given(SESSIONS, st.integers(1, 9))
def test_lanes_of_one_tree_stay_together_and_parts_are_even(todo: list[Session], n: int) -> None:
    trees = [{(session.trace, session.repeat) for session in part} for part in shards(todo, n)]
    assert sum(map(len, trees)) == len(set().union(*trees))
    assert max(map(len, trees)) - min(map(len, trees)) <= 1


@given(st.lists(st.integers(), max_size=40), st.integers(0, 50), st.integers(1, 9))
def test_shares_add_up(coming: list[int], alive: int, n: int) -> None:
    shares = [Share(number, n) for number in range(n)]
    assert sum(share.part(alive) for share in shares) == alive
    dealt = [list(share.deal(coming)) for share in shares]
    assert sorted(itertools.chain.from_iterable(dealt)) == sorted(coming)
