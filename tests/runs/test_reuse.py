"""`--changed`: what a run takes from an earlier result, what it does not, and that the plan is what is done."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from assay.cli.main import main
from assay.core.types import Record
from assay.run_file import read_run_file

TASK = """\
key: {name}
display_name: {name}
description: d
definition:
  dataset: {{key: {name}}}
  solver:
    type: single_turn_solver
    input_builder: {{type: chat_completion, input_messages: [{{role: user, content: "say {{{{ sample.q }}}}"}}]}}
  scorers:
    - key: right
      type: python
      compute_scores_snippet: |
        from shared import same
        def compute_scores(sample, solver_output):
            return {{"right": same(sample, str(solver_output.output))}}
      metrics: [{{type: mean, field: right}}]
    - {{key: short, type: contains, value: "{{{{ sample.a }}}}"}}
"""
ROWS = "".join(f'{{"q": "q{n}", "a": "{n}"}}\n' for n in range(4))
SHARED = "def same(sample, answer):\n    return sample['a'] in answer\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two tasks that share a module, and a finished run of the commit `main`."""
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        write(f"tasks/{name}.yaml", TASK.format(name=name))
        write(f"datasets/{name}.jsonl", ROWS)
    write("tasks/shared.py", SHARED)
    write("models/plain.py", "def answer(prompt):\n    return prompt\n")
    write(".gitignore", "runs/\n.assay/\n")
    git("init", "-q", "-b", "main")
    commit("begin")
    assert main(["run", "tasks", "--model", "echo", "--quiet"]) == 0
    git("checkout", "-q", "-b", "edit")
    return tmp_path


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


def edit(name: str, old: str, new: str) -> None:
    text = Path(name).read_text()
    assert old in text
    Path(name).write_text(text.replace(old, new))


def git(*arguments: str) -> None:
    identity = ["-c", "user.email=a@b.c", "-c", "user.name=n"]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


def commit(message: str) -> None:
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", message)


class Done(NamedTuple):
    """What came of the attempts of one task."""

    kept: int
    rescored: int
    run: int


def planned(capsys: pytest.CaptureFixture[str], *flags: str, ref: str = "main") -> dict[str, Any]:
    capsys.readouterr()
    assert main(["list", "tasks", "--model", "echo", "--changed", ref, "--json", *flags]) == 0
    return {row["task"]: row for row in json.loads(capsys.readouterr().out)["tasks"]}


def done(*flags: str, ref: str = "main", code: int = 0) -> tuple[Path, dict[str, Done]]:
    """The run, and what it did with each attempt as its journal says."""
    before = set(Path("runs").iterdir())
    assert main(["run", "tasks", "--model", "echo", "--changed", ref, "--quiet", *flags]) == code
    [folder] = set(Path("runs").iterdir()) - before
    records: dict[str, Record] = {}
    for line in (folder / "journal.jsonl").read_bytes().splitlines():
        record = msgspec.json.decode(line, type=Record)
        if not record.failures:
            records[record.key] = record
    counts: dict[str, list[int]] = {}
    for record in records.values():
        taken = record.trace is not None and all(each.from_earlier_run for each in record.trace.completions)
        counts.setdefault(record.task, [0, 0, 0])[2 if not taken else int(record.continued)] += 1
    return folder, {task: Done(*each) for task, each in counts.items()}


def foretold(plan: dict[str, Any]) -> dict[str, Done]:
    return {task: Done(row["kept"], row["rescored"], row["run"]) for task, row in plan.items()}


ALL_KEPT, ALL_RESCORED, ALL_RUN = Done(4, 0, 0), Done(0, 4, 0), Done(0, 0, 4)
ONE = "tasks/one.yaml"


