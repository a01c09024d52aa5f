"""Which definition of a word a number has: formats share words, and some of them mean different things.

The file's word stays what the task is called by; tables show it with its definition where the catalog's own part of
that name is not the one that scored.
"""

from __future__ import annotations

from assay.catalog import CATALOG
from assay.core.types import TaskDefinition


def metric_label(definition: TaskDefinition) -> str:
    """The task's metric for a reader.

    Example: the word `exact_match` of a task folder is `exact_match (normalized)`; that of a YAML task or of the frozen
    spec is `exact_match`, because they mean the catalog's metric of this name.
    """
    word = definition.metric
    if not definition.scorers or not (word in CATALOG["metric"] or word in CATALOG["scorer"]):
        return word
    first = definition.scorers[0]
    name = str(first.options.get("metric", first.use))
    if word in (name, first.use):
        return word
    variant = name.removesuffix(word).strip("_") if name in CATALOG["metric"] else name
    return f"{word} ({variant})"
