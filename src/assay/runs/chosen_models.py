"""The models that a command or a call names, each with the label that tables show for it, where it was given one.

`--model new=openai:served@URL` and `model={"new": "openai:served@URL"}` are the same. A label is for people: it is no
part of what a run is, so that renaming a model does not begin another run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from assay.core.errors import UsageError
from assay.core.seams import Model
from assay.models.adapters.python_callable import as_model
from assay.runs.indistinguishable_models import refuse_twins


class ChosenModel(NamedTuple):
    """A model as it was given: a name or an object, and its label."""

    given: object
    label: str | None = None

    @property
    def name(self) -> str | None:
        """What to build; None for an object."""
        return self.given if isinstance(self.given, str) else None


def chosen_models(models: object) -> list[ChosenModel] | None:
    """The models of `--model` or `model=`, each once: one, several, or a mapping of labels to models."""
    if models is None:
        return None
    if isinstance(models, Mapping):
        listed = [ChosenModel(given, _checked(str(label), str(label))) for label, given in models.items()]
    else:
        several = models if isinstance(models, list | tuple) and not isinstance(models, ChosenModel) else [models]
        listed = [_of_one(item) for item in several]
    if not listed:
        raise UsageError("there is no model to ask: the list of models is empty")
    return _once(listed)


def _of_one(given: object) -> ChosenModel:
    if isinstance(given, ChosenModel):
        return given
    if isinstance(given, str):
        label, equals, name = given.partition("=")
        if equals and ":" not in label:  # what follows a colon is the model's own: `command:./answer --n=2`
            if not name:
                raise UsageError(f"--model {given}: expected LABEL=MODEL")
            return ChosenModel(name, _checked(label, given))
    return ChosenModel(given)


def _checked(label: str, given: str) -> str:
    label = label.strip()
    if not label or not label.isprintable():
        raise UsageError(f"--model {given!r}: the label before `=` must be a word or a few, such as `new=openai:NAME`")
    return label


def _once(models: list[ChosenModel]) -> list[ChosenModel]:
    """Each model once; two labels for one model, or one for two, are refused."""
    once: list[ChosenModel] = []
    for model in models:
        same = next((other for other in once if _is_same(other.given, model.given)), None)
        if same is None:
            once.append(model)
        elif same.label != model.label:
            raise UsageError(f"--model: `{same.label or same.name}` and `{model.label or model.name}` are one model")
    labels = [model.label for model in once if model.label is not None]
    if twice := next((label for label in labels if labels.count(label) > 1), None):
        raise UsageError(f"--model: two models have the label `{twice}`; give each its own")
    return once


def _is_same(one: object, other: object) -> bool:
    return one is other or (isinstance(one, str) and one == other)


def as_models(models: list[ChosenModel]) -> list[Model | None]:
    """The models among them that were given as objects; no two may be one run."""
    made = [None if model.name is not None else as_model(model.given) for model in models]
    refuse_twins([model for model in made if model is not None])
    return made
