"""Whose code runs, and what a hostile file can do about it."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.commands import assay

from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.task_records import AskedModel, Provenance, TaskPlan
from assay.tasks.built_tasks import build_task
from assay.trust.consent import reaches, require_trust, untrusted


def test_code_of_another_project_asks_for_trust(stranger: Path, tmp_path: Path) -> None:
    project, mark = tmp_path / "project", tmp_path / "ran"
    for verb in ("validate", "show", "list"):
        assert assay(verb, stranger / "task.yaml", cwd=project).returncode == 0
        assert not mark.exists()
    refused = assay("run", stranger / "task.yaml", cwd=project)
    assert refused.returncode == 2
    assert "--trust" in refused.stderr
    assert "run_solver_snippet" in refused.stderr
    assert not mark.exists()
    assert not (project / "runs").exists()
    assert assay("run", stranger / "task.yaml", "--trust", cwd=project).returncode == 0
    assert mark.exists()


def test_ones_own_code_runs_without_asking(stranger: Path) -> None:
    assert assay("run", "task.yaml", cwd=stranger).returncode == 0


def test_checking_strangers_code_does_not_run_it(stranger: Path, tmp_path: Path) -> None:
    assay("check", stranger / "task.yaml", cwd=tmp_path / "project")
    assert not (tmp_path / "ran").exists()


def test_a_model_that_is_code_asks_for_trust_too(stranger: Path, tmp_path: Path) -> None:
    (stranger / "judge.yaml").write_text(
        "key: j\ndisplay_name: J\nconfig: {connection_type: assay, model: 'command:touch ran'}\n"
    )
    (stranger / "task.yaml").write_text(
        'key: t\ndisplay_name: T\ndescription: ""\ndefinition:\n  dataset: {key: d}\n'
        "  solver: {type: pass_through_solver, trace_column: a}\n"
        "  scorers: [{type: labeler_via_model, model_key: j, user_prompt: x}]\n"
    )
    done = assay("run", stranger / "task.yaml", cwd=tmp_path / "project")
    assert done.returncode == 2
    assert "--trust" in done.stderr


@pytest.mark.parametrize(
    "place",
    ["in the working directory", "by its whole path", "as the program itself", "in its folder", "in a shell's line"],
)
def test_trust_in_a_command_is_trust_in_its_script(tmp_path: Path, place: str) -> None:
    project, script = tmp_path / "project", tmp_path / "project" / "score.sh"
    project.mkdir()
    script.write_text("#!/bin/sh\necho '{\"score\": 1}'\n")
    script.chmod(0o755)
    evaluator: dict[str, dict[str, Any]] = {
        "in the working directory": {"command": ["sh", "score.sh"]},
        "by its whole path": {"command": ["sh", str(script)]},
        "as the program itself": {"command": [str(script), "x" * 5000]},
        "in its folder": {"command": ["sh", "score.sh"], "cwd": str(project)},
        "in a shell's line": {"command": ["sh", "-c", "sh score.sh"]},
    }
    line: dict[str, Any] = {"id": "1", "prompt": "x", "targets": [], "metric": "evaluator"}
    line["extras"] = {"evaluator": evaluator[place]}
    outside = tmp_path / "elsewhere.jsonl"
    outside.write_text(json.dumps(line) + "\n")
    home, here = str(tmp_path / "home"), tmp_path / "another" if place == "in its folder" else project
    here.mkdir(exist_ok=True)
    assert assay("trust", outside, cwd=here, ASSAY_HOME=home).returncode == 0
    assert assay("run", outside, cwd=here, ASSAY_HOME=home).returncode == 0
    script.write_text("#!/bin/sh\necho '{\"score\": 0}'\n")
    refused = assay("run", outside, "--fresh", cwd=here, ASSAY_HOME=home)
    assert (refused.returncode, "Traceback" in refused.stderr) == (2, False)


def test_trust_in_a_command_is_trust_in_what_its_script_imports_and_says_so(tmp_path: Path) -> None:
    project, home = tmp_path / "project", str(tmp_path / "home")
    project.mkdir()
    (project / "ev.py").write_text("import rubric\nprint('{\"score\": %s}' % rubric.SCORE)\n")
    (project / "rubric.py").write_text("SCORE = 1\n")
    extras = {"evaluator": {"command": ["python3", "ev.py"]}}
    line = {"id": "1", "prompt": "x", "targets": [], "metric": "evaluator", "extras": extras}
    outside = tmp_path / "elsewhere.jsonl"
    outside.write_text(json.dumps(line) + "\n")
    trusted = assay("trust", outside, cwd=project, ASSAY_HOME=home)
    assert "covered: ev.py, rubric.py" in trusted.stdout
    assert "not covered: what these load or start from elsewhere" in trusted.stdout
    assert assay("run", outside, cwd=project, ASSAY_HOME=home).returncode == 0
    (project / "rubric.py").write_text("SCORE = 0\n")
    assert assay("run", outside, "--fresh", cwd=project, ASSAY_HOME=home).returncode == 2


def test_trust_in_a_command_whose_files_are_not_found_says_that_it_covers_none(tmp_path: Path) -> None:
    extras = {"evaluator": {"command": ["sh", "-c", "fetch-a-script | sh"]}}
    line = {"id": "1", "prompt": "x", "targets": [], "metric": "evaluator", "extras": extras}
    (tmp_path / "elsewhere.jsonl").write_text(json.dumps(line) + "\n")
    shown = assay("trust", tmp_path / "elsewhere.jsonl", "--show", cwd=tmp_path, ASSAY_HOME=str(tmp_path / "home"))
    assert (
        "not covered: what its programs are made of, load or start; none of that is a file found here" in shown.stdout
    )


def test_trust_in_a_command_model_is_trust_in_its_script_and_shows_what_it_is_passed(tmp_path: Path) -> None:
    project, script, home = tmp_path / "project", tmp_path / "downloads" / "model.sh", str(tmp_path / "home")
    project.mkdir()
    options = "options: {pass_env: [DATABASE_URL]}"
    _judged(tmp_path / "downloads", f"{{connection_type: assay, model: 'command:sh {script}', {options}}}")
    script.write_text('sed \'s/.*"id":\\("[^"]*"\\).*/{"id":\\1,"text":"a"}/\'\n')
    known: dict[str, Any] = {"cwd": project, "ASSAY_HOME": home, "DATABASE_URL": "x"}
    assert "read the variable `DATABASE_URL`" in assay("trust", tmp_path / "downloads" / "t.yaml", **known).stdout
    done = assay("run", tmp_path / "downloads" / "t.yaml", **known)
    assert done.returncode == 0, done.stderr
    script.write_text(script.read_text() + "# another one\n")
    assert assay("run", tmp_path / "downloads" / "t.yaml", "--fresh", **known).returncode == 2


def test_trust_in_a_run_folder_is_trust_in_its_scripts(tmp_path: Path) -> None:
    project, script, home = tmp_path / "project", tmp_path / "project" / "score.sh", str(tmp_path / "home")
    project.mkdir()
    script.write_text("echo '{\"score\": 1}'\n")
    line: dict[str, Any] = {"id": "1", "prompt": "x", "targets": [], "metric": "evaluator"}
    line["extras"] = {"evaluator": {"command": ["sh", "score.sh"]}}
    (project / "t.jsonl").write_text(json.dumps(line) + "\n")
    assert assay("run", "t.jsonl", "--run-dir", "run", cwd=project).returncode == 0
    assert assay("trust", "run", cwd=project, ASSAY_HOME=home).returncode == 0
    assert assay("rescore", "run", "--run-dir", "a", cwd=project, ASSAY_HOME=home).returncode == 0
    script.write_text("echo '{\"score\": 0}'\n")
    assert assay("rescore", "run", "--run-dir", "b", cwd=project, ASSAY_HOME=home).returncode == 2


def test_a_variable_is_put_into_no_file_from_elsewhere(tmp_path: Path) -> None:
    project, downloads = tmp_path / "project", tmp_path / "downloads"
    for folder in (project, downloads):
        folder.mkdir()
        (folder / "t.yaml").write_text(
            'key: t\ndisplay_name: $DATABASE_URL\ndescription: ""\ndefinition:\n  dataset: {key: d}\n'
            "  scorers: [{type: string_equals, ground_truth: x, value: y}]\n"
        )
        (folder / "d.jsonl").write_text('{"a": 1}\n')
    secret = {"DATABASE_URL": "postgres://u:pass@db"}
    shown = assay("show", downloads / "t.yaml", cwd=project, **secret)
    assert "pass@db" not in shown.stdout + shown.stderr
    refused = assay("run", downloads / "t.yaml", cwd=project, **secret)
    assert refused.returncode == 2
    assert "read the variable `DATABASE_URL`" in refused.stderr
    assert "pass@db" in assay("show", "t.yaml", cwd=project, **secret).stdout
    home = str(tmp_path / "home")
    assay("trust", downloads / "t.yaml", cwd=project, ASSAY_HOME=home, **secret)
    assert "pass@db" in assay("show", downloads / "t.yaml", cwd=project, ASSAY_HOME=home, **secret).stdout


@pytest.mark.parametrize("verb", [("run",), ("run", "--dry-run"), ("check",), ("run", "--allow-outside")])
def test_a_dataset_on_the_hub_is_not_fetched_to_find_out_that_it_may_not_be(tmp_path: Path, verb: list[str]) -> None:
    project, downloads, mark = tmp_path / "project", tmp_path / "downloads", tmp_path / "fetched"
    for folder in (project, downloads):
        folder.mkdir()
    (tmp_path / "datasets.py").write_text(
        f"disable_progress_bars = int\ndef load_dataset(*a, **b):\n    open({str(mark)!r}, 'w').close()\n"
        "    return [{'a': 1}]\n"
    )
    (downloads / "far.yaml").write_text(
        "key: far\ndisplay_name: F\nsource: {type: huggingface, path: a/b, split: test, revision: abc}\n"
    )
    (downloads / "t.yaml").write_text(
        'key: t\ndisplay_name: T\ndescription: ""\ndefinition:\n  dataset: {key: far}\n'
        "  scorers: [{type: string_equals, ground_truth: x, value: y}]\n"
    )
    (project / "t.yaml").write_text("$ref: ../downloads/t.yaml\n")
    (project / "far.yaml").write_text("$ref: ../downloads/far.yaml\n")
    task = "t.yaml" if "--allow-outside" in verb else downloads / "t.yaml"
    refused = assay(*verb, task, cwd=project, PYTHONPATH=str(tmp_path))
    assert (refused.returncode, mark.exists()) == (2, False), refused.stderr
    assert "the Hugging Face hub: a/b" in refused.stderr
    assay(*verb, task, "--trust", cwd=project, PYTHONPATH=str(tmp_path))
    assert mark.exists()


@pytest.mark.parametrize(
    "config",
    [
        "{url: 'URL', model_key: m}",
        "{connection_type: assay, model: 'openai:m@URL'}",
        "{connection_type: assay, model: 'openai:m', options: {base_url: 'URL'}}",
        "{connection_type: assay, model: 'groq:m@URL'}",
    ],
)
def test_a_host_that_a_file_chooses_gets_no_key_that_the_file_does_not_name(tmp_path: Path, config: str) -> None:
    """In one's own project too: the key of a provider stays with the provider."""
    keys = {"OPENAI_API_KEY": "sk-the-users-own-key-0001", "GROQ_API_KEY": "gsk-the-users-own-key-0001"}
    with Listener() as server:
        _judged(tmp_path, config.replace("URL", server.url))
        done = assay("run", "t.yaml", "--retries", "0", cwd=tmp_path, **keys)
        assert server.requests, done.stderr
        assert not any("users-own-key" in request for request in server.requests)


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN"])
def test_a_providers_key_goes_to_another_host_only_with_the_users_word(tmp_path: Path, variable: str) -> None:
    keys = {variable: "sk-the-users-own-key-0001"}
    with Listener() as server:
        _judged(tmp_path, f"{{url: '{server.url}', model_key: m, api_key: ${variable}}}")
        refused = assay("run", "t.yaml", "--retries", "0", cwd=tmp_path, **keys)
        assert refused.returncode == 2
        assert f"send `{variable} to {server.url}" in refused.stderr
        assert server.requests == []
        assay("run", "t.yaml", "--retries", "0", "--trust", cwd=tmp_path, **keys)
        assert any("users-own-key" in request for request in server.requests)


