"""Which runs a request amounts to."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest
from msgspec.structs import replace
from tests.results.yaml_runs import EQUALS, write_task

import assay
from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, PartSpec, TaskDefinition, Usage
from assay.models.pool import ModelPool
from assay.run_config import RunConfig
from assay.run_settings import RunSettings
from assay.runs.evaluate import run_evaluation
from assay.runs.plan import RunKeywords, check_settings, keep_picked, make_config, pick_samples, plan_runs, read_tasks
from assay.task_records import TaskPlan
from assay.tasks.load import load_tasks


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    lines = [{"id": str(n), "prompt": f"compute: {n} + 1", "targets": [str(n + 1)]} for n in range(8)]
    Path("sums.jsonl").write_text("".join(json.dumps({**line, "metric": "exact_match"}) + "\n" for line in lines))
    return "sums.jsonl"


def right(prompt: str) -> str:
    return str(eval(prompt.removeprefix("compute:")))


def wrong(prompt: str) -> str:
    return "no"


def test_a_model_that_is_named_twice_is_run_once(task: str) -> None:
    assert [run.config.model for run in plan_runs(load_tasks([task]), RunConfig(), ["toy", "stub", "toy"])] == [
        "toy",
        "stub",
    ]


def test_what_samples_cost_to_write_is_paid_once_by_the_first_of_several_models(task: str) -> None:
    [definition] = load_tasks([task])
    written = replace(definition, generation=(Usage(model="m", answers=1),))
    runs = plan_runs([written], RunConfig(), ["toy", "stub"])
    assert [bool(run.definitions[0].generation) for run in runs] == [True, False]


def test_a_model_may_be_named_by_the_key_of_its_file_or_of_its_provider(tmp_path: Path, task: str) -> None:
    write_task(tmp_path, [{"q": "x", "a": "y"}], [EQUALS])
    Path("models").mkdir()
    Path("models/ours.yaml").write_text(
        "key: ours\ndisplay_name: O\nrate_limit: 90\ngeneration: {temperature: 0.5}\n"
        "config: {connection_type: assay, model: 'stub:y'}\n"
    )
    asked = ["ours", "openai$gpt-4-1-nano", "toy"]
    definitions, _ = read_tasks(["task.yaml"], RunConfig(), evaluated=asked)
    ours, provided, toy = (run.config for run in plan_runs(definitions, RunConfig(), asked))
    assert (ours.model, ours.requests_per_minute, ours.temperature) == ("stub:y", 90, 0.5)
    assert (provided.model, provided.model_options["api_key_env"]) == ("openai:gpt-4.1-nano", "OPENAI_API_KEY")
    assert (toy.model, toy.temperature) == ("toy", None)
    with pytest.raises(UsageError, match="--temperature has no effect here: `stub:y` applies no such setting"):
        assay.evaluate("task.yaml", "ours")


def test_the_concurrency_of_a_command_comes_before_that_of_a_model_file(task: str) -> None:
    Path("models").mkdir()
    Path("models/ours.yaml").write_text(
        "key: ours\ndisplay_name: O\nmax_concurrent_requests: 2\nconfig: {connection_type: assay, model: toy}\n"
    )
    definitions, _ = read_tasks([task], RunConfig(), evaluated="ours")
    for given, expected in (({}, 2), ({"concurrency": 1}, 1), ({"concurrency": 64}, 64), ({"concurrency": None}, 2)):
        [run] = plan_runs(definitions, make_config(**given), "ours", given=given)
        assert (run.config.concurrency, run.config.adaptive) == (expected, False)
    [run] = plan_runs(definitions, RunConfig(), "ours")
    assert run.config.concurrency == 2


def test_several_models_are_several_runs(task: str) -> None:
    found = assay.evaluate(task, [right, wrong, "toy"], limit=4)
    assert [run.leaderboard.overall_score for run in found] == [1.0, 0.0, 1.0]
    assert len({run.folder for run in found}) == 3
    assert found.exit_status == 0
    with pytest.raises(UsageError, match="there are 3 runs"):
        found.leaderboard  # noqa: B018
    with pytest.raises(UsageError, match="leave the folder of the run"):
        assay.evaluate(task, [right, wrong], folder="one")


def test_an_empty_list_of_models_is_refused_and_asks_no_other(task: str) -> None:
    with pytest.raises(UsageError, match="the list of models is empty"):
        assay.evaluate(task, [])
    assert not Path("runs").exists()


def test_tasks_may_be_paths_definitions_or_both(task: str) -> None:
    other = Path("more.jsonl")
    other.write_text(Path(task).read_text())
    found = assay.evaluate([other, *assay.load_tasks([task])], right)
    assert [row.task for row in found.leaderboard.tasks] == ["more", "sums"]


def test_a_setting_that_does_not_exist_or_cannot_be_is_named(task: str) -> None:
    with pytest.raises(UsageError, match=r"unknown setting of a run `temprature`\. Did you mean `temperature`"):
        assay.evaluate(task, right, temprature=0.5)
    with pytest.raises(UsageError, match=r"Expected `int \| null`, got `str` - at `\$\.limit`"):
        assay.evaluate(task, right, limit="3")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"repeat": 0}, "repeat must be at least 1, got 0"),
        ({"retries": -1}, "retries must be 0 or more, got -1"),
        ({"score_workers": -1}, "score_workers must be 0 or more, got -1"),
        ({"patience_seconds": -5.0}, "patience_seconds must be 0 or more, got -5.0"),
        ({"timeout_seconds": 0.0}, "timeout_seconds must be above 0, got 0.0"),
        ({"budget_cost": -1.0}, "budget_cost must be above 0, got -1.0"),
        ({"level": 2.0}, "level must be between 0 and 1, such as 0.95, got 2.0"),
    ],
)
def test_a_number_that_no_run_can_be_made_with_is_refused_before_it_begins(
    settings: dict[str, Any], says: str, task: str
) -> None:
    with pytest.raises(UsageError, match=says):
        assay.evaluate(task, right, **settings)
    with pytest.raises(UsageError, match=says):
        run_evaluation(assay.load_tasks(task), RunConfig(**settings), model=right)


def test_a_key_is_no_value_of_a_parameter_which_the_run_would_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "q7-wonderful-49-river")
    for secret in ("sk-0123456789abcdefghij", "q7-wonderful-49-river"):
        with pytest.raises(UsageError, match="task_config word: the value looks like a key") as refused:
            check_settings(make_config(task_config={"word": secret}))
        assert secret not in str(refused.value)
    check_settings(make_config(task_config={"password": "swordfish", "secret": "the cake"}))


def test_python_takes_the_settings_by_the_names_and_types_of_their_fields() -> None:
    assert get_type_hints(RunKeywords) == {**get_type_hints(RunSettings), "concurrency": int | None}


def test_a_system_message_that_is_built_into_requests_is_not_put_around_them_again(task: str) -> None:
    (other,) = load_tasks([task])
    own = replace(other, name="own", plan=TaskPlan(system_in_requests=True, system="Be brief."))
    (planned,) = plan_runs([own], RunConfig(system="Be brief."), ["toy"])
    assert planned.config.system is None
    with pytest.raises(UsageError, match="run it apart from the other tasks"):
        plan_runs([own, other], RunConfig(system="Be brief."), ["toy"])
    with pytest.raises(UsageError, match=r"`own` is read with it: load_tasks\(…, system=…\)"):
        plan_runs([own], RunConfig(system="Another."), ["toy"])
    (planned,) = plan_runs([other], RunConfig(system="Be brief."), ["toy"])
    assert planned.config.system == "Be brief."


def test_samples_are_picked_by_task_and_id_with_wildcards(task: str) -> None:
    definitions = load_tasks([task])
    chosen = pick_samples(definitions, RunConfig(), ["3", "1*"])
    assert chosen[1].only == {"sums": ("1", "3")}
    assert keep_picked(definitions, RunConfig(only={"sums": ("3", "1*")})) == chosen
    [run] = assay.evaluate([*definitions, replace(definitions[0], name="others")], right, only={"sums": ("3",)})
    assert [(row.task, row.total) for row in run.leaderboard.tasks] == [("sums", 1)]


@pytest.mark.parametrize(
    ("only", "says"),
    [
        ({"summs": ("1",)}, "only: unknown task `summs`. Did you mean `sums`?"),
        ({"sums": ("1", "99")}, "only: no sample of `sums` has the id `99`"),
        ({}, "only: names no task"),
    ],
)
def test_a_run_of_samples_that_are_not_there_is_refused(task: str, only: dict[str, tuple[str, ...]], says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        assay.evaluate(task, right, only=only)
    with pytest.raises(UsageError, match=re.escape(says)):
        run_evaluation(load_tasks([task]), RunConfig(only=only), model=right)


@pytest.mark.parametrize(
    ("policy", "planned"),
    [
        (None, (None, False, True)),
        ("reuse", (None, True, True)),
        ("update", (None, True, False)),
        ("no-cache", (False, False, True)),
    ],
)
def test_the_cache_policy_of_a_file_is_the_default_of_its_run(
    task: str, policy: str | None, planned: tuple[bool | None, bool, bool]
) -> None:
    (definition,) = load_tasks([task])
    definition = msgspec.structs.replace(definition, plan=TaskPlan(cache=policy))
    ((_, config, *_),) = plan_runs([definition], RunConfig())
    assert (config.cache, config.cache_by_default, config.cache_reads) == planned
    ((_, without, *_),) = plan_runs([definition], RunConfig(cache=False))
    assert (without.cache, without.cache_by_default) == (False, False)


def test_a_task_that_is_not_to_be_cached_is_refused_with_the_cache(task: str) -> None:
    (definition,) = load_tasks([task])
    definition = msgspec.structs.replace(definition, plan=TaskPlan(cache="no-cache"))
    with pytest.raises(UsageError, match="--cache: the file of task `sums` says that answers are not cached"):
        plan_runs([definition], RunConfig(cache=True))


@pytest.mark.parametrize(("value", "default"), [("1", True), ("0", False), ("", False)])
def test_the_environment_may_make_the_cache_the_default(
    task: str, value: str, default: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE_ANSWERS", value)
    ((_, config, *_),) = plan_runs(load_tasks([task]), RunConfig())
    assert (config.cache, config.cache_by_default) == (None, default)


@pytest.mark.parametrize(
    ("said", "environment", "default"), [("true", "", True), ("true", "0", False), ("false", "", False)]
)
def test_the_project_file_may_make_the_cache_the_default(
    task: str, said: str, environment: str, default: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("assay.yaml").write_text(f"version: 1\ntasks: [.]\ncache: {said}\n")
    monkeypatch.setenv("ASSAY_CACHE_ANSWERS", environment)
    ((_, config, *_),) = plan_runs(load_tasks([task]), RunConfig())
    assert (config.cache, config.cache_by_default) == (None, default)
    ((_, without, *_),) = plan_runs(load_tasks([task]), RunConfig(cache=False))
    assert without.cache is False


RUN_FILE = json.dumps({"models": ["openai:ckpt-a", "openai:ckpt-b"], "tasks": [{"$ref": "task.yaml"}]})
FOO = json.dumps({
    "prompts": ["{{q}}"],
    "providers": ["openai:gpt-4o", {"id": "openai:gpt-4o-mini", "label": "small"}],
    "tests": [{"vars": {"q": "1"}, "assert": [{"type": "contains", "value": "1"}]}],
})  # fmt: skip


@pytest.mark.parametrize("source", ["run.yaml", "promptfooconfig.yaml"])
def test_options_of_models_reach_every_model_that_a_file_names(tmp_path: Path, task: str, source: str) -> None:
    write_task(tmp_path, [{"q": "x", "a": "y"}], [EQUALS])
    Path("run.yaml").write_text(RUN_FILE)
    Path("promptfooconfig.yaml").write_text(FOO)
    given = RunConfig(model_options={"base_url": "http://127.0.0.1:9/v1"})
    runs = plan_runs(load_tasks([source]), given)
    assert [run.config.model_options["base_url"] for run in runs] == ["http://127.0.0.1:9/v1"] * 2
    with pytest.raises(
        UsageError, match=r"(?s)unknown option .*`nonsense`.*`config` of its provider.*--model-for KEY=MODEL"
    ):
        plan_runs(load_tasks([source]), RunConfig(model_options={"nonsense": 1}))
    with pytest.raises(UsageError, match=r"unknown option .*`nonsense`"):
        assay.evaluate(source, model_options={"nonsense": 1})


def test_options_of_a_model_that_is_made_already_are_refused(task: str) -> None:
    with pytest.raises(UsageError, match=r"--model-arg: .* is an object that has been made already"):
        assay.evaluate(task, right, model_options={"base_url": "http://127.0.0.1:9"})


def test_a_judge_at_the_public_address_beside_a_model_that_was_moved_is_refused() -> None:
    pool = ModelPool(RunConfig(model="openai:m", model_options={"base_url": "http://127.0.0.1:9/v1"}))
    with pytest.raises(UsageError, match=r"the evaluated model, and `openai:j`.* `--model-for 'KEY=openai:j@URL'`"):
        pool.model_for("openai:j")
    assert pool.model_for("openai:j@http://127.0.0.1:9/v1").name == "openai:j"
    assert pool.model_for("stub:yes").name == "stub:yes"


@pytest.mark.parametrize("source", ["sums.jsonl", "task.yaml", "promptfooconfig.yaml", "starter"])
def test_a_model_file_is_found_by_its_key_for_tasks_of_every_format(tmp_path: Path, task: str, source: str) -> None:
    write_task(tmp_path, [{"q": "x", "a": "y"}], [EQUALS])
    Path("promptfooconfig.yaml").write_text(FOO)
    Path("models").mkdir()
    Path("models/bot.yaml").write_text(
        "key: bot\ndisplay_name: Our bot\nconfig: {connection_type: assay, model: 'stub:y'}\n"
    )
    definitions, _ = read_tasks([source], RunConfig(), evaluated="bot")
    (run,) = plan_runs(definitions, RunConfig(), "bot")
    assert (run.config.model, run.config.label) == ("stub:y", "Our bot")


def test_a_number_of_attempts_that_is_asked_for_is_made_also_if_it_is_one(task: str) -> None:
    [definition] = load_tasks([task])
    three = replace(definition, plan=TaskPlan(trials=3))
    assert [run.config.repeat for run in plan_runs([three], RunConfig(), "toy")] == [3]
    assert [run.config.repeat for run in plan_runs([three], RunConfig(), "toy", given={"repeat"})] == [1]


TWO_PROVIDERS = """
prompts: ["Say {{w}}"]
providers:
  - {id: "openai:chat:served", label: A, config: {apiBaseUrl: "http://127.0.0.1:1/v1"}}
  - {id: "openai:chat:served", label: B, config: {apiBaseUrl: "http://127.0.0.1:%d/v1"}}
