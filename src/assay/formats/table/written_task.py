"""A table and what is said of it -> a run file: the same words that a person would write into YAML."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from assay.catalog import JUDGE, OTHER_MODELS, OWN_NAME, unknown_name
from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.datasets.rows import Row
from assay.datasets.tables import table
from assay.datasets.text_table import text_form
from assay.formats.declarative.records import Options
from assay.formats.declarative.schema.scorers import SCORER
from assay.formats.declarative.shape import Field
from assay.formats.declarative.yaml_reader import Plain
from assay.formats.table.table_options import TableOptions
from assay.own_functions import is_here
from assay.prompts.bare_columns import with_sample
from assay.prompts.template import template_reads
from assay.task_records import TableColumns
from assay.text.os_errors import is_file

EXACT = "normalized_exact_match"
"""What compares where nothing else is asked for: equal but for case and spaces."""
_TARGETS = (
    *("target", "expected", "expected_answer", "expected_output", "expected_label", "gold", "ground_truth", "truth"),
    *("label", "ideal", "reference", "reference_answer", "correct_answer"),
)
_QUESTIONS = ("question", "prompt", "input", "query", "instruction")
_CONTEXTS = ("context", "contexts", "passages", "retrieved_contexts", "retrieved_passages")
_IDS = ("id", "sample_id")
_MOST_PROMPT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePrompt:
    """One prompt: the file that has it, or the text itself."""

    text: str
    file: Path | None = None
    columns: tuple[str, ...] = ()
    """What it reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableTask:
    """A table as a task."""

    name: str
    source: Options
    """The dataset's source, without the path of its file."""
    path: Path | None
    solver: Options
    scorers: list[Plain]
    prompts: tuple[TablePrompt, ...]
    columns: TableColumns
    remarks: tuple[str, ...]
    """What was found in the table and not given by the user."""

    @property
    def key(self) -> str:
        return re.sub(r"[^a-zA-Z0-9_-]+", "-", self.name).strip("-") or "table"

    def run_file(self, folder: Path) -> Options:
        """The run file, for a file in this folder."""

        def named(path: Path) -> str:
            return os.path.relpath(path, folder)

        file = {} if self.path is None else {"file_path": named(self.path)}
        title = self.name if self.path is None else self.path.name
        prompts: list[Plain] = [named(prompt.file) for prompt in self.prompts if prompt.file is not None]
        return {
            **({"prompts": prompts} if prompts else {}),
            "datasets": [{"key": self.key, "display_name": title, "source": {**self.source, **file}}],
            "tasks": [
                {
                    "key": self.key,
                    "display_name": self.name,
                    "description": f"The rows of {title}.",
                    "definition": {
                        "dataset": {"key": self.key},
                        "solver": self.solver,
                        "scorers": self.scorers,
                    },
                }
            ],
        }


def task_of_file(path: Path, said: TableOptions) -> TableTask:
    """What a table in a file means; `UsageError` where that is not clear, with what to say."""
    form, remarks = _form_of(path, {"separator": said.separator, "encoding": said.encoding, "sheet": said.sheet})
    columns = _Columns(str(path), _first_row(path, form), said)
    return _task(columns, said, remarks, name=path.stem, source={"type": "local", **form}, path=path)


def task_of_rows(name: str, rows: list[Row], said: TableOptions) -> TableTask:
    """The same of rows that are given in Python."""
    if unread := next((item for item in ("separator", "encoding", "sheet") if getattr(said, item) is not None), None):
        raise UsageError(f"{name}: `{unread}` is for files")
    if not rows:
        raise UsageError(f"{name}: there are no rows")
    samples: list[Plain] = [*rows]
    return _task(_Columns(name, rows[0], said), said, [], name=name, source={"type": "inline", "samples": samples})


