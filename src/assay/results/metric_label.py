"""Which definition of a word a number has: formats share words, and some of them mean different things.

The file's word stays what the task and its scorers are called by; tables and single attempts show it with its
definition where the catalog's own part of that name is not the one that scored.
"""

from __future__ import annotations

from assay.catalog import CATALOG
from assay.core.types import PartSpec, TaskDefinition


def metric_label(definition: TaskDefinition) -> str:
    """The task's metric for a reader.

    Example: the word `exact_match` of a task folder is `exact_match (normalized)`; that of a YAML task or of the frozen
    spec is `exact_match`, because they mean the catalog's metric of this name.
    """
    return _label(definition.metric, definition.scorers[0]) if definition.scorers else definition.metric


def score_labels(definition: TaskDefinition) -> dict[str, str]:
    """What a reader is shown in place of a scorer's name, for each scorer of the task."""
    return {part.key: _label(part.key, part) for part in definition.scorers}


def _label(word: str, part: PartSpec) -> str:
    if not (word in CATALOG["metric"] or word in CATALOG["scorer"]):
        return word
    name = str(part.options.get("metric", part.use))
    if word in (name, part.use):
        return word
    variant = name.removesuffix(word).strip("_") if name in CATALOG["metric"] else name
    return f"{word} ({variant})"
