"""The models of a run: each wrapped once, each at its own pace."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from tests.core.scripted import Scripted, broke

from assay.core.errors import FailureError, UsageError
from assay.core.model_stack import Limited
from assay.core.run import Stop
from assay.core.seams import BuildContext, Model
from assay.core.types import Completion, Request
from assay.core.usage import Account, note
from assay.models.adapters.providers import NO_KEY
from assay.models.adapters.toy import ToyModel
from assay.models.layers.rate_limit import RateLimited
from assay.models.layers.thinking import WithoutThinking
from assay.models.model_names import make_model
from assay.models.pool import ModelPool, RequestState
from assay.run_config import RunConfig
from assay.scorers.evaluator import evaluator


def layers(model: Model) -> Iterator[Model]:
    while True:
        yield model
        if not hasattr(model, "model"):
            return
        model = model.model


def pace(model: Model) -> tuple[float | None, int]:
    """Requests a minute, and at once."""
    rate = [layer._requests._per_minute for layer in layers(model) if isinstance(layer, RateLimited)]
    (places,) = [layer._places._value for layer in layers(model) if isinstance(layer, Limited)]
    return (rate[0] if rate else None), places


def test_thoughts_that_are_scored_are_those_of_the_evaluated_model_not_of_its_judges() -> None:
    pool = ModelPool(RunConfig(keep_thinking=True))
    assert WithoutThinking in map(type, layers(pool.model_for("toy")))
    assert WithoutThinking not in map(type, layers(pool.wrap(ToyModel(), keep_thinking=True)))


def test_a_judge_that_only_has_a_name_is_refused() -> None:
    with pytest.raises(UsageError, match=r"`recorded:x` gives no answers, .* --model-for"):
        ModelPool(RunConfig()).model_for("recorded:x")


def test_the_same_words_give_the_same_model() -> None:
    pool = ModelPool(RunConfig())
    assert pool.model_for("toy", {}) is pool.model_for("toy")


def judges_of(*asked: tuple[str, str, str | None]) -> list[str]:
    pool = ModelPool(RunConfig())
    made = [
        pool.model_for(f"openai:m@{url}", {"api_key_env": NO_KEY}, key=key, label=label) for url, key, label in asked
    ]
    return [judge.name for judge in made]


HERE, THERE = "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ([(HERE, "judge", None)], ["openai:m"]),
        ([(HERE, "judge", "Strict")], ["openai:m (Strict)"]),
        ([(HERE, "judge", "Strict"), (THERE, "judge2", "Kind")], ["openai:m (Strict)", "openai:m (Kind)"]),
        ([(HERE, "judge", None), (THERE, "judge2", None)], ["openai:m (judge)", "openai:m (judge2)"]),
        ([(HERE, "judge", "Same"), (THERE, "judge2", "Same")], ["openai:m (Same)", "openai:m (Same) (2)"]),
        ([(THERE, "judge2", "Same"), (HERE, "judge", "Same")], ["openai:m (Same) (2)", "openai:m (Same)"]),
    ],
)
def test_no_two_judges_have_one_name_and_labels_and_keys_are_in_it(
    asked: list[tuple[str, str, str | None]], names: list[str]
) -> None:
    assert judges_of(*asked) == names


@pytest.mark.parametrize(
    ("config", "own", "expected"),
    [
        ({}, {}, (None, 32)),
        ({"requests_per_minute": 60}, {}, (60, 32)),
        ({}, {"requests_per_minute": 30, "concurrency": 2}, (30, 2)),
        ({"requests_per_minute": 60, "concurrency": 4}, {"requests_per_minute": 90, "concurrency": 8}, (90, 4)),
    ],
)
def test_a_judge_keeps_to_its_own_pace_or_to_that_of_the_run(
    config: dict[str, float], own: dict[str, float], expected: tuple[float | None, int]
) -> None:
    assert pace(ModelPool(RunConfig(**config)).model_for("toy", {}, **own)) == expected


def test_who_waits_to_try_again_starts_nothing_new_when_the_run_is_to_end() -> None:
    inner, stop = Scripted([broke(after=50.0), "yes"]), Stop()
    pool = ModelPool(RunConfig(cache=False))
    model = pool.wrap(inner)
    pool.bind(stop, lambda sentence: None)

    async def go() -> Completion:
        asyncio.get_running_loop().call_later(0.05, stop.request)
        return await model.generate(Request(prompt="q"))

    with pytest.raises(FailureError, match="rate_limit"):
        asyncio.run(go())
    assert len(inner.asked) == 1


def test_the_pace_of_a_judge_is_not_that_of_the_evaluated_model() -> None:
    pool = ModelPool(RunConfig())
    pool.model_for("toy", {}, requests_per_minute=30)
    assert pace(pool.wrap(ToyModel())) == (None, 32)


def test_a_share_of_the_limits_holds_for_judges_too() -> None:
    pool = ModelPool(RunConfig(requests_per_minute=60))
    judges = [pool.model_for("toy"), pool.model_for("stub", requests_per_minute=90)]
    pool.keep_to_share(1 / 3)
    assert [pace(judge)[0] for judge in judges] == [pytest.approx(20), pytest.approx(30)]


@pytest.mark.parametrize(
    ("own", "allowed"), [({}, 1200), ({"timeout_seconds": 30}, 30), ({"timeout_seconds": None}, None)]
)
@pytest.mark.parametrize("name", ["openai:m@http://127.0.0.1:1/v1", "anthropic:m@http://127.0.0.1:1", "command:cat"])
def test_a_longer_time_limit_of_the_run_takes_the_place_of_a_models_usual_one(
    name: str, own: dict[str, Any], allowed: float | None
) -> None:
    model: Any = make_model(name, own)
    ModelPool(RunConfig(timeout_seconds=1200, cache=False)).wrap(model)
    assert model._timeout_seconds == allowed


def test_the_time_limit_of_a_judge_does_not_count_its_queue() -> None:
    """32 questions at once, one at a time, each a little shorter than the limit."""
    pool = ModelPool(RunConfig(concurrency=1, timeout_seconds=None))

    class Slow:
        name = "slow"

        async def generate(self, request: Request) -> Completion:
            await asyncio.sleep(0.02)
            return Completion(text="ok")

    judge = pool.wrap(Slow(), timeout_seconds=0.5)  # type: ignore[arg-type]

    async def go() -> int:
        answers = await asyncio.gather(*(judge.generate(Request(prompt=str(n))) for n in range(32)))
        return len(answers)

    assert asyncio.run(go()) == 32


def test_a_judge_of_an_evaluator_scorer_keeps_its_limit_below_its_queue() -> None:
    pool = ModelPool(RunConfig(concurrency=1))
    evaluator(
        "e", model_key="stub", objective="be kind", timeout_seconds=2, context=BuildContext(model_for=pool.model_for)
    )
    (judge,) = pool.judges
    kinds = [type(layer).__name__ for layer in layers(judge)]
    assert kinds.index("Timed") > kinds.index("Limited")


def test_requests_in_flight_are_counted_where_concurrency_is_fixed() -> None:
    pool = ModelPool(RunConfig(cache=False, concurrency=2, adaptive=False))
    assert pool.request_state() is None
    gate = asyncio.Event()

    class Slow(ToyModel):
        async def generate(self, request: Request) -> Completion:
            await gate.wait()
            return await super().generate(request)

    model = pool.wrap(Slow())

    async def go() -> RequestState | None:
        asked = [asyncio.ensure_future(model.generate(Request(prompt="1+1"))) for _ in range(5)]
        for _ in range(10):
            await asyncio.sleep(0)
        seen = pool.request_state()
        gate.set()
        await asyncio.gather(*asked)
        return seen

    assert asyncio.run(go()) == RequestState(in_flight=2, limit=2, waiting=None)
    assert pool.request_state() == RequestState(in_flight=0, limit=2, waiting=None)


@pytest.mark.parametrize(
    ("config", "answers", "reason"),
    [
        ({}, [broke(after=50.0)], "1 request to be retried: "),
        ({"requests_per_minute": 10}, ["a", "b", "c"], "2 requests held back by the limit per minute"),
    ],
)
def test_what_holds_requests_back_is_said(config: dict[str, float], answers: list[Any], reason: str) -> None:
    stop = Stop()
    pool = ModelPool(RunConfig(cache=False, **config))
    model = pool.wrap(Scripted([*answers, "yes"]))
    pool.bind(stop, lambda sentence: None)

    async def go() -> RequestState | None:
        asked = [asyncio.ensure_future(model.generate(Request(prompt="q"))) for _ in answers]
        await asyncio.sleep(0.05)
        seen = pool.request_state()
        stop.request()
        await asyncio.gather(*asked, return_exceptions=True)
        return seen

    seen = asyncio.run(go())
    assert seen is not None
    assert (seen.waiting or "").startswith(reason)


def test_who_queues_for_a_minute_limit_is_not_asked_when_the_run_is_to_end_unless_it_had_an_answer() -> None:
    inner, stop = Scripted(["a", "b", "c"]), Stop()
    pool = ModelPool(RunConfig(cache=False, requests_per_minute=600))
    model = pool.wrap(inner)
    pool.bind(stop, lambda sentence: None)

    async def two_turns() -> Completion:
        with Account():
            note("toy", Request(prompt="q"), Completion(text="first turn"), judge=False)
            return await model.generate(Request(prompt="q"))

    async def go() -> list[Completion | BaseException]:
        pool._rate_limited[0]._requests.take(60)
        stop.request()
        asked = [two_turns(), model.generate(Request(prompt="q"))]
        return await asyncio.gather(*asked, return_exceptions=True)

    answered, given_up = asyncio.run(go())
    assert isinstance(answered, Completion)
    assert isinstance(given_up, FailureError)
    assert given_up.failure.kind == "interrupted"