def test_a_model_file_that_sends_a_key_elsewhere_is_named_and_trust_in_the_task_is_none_in_it(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    config = "{url: 'http://127.0.0.1:9/v1', model_key: m, api_key: $OPENAI_API_KEY}"
    (tmp_path / "models" / "mine.yaml").write_text(f"key: mine\ndisplay_name: M\nconfig: {config}\n")
    line = {"id": "1", "prompt": "q", "targets": ["x"], "metric": "exact_match"}
    (tmp_path / "plain.jsonl").write_text(json.dumps(line))
    for _ in range(2):
        done = assay("run", "plain.jsonl", "--model", "mine", cwd=tmp_path, OPENAI_API_KEY="sk-the-users-own-key-0001")
        assert done.returncode == 2
        assert "models/mine.yaml: the model chosen for task `plain` would send `OPENAI_API_KEY to http" in done.stderr
        assert "assay trust" not in done.stderr
        assay("trust", "plain.jsonl", cwd=tmp_path)


def test_a_file_of_the_project_may_name_a_host_and_a_variable_of_its_own(tmp_path: Path) -> None:
    with Listener() as server:
        _judged(tmp_path, f"{{url: '{server.url}', model_key: m, api_key: $GATEWAY_KEY}}")
        assay("run", "t.yaml", "--retries", "0", cwd=tmp_path, GATEWAY_KEY="gateway-key-0123456789")
        assert any("gateway-key-0123456789" in request for request in server.requests)


@pytest.mark.parametrize("judge", ["command:touch MARK", "marking:judge", "openai:m@URL"])
def test_a_judge_that_a_jsonl_task_names_outright_is_no_exception(tmp_path: Path, judge: str) -> None:
    project, mark = tmp_path / "project", tmp_path / "ran"
    project.mkdir()
    (project / "marking.py").write_text(f"open({str(mark)!r}, 'w').close()\nasync def judge(prompt): return 'x'\n")
    with Listener() as server:
        named = judge.replace("MARK", str(mark)).replace("URL", server.url)
        line: dict[str, Any] = {"id": "1", "prompt": "x", "targets": [], "metric": "evaluator"}
        line["extras"] = {"evaluator": {"model_key": named, "objective": "say x"}}
        (tmp_path / "elsewhere.jsonl").write_text(json.dumps(line) + "\n")
        refused = assay(
            "run", tmp_path / "elsewhere.jsonl", "--retries", "0", cwd=project, OPENAI_API_KEY="sk-" + "1" * 20
        )
        assert refused.returncode == 2
        assert "--trust" in refused.stderr
        assert not mark.exists()
        assert server.requests == []


def test_a_model_that_the_user_typed_is_the_users_choice(tmp_path: Path) -> None:
    project, downloads = tmp_path / "project", tmp_path / "downloads"
    project.mkdir()
    with Listener() as server:
        _judged(downloads, "{url: 'http://127.0.0.1:1/v1', model_key: m}")
        typed = ("--model-for", f"j=openai:m@{server.url}", "--retries", "0")
        done = assay("run", downloads / "t.yaml", *typed, cwd=project)
        assert done.returncode == 3, done.stderr
        assert server.requests


@pytest.mark.parametrize("whose", ["project", "downloads"])
def test_a_model_file_that_the_user_chose_is_trusted_if_it_is_of_the_users_project(tmp_path: Path, whose: str) -> None:
    project, downloads = tmp_path / "project", tmp_path / "downloads"
    (project / ".git").mkdir(parents=True)
    (downloads / ".git").mkdir(parents=True)
    (tmp_path / whose / "models").mkdir()
    (downloads / "t.jsonl").write_text('{"id": "a", "prompt": "x", "targets": ["y"], "metric": "exact_match"}\n')
    with Listener() as server:
        written = f"key: mc\ndisplay_name: M\nconfig: {{url: '{server.url}', model_key: m}}\n"
        (tmp_path / whose / "models" / "mc.yaml").write_text(written)
        done = assay("run", downloads / "t.jsonl", "--model", "mc", "--retries", "0", "--patience", "0", cwd=project)
        assert (done.returncode, bool(server.requests)) == ((3, True) if whose == "project" else (2, False)), (
            done.stderr
        )
    assert ("--trust" in done.stderr) == (whose == "downloads")


@pytest.mark.parametrize(
    ("model", "kinds"),
    [
        ("toy", set()),
        ("openai:gpt-4o", set()),
        ("anthropic:claude", set()),
        ("ollama:llama", set()),
        ("os:system", {"code"}),
        ("command:curl evil", {"program"}),
        ("openai:x@evil.example:80", {"address", "key"}),
        ("openai:x@http://evil.example/v1", {"address", "key"}),
        ("openai:x@https://eu.api.openai.com/v1", {"address"}),
        ("openai:x@http://api.openai.com/v1", {"address", "key"}),
        ("vllm:x@http://gpu.example/v1", {"address"}),
        ("transformers:/tmp/weights", {"file"}),
        ("embedded:/tmp/weights.gguf", {"file"}),
        ("litellm:x", {"file"}),
        ("litellm:openai/x | http://evil.example/v1", {"file", "key"}),
    ],
)
def test_what_a_model_named_by_a_file_reaches_for(model: str, kinds: set[str]) -> None:
    name, _, address = model.partition(" | ")
    options = {"extra": {"api_base": address}} if address else {}
    definition = _definition(plan=TaskPlan(model=AskedModel(key="m", model=name, options=options)))
    assert {each.kind for each in reaches(definition)} == kinds


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": DatasetSpec(use="os:system", options={"command": "id"})},
        {"dataset": DatasetSpec(use="hub", options={"repository": "a/b"})},
        {"dataset": DatasetSpec(use="url", options={"url": "http://evil.example/x.csv"})},
        {"dataset": DatasetSpec(use="joined", options={"parts": {"a": {"use": "url", "options": {"url": "http://e"}}}})},
        {"dataset": DatasetSpec(use="joined", options={"parts": {"a": {"use": "os:system", "options": {}}}})},
        {"dataset": DatasetSpec(use="generated", options={"recipe": {"steps": [{"generate_snippet": "x"}]}})},
        {"dataset": DatasetSpec(use="generated", options={"recipe": {"steps": [{"model": {"model": "evil:m"}}]}})},
        {"dataset": DatasetSpec(use="generated", options={"recipe": {"rows": {"use": "hub", "options": {}}}})},
        {"solver": PartSpec(key="s", use="evil:solver")},
        {"solver": PartSpec(key="s", use="python", options={"run_solver_snippet": "x"})},
        {"scorers": (PartSpec(key="m", use="metric", options={"metric": "shutil:rmtree"}),)},
        {"scorers": (PartSpec(key="m", use="metric", options={"metric": "f1", "post_process": "os:system"}),)},
        {"scorers": (PartSpec(key="m", use="evil:scorer"),)},
        {"scorers": (PartSpec(key="m", use="evaluator", options={"command": ["id"]}),)},
        {"scorers": (PartSpec(key="m", use="evaluator", options={"url": "http://evil.example"}),)},
        {"scorers": (PartSpec(key="m", use="evaluator", options={"pass_env": ["AWS_SECRET_ACCESS_KEY"]}),)},
        {"scorers": (PartSpec(key="m", use="python", options={"compute_scores_snippet": "x"}),)},
        {"scorers": (PartSpec(key="m", use="rag_checker", options={"model": {"model": "evil:m"}}),)},
        {"scorers": (PartSpec(key="m", use="rag_checker", options={"judge_model_key": "evil:m"}),)},
        {"scorers": (PartSpec(key="m", use="evaluator", options={"model_key": "command:id", "objective": "x"}),)},
        {"scorers": (PartSpec(key="m", use="evaluator", options={"model_key": "openai:m@evil.example:80"}),)},
        {"solver": PartSpec(key="s", use="multi_turn_solver", options={"message_builders": [{"model_key": "evil:m"}]})},
        {"aggregates": (PartSpec(key="a", use="evil:aggregate"),)},
        {"aggregates": (PartSpec(key="a", use="python", options={"compute_metrics_snippet": "x"}),)},
        {"actions": (PartSpec(key="x", use="evil:action"),)},
        {"provenance": Provenance(variables=("DATABASE_URL",))},
    ],
)  # fmt: skip
def test_everything_that_is_more_than_data_is_seen_in_every_format(changes: dict[str, Any], tmp_path: Path) -> None:
    for form in ("spec_file", "task_folder", "declarative", "imported"):
        definition = _definition(format=form, source=str(tmp_path / "elsewhere.jsonl"), **changes)
        (tmp_path / "elsewhere.jsonl").touch()
        assert reaches(definition)
        with pytest.raises(UsageError, match="--trust"):
            build_task(definition)
        with pytest.raises(UsageError, match="--trust"):
            require_trust([definition], trust=False)
        require_trust([definition], trust=True)


