"""Tasks of an installed lm_eval, by name: built and scored by its own code, run by ours."""

from __future__ import annotations

import os
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from tests.bridges.lm_eval.own_task import write_own_tasks

from assay.bridges.lm_eval.lm_eval_source import LmEvalOptions, read_lm_eval
from assay.core.errors import UsageError
from assay.core.journal import read_records
from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.formats.task_source import SourceContext
from assay.results.board.leaderboard import read_leaderboard
from assay.runs.evaluate import RunOptions, run_all
from assay.runs.plan import make_config, plan_runs
from assay.runs.progress import run_blocking
from assay.task_records import Provenance
from assay.tasks.load import load_tasks
from assay.trust.consent import reaches

INSTALLED = "lm_eval" in packages_distributions()
needs_lm_eval = pytest.mark.peers


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LmEvalOptions:
    tasks = write_own_tasks(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE", os.environ.get("ASSAY_TEST_CACHE", str(tmp_path / "cache")))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return LmEvalOptions(include_path=str(tasks))


@pytest.mark.skipif(INSTALLED, reason="lm_eval is installed")
def test_without_the_package_a_sentence_says_what_to_install() -> None:
    with pytest.raises(UsageError, match=r"pip install 'assay-eval\[lm-eval\]'"):
        read_lm_eval("lm-eval:piqa")


def test_flags_for_lm_eval_go_with_its_tasks_only() -> None:
    with pytest.raises(UsageError, match="--chat-template: only for lm-eval tasks"):
        load_tasks(["starter"], num_fewshot=0, source_options={"lm-eval": {"chat_template": True}})
    with pytest.raises(UsageError, match="--data: only for tasks of other programs"):
        load_tasks(["starter"], data={"test": "rows.jsonl"})


def test_a_run_folder_trusts_no_python_of_lm_eval() -> None:
    def reached(kind: str, **about: bool) -> list[str]:
        part = PartSpec(key="x", use="lm_eval", options={"task": "t", "library": {}, "code": []})
        plain = PartSpec(key="x", use="metric", options={"metric": "exact_match"})
        definition = TaskDefinition(
            name="t",
            format="lm_eval",
            dataset=DatasetSpec(use="lm_eval"),
            solver=PartSpec(key="x", use="lm_eval"),
            scorers=(part if kind == "scorer" else plain,),
            aggregates=(part if kind == "aggregate" else PartSpec(key="x", use="mean"),),
            metric="",
            provenance=Provenance(lists_code=True),
        )
        return [each.what for each in reaches(definition, **about)]

    for kind in ("scorer", "aggregate"):
        assert reached(kind) == []
        assert reached(kind, out_of_a_run=True) == ["lm-eval:t"]


@needs_lm_eval
def test_a_group_runs_as_its_tasks_and_reports_its_own_means(own: LmEvalOptions, tmp_path: Path) -> None:
    definitions = read_lm_eval("lm-eval:own_group", own)
    assert [each.name for each in definitions] == ["own_choice", "own_writing"]
    assert [part.use for part in definitions[0].aggregates] == ["mean", "lm_eval"]
    (planned,) = plan_runs(definitions[1:], make_config(cache=False, trust=True), ["stub:yes"])
    (result,) = run_blocking(run_all([planned], RunOptions(folder=tmp_path / "run")))
    row = result.leaderboard.tasks[0]
    assert (row.metric, row.score, row.scored, row.failed) == ("hit,vote", 0.5, 6, 0)
    records = list(read_records(tmp_path / "run" / "journal.jsonl"))
    assert {len(each.trace.completions) for each in records if each.trace} == {3}
    assert read_leaderboard(tmp_path / "run").tasks[0].score == 0.5


@needs_lm_eval
def test_corpus_aggregations_are_the_tasks_own_with_an_interval(own: LmEvalOptions, tmp_path: Path) -> None:
    from tests.servers.word_server import word_server

    definitions = read_lm_eval("lm-eval:own_choice", own)
    with word_server() as server:
        options = {"mode": "completions", "check_likelihoods": False}
        config = make_config(cache=False, trust=True, model_options=options)
        (planned,) = plan_runs(definitions, config, [f"openai:m@{server.address}"])
        (result,) = run_blocking(run_all([planned], RunOptions(folder=tmp_path / "run")))
    by_name = {each.name: each for each in result.leaderboard.tasks[0].aggregates}
    records = list(read_records(tmp_path / "run" / "journal.jsonl"))
    pairs = [(each.scores[0].metadata or {})["items"]["f1"] for each in records]
    right = sum(gold == said == 1 for gold, said in pairs)
    wrong = sum(gold != said for gold, said in pairs)
    assert by_name["f1"].value == pytest.approx(2 * right / (2 * right + wrong) if right else 0.0)
    assert by_name["acc"].value == pytest.approx(sum(gold == said for gold, said in pairs) / 6)


@needs_lm_eval
def test_a_strangers_python_is_named_and_does_not_run(
    own: LmEvalOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "pyproject.toml").write_text("")
    (tmp_path / "tasks" / "scoring.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.chdir(elsewhere)
    with pytest.raises(UsageError, match=r"scoring.py:process.*rerun with --trust, or .*`assay trust lm-eval:own_"):
        read_lm_eval("lm-eval:own_writing", own)
    assert not (tmp_path / "ran").exists()


@needs_lm_eval
def test_a_file_of_ones_own_is_named_behind_the_task(own: LmEvalOptions) -> None:
    (definition,) = read_lm_eval(f"lm-eval:own_choice@{own.include_path}/choice.yaml")
    assert (definition.name, definition.dataset.size) == ("own_choice", 6)


@needs_lm_eval
def test_what_is_not_there_is_reported_in_a_sentence(own: LmEvalOptions) -> None:
    with pytest.raises(UsageError, match="Did you mean `lm-eval:own_choice`"):
        read_lm_eval("lm-eval:own_choise", own)
    with pytest.raises(UsageError, match=r"cannot be reached.*--data SPLIT=FILE"):
        read_lm_eval("lm-eval:piqa", own)


@needs_lm_eval
def test_the_same_documents_have_the_same_hash_and_others_another(own: LmEvalOptions, tmp_path: Path) -> None:
    first, again = (read_lm_eval("lm-eval:own_choice", own)[0].dataset for _ in range(2))
    assert first == again
    test = tmp_path / "tasks" / "test.jsonl"
    test.write_text(test.read_text().replace("odd", "even"))
    assert read_lm_eval("lm-eval:own_choice", own)[0].dataset.sha256 != first.sha256


@needs_lm_eval
def test_a_split_without_a_file_is_named_with_its_flag(own: LmEvalOptions, tmp_path: Path) -> None:
    context = SourceContext(data={"validation": str(tmp_path / "tasks" / "test.jsonl")})
    with pytest.raises(UsageError, match=r"reads the split `\w+`, and --data has only validation; add --data \w+=FILE"):
        read_lm_eval("lm-eval:own_choice", own, context)
