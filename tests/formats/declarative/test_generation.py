"""Generated rows are written to a file with their provenance before anything is scored; a row that fails is no row."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from tests.formats.declarative.reading import read_yaml_tasks

import assay
from assay.cli.main import main
from assay.core.errors import UsageError
from assay.formats.declarative import generation

TASK = """\
key: t
display_name: T
description: d
definition:
  evaluated_entity_type: dataset
  dataset: {key: made}
  scorers: [{type: string_equals, ground_truth: "{{ sample.a }}", value: "{{ sample.b }}"}]
"""
COLUMNS = "    - {type: template, columns: {a: '{{ sample.x }}', b: '{{ sample.a }}{{ index }}'}}\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".assay").mkdir()
    (tmp_path / "t.yaml").write_text(TASK)
    return tmp_path


def dataset(project: Path, steps: str = COLUMNS, more: str = "draw: {x: [1, 2, 3]}", *, rows: int = 5) -> Path:
    text = f"key: made\ndisplay_name: M\nsource:\n  type: generated\n  num_samples: {rows}\n  {more}\n  steps:\n{steps}"
    (project / "made.yaml").write_text(text)
    return project / "t.yaml"


def rows(task: Path) -> list[dict[str, object]]:
    (definition,) = read_yaml_tasks(task)
    return [json.loads(line) for line in Path(definition.dataset.options["path"]).read_text().splitlines()]


def test_templates_write_columns_over_what_was_drawn(project: Path) -> None:
    found = rows(dataset(project))
    assert [row["sample_id"] for row in found] == ["0", "1", "2", "3", "4"]
    assert all(row["a"] == str(row["x"]) and row["b"] == f"{row['a']}{row['sample_id']}" for row in found)
    assert {row["x"] for row in found} <= {1, 2, 3}


def test_the_seed_decides_and_another_is_another_dataset(project: Path) -> None:
    first = rows(dataset(project, rows=20))
    assert rows(dataset(project, rows=20)) == first
    other = rows(dataset(project, rows=20, more="draw: {x: [1, 2, 3]}\n  seed: 1"))
    assert [row["x"] for row in other] != [row["x"] for row in first]
    assert len(list(Path(".assay/generated").glob("*.jsonl"))) == 2


def test_the_provenance_stands_next_to_the_rows(project: Path) -> None:
    (definition,) = read_yaml_tasks(dataset(project))
    path = Path(definition.dataset.options["path"])
    written = json.loads(path.with_suffix(".json").read_text())
    assert (written["dataset"], written["rows"], written["sha256"]) == ("made", 5, definition.dataset.sha256)
    assert written["recipe"] == definition.dataset.options["recipe"]


def test_python_writes_columns_with_a_seed_of_its_own(project: Path) -> None:
    code = "def generate(sample, index, seed):\n            return {'a': index, 'b': seed, 'x2': sample['x'] * 2}"
    found = rows(dataset(project, f"    - type: python\n      generate_snippet: |\n        {code}\n"))
    assert [row["a"] for row in found] == [0, 1, 2, 3, 4]
    assert len({row["b"] for row in found}) == 5


def test_a_model_writes_a_column_or_the_fields_of_an_object(project: Path) -> None:
    step = "    - {type: model, model_key: toy, user_prompt: 'compute: {{ sample.x }} + 1', column: a}\n"
    json_step = """    - {type: model, model_key: toy, user_prompt: '{"b": {{ sample.x }}}', json: true}\n"""
    found = rows(dataset(project, step + json_step))
    assert all(int(str(row["a"])) == int(str(row["x"])) + 1 and row["b"] == row["x"] for row in found)


def test_rows_may_begin_with_those_of_another_dataset(project: Path) -> None:
    (project / "seeds.jsonl").write_text("".join(f'{{"sample_id": "s{n}", "x": {n}}}\n' for n in range(3)))
    found = rows(dataset(project, more="dataset_key: seeds"))
    assert {row["source_id"] for row in found[:3]} == {"s0", "s1", "s2"}
    assert found[3]["source_id"] == found[0]["source_id"]
    (project / "seeds.jsonl").write_text('{"x": 9}\n')
    assert {row["x"] for row in rows(project / "t.yaml")} == {9}


def test_a_row_that_fails_ends_it_and_what_was_made_is_kept(project: Path) -> None:
    code = (
        "import pathlib\n        def generate(sample, index, seed):\n"
        "            if index == 3 and not pathlib.Path('mended').exists():\n"
        "                raise ValueError('no three')\n"
        "            with open('made', 'a') as file:\n                print(index, file=file)\n"
        "            return {'a': index, 'b': index}"
    )
    task = dataset(project, f"    - type: python\n      generate_snippet: |\n        {code}\n")
    says = r"made.yaml:\d+:\d+: source.steps\[0\]: row 4 could not be generated: .*no three.*rerun the same command"
    with pytest.raises(UsageError, match=says):
        read_yaml_tasks(task)
    assert list(Path(".assay/generated").glob("*.jsonl")) == []
    (project / "mended").touch()
    assert len(rows(task)) == 5
    made = (project / "made").read_text().split()
    assert sorted(made) == ["0", "1", "2", "3", "4"]
    assert list(Path(".assay/generated").glob("*.partial")) == []


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ("    - {type: model, model_key: 'stub', user_prompt: x}\n", "gave an empty answer"),
        ("    - {type: model, model_key: 'toy', user_prompt: x, json: true}\n", "one JSON object"),
        ("    - {type: template, columns: {a: '{{ sample.none }}'}}\n", "none"),
        ("    - {type: template, columns: {a: '{{ smaple.x }}'}}\n", "reads `smaple`"),
        ("    - type: python\n      generate_snippet: 'def generate(sample): return 3'\n", "mapping of columns"),
        ("    - type: python\n      generate_snippet: 'def made(sample): return {}'\n", "define a function `generate`"),
    ],
)
def test_what_makes_no_row_is_reported(steps: str, told: str, project: Path) -> None:
    with pytest.raises(UsageError, match=told):
        read_yaml_tasks(dataset(project, steps))


def test_looking_checking_and_estimating_ask_no_model_for_rows(project: Path) -> None:
    task = dataset(project, "    - {type: model, model_key: toy, user_prompt: x, column: a}\n")
    read_yaml_tasks(task, only_reads=True)
    assert main(["check", "t.yaml"]) == 2  # the column `b`, which no step writes
    assert main(["run", "--dry-run", "t.yaml"]) == 0
    assert not Path(".assay/generated").exists()


def test_a_generated_file_that_was_changed_is_refused(project: Path) -> None:
    (definition,) = read_yaml_tasks(dataset(project))
    with Path(definition.dataset.options["path"]).open("a") as file:
        file.write('{"a": 1, "b": 1}\n')
    with pytest.raises(UsageError, match="was changed after it was generated"):
        read_yaml_tasks(project / "t.yaml")


def test_a_file_from_outside_the_project_generates_nothing(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("downloads")
    (outside / "t.yaml").write_text(TASK)
    code = "open('ran', 'w')\n        def generate(sample): return {'a': 1, 'b': 1}"
    dataset(outside, f"    - type: python\n      generate_snippet: |\n        {code}\n")
    with pytest.raises(UsageError, match="--trust"):
        assay.evaluate(str(outside / "t.yaml"))
    assert not (project / "ran").exists()
    assert not Path(".assay/generated").exists()
    assert assay.evaluate(str(outside / "t.yaml"), trust=True).leaderboard.overall_score == 1.0


def test_a_model_of_the_dataset_gets_no_key_of_another_provider(project: Path) -> None:
    (project / "models").mkdir()
    (project / "models" / "w.yaml").write_text(
        "key: w\ndisplay_name: W\nconfig: {url: 'http://127.0.0.1:9/v1', model_key: m, api_key: $OPENAI_API_KEY}\n"
    )
    task = dataset(project, "    - {type: model, model_key: w, user_prompt: x, column: a}\n")
    with pytest.raises(UsageError, match=r"generating would send `OPENAI_API_KEY to http://127\.0\.0\.1:9/v1`"):
        read_yaml_tasks(task)


# -- what the models of a generator are paid

WRITES = """\
    - {type: model, model_key: writer, user_prompt: 'a {{ index }}', column: a}
    - {type: template, columns: {b: x}}