@pytest.mark.parametrize(
    ("file", "old", "new", "one", "two", "outcome", "why"),
    [
        pytest.param(ONE, "key: one", "# why\nkey: one", ALL_KEPT, ALL_KEPT, "same", "", id="comment"),
        pytest.param(ONE, "description: d", "description: e", ALL_KEPT, ALL_KEPT, "same", "", id="description"),
        pytest.param(ONE, '"say ', '"tell ', ALL_RUN, ALL_KEPT, "run", "prompt", id="prompt"),
        pytest.param(
            "datasets/one.jsonl", '"q2"', '"other"', Done(3, 0, 1), ALL_KEPT, "run", "1 of 4 attempts", id="a row"
        ),
        pytest.param(
            "datasets/one.jsonl", '"a": "2"', '"a": "3"', Done(3, 1, 0), ALL_KEPT,
            "rescore", "1 of 4 attempts: other right answers", id="a gold",
        ),
        pytest.param(
            ONE, "sample.a }}", "sample.q }}", ALL_RESCORED, ALL_KEPT, "rescore", "scoring: `short`", id="scorer"
        ),
        pytest.param(
            "tasks/shared.py", " in ", " not in ", ALL_RESCORED, ALL_RESCORED, "rescore", "`right`", id="module"
        ),
        pytest.param(
            ONE, "field: right}", "field: right}, {type: max, field: right}", ALL_KEPT, ALL_KEPT, "rescore", "metrics",
            id="metric",
        ),
    ],
)  # fmt: skip
def test_what_is_predicted_is_done(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    file: str,
    old: str,
    new: str,
    one: Done,
    two: Done,
    outcome: str,
    why: str,
) -> None:
    edit(file, old, new)
    commit("edit")
    plan = planned(capsys)
    folder, made = done()
    assert made == foretold(plan) == {"one": one, "two": two}
    assert plan["one"]["outcome"] == outcome
    assert why in plan["one"]["why"]
    reused = read_run_file(folder).reused
    assert {task: each.attempts for task, each in reused.items()} == {
        task: 4 - each.run for task, each in made.items() if each.run < 4
    }
    assert {task: each.whole for task, each in reused.items() if each.whole} == {
        task: True for task, each in made.items() if each == ALL_KEPT
    }


def test_only_the_scores_that_changed_are_made_again(project: Path) -> None:
    edit("tasks/shared.py", " in ", " not in ")
    folder, _ = done()
    board = json.loads((folder / "leaderboard.json").read_text())
    assert [row["score"] for row in board["tasks"]] == [0.0, 0.0]
    [row] = [row for row in board["tasks"] if row["task"] == "one"]
    assert {each["name"]: each["value"] for each in row["aggregates"]} == {"right_mean": 0.0, "score_mean": 1.0} or {
        each["value"] for each in row["aggregates"]
    } == {0.0, 1.0}


