"""A setting has its effect or is refused by name: every setting with task formats and models of every kind."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.runs.recorded_effects import (
    FORMATS,
    HOLDS_ANYWAY,
    MODELS,
    ROWS_FILE,
    VALUES,
    Recorder,
    observed,
    recording_server,
    write_formats,
)
from tests.runs.shard_runs import run_shard

from assay.core.describe import ModelOffers
from assay.core.errors import UsageError
from assay.core.types import Completion, Request
from assay.results.diff.comparison import diff
from assay.results.report_settings import view_of_results
from assay.run_config import RunConfig
from assay.run_settings import RunSettings
from assay.runs.entry import evaluate
from assay.runs.later.dry_run import estimate
from assay.runs.plan import make_config, plan_runs
from assay.runs.shards import merge_run
from assay.setting import flag_of, settings_of
from assay.tasks.load import load_tasks

Case = tuple[str, str, str]
"""A setting, a format and a model."""
NEEDS_LIKELIHOODS = "choices"
"""The format that no model here can run at all."""


def all_cases() -> list[Case]:
    return list(itertools.product(VALUES, (form for form in FORMATS if form != NEEDS_LIKELIHOODS), MODELS))


def pairwise(seed: int) -> list[Case]:
    """Cases in which each setting meets each format and each model, chosen greedily."""
    cases, rng = all_cases(), random.Random(seed)
    rng.shuffle(cases)
    missing = {pair for setting, form, model in cases for pair in ((setting, form), (setting, model), (form, model))}
    chosen = []
    for setting, form, model in cases:
        pairs = {(setting, form), (setting, model), (form, model)}
        if len(pairs & missing) >= 2:
            chosen.append((setting, form, model))
            missing -= pairs
    return chosen


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Runs a case: what is seen with the setting and without."""
    monkeypatch.chdir(tmp_path)
    write_formats(tmp_path)
    for folder in ("yaml", "recorded"):
        (tmp_path / folder / "rows.yaml").write_text(ROWS_FILE)
    recorder = Recorder()
    without: dict[tuple[str, str], Any] = {}
    with recording_server(recorder) as url:

        def compare(case: Case) -> tuple[Any, Any]:
            setting, form, model = case
            if (form, model) not in without:
                without[form, model] = observed(form, model, recorder, url)
            return without[form, model], observed(form, model, recorder, url, **{setting: VALUES[setting]})

        yield compare


def problem_of(case: Case, compare: Any) -> str | None:
    """Why a case breaks the rule: no effect and no refusal, or a refusal that does not name the flag."""
    flag = flag_of(RunConfig, case[0])
    try:
        before, after = compare(case)
    except UsageError as error:
        names = (flag, flag.removeprefix("--"), "nonsense", f"{case[0]}:")
        return None if any(name in str(error) for name in names) else f"{case}: refused without its name: {error}"
    return f"{case}: no effect, and not refused" if before == after else None


def test_every_setting_says_what_it_applies_to_and_is_tried_here() -> None:
    marks = settings_of(RunConfig)
    assert set(marks) == set(RunConfig.__struct_fields__)
    assert {*RunSettings.__struct_fields__} == {*VALUES, *HOLDS_ANYWAY}


def test_a_setting_has_its_effect_or_is_refused_by_name(seen: Any) -> None:
    cases = random.Random(1).sample(pairwise(seed=1), 70)
    assert [problem for case in cases if (problem := problem_of(case, seen))] == []


@pytest.mark.prove
def test_every_setting_with_every_format_and_model_has_its_effect_or_is_refused_by_name(seen: Any) -> None:
    assert [problem for case in all_cases() if (problem := problem_of(case, seen))] == []


OWN_TEMPERATURE = """
key: own
display_name: Own
description: ""
definition:
  dataset: {key: rows}
  solver:
    type: python
    run_solver_snippet: |
      async def run_solver(sample, model, trace):
          messages = [{"role": "user", "content": sample["q"]}]
          trace.add_model_response(await model.predict({"messages": messages, "temperature": 0.9}))
          return trace
  scorers: [{type: string_equals, ground_truth: "{{ sample.q }}"}]
"""


