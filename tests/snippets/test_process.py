"""Snippets in their processes: values, models, time limits, crashes, and what never reaches them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assay.core.errors import FailureError
from assay.core.seams import BuildContext
from assay.core.types import Failure
from assay.snippets.process import Snippet

ALLOWED = BuildContext(own_code=True)


SCRIBBLES = """
import os

def f(x):
    for descriptor in range(3, 20):
        try:
            os.write(descriptor, b"junk\\n")
        except OSError:
            pass
"""


def call(source: str, *values: Any, function: str = "f", limit: float = 20.0, **options: Any) -> Any:
    async def run() -> Any:
        snippet = Snippet(
            source, function=function, stage="scorer", part="p", time_limit_seconds=limit, context=ALLOWED
        )
        try:
            return await snippet.call(*({"value": value} for value in values), **options)
        finally:
            await snippet.aclose()

    return asyncio.run(run())


def failure(source: str, *values: Any, **options: Any) -> Failure:
    with pytest.raises(FailureError) as caught:
        call(source, *values, **options)
    return caught.value.failure


def test_plain_and_async_functions_are_called_with_data() -> None:
    assert call("def f(x): return {'n': x['a'] + 1}", {"a": 1}) == {"n": 2}
    assert call("async def f(x): return [x, None, True]", "é") == ["é", None, True]


@pytest.mark.parametrize(
    ("source", "kind", "says"),
    [
        ("def f(x):\n  y = 1\n  return x['no']\n", "exception", "line 3 of the snippet"),
        ("def g(x): pass", "exception", "defines no function `f`"),
        ("def f(x:\n", "exception", "SyntaxError"),
        ("raise ValueError('top')", "exception", "ValueError: top"),
        ("import nothing_like_this", "exception", "ModuleNotFoundError"),
        ("def f(x): return float('nan')", "bad_output", "NaN or infinity"),
        ("def f(x): return object", "bad_output", "not JSON"),
        ("import os\ndef f(x): os._exit(3)", "exception", "ended by itself"),
        ("import sys\ndef f(x): sys.exit()", "exception", "SystemExit"),
        (SCRIBBLES, "exception", "wrote to its worker's pipe"),
    ],
)
def test_what_breaks_is_a_failure_with_a_sentence(source: str, kind: str, says: str) -> None:
    found = failure(source, {})
    assert (found.stage, found.part, found.kind) == ("scorer", "p", kind)
    assert says in found.message


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n  while True: pass\n",
        "while True: pass\n",
        "import time\ndef f(x): time.sleep(1000)\n",
        "import asyncio\nasync def f(x): await asyncio.sleep(1000)\n",
        "def f(x):\n  while True:\n    try:\n      while True: pass\n    except Exception: pass\n",
        "def f(x):\n  while True:\n    try:\n      while True: len([])\n    except BaseException: pass\n",
    ],
)
def test_a_snippet_that_runs_forever_is_stopped(source: str) -> None:
    found = failure(source, {}, limit=0.4)
    assert "took" in found.message


def test_after_a_crash_the_next_call_starts_another_process() -> None:
    async def run() -> list[Any]:
        source = "import os\ndef f(x):\n  if x == 2: os._exit(1)\n  return x\n"
        snippet = Snippet(source, function="f", stage="scorer", part="p", context=ALLOWED)
        found: list[Any] = []
        for value in (1, 2, 3):
            try:
                found.append(await snippet.call({"value": value}))
            except FailureError as error:
                found.append(error.failure.kind)
        await snippet.aclose()
        return found

    assert asyncio.run(run()) == [1, "exception", 3]


def test_many_calls_at_once_keep_their_answers_apart() -> None:
    async def run(source: str) -> list[Any]:
        snippet = Snippet(source, function="f", stage="scorer", part="p", context=ALLOWED)
        found = await asyncio.gather(*(snippet.call({"value": n}) for n in range(200)))
        await snippet.aclose()
        return found

    assert asyncio.run(run("def f(x): return x * 2")) == [n * 2 for n in range(200)]
    assert asyncio.run(run("import asyncio\nasync def f(x):\n  await asyncio.sleep(0)\n  return x * 2")) == [
        n * 2 for n in range(200)
    ]


def test_credentials_do_not_reach_a_snippet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert call("import os\ndef f(x): return sorted(os.environ)", 0).count("OPENAI_API_KEY") == 0


def test_a_model_is_called_over_the_pipe_and_its_time_is_not_the_snippets() -> None:
    source = (
        "async def run_solver(sample, model, trace):\n"
        "  trace.append_system_message('be brief')\n"
        "  trace.append_user_message(sample['q'])\n"
        "  response = await model.predict(trace.items, sample=sample)\n"
        "  trace.add_model_response(response)\n"
        "  return trace\n"
    )
    asked: list[dict[str, Any]] = []

    async def predict(message: dict[str, Any]) -> dict[str, Any]:
        asked.append(message)
        await asyncio.sleep(0.6)  # longer than the snippet's own limit
        return {"text": "4", "items": [{"type": "message", "role": "assistant", "content": "4"}], "data": {}}

    async def run() -> Any:
        snippet = Snippet(
            source, function="run_solver", stage="solver", part="p", time_limit_seconds=0.4, context=ALLOWED
        )
        try:
            return await snippet.call({"value": {"q": "2+2"}}, {"model": "m"}, {"trace": None}, predict=predict)
        finally:
            await snippet.aclose()

    solved = asyncio.run(run())
    assert solved["text"] == "4"
    assert [item["role"] for item in solved["items"]] == ["system", "user", "assistant"]
    assert asked[0]["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "2+2"},
    ]


def test_a_failure_of_the_model_stays_a_failure_of_the_model() -> None:
    async def predict(message: dict[str, Any]) -> dict[str, Any]:
        raise FailureError(Failure(stage="model", kind="rate_limit", message="slow down", retryable=True))

    source = "async def run_solver(sample, model, trace):\n  await model.predict('x')\n  return trace\n"

    async def run() -> Any:
        snippet = Snippet(source, function="run_solver", stage="solver", part="p", context=ALLOWED)
        try:
            await snippet.call({"value": {}}, {"model": "m"}, {"trace": None}, predict=predict)
        finally:
            await snippet.aclose()

    with pytest.raises(FailureError) as caught:
        asyncio.run(run())
    assert (caught.value.failure.stage, caught.value.failure.kind) == ("model", "rate_limit")


def test_a_snippet_that_raises_keeps_the_way_to_the_line_and_no_key() -> None:
    source = "def digits(text):\n    return int(text)\n\ndef f(x):\n    return digits('sk-0123456789abcdefghij')\n"
    broken = failure(source, 1)
    assert broken.message == "ValueError: invalid literal for int() with base 10: '[key]' (line 2 of the snippet)"
    assert 'File "<snippet>", line 5, in f' in broken.traceback
    assert "    return int(text)" in broken.traceback
    assert "worker.py" not in broken.traceback
    assert "sk-0123456789abcdefghij" not in broken.traceback


def test_a_snippet_that_cannot_be_loaded_keeps_the_way_to_the_line() -> None:
    broken = failure("def f(x): return x\n\n1 / 0\n", 1)
    assert broken.message.startswith("the snippet could not be loaded: ZeroDivisionError")
    assert 'File "<snippet>", line 3, in <module>' in broken.traceback


def test_half_a_character_cannot_be_sent_and_is_a_failure() -> None:
    with pytest.raises(FailureError, match="half a character") as caught:
        call("def f(x): return x", "\ud83d")
    assert (caught.value.failure.stage, caught.value.failure.kind) == ("scorer", "bad_input")


def test_half_a_character_of_a_model_is_the_models_failure_and_blocks_nothing() -> None:
    async def predict(asked: dict[str, Any]) -> dict[str, Any]:
        return {"text": "\ud83d"}

    async def run() -> None:
        source = "async def f(model):\n    return await model.predict('hi')"
        snippet = Snippet(source, function="f", stage="solver", part="p", time_limit_seconds=600, context=ALLOWED)
        try:
            await snippet.call({"model": "m"}, predict=predict)
        finally:
            await snippet.aclose()

    with pytest.raises(FailureError, match="half a character") as caught:
        asyncio.run(run())
    assert (caught.value.failure.stage, caught.value.failure.kind) == ("model", "bad_output")
