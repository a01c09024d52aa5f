"""`assay.evaluate`: rows, tables, tasks or texts, a model, and what compares; `assay.aevaluate` where a loop runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack, overload

from assay.core.errors import UsageError
from assay.core.types import TaskDefinition
from assay.metrics.assertions import evaluate as share_of_texts
from assay.runs.bar import progress_here
from assay.runs.evaluate import EvaluationOptions, EvaluationResult, run_tasks
from assay.runs.progress import run_blocking

NamedOrFunction = str | Callable[..., Any]
"""Of a scorer: a name, or a function of (answer, row)."""
Prompt = str | Path | Sequence[str | Path]
"""Templates such as `"Capital of {{ country }}?"`, or the paths of files with some."""
Data = str | Path | TaskDefinition | Iterable[Any]
"""Rows or a table of pandas, polars, Arrow or Hugging Face; or files, folders, names and objects of tasks."""
_TASK = re.compile(r"@\S+|\S*[./*:\\]\S+")
"""What a text has to look like, where there are several, to be a task and no prediction."""


async def aevaluate(
    tasks: Data,
    model: object | Sequence[object] | Mapping[str, object] | None = None,
    scorer: NamedOrFunction | Sequence[NamedOrFunction] | None = None,
    *,
    prompt: Prompt | None = None,
    target: str | None = None,
    answers: str | None = None,
    contexts: str | None = None,
    labels: str | None = None,
    name: str = "rows",
    **options: Unpack[EvaluationOptions],
) -> EvaluationResult:
    """Run a model over rows, or over tasks; several models or prompts are compared.

    `tasks`: rows (mappings, a table of pandas, polars, Arrow or Hugging Face, a generator), which become the task
    `name`; or the path of a table; or files, folders and names of tasks, or what `load_tasks` returned. `model`: a
    name, a function of a prompt, an object with `generate(prompts)`, or several of those, also with a label each; None
    is the model that the files name, else the toy model.

    Of rows and tables: `prompt` is a template or the path of one, or several; `target` the column of right answers,
    `answers` one of recorded answers, which need no model; `contexts` one of retrieved passages, `labels` one of
    what people said of the answers, for a scorer's agreement with them. Columns that are left out are guessed where
    only one can be meant. `scorer` is a name, a function of `(answer, row)`, or several; for tasks it takes the place
    of the metric that they name. `judge` is the model of scorers that judge, where neither a
    file nor `models` names it.

    `options` are the settings of a run (`temperature`, `repeat`, `limit`, `budget_cost`, …), those of reading tasks
    (`models`, `dataset`, …), and `folder`, `fresh`, `gates`, `baseline`, `progress`, …. One without effect is
    refused. The same call resumes a run that was interrupted.
    """
    said = _said_of_tables(prompt, target=target, answers=answers, contexts=contexts, labels=labels)
    if answers is not None and model is not None:
        raise UsageError(f"answers={answers!r}: recorded answers call no model; leave `model` out")
    given: dict[str, Any] = dict(options)
    if given.get("progress") is None:
        given["progress"] = progress_here()
    read = _tasks(tasks, name)
    are_rows = isinstance(read, str) and not isinstance(tasks, str)
    if are_rows or said:
        said |= {**_scorers_of_tables(scorer), "by_keywords": True}
        given["source_options"] = {**(given.get("source_options") or {}), "rows" if are_rows else "table": said}
    elif scorer is not None:
        if isinstance(scorer, list | tuple):
            raise UsageError("several scorers are for rows and tables; in tasks, one takes the place of their metric")
        given["metric"] = scorer
    return await run_tasks(read, model, **given)


def _scorers_of_tables(scorer: NamedOrFunction | Sequence[NamedOrFunction] | None) -> dict[str, Any]:
    if scorer is None:
        return {}
    from assay.scorers.row_function import scorer_name

    several = scorer if isinstance(scorer, list | tuple) else [scorer]
    return {"scorer": tuple(map(scorer_name, several))}


@overload
def evaluate(predictions: Sequence[str], gold: Sequence[str], mode: str) -> float: ...
@overload
def evaluate(
    tasks: Data,
    model: object | Sequence[object] | Mapping[str, object] | None = None,
    scorer: NamedOrFunction | Sequence[NamedOrFunction] | None = None,
    *,
    prompt: Prompt | None = None,
    target: str | None = None,
    answers: str | None = None,
    contexts: str | None = None,
    labels: str | None = None,
    name: str = "rows",
    **options: Unpack[EvaluationOptions],
) -> EvaluationResult: ...
def evaluate(*args: Any, **options: Any) -> float | EvaluationResult:
    """As `aevaluate`, from a script or a notebook: waits until all is done. Ctrl-C ends it as it ends `assay run`.

    With texts, the right texts and `"exact"` or `"contains"`, it is the share of texts that are right.

    Example: evaluate(["The capital is Paris."], ["paris"], "contains") == 1.0
    """
    if options.keys() & {"predictions", "gold", "mode"} or _are_texts(args):
        return share_of_texts(*args, **options)
    return run_blocking(aevaluate(*args, **options))


def _are_texts(args: tuple[Any, ...]) -> bool:
    """Whether these are predictions, gold and a mode, and not data, a model and a scorer."""
    if len(args) != 3 or not isinstance(args[2], str):
        return False
    return all(
        isinstance(texts, Sequence) and not isinstance(texts, str) and all(isinstance(text, str) for text in texts)
        for texts in args[:2]
    )


def _said_of_tables(prompt: Prompt | None, **columns: str | None) -> dict[str, Any]:
    prompts = [] if prompt is None else [prompt] if isinstance(prompt, str | Path) else [*prompt]
    said = {"prompt": tuple(map(str, prompts)) or None, **columns}
    return {name: value for name, value in said.items() if value is not None}


def _tasks(data: Data, name: str) -> Any:
    """What a run reads: the tasks that were given, or the name of rows that were kept for it."""
    if isinstance(data, str | Path | TaskDefinition):
        return data
    from assay.formats.table.given_rows import give, items_of

    found: object = items_of(data)
    if not isinstance(found, Iterable):
        return data
    items = [*found]
    if not items:
        raise UsageError("there are no rows, and no tasks (a generator can be read only once)")
    if isinstance(items[0], Mapping):
        return give(name, items)
    if all(isinstance(item, str) and not _TASK.fullmatch(item) for item in items):
        raise UsageError(
            "a list of texts is predictions, which need gold and a mode (exact or contains); rows are dictionaries, "
            "tasks and files are `Path`s"
        )
    return items