tests: [{vars: {w: x}, assert: [{type: equals, value: alpha}]}]
"""

TWO_MODELS = """
models:
  - {key: A, display_name: %s, config: {url: "http://127.0.0.1:1/v1", model_key: served}}
  - {key: B, display_name: %s, config: {url: "http://127.0.0.1:%d/v1", model_key: served}}
tasks: [{$ref: task.yaml}]
"""


@pytest.mark.parametrize(
    ("text", "settings", "models"),
    [
        (TWO_PROVIDERS % 1, {}, {}),
        (TWO_PROVIDERS % 2, {"model_options": {"base_url": "http://127.0.0.1:3/v1"}}, {}),
        (TWO_PROVIDERS % 2, {}, {"A": "stub:x", "B": "stub:x"}),
        (TWO_MODELS % ("A", "B", 1), {}, {}),
        (TWO_MODELS % ("Same", "Same", 1), {}, {}),
        (TWO_MODELS % ("A", "B", 2), {"model_options": {"base_url": "http://127.0.0.1:3/v1"}}, {}),
    ],
)
def test_two_models_of_a_file_that_come_to_be_one_are_refused_by_name(
    tmp_path: Path, task: str, text: str, settings: dict[str, Any], models: dict[str, str]
) -> None:
    write_task(tmp_path, [{"q": "x", "a": "y"}], [EQUALS])
    source = "promptfooconfig.yaml" if "providers" in text else "run.yaml"
    Path(source).write_text(text)
    config = RunConfig(**settings)
    definitions, _ = read_tasks([source], config, models=models)
    with pytest.raises(UsageError, match="the models `A` and `B` are one model with the same settings"):
        plan_runs(definitions, config)


def test_one_model_in_place_of_the_several_of_a_file_is_one_run(task: str) -> None:
    Path("promptfooconfig.yaml").write_text(TWO_PROVIDERS % 1)
    definitions, _ = read_tasks(["promptfooconfig.yaml"], RunConfig())
    assert len(plan_runs(definitions, RunConfig(), ["stub:x"])) == 1


def test_a_model_that_is_written_in_two_ways_is_refused_before_it_is_asked(task: str) -> None:
    Path("models").mkdir()
    Path("models/ours.yaml").write_text(
        "key: ours\ndisplay_name: Ours\nconfig: {url: 'http://127.0.0.1:1/v1', model_key: served}\n"
    )
    with pytest.raises(UsageError, match="the models `new` and `old` are one model"):
        assay.evaluate(task, {"new": "ours", "old": "openai:served@http://127.0.0.1:1/v1"})


@pytest.mark.parametrize("setting", [{"system": ""}, {"prefill": ""}, {"stop": ("END", "")}])
def test_an_empty_text_is_refused_by_name(setting: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"^{next(iter(setting))} must be a text that is not empty"):
        make_config(**setting)


REPLAYS = """
import assay


@assay.describes(assay.DatasetInfo(recorded_models=True))
class Answers:
    def __len__(self):
        return 1

    def __iter__(self):
        return iter([assay.Sample(id="1", targets=("yes",), row={"model": "theirs", "said": "yes"})])


@assay.describes(assay.SolverNeeds(asks_model=False))
class Replay:
    async def __call__(self, sample, model):
        return assay.Trace(prediction=sample.row["said"])


class Silent(Replay):
    pass
"""


@pytest.mark.parametrize(("solver", "model"), [("Replay", "recorded:theirs"), ("Silent", RunConfig().model)])
def test_recorded_answers_of_ones_own_dataset_are_of_the_model_that_it_names(
    solver: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_replays.py").write_text(REPLAYS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_replays", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    definition = TaskDefinition(
        name="t",
        format="own",
        dataset=DatasetSpec(use="own_replays:Answers", size=1),
        solver=PartSpec(key="s", use=f"own_replays:{solver}"),
        scorers=(PartSpec(key="k", use="metric", options={"metric": "exact_match"}),),
        aggregates=(PartSpec(key="score", use="mean", options={"field": "score"}),),
        metric="exact_match",
    )
    (run,) = plan_runs([definition], RunConfig())
    assert run.config.model == model
