"""What a user can set for reading tasks, whatever their format: flags of every command that takes tasks, and keywords
of Python. Light, as `--help` imports it; the own settings of a source are its `Options` (`formats/task_source.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from assay.setting import AppliesTo, Flag, Purpose, Setting


class TaskSettings(TypedDict, total=False):
    """How task files and the tasks of other programs are read."""

    # fmt: off
    dataset: Annotated[str | None, Setting(Purpose.CHOICE, AppliesTo.TASK_FILES),
        Flag("--dataset-key KEY", "the dataset that a declarative dataset task evaluates, overriding one that the file "
             "names")]
    models: Annotated[Mapping[str, str] | None, Setting(Purpose.CHOICE, AppliesTo.TASK_FILES),
        Flag("--model-for KEY=NAME", "the model behind a key of a declarative task, such as a judge, of a promptfoo "
             "provider, or `grader` (repeatable)", everyday=True)]
    judge: Annotated[str | None, Setting(Purpose.CHOICE, AppliesTo.TASK_FILES),
        Flag("--judge NAME", "the model behind every judge key that neither the task's files nor --model-for describe")]
    num_fewshot: Annotated[int | None, Setting(Purpose.CHOICE, AppliesTo.TASK_FILES),
        Flag("--num-fewshot N", "few-shot examples per question (frozen spec, YAML tasks with few_shot, lm-eval: "
             "tasks)")]
    fewshot_as_turns: Annotated[bool, Setting(Purpose.CHOICE, AppliesTo.TASK_FILES),
        Flag("--fewshot-as-turns", "few-shot examples as turns of a conversation (for lm-eval: tasks with "
             "--chat-template)")]
    tagged: Annotated[tuple[str, ...], Setting(Purpose.CHOICE, AppliesTo.TASK_FILES),
        Flag("-t TERM", "of a project's tasks only those with this tag, or owner:X, scorer:X, dataset:X, judge:X, "
             "kind:X, size:<N, status:failed|stale|never; `,` is or, `!` not, several -t are and", everyday=True)]
    data: Annotated[Mapping[str, str] | None, Setting(Purpose.CHOICE, AppliesTo.TASK_FILES),
        Flag("--data SPLIT=FILE|FOLDER", "documents of an lm-eval:, inspect: or openai-evals: task from a .jsonl, "
             ".json, .csv or .parquet file instead of the hub (repeatable), or those of many tasks from a folder with "
             "TASK/SPLIT.jsonl")]
    source_options: Annotated[Mapping[str, Mapping[str, Any]] | None, Setting(Purpose.CHOICE, AppliesTo.TASK_FILES)]
    """The own options of sources, by their names: `{"lm-eval": {"chat_template": True}}`."""
    allow_outside: Annotated[bool, Setting(Purpose.PERMISSION, AppliesTo.TASK_FILES),
        Flag("--allow-outside", "let YAML files include files outside the project")]