def test_what_a_run_folder_says_about_its_source_decides_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    snippet = PartSpec(key="s", use="python", options={"run_solver_snippet": "x"})
    for source in ("pyproject.toml", "", "nowhere.yaml"):
        definition = _definition(solver=snippet, source=source, provenance=Provenance(files=("pyproject.toml",)))
        with pytest.raises(UsageError, match="--trust"):
            require_trust([definition], trust=False, out_of_a_run=True)
    require_trust([_definition(solver=snippet, source="pyproject.toml")], trust=False)


def test_a_run_folder_names_no_data_outside_the_current_project(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "private"
    for folder in (project, elsewhere):
        folder.mkdir()
        (folder / "rows.csv").write_text("a\n1\n")
    (project / "pyproject.toml").touch()
    monkeypatch.chdir(project)
    for use in ("table", "task_folder", "spec_file"):
        theirs, ours = (
            _definition(dataset=DatasetSpec(use=use, options={"path": path}), source=str(elsewhere / "rows.csv"))
            for path in (str(elsewhere / "rows.csv"), "rows.csv")
        )
        with pytest.raises(UsageError, match=r"read `.*private/rows.csv` \(dataset.path\)"):
            require_trust([theirs], trust=False, out_of_a_run=True)
        require_trust([theirs], trust=True, out_of_a_run=True)
        require_trust([ours], trust=False, out_of_a_run=True)
        require_trust([theirs], trust=False)  # its reader has held the data to the project of the file


EVIL = AskedModel(key="m", model="openai:x@http://evil.example/v1")


@pytest.mark.parametrize(
    ("changes", "in_a_file", "in_a_run"),
    [
        ({"plan": TaskPlan(model=EVIL)}, {"address", "key"}, {"address", "key"}),
        ({"plan": TaskPlan(asked_models={"m": EVIL})}, {"address", "key"}, {"address", "key"}),
        # a model file of the user's own still sends no key elsewhere, and a run's word for it counts for nothing
        ({"plan": TaskPlan(asked_models={"m": EVIL}, own_models=("m",))}, {"key"}, {"address", "key"}),
        ({"plan": TaskPlan(model=EVIL, typed_models=("m",))}, set(), {"address", "key"}),
        ({"provenance": Provenance(variables=("SECRET",))}, {"variable"}, {"variable"}),
    ],
)
def test_consent_reads_every_record_that_reaches_out(
    changes: dict[str, Any], in_a_file: set[str], in_a_run: set[str]
) -> None:
    definition = _definition(**changes, source="/elsewhere/t.yaml", solver=PartSpec(key="s", use="single_turn"))
    typed = definition.plan.typed_models
    assert {each.kind for each in reaches(definition, typed=typed)} == in_a_file
    assert {each.kind for each in untrusted(definition, out_of_a_run=True)} == in_a_run


def _definition(**changes: Any) -> TaskDefinition:
    plain: dict[str, Any] = {
        "name": "t",
        "format": "declarative",
        "dataset": DatasetSpec(use="inline", options={"name": "d", "samples": []}),
        "solver": PartSpec(key="solver", use="single_turn"),
        "scorers": (PartSpec(key="exact", use="metric", options={"metric": "exact_match"}),),
        "aggregates": (PartSpec(key="mean", use="mean"),),
        "metric": "exact_match",
    }
    return TaskDefinition(**{**plain, **changes})


def _judged(folder: Path, config: str) -> None:
    """A task whose judge is a model file with this configuration."""
    folder.mkdir(exist_ok=True)
    (folder / "j.yaml").write_text(f"key: j\ndisplay_name: J\nconfig: {config}\n")
    (folder / "d.jsonl").write_text('{"a": "1"}\n')
    (folder / "t.yaml").write_text(
        'key: t\ndisplay_name: T\ndescription: ""\ndefinition:\n  dataset: {key: d}\n'
        "  scorers: [{type: labeler_via_model, model_key: j, user_prompt: '{{ sample.a }}'}]\n"
    )


class Listener:
    """A server that keeps the head of every request it gets and refuses it."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}/v1"

    def __enter__(self) -> Listener:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection:
                self.requests.append(connection.recv(65536).decode("latin-1"))
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def test_a_rescored_run_of_a_stranger_does_not_run_its_code(stranger: Path, tmp_path: Path) -> None:
    project, mark = tmp_path / "project", tmp_path / "ran"
    assert assay("run", "task.yaml", "--run-dir", "run", cwd=stranger).returncode == 0
    mark.unlink()
    (stranger / "task.yaml").unlink()
    done = assay("rescore", stranger / "run", "--run-dir", "again", cwd=project)
    assert done.returncode == 2
    assert not mark.exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("key: !include /etc/passwd\n", "outside the project"),
        ("$ref: ../../etc/passwd\n", "outside the project"),
        ("a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
            f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 8)}]\n" for n in range(12)
        ), "aliases expanded"),
        ("[" * 20000, "levels deep"),
        ("key: t\nkey: u\n", "given twice"),
        ("definition:\n  solver: {type: multi_turn_solver}\n", "needs the field"),
        ("\x00", "not valid YAML"),
    ],
)  # fmt: skip
def test_hostile_files_get_a_sentence_and_exit_code_2(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    for verb in ("validate", "run"):
        done = assay(verb, "bad.yaml", cwd=tmp_path)
        assert done.returncode == 2
        assert says in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("use", "options", "reached"),
    [
        (
            "evaluator",
            {"command": ["sh", "a b.sh"], "cwd": "/srv"},
            ["file /srv m.cwd", "program sh 'a b.sh' m.command"],
        ),
        ("evaluator", {"command": "id"}, ["program id m.command"]),
        ("evaluator", {"url": ["http://a", "http://b"]}, ["address http://a m.url", "address http://b m.url"]),
        (
            "evaluator",
            {"command": ["x"], "pass_env": "A,B"},
            ["program x m.command", "variable A m.pass_env", "variable B m.pass_env"],
        ),
        ("sample_assertions", {"webhooks": ["http://a"]}, ["address http://a m.webhooks"]),
        ("sample_assertions", {"webhooks": "http://a"}, ["address http://a m.webhooks"]),
        ("evaluator", {"command": None, "url": 0, "pass_env": {}, "cwd": []}, []),
    ],
)
def test_a_scorer_says_itself_what_its_options_reach(use: str, options: dict[str, Any], reached: list[str]) -> None:
    definition = _definition(scorers=(PartSpec(key="m", use=use, options=options),))
    found = sorted(f"{each.kind} {each.what} {each.where.removeprefix('scorer ')}" for each in reaches(definition))
    assert found == reached
