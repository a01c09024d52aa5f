"""Whether the models of a run are of the kinds that its tasks say they are for: chats, embeddings, any JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.catalog import solver_needs
from assay.core.types import TaskDefinition
from assay.task_records import AskedModel

_CHAT = "chat_completion"


def other_kinds(definitions: Iterable[TaskDefinition], evaluated: Sequence[str]) -> list[str]:
    """A note for every task that is run with a model of another kind; `evaluated` are the models that were chosen."""
    notes: dict[str, None] = {}
    for definition in definitions:
        plan = definition.plan
        if not solver_needs(definition.solver).asks_model:
            continue
        chosen = [(name, plan.asked_models.get(name)) for name in evaluated]
        for name, model in chosen or [(plan.model.key if plan.model is not None else "the model", plan.model)]:
            if (note := _note(definition, name, model)) is not None:
                notes[note] = None
    return list(notes)


def _note(definition: TaskDefinition, name: str, model: AskedModel | None) -> str | None:
    wanted = definition.plan.for_models
    kind = model.task if model is not None else _CHAT
    if kind in (wanted or (_CHAT,)):
        return None
    says = f"says `tasks: [{', '.join(wanted)}]`" if wanted else "says no `tasks`, so it is for chats"
    return f"task `{definition.name}` {says}, and `{name}` is called as a model of the kind `{kind}`"
