"""Any Python that answers prompts is a model; what it does wrong is a failure with its own words."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.contracts.model import check_model, closing

from assay.catalog import import_own
from assay.core.describe import ModelOffers
from assay.core.errors import FailureError, UsageError
from assay.core.model_stack import Wrapper, innermost
from assay.core.seams import Model, TakesBatches, identity_of, offers_of
from assay.core.types import Completion, Failure, Message, Request
from assay.models.adapters.python_callable import ListModel, TextModel, as_model, load_model
from assay.models.adapters.toy import ToyModel
from assay.models.pool import ModelPool
from assay.models.rate_limits import HasRateLimits, RateLimits
from assay.run_config import RunConfig


def total(prompt: str) -> str:
    if "break" in prompt:
        raise ValueError("told\nto break")
    return str(sum(map(int, prompt.removeprefix("compute: ").split(" + "))))


async def total_async(prompt: str) -> str:
    return total(prompt)


def totals(prompts: list[str]) -> list[str]:
    return [total(prompt) for prompt in prompts]


async def totals_async(prompts: Sequence[str]) -> list[str]:
    return totals(list(prompts))


class Adapter:
    """The smallest adapter anyone may write."""

    name = "adapter"

    def generate(self, prompts: Sequence[str]) -> list[str]:
        return totals(list(prompts))


class Unannotated:
    name = "unannotated"

    def generate(self, texts):  # type: ignore[no-untyped-def]
        return totals(texts)


class Native:
    name = "native"

    async def generate(self, request: Request) -> Completion:
        if not request.text().startswith("compute: "):
            raise FailureError(Failure(stage="model", part="native", kind="refused", message="no"))
        return Completion(text=total(request.text()))


class NativeInThread:
    name = "native-in-thread"

    def generate(self, request: Request) -> Completion:
        return Completion(text=total(request.text()))


class CallableObject:
    batched = True

    def __call__(self, things: Any) -> list[str]:
        return totals(things)


EVERY_SHAPE = [
    total,
    total_async,
    totals,
    totals_async,
    Adapter,
    Adapter(),
    Unannotated,
    Native,
    Native(),
    NativeInThread,
    CallableObject(),
    lambda prompt: str(total(prompt)),
]


@pytest.mark.parametrize("thing", EVERY_SHAPE)
def test_it_keeps_the_contract_of_a_model(thing: Any) -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[Model]:
        async with closing(as_model(thing)) as model:
            yield model

    check_model(make)


class SaysAll(Native):
    settings: ClassVar[dict[str, Any]] = {"size": 1}


class Batches(Native):
    offers = ModelOffers(cacheable=True)

    async def generate_batch(self, requests: Sequence[Request]) -> list[Completion]:
        return [Completion(text="of many") for _ in requests]


class Fills(Native):
    size = 0

    def set_batch_size(self, size: int) -> None:
        self.size = size


def test_a_native_model_keeps_its_settings_and_one_of_assay_is_passed_through_as_it_is() -> None:
    assert identity_of(as_model(SaysAll())) == identity_of(SaysAll())
    toy = ToyModel()
    assert as_model(toy) is toy


def test_the_types_of_an_answer_are_checked_whatever_gives_it() -> None:
    def counts(request: Request) -> Completion:
        return Completion(text="x", tokens_in="many")  # type: ignore[arg-type]

    with pytest.raises(FailureError, match=r"not a Completion: .*tokens_in"):
        asyncio.run(as_model(counts).generate(Request(prompt="x")))


def test_a_function_has_the_name_by_which_the_command_line_loads_it() -> None:
    assert identity_of(as_model(total)) == identity_of(load_model(f"{__name__}:total", {}))
    assert as_model(lambda prompt: prompt).name == "lambda"


def test_a_native_model_without_settings_gets_its_source_for_them_and_keeps_what_it_can_do() -> None:
    assert set(identity_of(as_model(Native()))) >= {"object", "source_sha256"}
    for made in (as_model(Batches()), load_model(f"{__name__}:Batches", {})):
        assert isinstance(made, TakesBatches)
        assert offers_of(made).cacheable
        (answer,) = asyncio.run(made.generate_batch([Request(prompt="x")]))  # type: ignore[arg-type]
        assert isinstance(answer, Completion)
        assert answer.text == "of many"
    fills = Fills()
    ModelPool(RunConfig(model="native", batch_size=7)).wrap(as_model(fills))
    assert fills.size == 7


def by_other_name(question: str) -> str:
    return question


def many_by_annotation(questions: tuple[str, ...]) -> list[str]:
    return list(questions)


def one_whatever_its_name(prompts: str) -> str:
    return prompts


class SaysItIsNotBatched:
    batched = False

    def generate(self, prompts: Any) -> str:
        return str(prompts)


@pytest.mark.parametrize(
    ("thing", "kind"),
    [
        (by_other_name, TextModel),
        (many_by_annotation, ListModel),
        (one_whatever_its_name, TextModel),
        (totals, ListModel),
        (SaysItIsNotBatched(), TextModel),
        (CallableObject(), ListModel),
        (str.upper, TextModel),
    ],
)
def test_what_it_takes_is_decided_by_rule(thing: Any, kind: type) -> None:
    model = as_model(thing)
    assert type(model) is kind
    assert getattr(model, "batched", False) is (kind is ListModel)


def test_a_name_may_be_given() -> None:
    assert as_model(total).name == f"{__name__}:total"
    assert as_model(total, name="adder").name == "adder"
    assert as_model(Native(), name="adder").name == "adder"


def answers_of(thing: Any, prompts: list[str]) -> list[Any]:
    async def ask() -> list[Any]:
        async with closing(as_model(thing)) as model:
            return await model.generate_batch([Request(prompt=prompt) for prompt in prompts])  # type: ignore[attr-defined,no-any-return]

    return asyncio.run(ask())


def failure_of(thing: Any, request: Request | None = None) -> Failure:
    async def ask() -> None:
        async with closing(as_model(thing)) as model:
            await model.generate(request or Request(prompt="hi"))

    with pytest.raises(FailureError) as caught:
        asyncio.run(ask())
    return caught.value.failure


def raising(error: BaseException) -> Callable[[str], str]:
    def answer(prompt: str) -> str:
        raise error

    return answer


@pytest.mark.parametrize(
    ("thing", "kind", "says", "retryable"),
    [
        (lambda prompt: None, "bad_output", "None", False),
        (lambda prompt: 5, "bad_output", "int 5", False),
        (lambda prompts: ["a", "b"], "bad_output", "2 outputs for 1 prompts", False),
        (lambda prompts: [], "bad_output", "0 outputs for 1 prompts", False),
        (lambda prompts: "a", "bad_output", "list of texts", False),
        (lambda prompts: None, "bad_output", "list of texts", False),
        (lambda prompts: [None], "bad_output", "None", False),
        (raising(KeyError("x")), "exception", "KeyError: 'x'", False),
        (raising(StopIteration()), "exception", "StopIteration", False),
        (raising(SystemExit(3)), "exception", "SystemExit: 3", False),
        (raising(TimeoutError()), "timeout", "TimeoutError", True),
        (raising(ConnectionResetError("gone")), "connection", "gone", True),
        (raising(ValueError("a\x1b[31m\n" + "b" * 5000)), "exception", "ValueError: a", False),
    ],
)
def test_what_goes_wrong_is_a_failure_in_words(thing: Any, kind: str, says: str, retryable: bool) -> None:
    failure = failure_of(thing)
    assert (failure.kind, failure.retryable) == (kind, retryable)
    assert says in failure.message
    assert failure.message.isprintable()
    assert len(failure.message) < 700


def test_one_bad_answer_in_a_list_fails_only_itself() -> None:
    good, bad = answers_of(lambda prompts: ["a", 5], ["x", "y"])
    assert good.text == "a"
    assert isinstance(bad, FailureError)


@pytest.mark.parametrize(
    "request_",
    [
        Request(prompt="a", continuation="b"),
        Request(prompt="a", tools=[{}]),
        Request(messages=(Message(role="user", content=[{"type": "image_url"}]),)),
    ],
)
def test_what_text_cannot_carry_is_said_and_not_dropped(request_: Request) -> None:
    assert failure_of(total, request_).kind == "unsupported"


def test_plain_code_does_not_hold_up_the_loop() -> None:
    release = threading.Event()

    def waits(prompt: str) -> str:
        assert release.wait(20)
        return prompt

    async def ask() -> list[str]:
        async with closing(as_model(waits)) as model:
            tasks = [asyncio.create_task(model.generate(Request(prompt=str(number)))) for number in range(20)]
            await asyncio.sleep(0)
            # were the loop held up, or the threads fewer than the requests, this line would not be reached in time
            release.set()
            return [(await task).text for task in tasks]

    assert asyncio.run(ask()) == [str(number) for number in range(20)]


def test_twenty_single_calls_run_side_by_side() -> None:
    together = threading.Barrier(20, timeout=300)

    def meets(prompt: str) -> str:
        together.wait()
        return prompt

    async def ask() -> int:
        async with closing(as_model(meets)) as model:
            return len(await asyncio.gather(*(model.generate(Request(prompt="x")) for _ in range(20))))

    assert asyncio.run(ask()) == 20


def test_list_calls_run_one_after_the_other() -> None:
    inside = threading.Lock()

    def alone(prompts: list[str]) -> list[str]:
        assert inside.acquire(blocking=False), "another call is inside"
        time.sleep(0.001)
        inside.release()
        return prompts

    async def ask() -> int:
        async with closing(as_model(alone)) as model:
            return len(await asyncio.gather(*(model.generate(Request(prompt="x")) for _ in range(30))))

    assert asyncio.run(ask()) == 30


def test_a_call_that_was_given_up_takes_no_place_from_the_next() -> None:
    release = threading.Event()

    def answer(prompt: str) -> str:
        if prompt == "hang":
            release.wait(30)
        return prompt

    async def ask() -> str:
        async with closing(as_model(answer)) as model:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(model.generate(Request(prompt="hang")), 0.05)
            return (await asyncio.wait_for(model.generate(Request(prompt="next")), 20)).text

    assert asyncio.run(ask()) == "next"
    release.set()


def test_a_call_that_never_returns_does_not_keep_the_program_alive() -> None:
    program = """
