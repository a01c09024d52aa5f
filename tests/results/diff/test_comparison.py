"""A comparison pairs by sample, finds what is there, says what it could not have found, refuses unequal cover."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from scipy import stats as scipy_stats
from tests.results.board.scripted_boards import write_run
from tests.results.runs import Adder, Broken, run_into, write_sums

from assay.core.errors import UsageError
from assay.core.types import PartSpec, Score
from assay.pages.documents.diff import diff_document
from assay.pages.markdown import markdown
from assay.results.board.board_types import write_leaderboard_file
from assay.results.board.leaderboard import build_leaderboard
from assay.results.diff.comparison import diff
from assay.results.diff.differences import BoardDiff
from assay.results.report_settings import View
from assay.stats.paired import compare


def test_a_run_does_not_differ_from_itself(runs: Path) -> None:
    found = diff(runs / "a", runs / "a")
    assert found.verdict.startswith("no difference")
    assert [task.verdict for task in found.tasks] == ["no difference", "no difference"]
    assert all(task.comparison is not None and task.comparison.p_value == 1.0 for task in found.tasks)
    assert "no difference" in markdown(diff_document(found))


def test_a_planted_drop_of_two_points_is_found_on_two_thousand_pairs_and_not_on_fifty(runs: Path) -> None:
    found = diff(runs / "a", runs / "b")
    few, sums = found.tasks
    assert sums.comparison is not None
    assert few.comparison is not None
    assert sums.comparison.difference == pytest.approx(-0.02)
    assert sums.significant
    assert sums.comparison.interval.high is not None
    assert sums.comparison.interval.high < 0
    assert (sums.comparison.wins, sums.comparison.losses, sums.comparison.ties) == (0, 40, 1960)
    assert sums.comparison.p_value == pytest.approx(scipy_stats.binomtest(40, 40).pvalue, rel=1e-9)
    assert found.verdict.startswith("B is worse on sums")
    assert not few.significant
    # at the corrected level: 0.05 / 3
    assert "50 pairs detect a true difference of 0.176 with 80 % power" in few.verdict
    assert "detecting one of 0.020 takes about 453" in few.verdict


def test_clusters_by_a_key_that_no_sample_has_are_reported(runs: Path, tmp_path: Path) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in files:
        write_leaderboard_file(path, build_leaderboard(runs / path.stem, View(per_example=True)))
    for a, b in ((runs / "a", runs / "b"), files):
        text = markdown(diff_document(diff(a, b, View(group_by="dificulty"))))
        assert "--group-by metadata.dificulty: no sample has this key" in text
        assert "--group-by" not in markdown(diff_document(diff(a, b, View(group_by="difficulty"))))


def test_p_values_are_corrected_for_the_number_of_comparisons(runs: Path) -> None:
    found = diff(runs / "a", runs / "b")
    assert found.comparisons == 3
    raw = [task.comparison.p_value for task in found.tasks if task.comparison is not None]
    assert found.tasks[1].adjusted_p == pytest.approx(3 * raw[1])


def test_flips_show_both_answers_with_the_largest_losses_first(runs: Path) -> None:
    sums = diff(runs / "a", runs / "b", samples=2).tasks[1]
    assert (sums.flips, len(sums.shown)) == (40, 2)
    flip = sums.shown[0]
    assert (flip.id, flip.prediction_a, flip.prediction_b, flip.targets) == ("s7", "8", "no idea", ("8",))
    assert (flip.score_a, flip.score_b, flip.same_prompt) == (1.0, 0.0, True)


def test_slices_are_compared_one_by_one(runs: Path) -> None:
    sums = diff(runs / "a", runs / "b", View(by=("difficulty",))).tasks[1]
    assert [(each.value, each.comparison.n, each.significant) for each in sums.slices] == [
        ("easy", 1000, False),
        ("hard", 1000, True),
    ]


def test_unequal_coverage_is_refused_unless_allowed(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 20)
    run_into(tmp_path / "a", tasks, Adder())
    run_into(tmp_path / "b", tasks, Broken([3, 4, 5], wrong=[1]))
    with pytest.raises(UsageError, match=r"sums: 3 scored only in A, 17 in both.*--allow-unequal"):
        diff(tmp_path / "a", tmp_path / "b")
    found = diff(tmp_path / "a", tmp_path / "b", allow_unequal=True)
    assert (found.tasks[0].compared, found.tasks[0].only_a, found.unequal) == (
        17,
        3,
        ["sums: 3 scored only in A, 17 in both"],
    )
    assert "Not covered by both" in markdown(diff_document(found))


def test_a_task_that_only_one_result_has_is_unequal_coverage(tmp_path: Path) -> None:
    write_sums(tmp_path / "one", "sums", 5)
    write_sums(tmp_path / "two", "sums", 5)
    write_sums(tmp_path / "two", "more", 5)
    run_into(tmp_path / "a", tmp_path / "one", Adder())
    run_into(tmp_path / "b", tmp_path / "two", Adder())
    with pytest.raises(UsageError, match="task `more` is only in B"):
        diff(tmp_path / "a", tmp_path / "b")


def test_another_answer_key_is_refused_and_with_allow_unequal_its_samples_compare_nothing(tmp_path: Path) -> None:
    """Ten targets are edited so that ten wrong answers become right, while eight of the thirty others are lost."""
    tasks = write_sums(tmp_path, "sums", 40)
    run_into(tmp_path / "a", tasks, Adder(range(10)))
    lines = [msgspec.json.decode(line) for line in tasks.read_bytes().splitlines()]
    for line in lines[:10]:
        line["targets"] = ["wrong"]
    tasks.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    run_into(tmp_path / "b", tasks, Adder(range(18)))
    with pytest.raises(UsageError, match=r"sums: 10 with other targets, 30 in both.*--allow-unequal"):
        diff(tmp_path / "a", tmp_path / "b")
    [task] = diff(tmp_path / "a", tmp_path / "b", allow_unequal=True).tasks
    assert task.comparison is not None
    assert (task.compared, task.comparison.wins, task.comparison.losses) == (30, 0, 8)
    assert (task.score_a, task.score_b) == pytest.approx((1.0, 22 / 30))
    assert task.significant


def test_a_change_of_what_answers_are_scored_by_is_refused_where_no_target_shows_it(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 6)
    run_into(tmp_path / "a", tasks, Adder())
    lines = [msgspec.json.decode(line) for line in tasks.read_bytes().splitlines()]
    lines[0]["extras"] = {"note": "another way to be right"}
    tasks.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    run_into(tmp_path / "b", tasks, Adder())
    with pytest.raises(UsageError, match="sums: its content changed, and whether what counts as right"):
        diff(tmp_path / "a", tmp_path / "b")
    assert diff(tmp_path / "a", tmp_path / "b", allow_unequal=True).tasks[0].compared == 6


def test_scores_next_to_a_difference_over_shared_samples_are_over_those_samples(tmp_path: Path) -> None:
    """A misses the second half; B has the first half only, and missed two."""
    write_sums(tmp_path / "tasks", "sums", 20)
    write_sums(tmp_path / "tasks", "more", 10)
    run_into(tmp_path / "a", tmp_path / "tasks", Adder(range(10, 20)))
    run_into(tmp_path / "b", tmp_path / "tasks", Adder(range(2)), limit=10)
    found = diff(tmp_path / "a", tmp_path / "b", allow_unequal=True)
    for task in found.tasks:
        assert task.comparison is not None
        assert (task.score_a, task.score_b) == (1.0, 0.8)
        assert task.comparison.difference == pytest.approx(-0.2)
    assert (found.overall_a, found.overall_b) == (1.0, 0.8)
    assert found.overall is not None
    assert found.overall_change == pytest.approx(found.overall.difference)
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for name, path in zip("ab", files, strict=True):
        write_leaderboard_file(path, build_leaderboard(tmp_path / name, View(per_example=True)))
    of_files = diff(*files, allow_unequal=True)
    assert [(task.score_a, task.score_b) for task in of_files.tasks] == [(1.0, 0.8)] * 2


def test_results_without_a_task_in_common_have_no_overall_difference(tmp_path: Path) -> None:
    run_into(tmp_path / "a", write_sums(tmp_path, "sums", 4), Adder([1]))
    run_into(tmp_path / "b", write_sums(tmp_path, "more", 4), Adder())
    found = diff(tmp_path / "a", tmp_path / "b", allow_unequal=True)
    assert (found.overall_a, found.overall_b, found.overall_change, found.overall) == (None, None, None, None)
    assert [task.verdict for task in found.tasks] == ["only in A: nothing to compare", "only in B: nothing to compare"]
    assert found.per_example, "both have records, only of different tasks"


def test_graded_scores_are_compared_by_a_test_that_reckons_with_an_unseen_loss(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 40, metric="rouge_l")
    run_into(tmp_path / "a", tasks, Adder(says="1 or 2"))
    half = [*range(0, 40, 2)]
    run_into(tmp_path / "b", tasks, Halfway(half))
    found = diff(tmp_path / "a", tmp_path / "b")
    assert found.tasks[0].comparison is not None
    assert found.tasks[0].comparison.test == "guarded-t"
    assert found.tasks[0].significant


class Halfway(Adder):
    """Adds a word too many, which costs half of an overlap score."""

    def generate(self, prompts: list[str]) -> list[str]:
        right = Adder().generate(prompts)
        said = super().generate(prompts)
        return [f"{good} surely" if now == "no idea" else good for good, now in zip(right, said, strict=True)]


def test_repetitions_of_a_sample_are_compared_by_their_mean(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 30)
    run_into(tmp_path / "a", tasks, Adder(), repeat=3)
    run_into(tmp_path / "b", tasks, Adder([1, 2, 3, 4]), repeat=3)
    comparison = diff(tmp_path / "a", tmp_path / "b").tasks[0].comparison
    assert comparison is not None
    # four questions went wrong, not twelve
    assert (comparison.n, comparison.losses, comparison.p_value) == (30, 4, 0.125)


def test_runs_with_other_numbers_of_repetitions_cover_the_same_samples(tmp_path: Path) -> None:
    """Whichever attempt failed: the numbering of attempts means nothing."""
    for name, attempts in {"a": [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], "b": [[1.0], [1.0]]}.items():
        write_run(tmp_path / name, {"q": attempts})
    found = diff(tmp_path / "a", tmp_path / "b")
    [task] = found.tasks
    assert task.comparison is not None
    assert (task.compared, task.only_a, task.only_b, found.unequal) == (2, 0, 0, [])
    assert task.comparison.difference == pytest.approx(1.0 - (2 / 3 + 1 / 3) / 2)
    assert [(each.score_a, each.score_b) for each in task.shown] == [(0.0, 1.0), (0.0, 1.0)]


def scripted_diff(folder: Path, tasks: dict[str, tuple[list[float], list[float]]]) -> BoardDiff:
    for at, side in enumerate("ab"):
        write_run(folder / side, {name: [[score] for score in scores[at]] for name, scores in tasks.items()})
    return diff(folder / "a", folder / "b")


def test_five_graded_pairs_find_nothing(tmp_path: Path) -> None:
    task = scripted_diff(tmp_path, {"q": ([0.9, 0.95, 0.9, 1.0, 0.92], [0.1, 0.05, 0.1, 0.0, 0.2])}).tasks[0]
    assert task.comparison is not None
    assert task.comparison.p_value > 0.05
    assert task.comparison.minimum_detectable_effect is None
    assert task.comparison.interval.low is not None
    assert task.comparison.interval.low >= -1.0


def test_a_collapse_in_few_groups_is_no_verdict_and_a_gate_says_so(tmp_path: Path) -> None:
    """96 of 100 answers lost in four groups: one more group that gained as much is not excluded by four."""
    tasks = write_sums(tmp_path, "sums", 100, metadata=lambda n: {"group": str(n % 4)})
    run_into(tmp_path / "a", tasks, Adder())
    run_into(tmp_path / "b", tasks, Adder(range(4, 100)))
    [task] = diff(tmp_path / "a", tmp_path / "b").tasks
    assert task.comparison is not None
    assert (task.comparison.clusters, task.significant) == (4, False)
    assert task.drop is not None
    assert (task.drop.significant, task.drop.can_tell) == (False, False)


def test_a_drop_is_tested_on_its_side_and_says_when_it_could_not_be_found(tmp_path: Path) -> None:
    found = scripted_diff(
        tmp_path,
        {
            "few": ([1.0] * 5, [0.0] * 5),
            "many": ([1.0] * 50, [1.0] * 50),
            "low": ([1.0] * 4 + [0.0] * 46, [0.0] * 50),
            "floor": ([0.0] * 50, [0.0] * 50),
        },
    )
    drops = {task.task: task.drop for task in found.tasks if task.drop is not None}
    assert drops["few"].adjusted_p == drops["few"].attainable == pytest.approx(4 * 2**-5)
    assert {name: each.can_tell for name, each in drops.items()} == {
        "few": False,
        "many": True,
        "low": False,
        "floor": True,
    }
    assert not any(each.significant for each in drops.values())
    assert found.overall is not None
    assert found.overall.drop is not None
    # nine pairs, all lost
    assert found.overall.drop.significant


def test_groups_cluster_too(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 40, metadata=lambda n: {"group": str(n // 10), "page": str(n // 20)})
    run_into(tmp_path / "a", tasks, Adder())
    run_into(tmp_path / "b", tasks, Adder(range(10)))
    by_group = diff(tmp_path / "a", tmp_path / "b").tasks[0].comparison
    by_page = diff(tmp_path / "a", tmp_path / "b", View(group_by="page")).tasks[0].comparison
    assert by_group is not None
    assert by_page is not None
    assert by_group.p_value == compare([1.0] * 4, [0.0, 1.0, 1.0, 1.0], groups=range(4)).p_value
    assert by_page.p_value == compare([1.0] * 2, [0.5, 1.0], groups=range(2)).p_value
    assert by_group.interval.method == by_group.test == "guarded-t"


def test_values_that_no_number_is_made_of_are_no_nothing(tmp_path: Path) -> None:
    for name, note in (("a", "x"), ("b", "y")):
        write_run(tmp_path / name, {"t": [[Score(name="match", values={"score": 1.0, "note": note})]]})
    assert "no number; but values of some samples" in markdown(diff_document(diff(tmp_path / "a", tmp_path / "b")))
    assert "- nothing" in markdown(diff_document(diff(tmp_path / "a", tmp_path / "a")))


def graded(folder: Path, scores: Sequence[float], largest_loss: float | None) -> Path:
    options = {"field": "score", "bounds": [0.0, 1.0], **({"largest_loss": largest_loss} if largest_loss else {})}
    mean = PartSpec(key="score", use="mean", options=options)
    return write_run(folder, {"t": [[each] for each in scores]}, {"t": mean})


def test_a_declared_largest_loss_lets_fewer_samples_show_a_gain(tmp_path: Path) -> None:
    """A gain of 0.03 by 100 samples: a total loss in one of 34 would undo it, one of 0.25 only in one of 9."""
    before = [0.5 + 0.001 * (n % 7) for n in range(100)]
    after = [each + 0.03 + 0.001 * (n % 5) for n, each in enumerate(before)]
    found = {
        loss: diff(graded(tmp_path / f"a{loss}", before, loss), graded(tmp_path / f"b{loss}", after, loss)).tasks[0]
        for loss in (None, 0.25)
    }
    assert [task.significant for task in found.values()] == [False, True]
    assert found[0.25].largest_loss == 0.25


def test_a_change_beyond_the_declared_loss_is_refused(tmp_path: Path) -> None:
    before, after = [0.9] * 20, [0.9] * 19 + [0.4]
    with pytest.raises(UsageError, match=r"t: the score of a sample changed by 0.5, more than `largest_loss: 0.25`"):
        diff(graded(tmp_path / "a", before, 0.25), graded(tmp_path / "b", after, 0.25))


def test_a_largest_loss_that_one_result_lacks_is_none(tmp_path: Path) -> None:
    found = diff(graded(tmp_path / "a", [0.5] * 30, 0.25), graded(tmp_path / "b", [0.51] * 30, None))
    assert found.tasks[0].largest_loss is None
