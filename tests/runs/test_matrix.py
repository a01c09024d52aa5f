"""A suite with a matrix is a run for each cell; cells that differ in one axis are compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.shop import PROJECT, make_shop

from assay.core.errors import UsageError
from assay.results.diff.paired_columns import read_side
from assay.results.report_settings import View
from assay.results.side_labels import side_labels
from assay.results.standings.cells import CellPair, compare_cells
from assay.runs.entry import evaluate
from assay.runs.evaluate import EvaluationResult

MODELS = """\
model: toy
models: {sums: toy, four: "stub:4"}
"""
PLAIN, TASK = "compute: {{ sample.a }} + 2", "support/intent"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(make_shop(tmp_path, PROJECT.replace("folders:", f"{MODELS}folders:")))
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "plain.txt").write_text(PLAIN)
    (tmp_path / "prompts" / "other.txt").write_text("compute: {{ sample.a }} + 3")
    return tmp_path


def suite(matrix: str, more: str = "", select: str = TASK) -> str:
    text = Path("assay.yaml").read_text()
    Path("assay.yaml").write_text(f"{text}  grid: {{select: [{select}], matrix: {{{matrix}}}{more}}}\n")
    return "@grid"


def run(name: str, **options: Any) -> EvaluationResult:
    return evaluate(name, **options)


def pairs_of(result: EvaluationResult) -> list[CellPair]:
    return compare_cells([each.folder for each in result.runs], View())


PROMPTS = "prompt: [prompts/plain.txt, prompts/other.txt]"


def test_every_cell_is_a_run_of_its_own(shop: Path) -> None:
    result = run(suite(f"{PROMPTS}, model: [sums, four]"))
    assert [each.leaderboard.overall_score for each in result.runs] == pytest.approx([1.0, 1 / 3, 0.0, 1 / 3])
    sides = [read_side(each.folder, View()) for each in result.runs]
    assert side_labels(sides) == ["sums, plain", "four, plain", "sums, other", "four, other"]


def test_cells_that_differ_in_one_axis_are_pairs_and_each_axis_is_a_family(shop: Path) -> None:
    pairs = pairs_of(run(suite(f"{PROMPTS}, model: [sums, four]")))
    assert [(pair.axis, pair.others, pair.a, pair.b) for pair in pairs] == [
        ("prompt", "sums", "plain", "other"),
        ("prompt", "four", "plain", "other"),
        ("model", "plain", "sums", "four"),
        ("model", "other", "sums", "four"),
    ]  # fmt: skip
    assert pairs[0].difference == pytest.approx(-1.0)
    assert pairs[2].difference == pytest.approx(-2 / 3)
    for pair in pairs:
        assert pair.adjusted_p == pytest.approx(min(1.0, 2 * (pair.p_value or 0.0)))


def test_parameters_datasets_and_settings_are_axes(shop: Path) -> None:
    (shop / "datasets" / "wrong.csv").write_text("a,b\n1,9\n2,9\n")
    result = run(suite("model: [four], dataset: [rows, wrong], config.tone: [plain, formal]"))
    named = [(each.leaderboard.settings["cell"], each.leaderboard.overall_score) for each in result.runs]
    assert named == [
        ({"dataset": "dataset=rows", "config.tone": "tone=plain"}, pytest.approx(1 / 3)),
        ({"dataset": "dataset=rows", "config.tone": "tone=formal"}, pytest.approx(1 / 3)),
        ({"dataset": "dataset=wrong", "config.tone": "tone=plain"}, 0.0),
        ({"dataset": "dataset=wrong", "config.tone": "tone=formal"}, 0.0),
    ]  # fmt: skip
    assert [pair.axis for pair in pairs_of(result)] == ["dataset", "dataset", "config.tone", "config.tone"]


def test_an_axis_with_one_value_sets_it_and_names_nothing(shop: Path) -> None:
    result = run(suite("model: [four], config.tone: [warm]"))
    (only,) = result.runs
    assert (only.leaderboard.label, only.leaderboard.settings.get("cell")) == ("four", None)
    assert only.leaderboard.overall_score == pytest.approx(1 / 3)


def test_cells_are_left_out(shop: Path) -> None:
    result = run(suite(f"{PROMPTS}, model: [sums, four]", ", leave_out: [{model: four, prompt: prompts/other.txt}]"))
    assert [(each.leaderboard.label, each.leaderboard.settings["prompt"]) for each in result.runs] == [
        ("sums", "plain"), ("four", "plain"), ("sums", "other"),
    ]  # fmt: skip


def test_a_gate_that_needs_a_baseline_is_not_checked_against_another_cell(shop: Path) -> None:
    text = Path("assay.yaml").read_text()
    Path("assay.yaml").write_text(text.replace("model: toy", "baseline: runs\nmodel: toy", 1))
    result = run(suite(PROMPTS, ", gates: [no-significant-drop, 'failed <= 0']"))
    assert [[gate.gate for gate in each.gates] for each in result.runs] == [["failed <= 0"]] * 2
    assert any("the cells of a matrix are compared with each other" in note for note in result.warnings)


@pytest.mark.parametrize(
    ("matrix", "more", "message"),
    [
        ("config.tome: [a, b]", "", f"`config.tome` is no parameter of {TASK}; it has: tone"),
        ("config.tone: [a, b, c]", ", max_cells: 2", r"@grid has 3 cells \(3\); write `max_cells: 3` if you mean it"),
        ("settings.temprature: [0, 1]", "", "unknown setting `temprature`. Did you mean `temperature`?"),
        ("settings.temperature: [0, hot]", "", "temperature"),
        ("settings.temperature: [0, 1]", "", "`settings.temperature` of the suite's matrix has no effect here"),
        ("model: [sums, sums]", "", "`sums` is given twice"),
        ("model: [sums, fuor]", "", "unknown model `fuor`. Did you mean `four`"),
        ("model: [sums, four]", ", model: sums", "@grid has a `model` as well"),
        ("model: [sums, four]", ", leave_out: [{model: for}]", "`for` is no value of `model` in the matrix"),
        ("model: [sums]", ", leave_out: [{model: sums}]", "no cell is left of the matrix"),
        ("judge: [sums, four]", "", "the judge `sums` from the matrix judges nothing"),
        ("prompt: [prompts/plain.txt, prompts/none.txt]", "", "there is no file"),
    ],
)
def test_mistakes_are_found_before_anything_runs(shop: Path, matrix: str, more: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(suite(matrix, more))
    assert not (shop / "runs").exists()


def test_a_task_without_what_an_axis_varies_is_refused(shop: Path) -> None:
    with pytest.raises(UsageError, match=r"`math/more` is no YAML task, so it has no `config\.tone` to vary"):
        run(suite("config.tone: [a, b]", select="math"))


@pytest.mark.parametrize(
    ("matrix", "given"),
    [("model: [sums, four]", {"model": "toy"}), ("config.tone: [a, b]", {"task_config": {"tone": "c"}})],
)
def test_what_is_an_axis_is_not_given_as_well(shop: Path, matrix: str, given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="is an axis of @grid, and is given too"):
        run(suite(matrix), **given)