import asyncio, threading
from assay.core.types import Request
from assay.models.adapters.python_callable import as_model

def hangs(prompt: str) -> str:
    threading.Event().wait()

async def main():
    try:
        await asyncio.wait_for(as_model(hangs).generate(Request(prompt="x")), 0.1)
    except TimeoutError:
        print("gave up")

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("gave up\n", 0), done.stderr


def test_edited_code_is_another_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("first_model.py").write_text("def f(prompt: str) -> str:\n    return 'a'\n")
    Path("second_model.py").write_text("def f(prompt: str) -> str:\n    return 'b'\n")
    first, second = (as_model(import_own(f"{name}_model:f")) for name in ("first", "second"))
    assert first.settings["object"] == "first_model:f"  # type: ignore[attr-defined]
    assert first.settings["source_sha256"] != second.settings["source_sha256"]  # type: ignore[attr-defined]


def test_an_object_of_the_current_directory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("model_of_this_folder.py").write_text(
        "class M:\n    name = 'm'\n    def generate(self, prompts): return prompts\n"
    )
    assert as_model(import_own("model_of_this_folder:M")).name == "m"


@pytest.mark.parametrize(
    ("source", "target", "says"),
    [
        ("", "no_such_module_here:f", "no_such_module_here"),
        ("answer = 1", "MODULE:anser", "Did you mean `answer`"),
        ("def f(:", "MODULE:f", "line 1"),
        ("import nowhere_to_be_found", "MODULE:f", "nowhere_to_be_found"),
        ("1 / 0", "MODULE:f", "ZeroDivisionError"),
        ("", "MODULE:", "package.module:object"),
    ],
)
def test_what_cannot_be_loaded_is_said_in_a_sentence(
    source: str, target: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    module = f"loaded_{abs(hash(request.node.name))}"
    Path(f"{module}.py").write_text(source)
    with pytest.raises(UsageError) as caught:
        import_own(target.replace("MODULE", module))
    assert says in str(caught.value)


def two_things(prompt: str, answer: str) -> str:
    return prompt + answer


class NeedsArguments:
    def __init__(self, path: str) -> None: ...

    def generate(self, prompts: list[str]) -> list[str]:
        return prompts


@pytest.mark.parametrize(
    ("thing", "says"),
    [
        (5, "neither a function"),
        ("text", "neither a function"),
        (two_things, "must take one argument"),
        (lambda: "x", "must take one argument"),
        (NeedsArguments, "without arguments"),
    ],
)
def test_what_fits_no_contract_is_said_in_a_sentence(thing: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        as_model(thing)


class Remote:
    """A user's own model of an API, whose client raises its own exceptions."""

    name = "remote"
    offers = ModelOffers(remote=True)
    limits = RateLimits(remaining=3, reset_seconds=1.0)

    def require_key(self) -> None:
        raise UsageError("set MY_KEY")

    async def generate(self, request: Request) -> Completion:
        raise ConnectionRefusedError(111, "Connection refused")


class RemoteBatches(Remote):
    async def generate_batch(self, requests: Sequence[Request]) -> list[Completion | FailureError]:
        raise ConnectionRefusedError(111, "Connection refused")


class DescribedBatches(RemoteBatches):
    settings: ClassVar = {"region": "north"}


class RemoteLists(Remote):
    def generate(self, prompts: list[str]) -> list[str]:  # type: ignore[override]
        raise ConnectionRefusedError(111, "Connection refused")


class Around(Wrapper):
    """A wrapper of the user's."""


@pytest.mark.parametrize(
    "make",
    [Remote, RemoteBatches, DescribedBatches, RemoteLists, lambda: Around(Remote()), lambda: Around(RemoteLists())],
)
def test_a_server_that_an_own_remote_model_cannot_reach_is_away(make: Callable[[], Any]) -> None:
    model = as_model(make())

    async def asked() -> object:
        if isinstance(model, TakesBatches):
            await model.generate_batch([Request(prompt="x")])
        return await model.generate(Request(prompt="x"))

    with pytest.raises(FailureError) as caught:
        asyncio.run(asked())
    assert (caught.value.away, caught.value.failure.retryable) == ("unreachable", True)


@pytest.mark.parametrize("make", [Remote, RemoteBatches, DescribedBatches, RemoteLists, lambda: Around(Remote())])
def test_the_key_and_the_rate_limits_of_an_own_model_are_asked_for(make: Callable[[], Any]) -> None:
    model = as_model(make())
    with pytest.raises(UsageError, match="set MY_KEY"):
        ModelPool(RunConfig()).wrap(model)
    source = innermost(model)
    assert isinstance(source, HasRateLimits)
    assert source.limits == Remote.limits