def test_other_settings_another_model_and_the_tag_always_run_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {row["why"] for row in planned(capsys, "--repeat", "2").values()} == {"repeat was 1, now 2"}
    edit(ONE, "display_name: one", "display_name: one\ntags: [always]")
    plan = planned(capsys)
    assert plan["one"]["why"] == "has the tag `always`"
    assert plan["two"]["outcome"] == "same"
    capsys.readouterr()
    assert main(["list", "tasks", "--model", "toy", "--changed", "main", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tasks"]
    assert rows[0]["run"] == 4
    assert rows[0]["why"].startswith("no result of `toy` was made at main (")


def test_answers_that_may_be_sampled_run_again_unless_the_project_takes_them(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ["--model", "models.plain:answer"]
    assert main(["run", "tasks", *model, "--quiet"]) == 0
    plan = planned(capsys, *model, ref="HEAD")
    assert {(row["outcome"], row["why"]) for row in plan.values()} == {("run", "sampled: no temperature is set")}
    write("assay.yaml", "version: 1\nreuse: {sampled: true}\n")
    assert foretold(planned(capsys, *model, ref="HEAD")) == {"one": ALL_KEPT, "two": ALL_KEPT}


SERVED = """\
from pathlib import Path

from assay import ModelOffers, Served


class Remote:
    name = "remote"
    offers = ModelOffers(remote=True{declared})

    def generate(self, prompts):
        return list(prompts)

    async def served(self):
        digest = Path("digest.txt").read_text()
        return Served(strong={{"digest": digest}}) if digest else None
"""


@pytest.mark.parametrize(
    ("declared", "then", "now", "why"),
    [
        ("", "abc", "abc", ""),
        ("", "abc", "abd", "the model has other weights"),
        (", cache=True", "abc", "abd", "the model has other weights"),
        ("", "", "", "the model may have changed under the same name, and does not say which weights it serves"),
        ("", "abc", "", "the model may have changed under the same name, and does not say which weights it serves"),
        (", cache=True", "", "", ""),
    ],
)
def test_answers_are_taken_of_a_model_that_is_known_to_be_the_same(
    project: Path, capsys: pytest.CaptureFixture[str], declared: str, then: str, now: str, why: str
) -> None:
    write("assay.yaml", "version: 1\nreuse: {sampled: true}\n")
    module = "steady" if declared else "served"  # each is imported once in this process
    write(f"models/{module}.py", SERVED.format(declared=declared))
    write("digest.txt", then)
    model = ["--model", f"models.{module}:Remote"]
    assert main(["run", "tasks", *model, "--quiet"]) == 0
    write("digest.txt", now)
    assert {row["why"] for row in planned(capsys, *model, ref="HEAD").values()} == {why}


def test_results_that_are_too_old_are_not_taken(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("assay.yaml", "version: 1\nreuse: {max_age: 1 h}\n")
    [folder] = Path("runs").iterdir()
    assert foretold(planned(capsys)) == {"one": ALL_KEPT, "two": ALL_KEPT}
    edit(str(folder / "run.json"), f'"created": "{read_run_file(folder).created}"', '"created": "2020-01-01T00:00:00Z"')
    plan = planned(capsys, "--resume-foreign")
    assert {row["why"] for row in plan.values()} == {"older than 60 min"}


def test_a_result_of_somebody_else_counts_as_none(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [folder] = Path("runs").iterdir()
    for each in (folder / "seals").iterdir():
        each.unlink()
    plan = planned(capsys)
    assert {row["outcome"] for row in plan.values()} == {"run"}
    assert "made by another user or machine (--resume-foreign accepts it)" in plan["one"]["why"]
    assert foretold(planned(capsys, "--resume-foreign")) == {"one": ALL_KEPT, "two": ALL_KEPT}


def test_a_ref_that_is_not_here_is_refused_and_one_without_a_result_runs_everything(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "tasks", "--model", "echo", "--changed", "nosuch"]) == 2
    assert "--changed nosuch: neither a run folder nor a commit of this clone" in capsys.readouterr().err
    assert main(["run", "tasks", "--model", "toy", "--changed", "nosuch"]) == 2
    assert len([*Path("runs").iterdir()]) == 1
    commit("empty")
    plan = planned(capsys, ref="edit")
    assert {row["run"] for row in plan.values()} == {4}
    assert plan["one"]["why"].startswith("no finished result in runs was made at edit (")


def test_a_run_folder_may_be_named_itself(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [folder] = Path("runs").iterdir()
    assert foretold(planned(capsys, ref=str(folder))) == {"one": ALL_KEPT, "two": ALL_KEPT}


def test_attempts_that_failed_are_made_again(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit("tasks/shared.py", "return", "if sample['a'] == '1': raise ValueError\n    return")
    commit("broken")
    assert main(["run", "tasks", "--model", "echo", "--quiet"]) == 3
    git("tag", "broken")
    edit("tasks/shared.py", "if sample['a'] == '1': raise ValueError", "if sample['a'] == '9': raise ValueError")
    assert foretold(planned(capsys, ref="broken")) == {"one": Done(0, 3, 1), "two": Done(0, 3, 1)}


def test_new_and_gone_tasks_are_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tasks/two.yaml").rename("tasks/three.yaml")
    edit("tasks/three.yaml", "key: two\ndisplay", "key: three\ndisplay")
    edit("tasks/three.yaml", "say ", "tell ")
    capsys.readouterr()
    assert main(["list", "tasks", "--model", "echo", "--changed", "main"]) == 0
    shown = capsys.readouterr()
    assert "2 tasks: 1 same, 1 new; compared with main (runs/" in shown.err
    assert "gone: two" in shown.err
    assert "| three | new" in shown.out


def test_a_task_that_was_renamed_is_the_same(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tasks/two.yaml").rename("tasks/three.yaml")
    edit("tasks/three.yaml", "key: two\ndisplay", "key: three\ndisplay")
    edit("datasets/two.jsonl", '"a": "2"', '"a": "3"')
    assert planned(capsys)["three"]["outcome"] == "new"
    edit("datasets/two.jsonl", '"a": "3"}\n{"q": "q3"', '"a": "2"}\n{"q": "q3"')
    plan = planned(capsys)
    assert (plan["three"]["outcome"], plan["three"]["why"]) == ("same", "was `two`")
    assert main(["list", "tasks", "--model", "echo", "--changed", "main"]) == 0
    assert "; renamed: three (was `two`)" in capsys.readouterr().err
    folder, made = done()
    assert made == foretold(plan) == {"one": ALL_KEPT, "three": ALL_KEPT}
    assert read_run_file(folder).reused["three"].attempts == 4


def test_tasks_that_are_not_selected_are_not_gone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("assay.yaml", "version: 1\n")
    assert main(["run", "tasks", "--model", "echo", "--quiet", "--fresh"]) == 0
    capsys.readouterr()
    assert main(["list", "one", "--model", "echo", "--changed", "main", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["gone"] == []


def test_the_board_marks_what_was_taken_and_the_age_goes_back_to_the_first_run(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(ONE, '"say ', '"tell ')
    commit("prompt")
    first, _ = done()
    origin = read_run_file(first).reused["two"]
    out = capsys.readouterr().out
    assert f"main@{origin.commit[:4]}" in out
    assert "| = 1.000 |" in out
    commit("more")
    edit(ONE, '"tell ', '"name ')
    second, _ = done(ref="HEAD~1")
    reused = read_run_file(second).reused["two"]
    assert (reused.commit, reused.created) == (origin.commit, origin.created)
    assert reused.folder == str(first)


def test_nothing_that_was_taken_is_paid_or_tested(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [before] = Path("runs").iterdir()
    edit(ONE, '"say ', '"tell ')
    commit("prompt")
    capsys.readouterr()
    folder, _ = done("--baseline", str(before), "--gate", "no-drop-beyond 0.9", "--json")
    [gate] = json.loads(capsys.readouterr().out)["gates"]
    assert gate["outcome"] == "met"
    assert gate["sentences"][-1] == "no-drop-beyond 0.9: 1 task unchanged, taken from the baseline"
    rows = {row["task"]: row for row in json.loads((folder / "leaderboard.json").read_text())["tasks"]}
    assert rows["two"]["from_earlier_runs"] == 4
    assert rows["one"]["from_earlier_runs"] == 0
    assert main(["diff", str(before), str(folder), "--json"]) == 0
    diff = json.loads(capsys.readouterr().out)
    tasks = {task["task"]: task for task in diff["tasks"]}
    assert tasks["two"]["unchanged"] is True
    assert tasks["two"]["adjusted_p"] is None
    assert diff["comparisons"] == 2  # the other task and the overall difference


def test_the_same_command_resumes_its_own_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(ONE, '"say ', '"tell ')
    commit("prompt")
    folder, _ = done()
    journal = (folder / "journal.jsonl").read_bytes()
    assert main(["run", "tasks", "--model", "echo", "--changed", "main", "--quiet"]) == 0
    assert (folder / "journal.jsonl").read_bytes() == journal


@pytest.mark.parametrize("flag", [["--limit", "1"], ["--only", "1"], ["--fresh"], ["--shard", "1/2"], ["--dry-run"]])
def test_parts_of_tasks_are_not_combined_with_it(
    project: Path, capsys: pytest.CaptureFixture[str], flag: list[str]
) -> None:
    assert main(["run", "tasks", "--changed", "main", *flag]) == 2
    assert f"leave out {flag[0]}" in capsys.readouterr().err


def test_the_plan_of_a_project_is_that_of_its_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        "assay.yaml",
        "version: 1\nmodel: plain\nmodels: {plain: echo}\ndefaults: {repeat: 2}\nsuites: {all: {select: ['*']}}\n",
    )
    commit("project")
    assert main(["run", "@all", "--quiet"]) == 0
    edit(ONE, '"say ', '"tell ')
    commit("prompt")
    capsys.readouterr()
    assert main(["list", "@all", "--changed", "HEAD~1", "--json"]) == 0
    plan = {row["task"]: row for row in json.loads(capsys.readouterr().out)["tasks"]}
    assert foretold(plan) == {"one": Done(0, 0, 8), "two": Done(8, 0, 0)}
    assert main(["run", "@all", "--changed", "HEAD~1", "--quiet"]) == 0
    taken = [each for folder in Path("runs").iterdir() for each in read_run_file(folder).reused]
    assert taken == ["two"]


def test_what_the_project_sets_for_other_tasks_is_theirs(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("assay.yaml", "version: 1\nfolders: {one: {repeat: 2}}\n")
    plan = planned(capsys)
    assert foretold(plan) == {"one": Done(0, 0, 8), "two": ALL_KEPT}
    assert plan["one"]["why"] == "repeat was 1, now 2"


JUDGED = """\
key: judged
display_name: J
description: d
definition:
  dataset: {key: one}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.q }}"}]}
  scorers:
    - type: model_as_a_judge_classifier
      key: verdict
      model_key: judge
      user_prompt: "Right? {{ solver_output.output }}"
      correct_labels: [correct]
      incorrect_labels: [wrong]
    - {key: short, type: contains, value: "{{ sample.a }}"}
"""
JUDGE = "key: judge\ndisplay_name: J\nconfig: {connection_type: assay, model: stub:correct}\n"


def test_a_judge_is_called_again_only_where_it_or_its_prompt_changed(project: Path) -> None:
    write("models/judge.yaml", JUDGE)
    write("judged/judged.yaml", JUDGED)
    commit("judge")
    assert main(["run", "judged", "--model", "echo", "--quiet"]) == 0
    calls = []
    for file, old, new in (
        ("judged/judged.yaml", "sample.a }}", "sample.q }}"),
        ("judged/judged.yaml", '"Right? ', '"Is it right? '),
        ("models/judge.yaml", "stub:correct", "stub:wrong"),
    ):
        edit(file, old, new)
        commit(file)
        before = set(Path("runs").iterdir())
        assert main(["run", "judged", "--model", "echo", "--quiet", "--changed", "HEAD~1"]) == 0
        [folder] = set(Path("runs").iterdir()) - before
        [row] = json.loads((folder / "leaderboard.json").read_text())["tasks"]
        assert row["from_earlier_runs"] == 4
        calls.append(sum(judge["answers"] for judge in row["judges"]))
    assert calls == [0, 4, 4]
    assert row["score"] == 0.0


JUDGE_ON_A_SERVER = """\
import os
from pathlib import Path

from assay import Completion, ModelOffers, Served


class Judge:
    name = "judge"
    offers = ModelOffers(remote=True, cacheable=False{declared})

    async def served(self):
        digest = Path("digest.txt").read_text()
        return Served(strong={{"sha256": digest}}) if digest else None

    async def generate(self, request):
        return Completion(text="correct")
"""
MAY_BE_ANOTHER = "may have changed under the same name, and does not say which weights it serves"


@pytest.mark.parametrize(
    ("declared", "then", "now", "why"),
    [
        ("", "abc", "abc", ""),
        ("", "abc", "abd", "the judge of `verdict` has other weights"),
        (", cache=True", "abc", "abd", "the judge of `verdict` has other weights"),
        ("", "", "", f"the judge of `verdict` {MAY_BE_ANOTHER}"),
        ("", "abc", "", f"the judge of `verdict` {MAY_BE_ANOTHER}"),
        (", cache=True", "", "", ""),
    ],
)
def test_verdicts_are_kept_of_a_judge_that_is_known_to_be_the_same(
    project: Path, capsys: pytest.CaptureFixture[str], declared: str, then: str, now: str, why: str
) -> None:
    module = "steady_judge" if declared else "judge_on_a_server"  # each is imported once in this process
    write(f"models/{module}.py", JUDGE_ON_A_SERVER.format(declared=declared))
    write("models/judge.yaml", JUDGE.replace("stub:correct", f"models.{module}:Judge"))
    write("judged/judged.yaml", JUDGED)
    write("digest.txt", then)
    commit("judge")
    assert main(["run", "judged", "--model", "echo", "--quiet"]) == 0
    write("digest.txt", now)
    capsys.readouterr()
    assert main(["list", "judged", "--model", "echo", "--changed", "HEAD", "--json"]) == 0
    [plan] = json.loads(capsys.readouterr().out)["tasks"]
    assert (plan["why"], plan["kept"], plan["rescored"], plan["run"]) == (why, 0 if why else 4, 4 if why else 0, 0)
    before = set(Path("runs").iterdir())
    assert main(["run", "judged", "--model", "echo", "--quiet", "--changed", "HEAD"]) == 0
    [folder] = set(Path("runs").iterdir()) - before
    [row] = json.loads((folder / "leaderboard.json").read_text())["tasks"]
    assert sum(judge["answers"] for judge in row["judges"]) == (4 if why else 0)
    assert row["from_earlier_runs"] == 4
