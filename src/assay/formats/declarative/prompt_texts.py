"""A prompt in a file of its own that takes the place of a task's: of a run file's `prompts`, or of a suite's matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.core.errors import UsageError
from assay.formats.declarative.nearby_files import NearbyFiles
from assay.formats.declarative.places import PromptFile
from assay.formats.declarative.records import Options, TaskEntry
from assay.formats.declarative.shape import mappings
from assay.formats.declarative.yaml_reader import Document, FieldPath, Plain, dotted
from assay.prompts.bare_columns import with_sample


class PromptText(NamedTuple):
    """One of several prompts that a file lists."""

    name: str
    text: str
    file: str
    document: Document
    where: FieldPath
    """Where the document names it."""


class PromptedTask(NamedTuple):
    """A task with another prompt: its parameters, and the message that was replaced."""

    task: TaskEntry
    config: Options
    file: PromptFile | None


def prompt_texts(document: Document, where: FieldPath, named: Sequence[str], nearby: NearbyFiles) -> list[PromptText]:
    """Each is called by its file, without the ending where that is enough to tell them apart."""
    if twice := [name for name, times in Counter(named).items() if times > 1]:
        raise document.error(where, f"`{twice[0]}` is given twice")
    stems = Counter(Path(name).stem for name in named)
    prompts: list[PromptText] = []
    for at, name in enumerate(named):
        at_name: FieldPath = (*where, at)
        text = nearby.text_file(document, at_name, name)
        file = str(document.directory(at_name) / name)
        try:
            text = with_sample(text)
        except UsageError as error:
            raise document.error(at_name, f"{file}: {error}") from error
        stem = Path(name).stem
        prompts.append(PromptText(stem if stems[stem] == 1 else name, text, file, document, at_name))
    return prompts


def with_prompt(task: TaskEntry, prompt: PromptText) -> PromptedTask:
    """The task asked with this prompt, as its parameter `prompt`, or else as the last user message."""
    if any(parameter.key == "prompt" for parameter in task.config_spec):
        return PromptedTask(task, {"prompt": prompt.text}, None)
    solver = task.definition["solver"]
    builder = solver.get("input_builder") if isinstance(solver, dict) else None
    messages = mappings(builder.get("input_messages")) if isinstance(builder, dict) else []
    last = next((at for at in reversed(range(len(messages))) if messages[at].get("role") == "user"), None)
    if not isinstance(solver, dict) or not isinstance(builder, dict) or last is None:
        raise prompt.document.error(
            prompt.where,
            f"the task `{task.key}` has no place for a prompt: give it a parameter `prompt`, used as "
            "`<< config.prompt >>`, or a single_turn_solver whose `input_messages` end with a user's",
        )
    prompted: list[Plain] = [*messages[:last], {**messages[last], "content": prompt.text}, *messages[last + 1 :]]
    changed: Options = {**solver, "input_builder": {**builder, "input_messages": prompted}}
    field = ("definition", "solver", "input_builder", "input_messages", last, "content")
    written = dotted(prompt.document.written(prompt.where))
    file = PromptFile(prompt.file, prompt.text, written, field)
    return PromptedTask(msgspec.structs.replace(task, definition={**task.definition, "solver": changed}), {}, file)
