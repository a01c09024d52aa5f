"""What a task is made of is named, and what is not known is refused, all of it at once."""

from __future__ import annotations

import pytest

from assay.bridges.inspect.worker.parts import metrics_of, name_of, refuse_unsupported, solvers_of
from assay.bridges.process.problem import BridgeError

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed (extra `inspect-ai`)")


def test_steps_are_taken_apart_and_named() -> None:
    from inspect_ai.scorer import match
    from inspect_ai.solver import chain, generate, prompt_template, system_message

    steps = [chain(system_message("S"), prompt_template("{prompt}")), generate()]
    task = inspect_ai.Task(dataset=None, setup=system_message("T"), solver=steps, scorer=match())
    assert [name_of(each) for each in solvers_of(task)] == [
        "system_message",
        "system_message",
        "prompt_template",
        "generate",
    ]
    assert [name_of(each) for each in metrics_of(task.scorer[0])] == ["accuracy", "stderr"]


def test_everything_that_is_not_supported_is_reported_at_once() -> None:
    from inspect_ai import Epochs
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
    from inspect_ai.scorer import accuracy, grouped, match
    from inspect_ai.solver import generate, user_message

    seen = ChatMessageUser(content=[ContentText(text="what?"), ContentImage(image="a.png")])
    task = inspect_ai.Task(
        dataset=[Sample(input=[seen], target="x")],
        solver=[generate(), user_message("go on"), generate()],
        scorer=match(),
        metrics=[grouped(accuracy(), "kind")],
        epochs=Epochs(3, "pass_at_2"),
        token_limit=100,
    )
    with pytest.raises(BridgeError) as caught:
        refuse_unsupported(task, "inspect:p/t")
    told = str(caught.value)
    for need in (
        "a token limit for each sample",
        "the epoch reducer `pass_at_2`",
        "the solver `user_message` after an answer",
        "2 answers to a sample",
        "the metric `grouped`",
        "samples with image",
    ):
        assert need in told


def test_what_is_known_is_not_refused() -> None:
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice, system_message

    solver = [system_message("S"), multiple_choice()]
    sample = Sample(input="q", choices=["a", "b"], target="A")
    refuse_unsupported(inspect_ai.Task(dataset=[sample], solver=solver, scorer=choice(), epochs=2), "inspect:p/t")