def _task(
    columns: _Columns, said: TableOptions, remarks: list[str], *, name: str, source: Options, path: Path | None = None
) -> TableTask:
    if said.answers is not None and said.prompt:
        raise UsageError(
            f"{said.word('answers')}: recorded answers were given already; leave {said.word('prompt')} out"
        )
    if twice := next((scorer for scorer in said.scorer if said.scorer.count(scorer) > 1), None):
        raise UsageError(f"{said.word('scorer', twice)}: named twice")
    prompts = tuple(_prompt(text, columns) for text in said.prompt)
    if len(prompts) > 1 and (bare := [prompt.text for prompt in prompts if prompt.file is None]):
        raise UsageError(
            f"{said.word('prompt', bare[0][:40])}: several prompts are told apart by the names of their files"
        )
    target = columns.named("target") or columns.guessed(_TARGETS, remarks, "the right answers are in")
    answers, contexts, labels = columns.named("answers"), columns.named("contexts"), columns.named("labels")
    read = [*dict.fromkeys(column for prompt in prompts for column in prompt.columns)]
    about_passages: list[str] = []
    if contexts is None:
        found = columns.guessed(_CONTEXTS, about_passages, "the passages are in")
        contexts = found if answers is not None or found in read else None
    about_questions: list[str] = []
    others = (target, answers, contexts, labels)
    question = columns.question(others, about_questions, read=read if prompts else None, is_needed=answers is None)
    if answers is not None:
        solver: Options = {"type": "pass_through_solver", "answer_column": answers}
    else:
        content = prompts[0].text if prompts and prompts[0].file is None else _cell(question or read[0])
        messages: list[Plain] = [{"role": "user", "content": content}]
        solver = {
            "type": "single_turn_solver",
            "input_builder": {"type": "chat_completion", "input_messages": messages},
        }
    cells = _Cells(columns, target, contexts, labels, question)
    scorers: list[Plain] = [_scorer(scorer, cells) for scorer in said.scorer or (EXACT,)]
    cells.refuse_unread()
    if cells.are_read(_PASSAGES):
        remarks += about_passages
    if cells.are_read(_ASKED) or not (prompts or answers is not None):
        remarks += about_questions
    return TableTask(
        name=name,
        source=source,
        path=path,
        solver=solver,
        scorers=scorers,
        prompts=prompts,
        columns=TableColumns(text=next(iter(read), question), target=target),
        remarks=tuple(f"{columns.where}: {remark}" for remark in remarks),
    )


def _form_of(path: Path, given: Mapping[str, str | None]) -> tuple[dict[str, str], list[str]]:
    """How the file is written, and remarks on what was found out about it."""
    said = {name: value for name, value in given.items() if value is not None}
    if path.suffix.lower() not in (".csv", ".tsv"):
        return said, []
    if {"separator", "encoding"} <= said.keys():
        return said, []
    found = text_form(path, said.get("separator"), said.get("encoding"))
    return {**found.options(path), **said}, list(found.remarks)


def _first_row(path: Path, form: Mapping[str, str]) -> Row:
    options: dict[str, Any] = dict(form)
    rows = list(islice(table(path=str(path), **options).rows(), 1))
    if not rows:
        raise UsageError(f"{path}: there are no rows")
    return rows[0]


class _Columns:
    """The columns of a table, and which of them is meant."""

    def __init__(self, where: str, row: Row, said: TableOptions) -> None:
        self.where = where
        self.said = said
        self.names = list(row)
        self._texts = [name for name, value in row.items() if isinstance(value, str)]

    def named(self, option: str) -> str | None:
        """The column that an option names."""
        name: str | None = getattr(self.said, option)
        if name is not None and name not in self.names:
            raise UsageError(
                f"{self.said.word(option, name)}: {self.where}: {unknown_name('column', name, self.names)}"
            )
        return name

    def guessed(self, words: Sequence[str], remarks: list[str], what: str) -> str | None:
        """The only column that is called like this."""
        found = [name for name in self.names if re.sub(r"[\s-]+", "_", name.strip().lower()) in words]
        if len(found) != 1:
            return None
        remarks.append(f"{what} the column `{found[0]}`")
        return found[0]

    def question(
        self, others: Sequence[str | None], remarks: list[str], *, read: Sequence[str] | None, is_needed: bool
    ) -> str | None:
        """The column of questions: by its name, or the only one that prompts read or that has no other use."""
        if found := self.guessed(_QUESTIONS, remarks, "the questions are in"):
            return found
        free = [name for name in self._texts if name not in others and name.lower() not in _IDS]
        could_be = free if read is None else [name for name in read if name not in others]
        if len(could_be) == 1:
            remarks.append(f"the questions are in the column `{could_be[0]}`")
            return could_be[0]
        if read is not None or not is_needed:
            return None
        listed = " or ".join(f"`{name}`" for name in free or self.names)
        example = (free or self.names)[0]
        prompt = f"{self.said.word('prompt')}{'' if self.said.by_keywords else ' FILE'}"
        raise UsageError(
            f"{self.where}: which column is the question: {listed}? Say {prompt}, with {_cell(example)} where the "
            f"row's text belongs; {self.said.word('answers')} names the column of answers that are recorded"
        )

    def which(self, what: str, option: str) -> UsageError:
        column = "" if self.said.by_keywords else " COLUMN"
        columns = ", ".join(self.names)
        return UsageError(
            f"{self.where}: which column has {what}? Say {self.said.word(option)}{column}; columns: {columns}"
        )


_ASKED = ("question", "document", "query_column", "question_column")
_PASSAGES = ("passages", "contexts_column")
_RIGHT = ("ground_truth", "value", "reference", "target_column")