"""
WRITER = """\
from assay import Completion

class Writes:
    name = "writes"

    async def generate(self, request):
        return Completion(text=request.text(), tokens_in=1, tokens_out=1)
"""
PRICES = "date: 2026-02-03\nmodels: {writes: {input: 1000000, output: 1000000}, echo: {input: 0, output: 0}}\n"


@pytest.fixture
def paid(project: Path) -> Path:
    """Three rows, each of which costs one for the prompt and one for the answer."""
    (project / "writers.py").write_text(WRITER)
    (project / "prices.yaml").write_text(PRICES)
    return dataset(project, WRITES, rows=3)


FLAGS = ["--model-for", "writer=writers:Writes", "--run-dir", "run", "--concurrency", "1", "--quiet"]


def board(folder: str = "run") -> dict[str, object]:
    found: dict[str, object] = json.loads(Path(folder, "leaderboard.json").read_text())["tasks"][0]
    return found


def test_the_run_that_has_rows_written_counts_what_that_cost(paid: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(paid), *FLAGS]) == 0
    (writer,) = board()["judges"]  # type: ignore[misc]
    assert (writer["model"], writer["answers"], writer["cost"]["amount"]) == ("writes", 3, 6)
    assert board()["judge_cost"]["amount"] == 6  # type: ignore[index]
    assert "$6.00" in capsys.readouterr().out
    (row,) = (row for row in assay.open_run("run").costs() if row.role == "judge")
    assert (row.model, row.cost.amount) == ("writes", 6)
    provenance = json.loads(next(Path(".assay/generated").glob("*.json")).read_text())
    assert [(used["model"], used["answers"]) for used in provenance["used"]] == [("writes", 3)]
    # the same run, resumed; another one finds the rows there
    assert main(["run", str(paid), *FLAGS]) == 0
    assert board()["judge_cost"]["amount"] == 6  # type: ignore[index]
    assert main(["run", str(paid), *FLAGS, "--run-dir", "other"]) == 0
    assert board("other")["judges"] == []


def test_writing_rows_ends_with_the_budget_and_is_resumed_with_a_larger_one(
    paid: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset(paid.parent, WRITES, rows=40)
    assert main(["run", str(paid), *FLAGS, "--budget-cost", "1"]) == 2
    error = capsys.readouterr().err
    assert "dataset `made`: the budget of 1 USD (--budget-cost) is used up while it was generated" in error
    assert "rerun with more to resume" in error
    assert not Path("run").exists()
    assert main(["run", str(paid), *FLAGS, "--budget-cost", "200"]) == 0
    (writer,) = board()["judges"]  # type: ignore[misc]
    assert writer["cost"]["amount"] == 80


def test_a_writer_without_a_price_is_refused_where_money_is_limited(
    paid: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("prices.yaml").unlink()
    assert main(["run", str(paid), *FLAGS, "--budget-cost", "1"]) == 2
    assert "--budget-cost needs the price of `writes`" in capsys.readouterr().err


def test_a_dry_run_says_what_writing_the_rows_would_take(paid: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(paid), *FLAGS, "--dry-run", "--json"]) == 0
    told = capsys.readouterr()
    assert "3 requests to `writers:Writes` with at least about 12 tokens" in told.err
    [task] = json.loads(told.out)["tasks"]
    assert (task["attempts"], task["not_rendered"]) == (3, 0)
    assert not Path(".assay/generated").exists()


def test_rows_whose_columns_only_the_model_knows_are_not_made_up(
    paid: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = Path("made.yaml")
    dataset.write_text(
        dataset.read_text()
        .replace("type: model", "type: model, json: true")
        .replace('"type": "model"', '"type": "model", "json": true')
    )
    assert "json" in dataset.read_text()
    assert main(["run", str(paid), *FLAGS, "--dry-run"]) == 2
    assert "Its columns are known when they are written: run the task once" in capsys.readouterr().err
    assert main(["check", str(paid), "--json"]) == 0
    [checked] = json.loads(capsys.readouterr().out)
    assert [(each["problem"], each["error"]) for each in checked["findings"]] == [("needs_values", False)]


def test_no_file_asks_for_more_rows_or_bytes_than_are_made(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"num_samples.*must be at most 1,000,000, got 1000000000"):
        rows(dataset(project, rows=1_000_000_000))
    monkeypatch.setattr(generation, "MAX_BYTES", 10_000)
    long = "    - {type: template, columns: {a: '{{ \"x\" * 1000 }}'}}\n"
    with pytest.raises(UsageError, match=r"of its 500 rows come to more than .* Make fewer or shorter rows"):
        rows(dataset(project, long, "seed: 1", rows=500))
    assert not list(Path(".assay/generated").iterdir())


def test_rows_are_kept_on_disk_while_they_are_made(project: Path) -> None:
    """Memory holds eight bytes for each."""
    rows(dataset(project))  # what is imported for it
    task = dataset(project, "    - {type: template, columns: {a: '{{ \"x\" * 20000 }}'}}\n", "seed: 1", rows=2500)
    tracemalloc.start()
    (definition,) = read_yaml_tasks(task)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert Path(definition.dataset.options["path"]).stat().st_size > 40_000_000
    assert peak < 20_000_000


def test_a_torn_row_is_made_again_and_the_others_are_kept(project: Path) -> None:
    task = dataset(project, rows=20)
    whole = rows(task)
    (made,) = Path(".assay/generated").glob("*.jsonl")
    lines = [json.dumps([index, row]) + "\n" for index, row in enumerate(whole)]
    made.with_suffix(".partial").write_text("".join(reversed(lines[5:15])) + lines[3][:20])
    made.unlink()
    assert rows(task) == whole
