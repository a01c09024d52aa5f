"""What a page shows without running it is right too: task lines, parts of YAML files, the flags of commands.

A block that names a file is written and used by the commands of its page (`test_examples.py`); these are the others.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from assay.cli.main import SUBCOMMANDS, main, module_of
from assay.cli.parser import Parser
from tests.docs.test_examples import PAGES, ROOT, blocks

GENERATED = ROOT / "docs" / "reference"
WRITTEN = [page for page in PAGES if GENERATED not in page.parents]
TASK: dict[str, Any] = {
    "dataset": {"key": "quiz"},
    "solver": {
        "type": "single_turn_solver",
        "input_builder": {"type": "chat_completion", "input_messages": [{"role": "user", "content": "?"}]},
    },
    "scorers": [{"type": "exact_match", "ground_truth": "{{ sample.answer }}"}],
}


def shown(language: str) -> list[Any]:
    return [
        pytest.param(body, id=f"{page.relative_to(ROOT)}-{number}")
        for page in WRITTEN
        for number, (kind, file, body) in enumerate(blocks(page))
        if kind == language and not file
    ]


@pytest.mark.parametrize("body", shown("jsonl"))
def test_lines_of_a_task_are_a_valid_file(body: str, tmp_path: Path) -> None:
    file = tmp_path / "task.jsonl"
    file.write_text(body, encoding="utf-8")
    assert main(["validate", str(file)]) == 0


@pytest.mark.parametrize("body", shown("yaml"))
def test_a_part_of_a_yaml_file_has_the_fields_of_its_schema(body: str, capsys: pytest.CaptureFixture[str]) -> None:
    kind, document = completed(yaml.safe_load(body))
    if kind is None:
        return
    assert main(["schema", kind]) == 0
    Draft202012Validator(json.loads(capsys.readouterr().out)).validate(document)


def completed(part: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The kind of file that a part is from, and the file with the rest filled in; no kind if it is not ours."""
    named = {"key": "shown", "display_name": "Labels"}
    if part.keys() <= {"dataset", "solver", "scorers", "few_shot", "definition"}:
        part = part.get("definition", part)
        if "few_shot" in part:
            part = {"solver": {**TASK["solver"], **part}}
        return "task", {**named, "description": "", "definition": {**TASK, **part}}
    for kind, field in (("dataset", "source"), ("model", "config")):
        if field in part:
            return kind, part
    return None, part


def commands_shown(page: Path) -> list[str]:
    text = re.sub(r"^```console\n.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    in_blocks = [
        line for kind, _, body in blocks(page) if kind == "sh" for line in body.replace("\\\n", " ").splitlines()
    ]
    in_prose = re.findall(
        r"(?<!`)`(assay [^`]+)`(?!`)", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    )
    parts = [part for line in in_blocks for part in re.split(r"&&|[|;>](?!=)", line)]
    return [
        match[1] for part in [*parts, *in_prose] if (match := re.search(r"(?:^|\s|/)(assay [a-z].*)", part, re.DOTALL))
    ]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_have_flags_that_there_are(page: Path) -> None:
    wrong = [(command, message) for command in commands_shown(page) if (message := refusal(command))]
    assert not wrong


def refusal(command: str) -> str | None:
    """Why the command line refuses a command, were it complete."""
    _, verb, *words = shlex.split(command, comments=True)
    if verb not in SUBCOMMANDS:
        return f"no command {verb}"
    parser = Parser(prog=f"assay {verb}")
    importlib.import_module(f"assay.cli.{module_of(verb)}").add_arguments(parser)
    with contextlib.redirect_stderr(io.StringIO()) as message, contextlib.suppress(SystemExit):
        parser.parse_intermixed_args(words)
    return next((line for line in message.getvalue().splitlines() if "unknown" in line), None)
