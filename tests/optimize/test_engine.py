"""What the engine is kept from doing, and that it makes no difference to a search."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import pytest
from gepa.core.engine import GEPAEngine
from gepa.strategies.candidate_selector import ParetoCandidateSelector
from tests.optimize.regex_problem import regex_search
from tests.optimize.scripted import AddingProposer, WordEvaluator

from assay.optimize.engine import _pareto_selector
from assay.optimize.run import SearchSettings, optimize


class Candidates:
    """As much of the engine's state as choosing one needs."""

    def __init__(self) -> None:
        self.program_candidates: list[dict[str, str]] = []
        self.per_program_tracked_scores: list[float] = []
        self._front: dict[int, set[int]] = {}

    @property
    def program_full_scores_val_set(self) -> list[float]:
        return self.per_program_tracked_scores

    def get_pareto_front_mapping(self) -> dict[int, set[int]]:
        return self._front

    def add(self, chance: Random) -> None:
        number = len(self.program_candidates)
        self.program_candidates.append({"text": str(number)})
        self.per_program_tracked_scores.append(chance.random())
        for example in range(8):
            self._front[example] = {number} if chance.random() < 0.3 else {*self._front.get(example, ()), number}


def test_a_front_that_is_worked_out_once_gives_the_choices_of_the_engines_own_selector() -> None:
    state: Any = Candidates()
    ours, theirs = _pareto_selector()(Random(7), lambda: False), ParetoCandidateSelector(Random(7))
    chance = Random(1)
    for round_ in range(60):
        if round_ % 4 == 0:
            state.add(chance)
        assert ours.select_candidate_idx(state) == theirs.select_candidate_idx(state)


def test_after_a_repeat_another_parent_is_chosen_where_there_is_one() -> None:
    state: Any = Candidates()
    chance = Random(1)
    repeated = False
    selector = _pareto_selector()(Random(7), lambda: repeated)
    state.add(chance)
    assert {selector.select_candidate_idx(state) for _ in range(20)} == {0}
    repeated = True
    assert {selector.select_candidate_idx(state) for _ in range(20)} == {0}, "the only one"
    state.add(chance)
    state.add(chance)
    state._front = {0: {0}, 1: {1}, 2: {1}, 3: {2}}
    chosen = [selector.select_candidate_idx(state) for _ in range(60)]
    assert {*chosen} == {0, 1, 2}
    assert all(one != next_one for one, next_one in pairwise(chosen))


@pytest.mark.parametrize("seeds", [3, pytest.param(20, marks=pytest.mark.prove)])
def test_a_search_that_repeats_itself_often_uses_its_budget_and_finds_more(tmp_path: Path, seeds: int) -> None:
    searches = [regex_search(tmp_path / f"{seed}", seed) for seed in range(seeds)]
    assert {each.stop_reason for each in searches} == {"budget"}
    asked_more = max(each.proposer_calls for each in searches)
    assert asked_more <= 300, "the proposer is not called more often than the evaluator may be"
    if seeds == 20:
        # 0.531 when four repeats in a row ended a search, as they did in 14 of the 20
        assert fmean(each.test_score for each in searches) > 0.7


def test_the_tree_of_candidates_is_drawn_for_others_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    drawn: list[object] = []
    monkeypatch.setattr("gepa.visualization.candidate_tree_html", drawn.append)
    settings = SearchSettings(seed="Be", dataset=[{"n": n} for n in range(6)], holdout=0.0, budget=60)
    result = optimize(settings, WordEvaluator(), AddingProposer(), folder=tmp_path / "search", probe=False)
    assert result.proposals["accepted"]
    assert not drawn
    other: Any = SimpleNamespace(
        logger=object(), run_dir=None, experiment_tracker=SimpleNamespace(log_html=lambda *_, **__: None)
    )
    GEPAEngine._log_candidate_tree(other, "state")  # type: ignore[arg-type]
    assert drawn == ["state"]
