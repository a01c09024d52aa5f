"""The models that the user put behind keys of task files (`--model-for KEY=NAME`), and which keys the files have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.errors import UsageError
from assay.overriding import override
from assay.text.wording import hint


class ModelsByKey(dict[str, str]):
    """A mapping that notes the keys it is asked for: a key that no reader asked for belongs to no task."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.asked: dict[str, None] = {}
        self.judged: dict[str, str] = {}
        """The usual judge, by the graders that neither a file nor `--model-for` names."""
        for key, name in self.items():
            if not isinstance(name, str):  # Python may be given anything
                raise UsageError(
                    f"models: behind the key `{key}` is the name of a model, not {type(name).__name__}; your own is "
                    "named `module:name`"
                )

    @override
    def __contains__(self, key: object) -> bool:
        self.asked[str(key)] = None
        return super().__contains__(key)

    @override
    def __getitem__(self, key: str) -> str:
        self.asked[key] = None
        return super().__getitem__(key)

    @override
    def get(self, key: str, default: Any = None) -> Any:
        self.asked[key] = None
        return super().get(key, default)

    def refuse_unused(self) -> None:
        """`UsageError` for a key that no task has: the model in the file would be called, and paid, instead."""
        if unused := next((key for key in self if key not in self.asked), None):
            known = list(self.asked)
            reason = f"no task here has a model with the key `{unused}`"
            raise UsageError(f"--model-for {unused}: {reason}. {hint(unused, known, 'Keys') if known else ''}".rstrip())


def grader_behind(key: str, models: Mapping[str, str], judge: str | None) -> str | None:
    """The grader of another program's file that names none: the user's for this key, else the usual judge."""
    if key in models:
        return models[key]
    if judge is not None and isinstance(models, ModelsByKey):
        models.judged[key] = judge
    return judge