class _Cells:
    """What scorers may read of a row, and what of it they do."""

    def __init__(
        self, columns: _Columns, target: str | None, contexts: str | None, labels: str | None, question: str | None
    ) -> None:
        self.columns = columns
        self._target = target
        self._contexts = contexts
        self._labels = labels
        self._question = question
        self._read: set[str] = set()

    def value(self, option: str, field: Field) -> Plain:
        """What an option of a scorer is; None for one about which nothing was said, and that needs nothing."""
        if option == "value" and not field.is_required:  # the text that is compared: the answer itself
            return None
        self._read.add(option)
        needed = field.is_required or field.default is not None
        column: str | None = None
        if option in _RIGHT:
            column = self._target
            if column is None and (needed or option == "ground_truth"):
                raise self.columns.which("the right answers", "target")
        elif option in _PASSAGES:
            column = self._contexts
            if column is None and self.columns.said.answers is not None:
                raise self.columns.which("the retrieved passages", "contexts")
        elif option in _ASKED:
            column = self._question
            if column is None and needed:
                raise UsageError(
                    f"{self.columns.where}: which column is the question? Call it `question`; columns: "
                    f"{', '.join(self.columns.names)}"
                )
        elif option == "labels":
            column = self._labels
        elif option in OTHER_MODELS:
            return JUDGE
        return column if column is None or option.endswith("_column") else _cell(column)

    @property
    def target_cell(self) -> str | None:
        return None if self._target is None else _cell(self._target)

    def are_read(self, options: Sequence[str]) -> bool:
        return not self._read.isdisjoint(options)

    def refuse_unread(self) -> None:
        said = self.columns.said
        if said.contexts is not None and not self.are_read(_PASSAGES):
            raise UsageError(
                f"{said.word('contexts', said.contexts)}: none of these scorers reads passages; "
                f"{said.word('scorer', 'faithfulness')} does"
            )
        if said.labels is not None and not self.are_read(("labels",)):
            raise UsageError(
                f"{said.word('labels', said.labels)}: none of these scorers gives one verdict or share with "
                "which labels of people could be compared"
            )


def _scorer(name: str, cells: _Cells) -> Options:
    """A scorer with the options that follow from the table; `UsageError` for one that needs more."""
    said = cells.columns.said
    if OWN_NAME.fullmatch(name) or is_here(name):
        fields = SCORER.choices["metric"].fields
        given = {
            "ground_truth": cells.target_cell,
            **({"labels": cells.value("labels", fields["labels"])} if said.labels is not None else {}),
        }
        key = re.sub(r"[^a-zA-Z0-9_-]+", "-", name.rpartition(":")[2].partition("@")[0])
        return {"key": key, "type": "metric", "metric": name, **{name: value for name, value in given.items() if value}}
    if name not in SCORER.choices:
        raise UsageError(f"{said.word('scorer')}: {unknown_name('scorer', name, SCORER.choices)}")
    fields = SCORER.choices[name].fields
    options = {option: value for option, field in fields.items() if (value := cells.value(option, field)) is not None}
    missing = [option for option, field in fields.items() if field.is_required and option not in (*options, "type")]
    if missing:
        raise UsageError(
            f"{said.word('scorer', name)}: needs `{'`, `'.join(missing)}`, which a table does not say; write it into "
            f"a YAML task: `assay show {name}` has an example, and --save FILE.yaml, without this scorer, writes the "
            "rest"
        )
    return {"type": name, **options}


def _prompt(given: str, columns: _Columns) -> TablePrompt:
    """A prompt file, or a text with a column in it; `UsageError` for one that no row changes."""
    path, flag = Path(given), columns.said.word("prompt", given)
    if is_file(path):
        try:
            text = read_regular(path, _MOST_PROMPT_BYTES).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: not UTF-8 at byte {error.start}") from error
        prompt = TablePrompt(text=text, file=path)
    elif "{{" in given or "{%" in given:
        prompt = TablePrompt(text=given)
    else:
        raise UsageError(f"{flag}: there is no such file, and it has no {_cell(columns.names[0])} in it")
    try:
        text = with_sample(prompt.text)
    except UsageError as error:
        raise UsageError(f"{flag}: {error}") from error
    read = [path[1] for path in template_reads(text).paths if path[0] == "sample" and len(path) > 1]
    for name in read:
        if name not in columns.names:
            raise UsageError(f"{flag}: {columns.where}: {unknown_name('column', name, columns.names)}")
    if not template_reads(text).paths:
        raise UsageError(f"{flag}: names no column, so the prompt is the same for every row; {_cell(columns.names[0])}")
    return TablePrompt(text=text, file=prompt.file, columns=tuple(dict.fromkeys(read)))


def _cell(column: str) -> str:
    """The template of a column."""
    if column.isidentifier():
        return f"{{{{ sample.{column} }}}}"
    quoted = column.replace("\\", "\\\\").replace('"', '\\"')
    return f'{{{{ sample["{quoted}"] }}}}'
