"""Snippets that import the project's own modules: from beside the task and from the folders of `python`."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.formats.declarative.reading import read_yaml_tasks

from assay.core.errors import UsageError
from assay.core.task import task_fingerprint
from assay.core.types import TaskDefinition
from assay.results.board.leaderboard import Leaderboard
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.snippets.imported_modules import modules_of
from assay.trust.consent import untrusted

TASK = """\
key: t
display_name: T
description: d
definition:
  dataset: {key: data}
  solver:
    type: python
    run_solver_snippet: |
      from asking import question
      async def run_solver(sample, model, trace):
          trace.append_user_message(question(sample))
          trace.add_model_response(await model.predict(trace.items))
          return trace
  scorers:
    - type: python
      key: p
      compute_scores_snippet: |
        from lib.text import same
        def compute_scores(sample, solver_output):
            return {"right": same(str(solver_output.output), sample["a"])}
      metrics:
        - type: python
          key: share
          compute_metrics_snippet: |
            import lib.numbers
            def compute_metrics(scores):
                return {"share": lib.numbers.share([score.values["right"] for score in scores])}
"""
FILES = {
    "assay.yaml": "version: 1\npython: [shared]\n",
    "tasks/task.yaml": TASK,
    "tasks/asking.py": "def question(sample):\n    return sample['q'] + '?'\n",
    "datasets/data.jsonl": '{"q": "one", "a": "one?"}\n{"q": "two", "a": "x"}\n',
    "shared/lib/__init__.py": "",
    "shared/lib/text.py": "from .words import plain\n\ndef same(one, other):\n    return plain(one) == plain(other)\n",
    "shared/lib/words.py": "def plain(text):\n    return text.strip().casefold()\n",
    "shared/lib/numbers.py": "def share(values):\n    return sum(values) / len(values)\n",
    "shared/lib/unused.py": "",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read() -> TaskDefinition:
    [task] = read_yaml_tasks(Path("tasks/task.yaml"))
    return task


def run(task: TaskDefinition, folder: Path) -> Leaderboard:
    config = RunConfig(model="echo", include_per_example=True)
    return run_evaluation([task], config, folder=folder).leaderboard


def test_solver_scorer_and_metric_import_modules_of_the_project(project: Path) -> None:
    board = run(read(), project / "runs/r")
    assert board.tasks[0].score == 0.5
    assert not board.tasks[0].failed


def test_a_run_scores_with_the_modules_that_were_read(project: Path) -> None:
    task = read()
    (project / "shared/lib/words.py").write_text("raise SystemExit\n")
    assert run(task, project / "runs/r").tasks[0].score == 0.5


def test_only_what_is_imported_is_part_of_the_task(project: Path) -> None:
    before = read()
    assert [*before.modules] == ["asking.py", "lib/__init__.py", "lib/numbers.py", "lib/text.py", "lib/words.py"]
    (project / "shared/lib/unused.py").write_text("x = 1\n")
    assert task_fingerprint(read()) == task_fingerprint(before)
    (project / "shared/lib/words.py").write_text("def plain(text):\n    return text\n")
    assert task_fingerprint(read()) != task_fingerprint(before)


def test_each_part_has_the_modules_that_it_imports(project: Path) -> None:
    task = read()
    assert [*modules_of([task.solver], task)] == ["asking.py"]
    assert [*modules_of(task.scorers, task)] == ["lib/__init__.py", "lib/text.py", "lib/words.py"]
    assert [*modules_of(task.aggregates, task)] == ["lib/__init__.py", "lib/numbers.py"]


def test_a_task_of_a_stranger_imports_nothing_of_this_project(project: Path, tmp_path: Path) -> None:
    other = tmp_path.with_name(tmp_path.name + "-other")
    other.mkdir()
    (other / "task.yaml").write_text(TASK.replace("{key: data}", "{key: rows}"))
    (other / "rows.jsonl").write_text(FILES["datasets/data.jsonl"])
    [task] = read_yaml_tasks(other / "task.yaml")
    assert task.modules == {}
    (other / "asking.py").write_text(FILES["tasks/asking.py"])
    [task] = read_yaml_tasks(other / "task.yaml")
    assert [*task.modules] == ["asking.py"]
    assert "asking.py" in [reach.what for reach in untrusted(task)]
    assert str(other / "asking.py") in task.provenance.files


def test_a_module_that_is_called_as_one_of_python_is_refused(project: Path) -> None:
    (project / "tasks/statistics.py").write_text("")
    (project / "tasks/asking.py").write_text("import statistics\n")
    with pytest.raises(UsageError, match=r"task\.yaml:\d+:\d+: .*`statistics`.*tasks/statistics\.py.*rename it"):
        read()


def test_a_link_out_of_the_project_is_refused(project: Path, tmp_path: Path) -> None:
    outside = tmp_path.with_name(tmp_path.name + "-outside.py")
    outside.write_text("")
    (project / "tasks/asking.py").unlink()
    (project / "tasks/asking.py").symlink_to(outside)
    with pytest.raises(UsageError, match=r"asking\.py.* leads outside the project"):
        read()


def test_an_error_in_a_module_shows_its_line(project: Path) -> None:
    (project / "shared/lib/words.py").write_text("def plain(text):\n    return text.nothing\n")
    run(read(), project / "runs/r")
    lines = (project / "runs/r/journal.jsonl").read_bytes().splitlines()
    failures = [failure for line in lines for failure in msgspec.json.decode(line).get("failures", [])]
    assert "lib/words.py" in failures[0]["traceback"]
    assert "return text.nothing" in failures[0]["traceback"]
