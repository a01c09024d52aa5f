"""Properties that hold on every surface, whatever the scores are: seeded runs with right/wrong answers, scores, groups,
values without a scale, repeats, failed and remaining attempts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.results.runs import Broken, run_into, write_sums
from tests.results.scored_runs import FAILED, REMAINING, Scores, write_scored
from tests.results.surfaces import (
    DIGITS,
    NO_RESULT,
    OVERALL,
    PAIRS,
    RUNS,
    SURFACES,
    Shown,
    Surface,
    Verdict,
    board_file,
    diff_json,
    ranked,
    said,
)

from assay.cli.main import SUBCOMMANDS, main
from assay.pytest_plugin.measured import Board, CannotMeasureError
from assay.results.board.leaderboard import read_leaderboard
from assay.results.gates.expression import parse_gates
from assay.results.gates.gate_check import check_gates
from assay.runs.evaluate import RunResult
from assay.viewer.api import Api, Params

Random = np.random.Generator
Floats = NDArray[np.float64]
FEW, MANY = range(3), range(3, 20)
"""Seeds of the suite, and the others of `make prove`."""


def seeds(few: range = FEW, many: range = MANY) -> list[object]:
    return [*few, *(pytest.param(seed, marks=pytest.mark.prove) for seed in many)]


def tried(surfaces: Sequence[Surface], seed: int) -> list[Surface]:
    """All of them where there is time."""
    return [each for each in surfaces if not each.slow or seed in MANY]


class Pair(NamedTuple):
    """The scores of two runs, by task."""

    first: dict[str, Scores]
    second: dict[str, Scores]


def answers(random: Random, n: int, chance: float, tries: int = 1) -> Floats:
    return (random.random((n, tries)) < chance).astype(float)


def grades(random: Random, n: int, mean: float, tries: int = 1) -> Floats:
    return np.clip(random.normal(mean, 0.2, (n, tries)), 0.0, 1.0)


def opened(random: Random, values: Floats) -> Floats:
    """Some attempts failed, and some remain."""
    kind = random.random(values.shape)
    return np.where(kind < 0.06, FAILED, np.where(kind < 0.12, REMAINING, values))


def pair_of(random: Random) -> Pair:
    n, tries = int(random.integers(12, 60)), int(random.choice([1, 1, 3]))
    shift = float(random.choice([0.0, 0.1, 0.4]))
    groups = np.arange(n) // 3

    def side(worse: float) -> dict[str, Scores]:
        return {
            "answers": Scores(answers(random, n, 0.8 - worse, tries)),
            "graded": Scores(grades(random, n, 0.7 - worse, tries)),
            "grouped": Scores(grades(random, n, 0.7 - worse, tries), groups),
            "seconds": Scores(random.exponential(2.0 + worse, (n, tries)), bounds=None),
            "torn": Scores(opened(random, answers(random, n, 0.8 - worse, tries))),
        }

    return Pair(side(0.0), side(shift))


@pytest.fixture
def written(tmp_path: Path) -> Callable[[Pair], tuple[Path, Path]]:
    def write(pair: Pair) -> tuple[Path, Path]:
        return write_scored(tmp_path / "a", pair.first), write_scored(tmp_path / "b", pair.second)

    return write


def close(found: float | None, expected: float | None, *, exact: bool) -> bool:
    if found is None or expected is None:
        return found is expected
    return abs(found - expected) <= (1e-9 if exact else 0.5 * 10.0**-DIGITS + 1e-9)


def assert_same_numbers(surface: Surface, found: Mapping[str, Shown], expected: Mapping[str, Shown]) -> None:
    for name, shown in found.items():
        for own, whole in zip(shown[:3], expected[name][:3], strict=True):
            assert close(own, whole, exact=surface.exact), (surface.name, name, shown, expected[name])
        ends, known = shown.bounds, expected[name].bounds
        if ends is not None or surface.exact:
            assert (ends is None) == (known is None), (surface.name, name, shown, expected[name])
        if ends is not None and known is not None:
            assert all(close(a, b, exact=surface.exact) for a, b in zip(ends, known, strict=True))


def test_every_command_and_request_that_shows_results_is_a_surface() -> None:
    shown = {each for surface in SURFACES for each in surface.shows}
    known = shown | set(NO_RESULT)
    requests = {f"view: {name}" for name in vars(Api) if not name.startswith("_")}
    assert {f"assay {name}" for name in SUBCOMMANDS} <= known
    assert requests <= known
    assert not shown & set(NO_RESULT)
    stale = {each for each in known if each.startswith(("assay ", "view: "))}
    assert stale <= {f"assay {name}" for name in SUBCOMMANDS} | requests | {f"view: {name}" for name in vars(Params)}


@pytest.mark.parametrize("seed", seeds())
def test_a_run_has_the_same_numbers_on_every_surface(seed: int, written: Callable[[Pair], tuple[Path, Path]]) -> None:
    _, run = written(pair_of(np.random.default_rng(seed)))
    expected = board_file(run)
    for surface in RUNS:
        assert surface.run is not None
        found = surface.run(run)
        assert set(expected) - {OVERALL} <= set(found), surface.name
        assert_same_numbers(surface, found, expected)


@pytest.mark.parametrize("seed", seeds())
def test_a_score_lies_inside_its_interval_and_its_bounds(
    seed: int, written: Callable[[Pair], tuple[Path, Path]]
) -> None:
    runs = written(pair_of(np.random.default_rng([1, seed])))
    for name, shown in board_file(runs[1]).items():
        assert_inside(name, shown)
    made = json.loads(said("leaderboard", *runs, "--json"))
    for row in made["models"]:
        cells = {**row["tasks"], OVERALL: {**row, "score": row["overall"]}}
        for name, cell in cells.items():
            ends, bounds = cell["interval"], cell["bounds"]
            low, high = (None, None) if ends is None else (ends["low"], ends["high"])
            known = None if bounds is None else (bounds["low"], bounds["high"])
            assert_inside(name, Shown(cell["score"], low, high, known))


def assert_inside(name: str, shown: Shown) -> None:
    for low, high in ((shown.low, shown.high), shown.bounds or (None, None)):
        if shown.score is not None and low is not None and high is not None:
            assert low - 1e-9 <= shown.score <= high + 1e-9, (name, shown)


@pytest.mark.parametrize("seed", seeds(range(1)))
def test_two_runs_have_the_same_verdict_on_every_surface(
    seed: int, written: Callable[[Pair], tuple[Path, Path]]
) -> None:
    runs = written(pair_of(np.random.default_rng([2, seed])))
    expected = diff_json(*runs)
    for surface in PAIRS:
        assert surface.pair is not None
        if surface.pair is ranked:
            continue  # of several tasks it makes one comparison, and `diff` one for each
        found = surface.pair(*runs)
        assert set(found) == set(expected), surface.name
        for name, verdict in found.items():
            whole = expected[name]
            assert verdict.word == whole.word, (surface.name, name, verdict, whole)
            numbers = zip(verdict[1:], whole[1:], strict=True)
            assert all(own is None or close(own, known, exact=surface.exact) for own, known in numbers), (
                *(surface.name, name),
                *(verdict, whole),
            )


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("task", ["answers", "graded", "grouped"])
def test_two_models_are_ranked_as_diff_compares_them(
    seed: int, task: str, written: Callable[[Pair], tuple[Path, Path]]
) -> None:
    pair = pair_of(np.random.default_rng([3, seed]))
    runs = written(Pair({task: pair.first[task]}, {task: pair.second[task]}))
    [verdict], [rank] = diff_json(*runs).values(), ranked(*runs).values()
    assert (rank.word, rank.difference, rank.p_value) == (
        verdict.word,
        pytest.approx(verdict.difference),
        pytest.approx(verdict.p_value, rel=1e-6),
    )


def test_models_are_ranked_over_the_tasks_of_the_overall_score(
    written: Callable[[Pair], tuple[Path, Path]],
) -> None:
    """Seconds and shares have no mean, and the faster model is no better one."""
    random = np.random.default_rng(4)
    shares, other = answers(random, 40, 0.7), random.exponential(1.0, 40)
    slow = Scores(other + 5.0, bounds=None)
    runs = written(Pair({"s": slow, "x": Scores(shares)}, {"s": Scores(other, bounds=None), "x": Scores(shares)}))
    assert ranked(*runs)[OVERALL] == Verdict("no", 0.0, p_value=1.0)


def test_a_task_that_weighs_more_does_so_on_every_surface(tmp_path: Path) -> None:
    """The task that gets worse counts three times: over all, the second run is the worse one."""
    random = np.random.default_rng(14)

    def run(name: str, chances: tuple[float, float], created: str) -> Path:
        light, heavy = (answers(random, 80, chance) for chance in chances)
        tasks = {"light": Scores(light), "heavy": Scores(heavy, weight=3.0)}
        return write_scored(tmp_path / name, tasks, model="m", created=created)

    a, b = run("a", (0.6, 0.9), "2026-01-01"), run("b", (0.9, 0.4), "2026-01-02")
    before, after = (board_file(each)[OVERALL].score or 0.0 for each in (a, b))
    for surface in PAIRS:
        assert surface.pair is not None
        verdict = surface.pair(a, b)[OVERALL]
        assert verdict.word == "worse", surface.name
        assert close(verdict.difference, after - before, exact=surface.exact), surface.name
    [found] = json.loads(said("history", tmp_path, "--json"))
    assert found["runs"][1]["verdict"] == "worse"
    assert found["runs"][1]["difference"] == pytest.approx(after - before)
    assert gate(a, b, "no-significant-drop") == "not met"


@pytest.mark.parametrize("seed", seeds(range(1)))
def test_swapping_two_runs_negates_everything(seed: int, written: Callable[[Pair], tuple[Path, Path]]) -> None:
    a, b = written(pair_of(np.random.default_rng([5, seed])))
    opposite = {"better": "worse", "worse": "better", "no": "no"}
    for surface in tried(PAIRS, seed):
        assert surface.pair is not None
        there, back = surface.pair(a, b), surface.pair(b, a)
        assert there.keys() == back.keys()
        for name, verdict in there.items():
            turned = back[name]
            assert opposite[verdict.word] == turned.word, (surface.name, name, verdict, turned)
            assert close(verdict.difference, -turned.difference, exact=surface.exact)
            if verdict.low is not None and turned.high is not None:
                assert close(verdict.low, -turned.high, exact=surface.exact), (surface.name, name, verdict, turned)
            assert close(verdict.p_value, turned.p_value, exact=True), (surface.name, name, verdict, turned)


@pytest.mark.parametrize("seed", seeds(range(1)))
def test_a_constant_shift_shifts(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng([6, seed])
    n, by = int(random.integers(15, 50)), float(random.uniform(0.05, 0.2))
    first, second = random.uniform(0.3, 0.5, n), random.uniform(0.3, 0.5, n)
    seconds = random.exponential(2.0, (2, n))

    def run(name: str, values: Floats, times: Floats) -> Path:
        return write_scored(tmp_path / name, {"graded": Scores(values), "s": Scores(times, bounds=None)})

    a, b = run("a", first, seconds[0]), run("b", second, seconds[1])
    raised = run("c", second + by, seconds[1] + by)
    order = {"worse": -1, "no": 0, "better": 1}
    for surface in tried(PAIRS, seed):
        assert surface.pair is not None
        before, after = surface.pair(a, b), surface.pair(a, raised)
        for name, verdict in before.items():
            moved = after[name].difference - verdict.difference
            assert moved == pytest.approx(by, abs=1e-9 if surface.exact else 2e-3), (surface.name, name)
            assert order[after[name].word] >= order[verdict.word], (surface.name, name)
    score = board_file(raised)["graded"].score
    assert score == pytest.approx((board_file(b)["graded"].score or 0.0) + by)


def gate(base: Path, run: Path, text: str) -> str:
    """`met`, or not: a gate that cannot tell is not met, and neither is one of runs that are refused."""
    return "met" if main(["diff", str(base), str(run), "--gate", text]) == 0 else "not met"


GATES = [
    *("overall >= 0.5", "overall >= 0.7", "overall <= 0.7", "answers >= 0.6", "graded >= 0.6", "graded < 0.8"),
    *("failed == 0", "answers.failed == 0", "no-significant-drop", "no-drop-beyond 0.3"),
]


@pytest.mark.parametrize("seed", seeds())
def test_leaving_attempts_out_never_passes_a_gate(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    random = np.random.default_rng([7, seed])
    n = int(random.integers(20, 50))
    whole = {"answers": answers(random, n, 0.75), "graded": grades(random, n, 0.75)}
    base = write_scored(tmp_path / "base", {"answers": Scores(answers(random, n, 0.75)),
                                            "graded": Scores(grades(random, n, 0.75))})  # fmt: skip
    full = write_scored(tmp_path / "full", {name: Scores(values) for name, values in whole.items()})
    share, kept = random.choice([0.1, 0.5, 0.9]), {}
    for name, values in whole.items():
        # the worst are left out first: the most tempting part
        worst = values[:, 0].argsort()[: max(1, round(share * n))]
        kept[name] = values.copy()
        kept[name][worst] = random.choice([FAILED, REMAINING])
    part = write_scored(tmp_path / "part", {name: Scores(values) for name, values in kept.items()})
    for text in GATES:
        if gate(base, part, text) == "met":
            assert gate(base, full, text) == "met", (text, capsys.readouterr().out)


@pytest.mark.parametrize("lost", [FAILED, REMAINING])
@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.5, 0.95])
def test_a_test_in_pytest_decides_what_a_gate_decides(lost: float, threshold: float, tmp_path: Path) -> None:
    """Half of the samples are right, a quarter wrong, and a quarter open."""
    scores = np.repeat([1.0, 1.0, 0.0, lost], 10)
    run = write_scored(tmp_path / "run", {"x": Scores(scores)})
    board = Board(RunResult(leaderboard=read_leaderboard(run), folder=run))
    [result] = check_gates(parse_gates([f"x >= {threshold}"]), board.leaderboard)
    for score in (board["x"].score, board.overall):
        try:
            decided = "met" if score >= threshold else "not met"
        except CannotMeasureError:
            decided = "cannot tell"
        assert decided == result.outcome


@pytest.mark.parametrize("lost", [FAILED, REMAINING])
@pytest.mark.parametrize("seed", seeds())
def test_leaving_attempts_out_never_makes_a_rank_surer_to_be_good(seed: int, lost: float, tmp_path: Path) -> None:
    """The last model leaves out what it answers wrong: over what is left it would be the first."""
    random = np.random.default_rng([8, seed])
    n = int(random.integers(60, 90))
    runs = {name: answers(random, n, chance) for name, chance in (("a", 0.7), ("b", 0.4), ("c", 0.6))}
    torn = np.where(runs["b"] == 0.0, lost, runs["b"])
    worst = {}
    for name, second in (("whole", runs["b"]), ("part", torn)):
        folders = [
            write_scored(tmp_path / name / run, {"x": Scores(values)})
            for run, values in (("a", runs["a"]), ("b", second), ("c", runs["c"]))
        ]
        made = json.loads(said("leaderboard", *folders, "--json"))
        worst[name] = {Path(row["source"]).name: row["rank_high"] for row in made["models"]}["b"]
    assert worst["part"] >= worst["whole"]


@pytest.mark.parametrize("seed", seeds(range(1)))
def test_a_worse_run_removes_no_alarm(seed: int, tmp_path: Path) -> None:
    """Right answers turned wrong, and scores all lowered alike."""
    random = np.random.default_rng([9, seed])
    n = int(random.integers(20, 60))
    good = {"answers": answers(random, n, 0.9), "graded": random.uniform(0.6, 0.9, (n, 1))}
    bad = {"answers": answers(random, n, 0.6), "graded": random.uniform(0.4, 0.7, (n, 1))}
    lower = {
        "answers": np.where(random.random((n, 1)) < 0.2, 0.0, bad["answers"]),
        "graded": bad["graded"] - random.uniform(0.0, 0.3),
    }
    a, b, c = (
        write_scored(tmp_path / name, {task: Scores(values) for task, values in scores.items()})
        for name, scores in (("a", good), ("b", bad), ("c", lower))
    )
    for surface in tried(PAIRS, seed):
        assert surface.pair is not None
        before, after = surface.pair(a, b), surface.pair(a, c)
        for name, verdict in before.items():
            assert verdict.word != "worse" or after[name].word == "worse", (surface.name, name)
    for text in GATES:
        if ">=" in text or "drop" in text:
            assert gate(a, b, text) == "met" or gate(a, c, text) == "not met", text


@pytest.mark.parametrize("seed", seeds(range(2), range(2, 30)))
def test_later_runs_change_no_verdict_of_a_history(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng([10, seed])
    n, known = int(random.integers(30, 80)), None
    chances = [0.8, 0.8, random.choice([0.4, 0.75]), random.choice([0.2, 0.75]), 0.1]
    for place, chance in enumerate(chances):
        tasks = {"x": Scores(answers(random, n, chance)), "g": Scores(grades(random, n, chance), np.arange(n) // 2)}
        write_scored(tmp_path / f"r{place}", tasks, model="m", created=f"2026-01-0{place + 1}")
        if place == 0:
            continue
        [found] = json.loads(said("history", tmp_path, "--json"))
        verdicts = [(run["verdict"], run["step"]) for run in found["runs"]]
        assert known is None or verdicts[: len(known)] == known
        known = verdicts
    assert known is not None
    assert "worse" in [verdict for verdict, _ in known]


def test_the_difference_in_a_history_is_that_of_diff_in_groups_too(tmp_path: Path) -> None:
    """A group counts as many samples as it holds."""
    random = np.random.default_rng(11)
    groups = np.repeat(np.arange(12), random.integers(1, 6, 12))
    first, second = (grades(random, len(groups), mean) for mean in (0.8, 0.3))
    a = write_scored(tmp_path / "a", {"x": Scores(first, groups)}, model="m", created="2026-01-01")
    b = write_scored(tmp_path / "b", {"x": Scores(second, groups)}, model="m", created="2026-01-02")
    [found] = json.loads(said("history", tmp_path, "--json"))
    run = found["runs"][1]
    assert run["difference"] == pytest.approx(diff_json(a, b)["x"].difference)
    assert run["compared"] == len(groups)


def test_a_history_of_samples_that_no_run_scored_is_drawn_without_a_warning(tmp_path: Path) -> None:
    for place, chance in enumerate((1.0, 1.0, 0.1)):
        values = answers(np.random.default_rng(place), 60, chance)
        values[:3] = FAILED
        write_scored(tmp_path / f"r{place}", {"x": Scores(values)}, model="m", created=f"2026-01-0{place + 1}")
    [found] = json.loads(said("history", tmp_path, "--json"))
    assert [run["verdict"] for run in found["runs"]] == ["first", "nothing found", "worse"]


def test_remaining_attempts_at_samples_that_were_tried_count_as_failed_ones_do(tmp_path: Path) -> None:
    """Half of the samples lack one of three attempts: what is left is all right."""
    whole = np.ones((60, 3))
    for kind, value in (("remaining", REMAINING), ("failed", FAILED)):
        part = whole.copy()
        part[:30, 2] = value
        for place, values in enumerate((whole, whole, part)):
            write_scored(
                tmp_path / kind / f"r{place}", {"x": Scores(values)}, model="m", created=f"2026-01-0{place + 1}"
            )
        [found] = json.loads(said("history", tmp_path / kind, "--json"))
        assert [run["verdict"] for run in found["runs"]] == ["first", "nothing found", "cannot tell"], kind


def test_a_history_compares_no_run_whose_failed_attempts_could_have_any_value(tmp_path: Path) -> None:
    """Nor are later runs compared with it."""
    values = np.random.default_rng(12).exponential(2.0, 60)
    higher = values + 1.0
    higher[:5] = FAILED
    for place, seconds in enumerate((values, values, higher, values)):
        tasks = {"x": Scores(seconds, bounds=None)}
        write_scored(tmp_path / f"r{place}", tasks, model="m", created=f"2026-01-0{place + 1}")
    [found] = json.loads(said("history", tmp_path, "--json"))
    assert [run["verdict"] for run in found["runs"]] == ["first", "nothing found", "not compared", "nothing found"]
    shown = said("history", tmp_path, "--plain")
    assert "1 run not compared." in " ".join(shown.split())
    assert "not compared: failed or remaining attempts of x could have had any value (r2)" in " ".join(shown.split())


def test_a_run_with_other_attempts_per_sample_begins_a_new_series(tmp_path: Path) -> None:
    """A mean of ten attempts has less noise than one: compared with it, one attempt often looks like a change."""
    random = np.random.default_rng(13)
    for place, tries in enumerate((10, 10, 1, 1)):
        tasks = {"x": Scores(answers(random, 40, 0.5, tries))}
        write_scored(tmp_path / f"r{place}", tasks, model="m", created=f"2026-01-0{place + 1}")
    [found] = json.loads(said("history", tmp_path, "--json"))
    assert [run["verdict"] for run in found["runs"]] == ["first", "nothing found", "first", "nothing found"]
    assert "another --repeat" in found["runs"][2]["reason"]


def test_a_history_against_a_baseline_says_since_when_of_every_run(tmp_path: Path) -> None:
    good, bad = np.ones(60), (np.arange(60) >= 6).astype(float)
    for place, values in enumerate((good, bad, bad, bad, bad)):
        write_scored(tmp_path / f"r{place}", {"x": Scores(values)}, model="m", created=f"2026-01-0{place + 1}")
    [found] = json.loads(said("history", tmp_path, "--baseline", "r0", "--json"))
    worse = found["runs"][2:]
    assert [run["verdict"] for run in worse] == ["worse"] * 3
    assert [run["step"]["since"] for run in worse] == [["r1"]] * 3
    assert {run["basis"]["would_change"] for run in worse} == {"another baseline"}
    assert "2 other changes from the baseline as well" in " ".join(
        said("history", tmp_path, "--baseline", "r0").split()
    )


def same_everywhere(one: Path, other: Path) -> None:
    for surface in RUNS:
        assert surface.run is not None
        assert surface.run(one) == surface.run(other), surface.name
    for surface in PAIRS:
        assert surface.pair is not None
        for name, verdict in surface.pair(one, other).items():
            assert (verdict.word, verdict.difference) == ("no", 0.0), (surface.name, name)


def test_rescoring_with_the_same_scorer_changes_nothing(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 24, metadata=lambda n: {"group": f"g{n // 3}"})
    run = run_into(tmp_path / "run", tasks, Broken([3, 7], wrong=range(10, 15)), repeat=2, retries=0)
    assert main(["rescore", str(run), "--quiet"]) in (0, 3)
    same_everywhere(run, tmp_path / "run.rescored")


def test_merged_shards_are_one_run(tmp_path: Path) -> None:
    lines = [
        {"id": f"s{n}", "prompt": f"compute: {n} + 1", "targets": [str(n + (n % 3 > 0))], "metric": "exact_match"}
        for n in range(24)
    ]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = ["run", str(tmp_path / "sums.jsonl"), "--quiet", "--run-dir"]
    assert main([*run, str(tmp_path / "whole")]) == 0
    for number in (1, 2, 3):
        assert main([*run, str(tmp_path / "parts"), "--shard", f"{number}/3"]) == 0
    assert main(["merge", str(tmp_path / "parts")]) == 0
    same_everywhere(tmp_path / "whole", tmp_path / "parts")
