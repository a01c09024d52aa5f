"""A project adds models, defaults, suites, weights and gates to a run; what the user gives comes first."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.shop import PROJECT, make_shop

from assay.core.errors import UsageError
from assay.costs.prices import Price, read_price_file
from assay.results.board.leaderboard import build_leaderboard
from assay.run_config import TaskOverrides
from assay.run_file import read_run_file
from assay.runs.entry import evaluate
from assay.runs.evaluate import EvaluationResult

MORE = """\
model: prod
models:
  prod: {model: "stub:4", label: Production, price: {input: 1, output: 2}}
  same: prod
  other: toy
defaults: {limit: 2}
gates: ["failed <= 0"]
"""
SUITES = """\
  weighted: {select: [geo, math], weights: {"geo/**": 3}, gates: ["overall >= 0.4"]}
  sums: {select: [math], repeat: 2}
  release: {select: ["@weighted", "@sums"], model: [prod, other]}
  quick: {select: [geo], limit: 1, gates: ["overall <= 0.1"]}
  quick-alone: {select: [geo], limit: 1, gates: ["overall <= 0.1"], gate_left_out: ignore}
  pooled: {select: [geo, math], weights: by_size, limit: 3}
  fast: {select: [geo], budget: {cost: 1, minutes: 5}}
  both: {select: ["@fast", math]}
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = PROJECT.replace("folders:", f"{MORE}folders:") + SUITES
    monkeypatch.chdir(make_shop(tmp_path, project))
    return tmp_path


def edit(old: str, new: str) -> None:
    text = Path("assay.yaml").read_text()
    assert old in text
    Path("assay.yaml").write_text(text.replace(old, new))


def run(name: str, **options: Any) -> EvaluationResult:
    return evaluate(name, **options)


def test_the_model_of_the_project_is_evaluated_under_its_label(shop: Path) -> None:
    board = run("math").leaderboard
    assert (board.adapter, board.label, board.overall_score) == ("stub:4", "Production", 1.0)
    assert run("math", model="toy").leaderboard.adapter == "toy"
    assert run("math", model="same").leaderboard.label == "same"


