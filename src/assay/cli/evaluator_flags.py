"""The flags that choose an evaluator, shared by `score` and `optimize`, and the evaluators made from them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.flags import choice, option, repeated, switch
from assay.cli.setting_flags import add_settings, flag_of_run, given_settings, json_values
from assay.core.errors import UsageError
from assay.run_settings import RunSettings
from assay.setting import problems_of

if TYPE_CHECKING:
    from assay.core.seams import Model
    from assay.evaluators import Evaluator

_JUDGES, _COMMANDS = "--judge-model", "--evaluator-command"
_PROGRAMS = f"{_COMMANDS} or --evaluator-url"


_SERVERS = f"--evaluator-url or {_JUDGES}"


def add_evaluator_arguments(
    parser: argparse.ArgumentParser, *, judges: str = _JUDGES, servers: str | None = _SERVERS
) -> None:
    """`judges` are the flags that bring judges, `servers` those that bring what a command waits for; None: it always
    has one.
    """
    who = parser.add_argument_group("evaluator (one of these)")
    option(
        who,
        "--evaluator-command COMMAND",
        "a program: the payload on stdin, a JSON object with a score on stdout; "
        "one quoted text such as 'LIMIT=3 python3 -u score.py', split into words, never read by a shell",
    )
    option(who, "--evaluator-url URL", "a service that the payload is posted to")
    repeated(who, "--judge-model MODEL", "a model that judges, such as openai:NAME")
    how = parser.add_argument_group("evaluator options")
    option(how, "--objective TEXT", "what makes a good artifact (required for judges)")
    repeated(how, "--dimension NAME=WEIGHT", "a quality the judge scores on its own", needs=_JUDGES)
    repeated(how, "--constraint TEXT", "what must hold, or the judge's score is 0", needs=_JUDGES)
    repeated(how, "--judge-arg KEY=VALUE", "an option of the judge's model", needs=_JUDGES)
    add_settings(how, RunSettings, "judge_retries", needs=judges)
    choice(how, "--score-range", ("unit", "any"), "unit: scores lie in [0, 1] (default); any: every finite number")
    option(how, "--task-model NAME", "the model the artifact is meant for; passed to evaluators")
    option(how, "--evaluator-cwd DIR", "working directory of the command", needs=_COMMANDS)
    repeated(
        how,
        "--evaluator-env NAME",
        "a credential of the environment to pass to the command; other variables are passed",
        needs=_COMMANDS,
    )
    switch(
        how,
        "--evaluator-persistent",
        "keep the command running: a payload on each line of its input, an answer on each of its output",
        needs=_COMMANDS,
    )
    option(
        how,
        "--evaluator-batch N",
        "send the command or service up to N evaluations at once, as `batch`, answered with `results`",
        int,
        needs=_PROGRAMS,
    )
    repeated(how, "--evaluator-header NAME:VALUE", "sent to the service", needs="--evaluator-url")
    option(
        how,
        "--evaluator-timeout SECONDS",
        "time limit of one evaluation (default 30; 60 for judges)",
        float,
        needs=f"{_PROGRAMS} or {_JUDGES}",
    )
    option(how, "--concurrency N", "evaluator calls in flight (default 4)", int, 4)
    add_settings(how, RunSettings, "patience_seconds", needs=servers)
    add_settings(how, RunSettings, "prices")
    switch(how, "--no-preflight", "do not try the evaluator before the work begins")


def evaluators_of(options: argparse.Namespace) -> list[Evaluator]:
    """The evaluators that the flags name: one, or one for each judge."""
    from assay.evaluators.payload import check_task_model

    if options.concurrency < 1:
        raise UsageError(f"--concurrency must be at least 1, got {options.concurrency}")
    sources = ("evaluator_command", "evaluator_url", "judge_model")
    given = [flag_of_run(name) for name in sources if getattr(options, name)]
    if len(given) != 1:
        got = f"; got {' and '.join(given)}" if given else ""
        raise UsageError(f"no evaluator given: use one of {', '.join(map(flag_of_run, sources))}{got}")
    check_task_model(options.task_model)
    if options.evaluator_command:
        return [_command(options)]
    if options.evaluator_url:
        return [_service(options)]
    return [_judge(options, model) for model in options.judge_model]


def run_settings_of(options: argparse.Namespace) -> RunSettings:
    """The settings that evaluators share with runs."""
    given = given_settings(options, RunSettings)
    names = ("patience_seconds", "judge_retries", "prices")
    settings = RunSettings(**{name: given[name] for name in names if name in given})
    for problem in problems_of(settings, flag_of_run):
        raise UsageError(problem)
    return settings


def evaluations_in_flight(options: argparse.Namespace) -> int:
    """How many evaluations may be asked for at once, so that `--concurrency` calls are under way."""
    concurrency: int = options.concurrency
    return concurrency * (options.evaluator_batch or 1)


def read_artifact(path: str) -> str:
    """The text of a file, exactly as it is."""
    try:
        return Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start + 1} is not UTF-8; an artifact is a text") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_set(path: str) -> list[dict[str, Any]]:
    """The records of a dataset; an empty one has nothing to score on."""
    from assay.evaluators import load_dataset

    records = load_dataset(path)
    if not records:
        raise UsageError(f"{path}: has no records; a dataset has one JSON object per line")
    return records


def _timeout(options: argparse.Namespace) -> dict[str, Any]:
    return {} if options.evaluator_timeout is None else {"timeout_seconds": options.evaluator_timeout}


def _command(options: argparse.Namespace) -> Evaluator:
    import shlex

    from assay.evaluators import command_evaluator
    from assay.reading.env_file import refuse_unset

    refuse_unset("--evaluator-env", options.evaluator_env)
    try:
        words = shlex.split(options.evaluator_command)
    except ValueError as error:
        raise UsageError(f"--evaluator-command {options.evaluator_command!r}: {error}") from error
    return command_evaluator(
        words,
        cwd=options.evaluator_cwd,
        score_range=options.score_range,
        pass_env=options.evaluator_env,
        persistent=options.evaluator_persistent,
        batch=options.evaluator_batch,
        **_timeout(options),
    )


def _service(options: argparse.Namespace) -> Evaluator:
    from assay.evaluators import http_evaluator

    headers = {}
    for header in options.evaluator_header:
        name, colon, value = header.partition(":")
        if not colon or not name.strip():
            raise UsageError(f"--evaluator-header {header!r}: expected NAME:VALUE")
        headers[name.strip()] = value.strip()
    return http_evaluator(
        options.evaluator_url,
        headers=headers,
        score_range=options.score_range,
        batch=options.evaluator_batch,
        **_timeout(options),
    )


def _judge(options: argparse.Namespace, spec: str) -> Evaluator:
    from assay.costs.budget import CountedAsJudge
    from assay.evaluators import llm_judge_evaluator
    from assay.evaluators.llm_judge import JUDGE_TIMEOUT_SECONDS
    from assay.evaluators.payload import check_timeout

    if not options.objective:
        raise UsageError("a judge needs --objective: what a good artifact is, in a sentence")
    limit = check_timeout(JUDGE_TIMEOUT_SECONDS if options.evaluator_timeout is None else options.evaluator_timeout)
    model, label = named_model(options, spec, json_values(options.judge_arg, "--judge-arg"), timeout_seconds=limit)
    judge = CountedAsJudge(model, label=label)
    judge.rename(alone=True)
    return llm_judge_evaluator(
        options.objective,
        judge,
        quality_dimensions=_weights(options.dimension),
        hard_constraints=options.constraint,
        timeout_seconds=None,
        retries=run_settings_of(options).judge_retries,
    )


def named_model(
    options: argparse.Namespace, name: str, given: dict[str, Any], *, timeout_seconds: float | None = None
) -> tuple[Model, str | None]:
    """The model of a name, or of the key of a model file, which is called outside of a run; and the label of its file.

    `given` are options that take precedence over the file's.
    """
    from assay.formats.declarative.load import described_model
    from assay.models.layers.settings import WithSettings
    from assay.models.model_names import make_model
    from assay.models.pool import wrap_alone

    file = described_model(name)
    model = make_model(name, given) if file is None else make_model(file.model, {**file.options, **given})
    patience_seconds = run_settings_of(options).patience_seconds
    if "dry_run" in options and options.dry_run:  # an estimate calls no model, so it needs no key
        return model, None if file is None else file.label
    wrapped = wrap_alone(
        model,
        concurrency=min(options.concurrency, (file and file.concurrency) or options.concurrency),
        timeout_seconds=timeout_seconds,
        say=print_note,
        patience_seconds=patience_seconds,
        requests_per_minute=None if file is None else file.requests_per_minute,
    )
    if file is None:
        return wrapped, None
    return WithSettings(wrapped, file.generation) if file.generation else wrapped, file.label


def print_note(sentence: str) -> None:
    """What a person who waits wants to know, such as a server that has gone away."""
    print(sentence, file=sys.stderr, flush=True)


def _weights(dimensions: list[str]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for dimension in dimensions:
        name, equals, text = dimension.rpartition("=")
        if not equals:
            name, text = text, "1"
        if name in weights:
            raise UsageError(f"--dimension {name} is given twice")
        try:
            weights[name] = float(text)
        except ValueError as error:
            raise UsageError(f"--dimension {name}={text}: the weight must be a number") from error
    return weights
