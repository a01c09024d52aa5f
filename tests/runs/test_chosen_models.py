"""The models that a command names, and their labels."""

from __future__ import annotations

import pytest

from assay.core.errors import UsageError
from assay.runs.chosen_models import ChosenModel, chosen_models


def answer(prompt: str) -> str:
    return prompt


def test_a_label_stands_before_the_model_as_a_text_or_as_a_key() -> None:
    written = chosen_models(["new=openai:served@http://localhost:1/v1", "toy"])
    assert written == [ChosenModel("openai:served@http://localhost:1/v1", "new"), ChosenModel("toy")]
    assert chosen_models({"mine": answer, "old": "toy"}) == [ChosenModel(answer, "mine"), ChosenModel("toy", "old")]
    assert chosen_models(answer) == [ChosenModel(answer)]
    assert chosen_models(written) == written
    assert chosen_models(None) is None


@pytest.mark.parametrize("spec", ["command:./answer --n=2", "stub:a=b", "transformers:./a=b"])
def test_an_equals_sign_of_the_model_itself_is_no_label(spec: str) -> None:
    assert chosen_models([spec]) == [ChosenModel(spec)]
    assert chosen_models([f"a b={spec}"]) == [ChosenModel(spec, "a b")]


@pytest.mark.parametrize(
    ("models", "says"),
    [
        (["=toy"], "the label before `=`"),
        (["a="], "expected LABEL=MODEL"),
        (["a=toy", "b=toy"], "`a` and `b` are one model"),
        (["a=toy", "toy"], "`a` and `toy` are one model"),
        (["a=toy", "a=stub"], "two models have the label `a`"),
        ([], "the list of models is empty"),
    ],
)
def test_labels_that_say_nothing_or_two_things_are_refused(models: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        chosen_models(models)
