"""What becomes of lm_eval's answers about a task, without lm_eval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.bridges.recorded_library import RecordedLibrary

from assay.bridges.lm_eval import lm_eval_source
from assay.bridges.lm_eval.lm_eval_source import LmEvalOptions, LmEvalSource, read_lm_eval
from assay.core.errors import UsageError
from assay.core.types import TaskDefinition
from assay.formats.task_source import Shots, SourceContext


def metric(name: str, *, mean: bool = True, own: bool = False, filter: str = "none", up: bool = True) -> dict[str, Any]:
    return {"metric": name, "filter": filter, "mean": mean, "own": own, "higher_is_better": up}


def built(kind: str = "generate_until", *metrics: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": "sums",
        "output_type": kind,
        "metrics": list(metrics),
        "path": "/cache/sums.jsonl",
        "size": 3,
        "sha256": "ab",
        "likelihoods": kind != "generate_until",
        "task_version": 1.0,
        "revision": None,
        "num_fewshot": 0,
        **more,
    }


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    here = tmp_path / "project"
    here.mkdir()
    (here / ".git").mkdir()
    monkeypatch.chdir(here)
    return here


def library(
    monkeypatch: pytest.MonkeyPatch, task: dict[str, Any] | None = None, groups: Any = (), **seen: Any
) -> RecordedLibrary:
    described = {"unsafe": False, "files": [], "package": "/lib/lm_eval", "code": [], "main": "", "version": "0.4.9"}
    recorded = RecordedLibrary({"describe": described | seen, "build": {"tasks": [task], "groups": groups}})
    monkeypatch.setattr(lm_eval_source, "LIBRARY", recorded)
    return recorded


def read(context: SourceContext = SourceContext(trust=True), **options: Any) -> TaskDefinition:  # noqa: B008 - frozen
    [definition] = read_lm_eval("lm-eval:sums", LmEvalOptions(**options), context)
    return definition


def test_means_are_ours_and_all_other_metrics_share_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = [
        metric("exact_match", filter="strict"),
        metric("word_perplexity", mean=False, up=False),
        metric("own_score", own=True),
        metric("ter", up=False),
    ]
    library(monkeypatch, built("generate_until", *metrics))
    definition = read()
    shown = [(part.key, part.use, part.options) for part in definition.aggregates]
    strict, ter = "exact_match,strict", "ter"
    task = {"scorer": "lm_eval", "task": "sums", "library": {"name": "sums"}, "means": [strict, ter]}
    assert shown == [
        (strict, "mean", {"scorer": "lm_eval", "field": strict, "name": strict, "bounds": [0.0, 1.0]}),
        ("word_perplexity", "lm_eval", {**task, "lower_is_better": True}),
        (ter, "mean", {"scorer": "lm_eval", "field": ter, "name": ter, "lower_is_better": True}),
    ]
    assert definition.metric == strict
    assert definition.provenance.versions == {"lm_eval": "0.4.9", "task": "1.0"}


@pytest.mark.parametrize(
    ("kind", "name", "asks"),
    [
        ("loglikelihood", "acc", True),
        ("multiple_choice", "exact_match", True),
        ("multiple_choice", "acc", False),
        ("generate_until", "exact_match", False),
        ("loglikelihood_rolling", "exact_match", False),
    ],
)
def test_the_most_likely_text_is_requested_where_a_metric_needs_it(
    monkeypatch: pytest.MonkeyPatch, kind: str, name: str, asks: bool
) -> None:
    library(monkeypatch, built(kind, metric(name)))
    assert read().scorers[0].options.get("asks_greedy", False) is asks


def test_code_that_would_run_is_named_unless_it_is_the_packages_or_the_projects(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sums.yaml", "utils.py"):
        (project / name).write_text("")
    files = [str(project / "sums.yaml"), "/lib/lm_eval/tasks/base.yaml", "/elsewhere/part.yaml", "/elsewhere/utils.py"]
    code = [
        ["utils.py: ours", str(project / "utils.py")],
        ["utils.py: theirs", "/elsewhere/utils.py"],
        ["!function", ""],
    ]
    library(monkeypatch, files=files, code=code, main=files[0])
    definition = read(SourceContext(only_looks=True))
    assert definition.scorers[0].options["code"] == [
        "utils.py: theirs",
        "!function",
        "/elsewhere/part.yaml: its templates",
    ]
    assert definition.source == files[0]
    assert definition.provenance.files == tuple(files[1:])


def test_what_runs_a_models_code_is_refused_before_anything_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = library(monkeypatch, unsafe=True)
    with pytest.raises(UsageError, match="assay recipe humaneval"):
        read()
    assert [order for order, _ in recorded.orders] == ["describe"]


def test_settings_that_were_given_are_passed_on_also_zero_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = library(monkeypatch, built("generate_until", metric("acc")))
    read()
    assert recorded.orders[-1] == ("build", {"name": "sums"})
    shots = Shots(count=0, as_turns=True)
    definition = read(SourceContext(trust=True, shots=shots, system="Be brief.", data={"test": "rows.jsonl"}))
    assert recorded.orders[-1][1] == {
        "name": "sums",
        "num_fewshot": 0,
        "fewshot_as_turns": True,
        "chat_template": True,
        "system": "Be brief.",
        "data": {"test": "rows.jsonl"},
    }
    assert (definition.plan.system, definition.solver.options) == ("Be brief.", {"likelihoods": False, "turns": True})
    assert read(chat_template=True).solver.options["turns"] is True


def test_groups_are_those_with_the_task_and_a_metric_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    acc = {"metric": "acc", "filters": ["none"], "weight_by_size": True}
    groups = [
        {"name": "all", "tasks": ["sums", "others"], "metrics": [acc, {**acc, "filters": "all"}]},
        {"name": "others", "tasks": ["others"], "metrics": [acc]},
        {"name": "unnamed", "tasks": ["sums"], "metrics": []},
    ]
    library(monkeypatch, built("multiple_choice", metric("acc"), revision="7e"), groups)
    definition = read()
    [group] = definition.shown.groups
    assert (group.name, [(m.metric, m.filters, m.weight_by_size) for m in group.metrics]) == (
        "all",
        [("acc", ("none",), True), ("acc", None, True)],
    )
    assert definition.provenance.versions["data"] == "7e"


def test_a_folder_or_file_that_is_not_there_is_refused_before_lm_eval_starts(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = library(monkeypatch, built("generate_until", metric("acc")))
    read(include_path=".")
    assert recorded.orders[-1][1]["include_path"] == "."
    recorded.orders.clear()
    with pytest.raises(UsageError, match="nowhere: no such file or folder"):
        read(include_path="nowhere")
    with pytest.raises(UsageError, match=r"none\.yaml: no such file or folder"):
        read_lm_eval("lm-eval:sums@none.yaml")
    assert recorded.orders == []


def test_names_are_listed_also_of_a_folder_and_none_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = RecordedLibrary({"names": {"names": {"sums": "task"}}})
    monkeypatch.setattr(lm_eval_source, "LIBRARY", recorded)
    source = LmEvalSource()
    assert source.names("su", LmEvalOptions()) == {"sums": "task"}
    source.names("", LmEvalOptions(include_path="own"))
    assert recorded.orders == [("names", {"search": "su"}), ("names", {"search": "", "include_path": "own"})]
    recorded.answers = {"names": {"names": {}}}
    with pytest.raises(UsageError, match="no task, group or tag whose name contains `x`"):
        source.names("x", LmEvalOptions())


def test_a_task_without_a_metric_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    library(monkeypatch, built("generate_until"))
    with pytest.raises(UsageError, match="`lm-eval:sums` reports no metric"):
        read()