def test_a_misspelt_alias_is_refused(shop: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown model `othr`. Did you mean `other`, a model of the project\?"):
        run("math", model="othr")


def test_prices_of_the_project_are_kept_with_the_run(shop: Path) -> None:
    kept = read_price_file(run("math").folder / "prices.yaml")
    assert kept.models == {"stub:4": Price(input=1, output=2)}


def test_defaults_hold_where_nothing_else_is_said(shop: Path) -> None:
    assert [row.total for row in run("geo").leaderboard.tasks] == [2, 2]
    assert [row.total for row in run("geo", limit=1).leaderboard.tasks] == [1, 1]
    assert [row.total for row in run("@pooled").leaderboard.tasks] == [3, 3, 1, 1]


def test_a_folder_repeats_its_tasks_alone(shop: Path) -> None:
    edit('"support/**": {', '"support/**": {repeat: 3, limit: 1, ')
    result = run(".")
    rows = {row.task: row for row in result.leaderboard.tasks}
    assert (rows["support/intent"].total, rows["geo/lakes"].total, rows["math/sums"].total) == (3, 2, 1)
    assert result.leaderboard.complete
    stored = read_run_file(result.folder)
    assert stored.config.of_tasks["support/intent"] == TaskOverrides(repeat=3, limit=1)
    assert stored.settings["of_tasks"]["support/intent"] == {"repeat": 3, "limit": 1}
    assert {row.total for row in run("support", repeat=1).leaderboard.tasks} == {1}


def test_settings_of_a_folder_are_sent_with_its_requests_alone(shop: Path) -> None:
    seen: list[tuple[str, float | None]] = []

    class Model:
        name = "own"

        async def generate(self, request: Any) -> Any:
            from assay import Completion

            seen.append((request.draw.task, request.temperature))
            return Completion(text="3")

    edit('"support/**": {', '"support/**": {settings: {temperature: 0.5}, ')
    run(".", model=Model(), limit=1)
    assert {temperature for task, temperature in seen if task.startswith("support/")} == {0.5}
    assert {temperature for task, temperature in seen if not task.startswith("support/")} == {None}


def test_a_suite_has_the_weighted_mean_of_its_tasks(shop: Path) -> None:
    board = run("@weighted").leaderboard
    assert [row.weight for row in board.tasks] == [3, 3, 1, 1]
    capitals, lakes, *sums = (row.score for row in board.tasks)
    assert (capitals, lakes, sums) == (0.5, 0.5, [1.0, 1.0])
    assert board.overall_score == pytest.approx((3 * 0.5 + 3 * 0.5 + 1 + 1) / 8)
    assert board.overall_interval is not None
    assert 0 < board.overall_interval.low < board.overall_score < board.overall_interval.high < 1


def test_a_suite_of_suites_has_the_mean_of_their_scores(shop: Path) -> None:
    production, other = run("@release").runs
    scores = {row.task: row.score for row in production.leaderboard.tasks}
    assert scores == {"geo/capitals": 0.5, "geo/lakes": 0.5, "math/more": 1.0, "math/sums": 1.0}
    assert production.leaderboard.overall_score == pytest.approx((0.625 + 1.0) / 2, abs=1e-6)
    assert {row.total for row in production.leaderboard.tasks if row.task.startswith("math/")} == {2}
    assert other.leaderboard.adapter == "toy"
    shared = "math/more (@weighted, @sums), math/sums (@weighted, @sums)"
    assert f"run once, and counted in each of its suites: {shared}" in run("@release").warnings


def test_gates_of_a_member_are_about_its_own_tasks(shop: Path) -> None:
    edit("overall >= 0.4", "overall >= 0.7")
    production, _ = run("@release", left_out_ignored=True).runs
    outcomes = {gate.gate: gate.outcome for gate in production.gates}
    assert outcomes == {"failed <= 0": "met", "@weighted: overall >= 0.7": "not met"}
    assert "0.625 is not >= 0.7" in production.gates[-1].sentences[0]


def test_by_size_pools_the_samples(shop: Path) -> None:
    board = run("@pooled").leaderboard
    assert [row.weight for row in board.tasks] == [3, 3, 1, 1]


def test_other_weights_are_the_same_run_with_another_score(shop: Path) -> None:
    first = run("@weighted")
    edit('{"geo/**": 3}', '{"geo/**": 1}')
    again = run("@weighted")
    assert (again.folder, again.leaderboard.overall_score) == (first.folder, pytest.approx(0.75))
    assert build_leaderboard(first.folder).overall_score == pytest.approx(0.75)


def test_a_budget_of_minutes_leaves_the_rest_and_gates_cannot_tell(shop: Path) -> None:
    (shop / "tasks" / "math" / "sums.jsonl").write_text(
        "".join(
            f'{{"id": "s{at}", "prompt": "compute: {at}", "targets": ["4"], "metric": "exact_match"}}\n'
            for at in range(20_000)
        )
    )
    result = run("math/sums", budget_minutes=1e-6, limit=20_000, gates=["overall >= 0.5"])
    [only] = result.runs
    assert only.stopped == "the budget of 1e-06 minutes is used up"
    assert only.leaderboard.tasks[0].remaining > 0
    assert {gate.gate: gate.outcome for gate in only.gates}["overall >= 0.5"] == "cannot tell"
    assert only.exit_status == 1


def test_the_budget_of_a_suite_is_that_of_its_run(shop: Path) -> None:
    config = read_run_file(run("@fast").folder).config
    assert (config.budget_cost, config.budget_minutes) == (1, 5)


def left(result: EvaluationResult) -> dict[str, int]:
    return {row.task: row.remaining for row in result.leaderboard.tasks}


def test_the_budget_of_a_suite_inside_another_one_ends_its_part_alone(shop: Path) -> None:
    """Whatever the money is counted in; the gates of the part cannot tell, and its rest is made when there is more."""
    edit("budget: {cost: 1, minutes: 5}", "budget: {tokens: 10}, gates: ['overall >= 0.1']")
    whole = read_run_file(run("@both", limit=1, concurrency=1).folder).config
    assert (whole.budget_tokens, [part.suite for part in whole.parts]) == (None, ["fast"])
    [only] = (result := run("@both", concurrency=1)).runs
    assert left(result) == {"geo/capitals": 1, "geo/lakes": 2, "math/more": 0, "math/sums": 0}
    assert only.stopped == "the budget of 10 tokens of @fast is used up"
    assert {gate.gate: gate.outcome for gate in only.gates}["@fast: overall >= 0.1"] == "cannot tell"
    assert (only.gates_met, only.exit_status) == (False, 1)
    edit("tokens: 10", "tokens: 1000")
    assert set(left(run("@both")).values()) == {0}


@pytest.mark.parametrize("limit", ["cost: 0.000001", "minutes: 0.0000001"])
def test_parts_have_limits_of_money_and_time_too(shop: Path, limit: str) -> None:
    edit("budget: {cost: 1, minutes: 5}", f"budget: {{{limit}}}")
    result = run("@both", concurrency=1)
    assert left(result)["geo/lakes"] == 2
    assert (left(result)["math/more"], left(result)["math/sums"]) == (0, 0)
    assert "of @fast is used up" in (result.runs[0].stopped or "")


def test_a_part_with_a_budget_may_stand_next_to_other_names(shop: Path) -> None:
    edit("budget: {cost: 1, minutes: 5}", "budget: {tokens: 10}")
    result = evaluate(["@fast", "math"], concurrency=1)
    assert (left(result)["geo/lakes"], left(result)["math/sums"]) == (2, 0)


def test_the_outer_budget_is_for_all_parts(shop: Path) -> None:
    edit("budget: {cost: 1, minutes: 5}", "budget: {tokens: 1000}")
    edit('both: {select: ["@fast", math]}', 'both: {select: ["@fast", math], budget: {tokens: 10}}')
    result = run("@both", concurrency=1)
    assert left(result)["math/sums"] == 1
    assert "10 tokens (--budget-tokens)" in (result.runs[0].stopped or "")


def test_a_part_that_may_spend_money_needs_prices(shop: Path) -> None:
    class Unpriced:
        name = "mine"

        def generate(self, prompts: list[str]) -> list[str]:
            return ["4"] * len(prompts)

    with pytest.raises(UsageError, match=r"the budget of @fast needs the price of `mine`"):
        run("@both", model=Unpriced())
    assert not (shop / "runs").exists()


@pytest.mark.parametrize("own", ["model: other", "matrix: {model: [prod, other]}"])
def test_a_part_with_a_model_or_a_matrix_is_a_run_of_its_own(shop: Path, own: str) -> None:
    edit("budget: {cost: 1, minutes: 5}", own)
    with pytest.raises(UsageError, match="of its own, which cannot be kept inside @both"):
        run("@both")


def test_gates_that_need_a_baseline_wait_until_there_is_one(shop: Path) -> None:
    edit('gates: ["failed <= 0"]', 'gates: ["failed <= 0", no-significant-drop]\nbaseline: runs/main')
    first = run("math")
    assert [gate.gate for gate in first.runs[0].gates] == ["failed <= 0"]
    assert first.warnings[0].endswith("(nothing of `runs/main` is there yet): no-significant-drop")
    first.folder.rename("runs/main")
    again = run("math")
    assert [gate.gate for gate in again.runs[0].gates] == ["failed <= 0", "no-significant-drop"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"overall >= 0.4"', '"overal >= 0.4"', "no task or number of the run is called `overal`"),
        ('"overall >= 0.4"', '"overall => 0.4"', r"suites.weighted.gates\[0\]: 'overall => 0.4', position"),
        ("price: {input: 1", "price: {inptu: 1", "unknown field of a price"),
        (
            "other: toy",
            "other: {model: 'stub:4', price: {input: 3, output: 3}}",
            "are one model, `stub:4`, and have two",
        ),
    ],
)
def test_mistakes_are_found_before_anything_runs(shop: Path, old: str, new: str, message: str) -> None:
    edit(old, new)
    with pytest.raises(UsageError, match=message):
        run("@weighted")
    assert not (shop / "runs").exists()


