"""Flags follow from fields: their kind from the type, their words from the mark; what was given becomes the value."""

from __future__ import annotations

import argparse
import re
from typing import get_args

import pytest

from assay.cli.parser import Parser
from assay.cli.setting_flags import add_purpose, add_settings, given_settings, json_values
from assay.core.errors import UsageError
from assay.optimize.search_settings import SearchOptions, SearchStrategy
from assay.run_settings import RunSettings
from assay.setting import Purpose, settings_of
from assay.tasks.task_settings import TaskSettings

RECORDS = (RunSettings, TaskSettings, SearchOptions, SearchStrategy)


def parser_of(record: type) -> Parser:
    parser = Parser(prog="x")
    for purpose in Purpose:
        add_purpose(parser, purpose, record)
    return parser


def given(record: type, *words: str) -> dict[str, object]:
    return given_settings(parser_of(record).parse_args(words), record)


@pytest.mark.parametrize(
    ("record", "words", "values"),
    [
        (RunSettings, ["--temperature", "0", "--top-p", "0.5"], {"temperature": 0.0, "top_p": 0.5}),
        (RunSettings, ["--stop", "a", "--stop", "b"], {"stop": ("a", "b")}),
        (RunSettings, ["--model-arg", "a=[1]", "--model-arg", "b=x"], {"model_options": {"a": [1], "b": "x"}}),
        (RunSettings, ["--patience", "1.5"], {"patience_seconds": 90.0}),
        (RunSettings, ["--score-workers", "auto"], {"score_workers": None}),
        (RunSettings, ["--cache"], {"cache": True}),
        (RunSettings, ["--no-cache"], {"cache": False}),
        (RunSettings, ["--keep-thinking", "--too-long", "fail"], {"keep_thinking": True, "too_long": "fail"}),
        (TaskSettings, ["--model-for", "judge=1", "--num-fewshot", "0"], {"models": {"judge": "1"}, "num_fewshot": 0}),
        (SearchStrategy, ["--objectives", "score, length,"], {"objectives": ("score", "length")}),
        (SearchStrategy, ["--sampling", "same_parent"], {"sampling": "same_parent"}),
    ],
)
def test_what_is_given_becomes_the_value_of_the_field(
    record: type, words: list[str], values: dict[str, object]
) -> None:
    assert given(record, *words) == values


@pytest.mark.parametrize("record", RECORDS)
def test_what_is_not_given_is_left_to_the_field(record: type) -> None:
    assert given(record) == {}


@pytest.mark.parametrize("record", RECORDS)
def test_the_help_of_a_setting_is_its_sentence_with_its_default(record: type) -> None:
    shown = re.sub(r"\s+", " ", parser_of(record).format_help())
    for field in settings_of(record).values():
        if field.flag is not None:
            assert field.flag.words.partition(" ")[0] in shown
            assert field.flag.meaning.partition("{")[0].strip() in shown.replace("- ", "-"), field.name
    assert not re.search(r"\{(default|choices)\}", shown)


def test_a_default_is_shown_in_the_unit_of_the_flag() -> None:
    shown = parser_of(RunSettings).format_help()
    assert "default 60;" in shown
    assert "(default: 32;" in shown


@pytest.mark.parametrize("record", RECORDS)
def test_every_name_that_a_setting_takes_is_in_its_help(record: type) -> None:
    for action in parser_of(record)._actions:
        if action.choices is not None and action.metavar is not None:
            assert ", ".join(action.choices) in str(action.help)
            assert tuple(action.choices) == get_args(settings_of(record)[action.dest].type)


def test_a_word_that_is_not_a_setting_of_the_flag_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        given(SearchStrategy, "--selector", "best")
    assert "--selector: unknown `best`" in capsys.readouterr().err
    with pytest.raises(UsageError, match="--score-workers: expected a whole number or `auto`, got `two`"):
        given(RunSettings, "--score-workers", "two")
    with pytest.raises(UsageError, match="--model-arg 'a': expected KEY=VALUE"):
        json_values(["a"], "--model-arg")


def test_a_command_takes_only_the_settings_that_it_names() -> None:
    parser = argparse.ArgumentParser()
    add_settings(parser, RunSettings, "limit")
    options = parser.parse_args(["--limit", "3"])
    assert vars(options) == {"limit": 3}
    assert given_settings(options, RunSettings) == {"limit": 3}
