"""A table and what is said of it -> a run file: the same words that a person would write into YAML."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from assay.catalog import OTHER_MODELS, OWN_NAME, unknown_name
from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.datasets.rows import Row
from assay.datasets.tables import table
from assay.datasets.text_table import text_form
from assay.formats.declarative.records import Options
from assay.formats.declarative.schema.scorers import SCORER
from assay.formats.declarative.yaml_reader import Plain
from assay.formats.table.table_options import TableOptions
from assay.own_functions import is_here
from assay.prompts.bare_columns import with_sample
from assay.prompts.template import template_reads
from assay.task_records import TableColumns
from assay.text.os_errors import is_file

EXACT = "normalized_exact_match"
"""What compares where nothing else is asked for: equal but for case and spaces."""
JUDGE = "judge"
"""The key of the model that judges."""
_TARGETS = (
    *("target", "expected", "expected_answer", "expected_output", "expected_label", "gold", "ground_truth", "truth"),
    *("label", "ideal", "reference", "reference_answer", "correct_answer"),
)
_QUESTIONS = ("question", "prompt", "input", "query", "instruction")
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
    columns = _Columns(str(path), _first_row(path, form))
    return _task(columns, said, remarks, name=path.stem, source={"type": "local", **form}, path=path)


def task_of_rows(name: str, rows: list[Row], said: TableOptions) -> TableTask:
    """The same of rows that are given in Python."""
    if unread := next((item for item in ("separator", "encoding", "sheet") if getattr(said, item) is not None), None):
        raise UsageError(f"{name}: `{unread}` is for files")
    if not rows:
        raise UsageError(f"{name}: there are no rows")
    samples: list[Plain] = [*rows]
    return _task(_Columns(name, rows[0]), said, [], name=name, source={"type": "inline", "samples": samples})


def _task(
    columns: _Columns, said: TableOptions, remarks: list[str], *, name: str, source: Options, path: Path | None = None
) -> TableTask:
    if said.answers is not None and said.prompt:
        raise UsageError("--answers: recorded answers were given already; leave --prompt out")
    prompts = tuple(_prompt(text, columns) for text in said.prompt)
    if len(prompts) > 1 and (bare := [prompt.text for prompt in prompts if prompt.file is None]):
        raise UsageError(f"--prompt {bare[0][:40]!r}: several prompts are told apart by the names of their files")
    target = columns.named("--target", said.target) or columns.guessed(_TARGETS, remarks, "the right answers are in")
    answers = columns.named("--answers", said.answers)
    read = [column for prompt in prompts for column in prompt.columns]
    heard = tuple(remarks)
    question = None if prompts else columns.question(target, answers, remarks)
    if answers is not None:
        solver: Options = {"type": "pass_through_solver", "answer_column": answers}
    else:
        content = prompts[0].text if prompts and prompts[0].file is None else _cell(question or read[0])
        messages: list[Plain] = [{"role": "user", "content": content}]
        solver = {
            "type": "single_turn_solver",
            "input_builder": {"type": "chat_completion", "input_messages": messages},
        }
    found = _Found(columns, target, columns.named("--contexts", said.contexts), question)
    scorers: list[Plain] = [_scorer(scorer, found) for scorer in said.scorer or (EXACT,)]
    found.refuse_unread()
    if answers is not None and not found.reads_question:
        remarks[:] = heard  # it is only shown
    return TableTask(
        name=name,
        source=source,
        path=path,
        solver=solver,
        scorers=scorers,
        prompts=prompts,
        columns=TableColumns(text=question or next(iter(read), None), target=target),
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

    def __init__(self, where: str, row: Row) -> None:
        self.where = where
        self.names = list(row)
        self._texts = [name for name, value in row.items() if isinstance(value, str)]

    def named(self, flag: str, name: str | None) -> str | None:
        if name is not None and name not in self.names:
            raise UsageError(f"{flag} {name}: {self.where}: {unknown_name('column', name, self.names)}")
        return name

    def guessed(self, words: Sequence[str], remarks: list[str], what: str) -> str | None:
        """The only column that is called like this."""
        found = [name for name in self.names if re.sub(r"[\s-]+", "_", name.strip().lower()) in words]
        if len(found) != 1:
            return None
        remarks.append(f"{what} the column `{found[0]}`")
        return found[0]

    def question(self, target: str | None, answers: str | None, remarks: list[str]) -> str | None:
        """The column of questions; None where answers are recorded and no column is called a question."""
        heard = list(remarks)
        if found := self.guessed(_QUESTIONS, remarks, "the questions are in"):
            return found
        others = [name for name in self._texts if name not in (target, answers) and name.lower() not in _IDS]
        if answers is not None:
            remarks[:] = heard
            return None
        if len(others) == 1:
            remarks.append(f"the questions are in the column `{others[0]}`")
            return others[0]
        listed = " or ".join(f"`{name}`" for name in others or self.names)
        example = (others or self.names)[0]
        raise UsageError(
            f"{self.where}: which column is the question: {listed}? Say --prompt FILE, with {_cell(example)} in the "
            "file where the row's text belongs; --answers COLUMN is for answers that are recorded"
        )


class _Found:
    """What scorers may read, and what of it one of them does."""

    def __init__(self, columns: _Columns, target: str | None, contexts: str | None, question: str | None) -> None:
        self.columns = columns
        self.target = target
        self._contexts = contexts
        self._question = question
        self._read: set[str] = set()

    def value(self, option: str, *, required: bool) -> Plain:
        """What an option of a scorer is; None for one about which nothing was said."""
        if option == "value" and not required:  # the text that is compared: the answer itself
            return None
        self._read.add(option)
        match option:
            case "ground_truth" | "value" | "reference":
                return _cell_of(self.target)
            case "target_column":
                return self.target
            case "contexts_column" | "passages":
                return self._contexts if option == "contexts_column" else _cell_of(self._contexts)
            case "query_column" | "question_column" | "question":
                return _cell_of(self._question) if option == "question" else self._question
        return JUDGE if option in OTHER_MODELS else None

    @property
    def reads_question(self) -> bool:
        return not self._read.isdisjoint(("query_column", "question_column", "question"))

    def refuse_unread(self) -> None:
        if self._contexts is not None and self._read.isdisjoint(("contexts_column", "passages")):
            raise UsageError(
                f"--contexts {self._contexts}: none of these scorers reads passages; --scorer faithfulness does"
            )


def _scorer(name: str, found: _Found) -> Options:
    """A scorer with the options that follow from the table; `UsageError` for one that needs more."""
    if OWN_NAME.fullmatch(name) or is_here(name):
        target = found.value("ground_truth", required=True)
        key = re.sub(r"[^a-zA-Z0-9_-]+", "-", name.rpartition(":")[2].partition("@")[0])
        return {"key": key, "type": "metric", "metric": name, **({"ground_truth": target} if target else {})}
    if name not in SCORER.choices:
        raise UsageError(f"--scorer: {unknown_name('scorer', name, SCORER.choices)}")
    fields = SCORER.choices[name].fields
    options = {
        option: value
        for option, field in fields.items()
        if (value := found.value(option, required=field.is_required)) is not None
    }
    if found.target is None and ("ground_truth" in fields or ("value" in fields and fields["value"].is_required)):
        raise UsageError(
            f"{found.columns.where}: which column has the right answers? Say --target COLUMN; columns: "
            f"{', '.join(found.columns.names)}"
        )
    missing = [option for option, field in fields.items() if field.is_required and option not in (*options, "type")]
    if missing:
        raise UsageError(
            f"--scorer {name}: needs `{'`, `'.join(missing)}`, which no flag says; write it into a YAML task: "
            f"`assay show {name}` has an example, and --save FILE.yaml writes the rest"
        )
    return {"type": name, **options}


def _prompt(given: str, columns: _Columns) -> TablePrompt:
    """A prompt file, or a text with a column in it; `UsageError` for one that no row changes."""
    path = Path(given)
    if is_file(path):
        try:
            text = read_regular(path, _MOST_PROMPT_BYTES).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UsageError(f"{path}: not UTF-8 at byte {error.start}") from error
        prompt = TablePrompt(text=text, file=path)
    elif "{{" in given or "{%" in given:
        prompt = TablePrompt(text=given)
    else:
        raise UsageError(f"--prompt {given}: there is no such file, and it has no {_cell(columns.names[0])} in it")
    try:
        text = with_sample(prompt.text)
    except UsageError as error:
        raise UsageError(f"--prompt {given}: {error}") from error
    read = [path[1] for path in template_reads(text).paths if path[0] == "sample" and len(path) > 1]
    for name in read:
        if name not in columns.names:
            raise UsageError(f"--prompt {given}: {columns.where}: {unknown_name('column', name, columns.names)}")
    if not template_reads(text).paths:
        raise UsageError(
            f"--prompt {given}: names no column, so the prompt is the same for every row; {_cell(columns.names[0])}"
        )
    return TablePrompt(text=text, file=prompt.file, columns=tuple(dict.fromkeys(read)))


def _cell_of(column: str | None) -> str | None:
    return None if column is None else _cell(column)


def _cell(column: str) -> str:
    """The template of a column."""
    if column.isidentifier():
        return f"{{{{ sample.{column} }}}}"
    quoted = column.replace("\\", "\\\\").replace('"', '\\"')
    return f'{{{{ sample["{quoted}"] }}}}'
