"""What is lent out of a limit never adds up to more than there is, whoever asks, ends or is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.runs.leases import SMALLEST_PIECE, Leases

STEPS = st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1), st.sampled_from(["ask", "end", "lost"])), max_size=200)


@given(limit=st.floats(1, 1e9), before=st.floats(0, 1), steps=STEPS)
def test_workers_together_never_use_more_than_the_limit(
    limit: float, before: float, steps: list[tuple[int, float, str]]
) -> None:
    used_before = before * limit
    leases = Leases(limit, used_before)
    may: dict[int, float] = {}
    used: dict[int, float] = {}
    lost = 0
    for place, eager, what in steps:
        worker = place + 10 * lost  # whoever comes in place of a lost worker is another one
        used[worker] = max(used.get(worker, 0.0), eager * may.get(worker, 0.0))
        if what == "ask":
            may[worker] = leases.lend(worker, used[worker], 4) or 0.0
        elif what == "end":
            leases.give_back(worker, used[worker])
            may[worker] = used[worker]
        else:
            lost += 1
        assert used_before + sum(may.values()) <= max(limit, used_before) * (1 + 1e-9)


def test_one_worker_alone_may_use_nearly_all_of_it() -> None:
    leases = Leases(1000.0)
    used = 0.0
    while not leases.used_up:
        used = leases.lend(1, used, 1) or 0.0
    assert used >= 1000 * (1 - SMALLEST_PIECE)


def test_what_one_leaves_over_another_may_use() -> None:
    leases = Leases(1000.0)
    leases.lend(1, 0, 2)
    for _ in range(20):
        may = leases.lend(2, 1e9, 2)
    assert leases.used_up
    leases.give_back(1, 10)
    assert not leases.used_up
    assert (leases.lend(2, 1e9, 1) or 0) > (may or 0)


def test_without_a_limit_nothing_runs_out() -> None:
    leases = Leases(None, 5)
    assert leases.lend(1, 100, 1) is None
    leases.give_back(1, 100)
    assert not leases.used_up
