"""Each draw has its own random numbers, the same in every run."""

from __future__ import annotations

from assay.core.types import Draw, Request
from assay.models.draw_seed import seed_of_draw


def test_each_draw_has_its_own_seed_and_keeps_it() -> None:
    requests = [
        Request(prompt="q", seed=seed, attempt=attempt, draw=Draw(sample=sample, repetition=repetition, n=n))
        for seed in (None, 1)
        for attempt in (1, 2)
        for sample in "ab"
        for repetition in (1, 2)
        for n in (1, 2)
    ]
    seeds = [seed_of_draw(request) for request in requests]
    assert len({*seeds}) == len(requests)
    assert seeds == [seed_of_draw(request) for request in requests]
    assert all(0 <= seed < 2**63 for seed in seeds)
