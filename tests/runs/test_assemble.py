"""What a run is put together from is closed again, whatever fails and whenever."""

from __future__ import annotations

import asyncio
import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.results.yaml_runs import write_task

from assay.catalog import solver_needs
from assay.core.describe import ModelOffers
from assay.core.errors import UsageError
from assay.core.types import Completion, DatasetSpec, PartSpec, Request, TaskDefinition
from assay.run_config import RunConfig
from assay.runs.assemble import assemble, refuse_other_prompts, refuse_unscorable
from assay.runs.entry import evaluate
from assay.runs.preview import preview
from assay.runs.progress import Progress
from assay.task_records import TaskPlan
from assay.tasks.load import load_tasks


class Closable:
    """A model that remembers that it was closed."""

    name = "closable"

    def __init__(self, error: Exception | None = None) -> None:
        self.closed = 0
        self._error = error

    async def generate(self, request: Request) -> Completion:
        return Completion(text="2")

    async def aclose(self) -> None:
        self.closed += 1
        if self._error is not None:
            raise self._error


def tasks(folder: Path, *names: str) -> list[TaskDefinition]:
    for name in names:
        line = {"id": "1", "prompt": "compute: 1 + 1", "targets": ["2"], "metric": "exact_match"}
        (folder / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
    return load_tasks([str(folder / f"{name}.jsonl") for name in names])


def opened(definitions: list[TaskDefinition], model: object, body: Any = None) -> None:
    async def open_and_close() -> None:
        async with assemble(definitions, RunConfig(), model=model) as parts:
            if body is not None:
                await body(parts)

    asyncio.run(open_and_close())


def test_a_model_is_closed_once_when_all_goes_well(tmp_path: Path) -> None:
    model = Closable()
    opened(tasks(tmp_path, "a", "b"), model)
    assert model.closed == 1


def test_a_model_is_closed_when_a_later_task_cannot_be_built(tmp_path: Path) -> None:
    bad = TaskDefinition(
        name="bad",
        metric="none",
        source="",
        format="python",
        dataset=DatasetSpec(use="inline", options={"rows": [{}]}, sha256="", size=1),
        solver=PartSpec(key="solver", use="no_such_solver"),
        scorers=(),
        aggregates=(),
    )
    model = Closable()
    with pytest.raises(UsageError, match="task `bad`"):
        opened([*tasks(tmp_path, "a"), bad], model)
    assert model.closed == 1


def test_what_comes_after_a_part_that_fails_to_close_is_closed_too(tmp_path: Path) -> None:
    model = Closable()

    async def spoil(parts: Any) -> None:
        parts.closing.push_async_callback(Closable(ValueError("stuck")).aclose)

    with pytest.raises(ValueError, match="stuck"):
        opened(tasks(tmp_path, "a"), model, spoil)
    assert model.closed == 1


def test_everything_is_closed_when_making_ready_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Closable()

    def no_process(task: Any) -> None:
        raise OSError("no process could be started")

    async def make_ready(parts: Any) -> None:
        monkeypatch.setattr("assay.runs.assemble.start_scorers", no_process)
        await parts.make_ready(Progress())

    with pytest.raises(OSError, match="no process could be started"):
        opened(tasks(tmp_path, "a"), model, make_ready)
    assert model.closed == 1


def test_a_preview_shows_samples_and_calls_no_model(tmp_path: Path) -> None:
    [definition] = tasks(tmp_path, "a")
    [(sample, requests)] = preview(definition, 5)
    assert (sample.prompt, requests) == ("compute: 1 + 1", [])


class Remembers(Closable):
    """A model that remembers its requests, and thinks aloud."""

    name = "remembers"

    async def generate(self, request: Request) -> Completion:
        self.asked = request
        return Completion(text="<think>1 + 1</think>2")


def test_the_evaluated_model_is_called_with_the_runs_system_message_prefill_and_effort(tmp_path: Path) -> None:
    model = Remembers()
    config = RunConfig(system="Be brief.", prefill="It is", reasoning_effort="low")

    async def answer() -> Completion:
        async with assemble(tasks(tmp_path, "sums"), config, model=model) as parts:
            return await parts.model.generate(Request(prompt="1 + 1?"))

    completion = asyncio.run(answer())
    said = [(message.role, message.content) for message in model.asked.messages or ()]
    assert said == [("system", "Be brief."), ("user", "1 + 1?"), ("assistant", "It is")]
    assert (completion.text, completion.reasoning) == ("2", "1 + 1")


@pytest.mark.parametrize("keep", [True, False])
def test_thoughts_are_part_of_the_answer_only_where_the_run_says_so(tmp_path: Path, keep: bool) -> None:
    async def answer() -> Completion:
        async with assemble(tasks(tmp_path, "sums"), RunConfig(keep_thinking=keep), model=Remembers()) as parts:
            return await parts.model.generate(Request(prompt="1 + 1?"))

    assert asyncio.run(answer()).text == ("<think>1 + 1</think>2" if keep else "2")


@pytest.mark.parametrize("name", ["recorded", "recorded:gpt-4o", "no-model"])
def test_a_task_is_not_asked_of_a_model_that_only_has_a_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"task `a` calls a model, and `{name}` .* --model"):
        evaluate(tasks(tmp_path, "a"), name, folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


class Noted(Closable):
    offers = ModelOffers(notes=("OLLAMA_HOST is not read",))


def test_what_is_to_be_known_of_a_model_is_said_before_it_is_asked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    evaluate(tasks(tmp_path, "a"), Noted(), folder=tmp_path / "run")
    assert [record.getMessage() for record in caplog.records] == ["OLLAMA_HOST is not read"]


def test_a_conversation_is_not_asked_of_a_model_that_continues_texts() -> None:
    from assay.bridges.lm_eval.asking import lm_eval_requests
    from assay.models.adapters.openai import OpenAIModel

    solver = PartSpec(key="requests", use="lm_eval", options={"likelihoods": False, "turns": True})
    asks = SimpleNamespace(
        name="t",
        definition=SimpleNamespace(solver=solver),
        solver=lm_eval_requests(**solver.options),
        needs=solver_needs(solver),
    )
    continues = OpenAIModel("m", base_url="http://127.0.0.1:9/v1", mode="completions")
    with pytest.raises(UsageError, match=r"task `t` is sent as a conversation.*mode=chat"):
        refuse_unscorable([asks], continues)  # type: ignore[list-item]
    refuse_unscorable([asks], OpenAIModel("m", base_url="http://127.0.0.1:9/v1"))  # type: ignore[list-item]


class Renders:
    """A model that assay renders prompts for."""

    name = "local"
    offers = ModelOffers(renders_prompts=True)

    def __init__(self, **settings: object) -> None:
        self.settings = settings

    async def generate(self, request: Request) -> Completion:
        return Completion(text="")


@pytest.mark.parametrize(
    ("options", "turns", "says"),
    [
        ({"mode": "chat"}, False, r"task `t` is sent as plain text.*option mode=chat.*add --chat-template"),
        ({"system": "Be brief."}, False, r"task `t` is sent as plain text.*option system.*--system"),
        ({"mode": "text"}, True, r"task `t` is sent as a conversation.*leave out mode=text"),
        ({"mode": None}, False, None),
        ({"mode": "text"}, False, None),
        ({"mode": "chat", "system": "Be brief."}, True, None),
    ],
)
def test_an_option_that_contradicts_how_a_task_of_lm_eval_is_sent_is_refused(
    options: dict[str, object], turns: bool, says: str | None
) -> None:
    solver = PartSpec(
        key="requests", use="lm_eval", options={"likelihoods": False, **({"turns": True} if turns else {})}
    )
    plan = TaskPlan(system_in_requests=True)
    asks: Any = SimpleNamespace(name="t", definition=SimpleNamespace(solver=solver, plan=plan))
    with pytest.raises(UsageError, match=says) if says else nullcontext():
        refuse_other_prompts([asks], Renders(**options))


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (
            "import no_such_module\ndef compute_scores(sample, output): return {}",
            r"task.yaml:\d+:\d+: definition.scorers\[0\].compute_scores_snippet: .* No module named 'no_such_module'",
        ),
        ("def compute_scores(sample, output, more): return {}", "demands 3 arguments; it is called with"),
        ("def compute_scores(*, sample): return {}", "demands `sample` by name"),
        ("compute_scores = lambda sample, output, more: {}", r"task.yaml:\d.* is called with 2 arguments"),
        ("def other(sample): return {}", "compute_scores"),
    ],
)
def test_code_that_cannot_be_called_is_refused_before_a_model_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    scorer = {"key": "own", "type": "python", "compute_scores_snippet": code}
    path = write_task(tmp_path, [{"q": "x", "a": "y"}], [scorer])
    asked: list[str] = []
    with pytest.raises(UsageError, match=says):
        evaluate(str(path), lambda prompt: asked.append(prompt) or "y")
    assert asked == []
    assert not Path("runs").exists()
