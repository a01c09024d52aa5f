"""Ranking of many models: ties, gaps, scales, and ranks that say what the data cannot tell."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.stats.ranking import normalised, rank_ranges, ranks, standings


def by_model(found):
    return {each.model: each for each in found}


def test_standings_textbook_example():
    scores = {
        "ant": {"arith": 0.9, "code": 0.2},
        "bee": {"arith": 0.8, "code": 0.6},
        "cow": {"arith": 0.8, "code": 0.4},
    }
    found = by_model(standings(scores))
    # arith: 1, 2.5, 2.5; code: 3, 1, 2
    assert [found[model].mean_rank for model in ("ant", "bee", "cow")] == [2.0, 1.75, 2.25]
    assert [found[model].win_rate for model in ("ant", "bee", "cow")] == [0.5, 0.625, 0.375]
    assert found["bee"].score == pytest.approx(0.7)
    assert [each.model for each in standings(scores)] == ["bee", "ant", "cow"]


def test_a_missing_score_is_neither_last_nor_zero():
    found = by_model(standings({"ant": {"a": 0.9, "b": None}, "bee": {"a": 0.5, "b": 0.3}, "cow": {}}))
    assert (found["ant"].tasks, found["ant"].mean_rank, found["ant"].win_rate) == (1, 1.0, 1.0)
    assert (found["cow"].tasks, found["cow"].mean_rank, found["cow"].win_rate) == (0, None, None)
    assert found["ant"].score is None
    assert standings({}) == []


def test_chance_and_scale_do_not_dominate():
    scores = {"ant": {"quiz": 0.25, "essay": 0.74}, "bee": {"quiz": 1.0, "essay": 0.72}}
    found = by_model(standings(scores, chance={"quiz": 0.25}))
    assert found["ant"].score == pytest.approx((0.0 + 0.74) / 2)
    z = by_model(standings(scores, normalisation="z"))
    assert z["ant"].score == pytest.approx(0.0)
    assert normalised([0.3, 0.3], "z").tolist() == [0.0, 0.0]
    assert normalised([0.3, 0.5], "none").tolist() == [0.3, 0.5]
    with pytest.raises(ValueError, match="below 1"):
        normalised([0.5], "chance", 1.0)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_ranks_equal_scipy(values):
    assert ranks(values).tolist() == stats.rankdata(-np.array(values)).tolist()


def test_models_the_data_cannot_tell_apart_share_a_range():
    random = np.random.default_rng(1)
    chances = np.array([0.8, 0.79, 0.3])
    tasks = [(random.random((200, 3)) < chances).astype(float) for _ in range(3)]
    found = by_model(rank_ranges(["ant", "bee", "cow"], tasks))
    assert (found["ant"].text, found["bee"].text, found["cow"].text) == ("1–2", "1–2", "3")


def test_twins_are_never_told_apart():
    scores = (np.random.default_rng(2).random((50, 1)) < 0.5).astype(float)
    twins = np.hstack([scores, scores])
    assert [each.text for each in rank_ranges(["a", "b"], [twins])] == ["1–2", "1–2"]


def test_a_clear_order_is_ranked():
    random = np.random.default_rng(3)
    matrix = random.normal([3.0, 2.0, 1.0, 0.0], 0.5, size=(100, 4))
    names = ["a", "b", "c", "d"]
    assert [(each.model, each.text) for each in rank_ranges(names, [matrix], normalisation="none")] == [
        ("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"),
    ]  # fmt: skip


def test_rank_ranges_hold_the_true_rank_as_often_as_they_say():
    random = np.random.default_rng(4)
    held = 0
    for _ in range(300):
        matrix = (random.random((120, 3)) < [0.7, 0.65, 0.6]).astype(float)
        held += sum(
            each.low <= "abc".index(each.model) + 1 <= each.high for each in rank_ranges("abc", [matrix], resamples=2)
        )
    assert held / 900 >= 0.95


def test_a_matrix_with_holes_is_refused():
    with pytest.raises(ValueError, match="samples × 2 matrix"):
        rank_ranges(["a", "b"], [[[0.1]]])
    with pytest.raises(ValueError, match="every model needs a score"):
        rank_ranges(["a", "b"], [[[0.1, float("nan")]]])


def test_clustered_samples_widen_the_ranges_and_the_naive_ones_are_too_narrow():
    random = np.random.default_rng(6)
    groups = np.repeat(np.arange(20), 15)
    sets, held, naive = 300, 0, 0
    for _ in range(sets):
        # two models as good as each other; what separates them is shared within a cluster
        leaning = random.normal(0.0, 0.25, size=(20, 2))[groups]
        matrix = (random.random((300, 2)) < 0.6 + leaning).astype(float)
        held += rank_ranges("ab", [matrix], groups=[groups], resamples=2)[0].text == "1–2"
        naive += rank_ranges("ab", [matrix], resamples=2)[0].text == "1–2"
    assert held / sets >= 0.93
    assert naive / sets < 0.8


def test_win_rates_mean_ranks_and_normalised_scores_have_ranges_too():
    random = np.random.default_rng(8)
    tasks = [(random.random((150, 3)) < [0.8, 0.78, 0.3]).astype(float) for _ in range(4)]
    found = by_model(rank_ranges("abc", tasks, normalisation="z"))
    assert found["c"].win_rate == (0.0, 0.0)
    assert found["c"].mean_rank == (3.0, 3.0)
    low, high = found["a"].win_rate
    assert 0.5 <= low < high <= 1.0
    by_chance = by_model(rank_ranges("abc", tasks, normalisation="chance", chance=[0.5] * 4))
    assert by_chance["a"].normalised[0] > 0.0 > by_chance["c"].normalised[1]


def test_z_scores_have_no_interval():
    """Two models are always +1 and −1, whatever the data say; resampling that would give a width of 0."""
    tasks = [(np.random.default_rng(9).random((40, 2)) < 0.5).astype(float)]
    assert [each.normalised for each in rank_ranges("ab", tasks, normalisation="z")] == [None, None]


def test_one_cluster_cannot_be_ranked_by():
    with pytest.raises(ValueError, match="no spread to rank by"):
        rank_ranges("ab", [np.eye(2)], groups=[["same", "same"]])


def test_a_handful_of_samples_ranks_no_model():
    """All four samples that differ favour the first model: one pattern of signs in eight, as `assay diff` says too."""
    capitals, polite = [[1, 0], [1, 0], [1, 1]], [[1, 0], [1, 0]]
    assert [each.text for each in rank_ranges(["a", "b"], [capitals, polite])] == ["1–2", "1–2"]


def test_only_those_who_cannot_be_told_apart_share_a_place():
    """The first two differ on three samples, and both leave the third behind on thirty."""
    rows = [[1, 1, 0]] * 30 + [[1, 0, 0]] * 3
    assert [each.text for each in rank_ranges(["a", "b", "c"], [rows])] == ["1–2", "1–2", "3"]


def test_six_wins_and_no_loss_are_enough():
    assert [each.text for each in rank_ranges(["a", "b"], [[[1, 0]] * 6])] == ["1", "2"]
