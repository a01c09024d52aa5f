"""Concurrent requests share batches, and one bad answer fails only itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from tests.core.scripted import ask, broke

from assay.core.errors import FailureError
from assay.core.types import Completion, Request
from assay.models.layers.batched import Batched


class ListAdapter:
    """Takes lists; remembers how long they were."""

    name = "list"

    def __init__(self, answer: Callable[[list[str]], list[str]]) -> None:
        self.sizes: list[int] = []
        self._answer = answer

    async def generate_batch(self, requests: Sequence[Request]) -> list[Completion]:
        self.sizes.append(len(requests))
        return [Completion(text=text) for text in self._answer([request.text() for request in requests])]


def test_concurrent_requests_share_batches_of_at_most_the_batch_size() -> None:
    adapter = ListAdapter(lambda prompts: [prompt.upper() for prompt in prompts])
    answers = ask(Batched(adapter, 4), *"abcdefghij")
    assert [answer.text for answer in answers if isinstance(answer, Completion)] == list("ABCDEFGHIJ")
    assert adapter.sizes == [4, 4, 2]


def test_a_wrong_number_of_outputs_is_a_failure_of_the_whole_batch() -> None:
    adapter = ListAdapter(lambda prompts: prompts[1:])
    answers = ask(Batched(adapter, 4), *"abc")
    assert [type(answer) for answer in answers] == [FailureError] * 3
    assert "2 outputs for 3 prompts" in str(answers[0])


def test_a_batch_that_raises_fails_every_request_in_it_and_no_other() -> None:
    def answer(prompts: list[str]) -> list[str]:
        if "b" in prompts:
            raise ValueError("no b, please")
        return prompts

    answers = ask(Batched(ListAdapter(answer), 2), *"abcd")
    assert [isinstance(answer, ValueError) for answer in answers] == [True, True, False, False]


def test_one_bad_answer_fails_only_itself() -> None:
    class Mixed:
        name = "mixed"

        async def generate_batch(self, requests: Sequence[Request]) -> list[Completion | FailureError]:
            return [broke("bad_output") if r.prompt == "b" else Completion(text=r.text()) for r in requests]

    answers = ask(Batched(Mixed(), 4), *"abc")
    assert [isinstance(answer, FailureError) for answer in answers] == [False, True, False]


def test_requests_that_arrive_while_a_batch_is_answered_start_no_task_of_their_own() -> None:
    """A task for each batch, waiting for its turn, would be kept until the end of the run."""
    tasks: list[int] = []

    class Counting:
        name = "counting"

        async def generate_batch(self, requests: Sequence[Request]) -> list[Completion]:
            await turns(4)
            tasks.append(len(asyncio.all_tasks()))
            return [Completion(text="x") for _ in requests]

    async def turns(count: int) -> None:
        for _ in range(count):
            await asyncio.sleep(0)

    async def one_after_the_other(model: Batched, pause: int) -> None:
        for _ in range(50):
            await model.generate(Request(prompt="p"))
            await turns(pause)

    async def run() -> None:
        model = Batched(Counting(), 8)
        await asyncio.gather(*(one_after_the_other(model, pause) for pause in range(5)))

    asyncio.run(run())
    assert max(tasks) <= 7  # the test's own, five callers, and one that hands out batches