def test_a_setting_of_the_defaults_that_has_no_effect_is_said_and_no_error(shop: Path) -> None:
    edit("defaults: {limit: 2}", "defaults: {settings: {temperature: 0}}")
    board = run("math").leaderboard
    assert any("`temperature` of the project's defaults has no effect here" in note for note in board.notices)
    with pytest.raises(UsageError, match="--temperature has no effect here"):
        run("math", temperature=0.5)


def test_without_a_project_a_run_is_what_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run file of a run without `assay.yaml` has nothing of a project in its identity."""
    (make_shop(tmp_path) / "assay.yaml").unlink()
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    stored = read_run_file(evaluate("tasks/math/sums.jsonl").folder)
    assert stored.settings.keys() == {"generation", "limit", "repeat"}
    assert (stored.config.of_tasks, stored.config.usual, stored.definitions[0].shown.weight) == ({}, (), 1.0)


def test_gates_of_a_suite_with_a_limit_are_about_all_samples_unless_it_says_otherwise(shop: Path) -> None:
    quick, alone = run("@quick").runs[0], run("@quick-alone").runs[0]
    assert {gate.gate: gate.outcome for gate in quick.gates}["overall <= 0.1"] == "cannot tell"
    judged = {gate.gate: gate for gate in alone.gates}["overall <= 0.1"]
    assert (judged.outcome, bool(judged.ignored)) == ("met", True)


def test_a_baseline_may_be_a_git_ref(shop: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"]
    edit('gates: ["failed <= 0"]', "gates: [no-significant-drop]\nbaseline: main")
    for command in (["init", "--quiet", "--initial-branch=main"], ["add", "assay.yaml"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    first = run("math")
    assert (first.runs[0].gates, len(first.warnings)) == ((), 1)
    again = run("math", model="other")
    assert [gate.gate for gate in again.runs[0].gates] == ["no-significant-drop"]
    assert run("geo").runs[0].gates == ()