@pytest.fixture
def own_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text(OWN_TEMPERATURE)
    Path("rows.jsonl").write_text('{"q": "a", "topic": "x"}\n{"q": "b", "topic": "x"}\n')
    Path("answering.py").write_text(ANSWERING)
    return "own.yaml"


ANSWERING = """
from assay import Completion

class Model:
    name = "answering"

    async def generate(self, request):
        return Completion(text="a")
"""
IGNORED = "--temperature had no effect: every request had a value of its own"


def test_a_setting_that_every_request_of_own_code_overrides_is_recorded_in_the_run(own_task: str) -> None:
    run = evaluate(own_task, "answering:Model", temperature=0.1, max_tokens=9)
    assert run.leaderboard.notices == [IGNORED]
    again = evaluate(own_task, "answering:Model", temperature=0.1, max_tokens=9)
    assert again.leaderboard.notices == [IGNORED], "a resumed run has not forgotten it"
    other = evaluate(own_task, "answering:Model", max_tokens=9)
    assert other.leaderboard.notices == []
    view = view_of_results([run.folder, other.folder])
    assert diff(run.folder, other.folder, view).notices == [f"answering (1): {IGNORED}"]


def test_a_setting_that_one_of_two_tasks_overrides_is_named_with_that_task(own_task: str) -> None:
    plain = OWN_TEMPERATURE.replace("key: own", "key: plain").replace(', "temperature": 0.9', "")
    Path("plain.yaml").write_text(plain)
    fixed = {"type": "chat_completion", "input_messages": [{"role": "user", "content": "{{ sample.q }}"}]}
    solver = {"type": "single_turn_solver", "generation": {"temperature": 0.9}, "input_builder": fixed}
    own_solver = plain[plain.index("    type: python") : plain.index("  scorers:")]
    set_there = plain.replace("key: plain", "key: fixed").replace(
        f"solver:\n{own_solver}", f"solver: {json.dumps(solver)}\n"
    )
    Path("fixed.yaml").write_text(set_there)
    run = evaluate(["plain.yaml", own_task, "fixed.yaml"], "answering:Model", temperature=0.1)
    assert run.leaderboard.notices == [IGNORED.replace("effect:", "effect in `fixed`, `own`:")]


def test_the_merge_of_shards_says_which_setting_had_no_effect(own_task: str, tmp_path: Path) -> None:
    definitions, config = load_tasks([own_task]), RunConfig(model="answering:Model", temperature=0.1)
    for number in (1, 2):
        run_shard(definitions, config, number=number, count=2, folder=tmp_path / "shards")
    assert merge_run(tmp_path / "shards").leaderboard.notices == [IGNORED]


def test_a_permission_for_model_written_code_needs_one_task_of_the_command_that_runs_some(own_task: str) -> None:
    extras = {"entry_point": "f", "tests": "assert f(1) == 2"}
    code = {"id": "1", "prompt": "write f", "targets": [], "metric": "code_exec", "extras": extras}
    Path("code.jsonl").write_text(json.dumps(code) + "\n")
    for setting in ({"allow_broken_tests": True}, {"min_sandbox": "U"}):
        with pytest.raises(UsageError, match="has no effect here: no task here runs code that a model has written"):
            plan_and_check(["own.yaml"], **setting)
        plan_and_check(["code.jsonl"], **setting)
        plan_and_check(["own.yaml", "code.jsonl"], **setting)


def plan_and_check(tasks: list[str], **settings: Any) -> None:
    config = make_config(model="answering:Model", **settings)
    for run in plan_runs(load_tasks(tasks), config):
        estimate(run.definitions, run.config)


def test_the_cache_is_refused_where_every_model_says_that_it_has_none(own_task: str) -> None:
    with pytest.raises(UsageError, match="--cache has no effect here: every model here says `cache: false`"):
        evaluate(own_task, NeverCached(), cache=True)


class NeverCached:
    name = "never"
    offers = ModelOffers(cache=False)

    async def generate(self, request: Request) -> Completion:
        return Completion(text="a")


def test_a_misspelt_key_is_refused_with_the_column_that_it_means(own_task: str) -> None:
    for key in ("topc", "sample.topc", "topic"):
        with pytest.raises(UsageError, match=f"no sample has the key `{key}`. Did you mean `sample.topic`"):
            evaluate(own_task, "answering:Model", by=(key,))
