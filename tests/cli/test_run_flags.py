"""The flags of `assay run` and the one configuration they fill: a wrong value is a sentence with its flag."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from assay.cli.parser import Parser
from assay.cli.run_flags import add_arguments, config_of, reading_of, refuse_contradictions, resources_of
from assay.cli.setting_flags import key_texts
from assay.core.errors import UsageError
from assay.run_config import RunConfig


def options(*words: str) -> argparse.Namespace:
    parser = Parser(prog="assay run")
    add_arguments(parser)
    return parser.parse_args(words)


def config(*words: str) -> RunConfig:
    return config_of(options(*words))


def test_no_flags_are_the_defaults_of_a_run() -> None:
    found = config()
    assert (found.model, found.repeat, found.adaptive, found.retries, found.patience_seconds) == (
        "toy",
        1,
        True,
        RunConfig().retries,
        3600.0,
    )
    assert found.identity() == RunConfig().identity()


def test_the_length_of_an_answer_and_of_all_answers_are_two_flags() -> None:
    found = config("--max-tokens", "5", "--budget-tokens", "1000")
    assert (found.max_tokens, found.budget_tokens) == (5, 1000)


def test_a_concurrency_that_was_given_is_kept_to() -> None:
    found = config("--concurrency", "3", "--patience", "2", "--stop", "a", "--stop", "b", "--no-cache")
    assert (found.concurrency, found.adaptive, found.patience_seconds, found.stop, found.cache) == (
        3,
        False,
        120.0,
        ("a", "b"),
        False,
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--repeat", "0"], "--repeat must be at least 1"),
        (["--max-tokens", "0"], "--max-tokens must be at least 1"),
        (["--budget-cost", "0"], "--budget-cost must be above 0"),
        (["--budget-cost", "nan"], "--budget-cost must be above 0"),
        (["--logprobs", "-1"], "--logprobs must be 0 or more, got -1"),
        (["--retries", "-1"], "--retries must be 0 or more, got -1"),
        (["--temperature", "-1"], "--temperature must be 0 or more, got -1.0"),
        (["--top-p", "7"], "--top-p must be between 0 and 1, got 7.0"),
        (["--timeout", "0"], "--timeout must be above 0, got 0.0"),
        (["--rpm", "0"], "--rpm must be above 0, got 0.0"),
        (["--tpm", "-3"], "--tpm must be above 0, got -3.0"),
        (["--shard-size", "0"], "--shard-size must be at least 1, got 0"),
        (["--patience", "-1"], "--patience must be 0 or more, got -1.0"),
        (["--patience", "inf"], "--patience must be a finite number, got inf"),
        (["--budget-cost", "inf"], "--budget-cost must be a finite number, got inf"),
        (["--score-workers", "two"], "--score-workers: expected a whole number or `auto`, got `two`"),
        (["--score-workers", "-1"], "--score-workers must be 0 or more, got -1"),
        (["--config", "=x"], "expected KEY=VALUE"),
        (["--level", "1"], "--level must be between 0 and 1"),
    ],
)
def test_a_wrong_value_is_a_sentence_with_its_flag(words: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        config(*(f"{words[0]}={words[1]}",))


def test_values_are_texts_until_the_key_is_known() -> None:
    assert key_texts(["a=1", "b=x=y", "a=2", "c="], "--config") == {"a": "2", "b": "x=y", "c": ""}
    with pytest.raises(UsageError, match="--model-for 'j=': expected KEY=MODEL"):
        reading_of(options("--model-for", "j="))
    found = config("--config", "a=1", "--model-arg", "a=1")
    assert (found.task_config, found.model_options) == ({"a": "1"}, {"a": 1})
    assert (config("--score-workers", "auto").score_workers, config("--score-workers", "0").score_workers) == (None, 0)


@pytest.mark.parametrize("pair", ["gpu=0", "gpu=-1", "gpu=yes", "gpu=true", "gpu"])
def test_a_resource_is_an_amount_above_zero(pair: str) -> None:
    assert resources_of(["gpu=1", "special=0.5"]) == {"gpu": 1.0, "special": 0.5}
    with pytest.raises(UsageError, match="--worker-resource"):
        resources_of([pair])


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--gate", "overall > 0"), "--gate: a shard has no leaderboard; drop it until the shards are merged"),
        (("--gate-cannot-tell", "pass"), "--gate-cannot-tell: a shard has no leaderboard"),
        (("--baseline", "board.json"), "--baseline: a shard has no leaderboard"),
        (("--output", "board.json"), "--output: a shard has no leaderboard"),
        (("--junit", "junit.xml"), "--junit: a shard has no leaderboard"),
        (("--fresh",), "--fresh cannot be combined with --shard: a shard is a part of a run"),
        (("--dry-run",), "--dry-run cannot be combined with --shard"),
        (("--executor", "ray"), "--executor cannot be combined with --shard"),
    ],
)
def test_a_shard_refuses_what_only_a_whole_run_has(flags: tuple[str, ...], why: str) -> None:
    with pytest.raises(UsageError, match=re.escape(why)):
        refuse_contradictions(options("--shard", "1/2", *flags))


@pytest.mark.parametrize("flag", ["--resume-foreign", "--accept-model-change", "--accept-versions"])
def test_a_permission_to_resume_is_refused_where_a_run_starts_over(flag: str) -> None:
    with pytest.raises(UsageError, match=f"{flag} has no effect with --fresh"):
        refuse_contradictions(options("--fresh", flag))
    refuse_contradictions(options(flag))


@pytest.mark.parametrize("flag", [("--output", "b.json"), ("--junit", "j.xml"), ("--log-to", "otel")])
def test_what_is_made_of_a_result_is_refused_where_there_is_none(flag: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match=f"{flag[0]} has no effect with --dry-run"):
        refuse_contradictions(options("--dry-run", *flag))
    refuse_contradictions(options(*flag))


def test_a_shard_alone_contradicts_nothing() -> None:
    refuse_contradictions(options("--shard", "1/2", "--executor", "local"))


def test_a_system_message_is_a_text_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("brief.txt").write_text("Be brief.\n", encoding="utf-8")
    assert config("--system", "You are kind. Answer in one word.").system == "You are kind. Answer in one word."
    assert config("--system", "brief.txt").system == "Be brief.\n"
    (tmp_path / "my prompt.txt").write_text("Be kind.")
    assert config("--system", "my prompt.txt").system == "Be kind."
    assert config("--system", "Terse").system == "Terse"
    assert config("--system", "简" * 300).system == "简" * 300  # no blank, and longer than a file's name
    with pytest.raises(UsageError, match=r"--system breif\.txt: "):
        config("--system", "breif.txt")


def test_how_a_model_is_talked_to_is_part_of_the_run() -> None:
    found = config("--prefill", "It is", "--reasoning-effort", "low", "--keep-thinking")
    assert (found.prefill, found.settings().reasoning_effort, found.keep_thinking) == ("It is", "low", True)


def test_several_models_may_be_named() -> None:
    assert options("--model", "toy", "--model", "stub").model == ["toy", "stub"]
    assert options().model is None
