"""Flags note that they were given, and one without the flag it needs is refused."""

from __future__ import annotations

import pytest

from assay.cli.flags import given_flags, option, refuse_unmet_needs, repeated, switch
from assay.cli.main import main
from assay.cli.parser import Parser
from assay.core.errors import UsageError

WORKERS = ("--workers", "--worker-cpus", "--worker-gpus", "--worker-resource", "--shard-size")


def parser() -> Parser:
    made = Parser(prog="x")
    group = made.add_argument_group("g")
    option(group, "--repeat N", "", int, 1)
    switch(group, "--on", "")
    repeated(group, "--only ID", "", needs="--on")
    return made


def test_a_flag_counts_as_given_also_where_it_says_the_default() -> None:
    assert list(given_flags(parser().parse_args(["--repeat", "1"]))) == ["repeat"]
    assert list(given_flags(parser().parse_args([]))) == []
    assert list(given_flags(parser().parse_intermixed_args(["--on", "--only", "a"]))) == ["on", "only"]


def test_a_flag_without_the_one_it_needs_is_refused() -> None:
    refuse_unmet_needs(parser().parse_args(["--on", "--only", "a"]))
    with pytest.raises(UsageError, match="--only has no effect without --on"):
        refuse_unmet_needs(parser().parse_args(["--only", "a"]))


@pytest.mark.parametrize("flag", WORKERS)
@pytest.mark.parametrize("local", [[], ["--executor", "local"]])
def test_flags_of_workers_are_refused_without_an_executor(
    flag: str, local: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *local, flag, "1"]) == 2
    assert f"{flag} has no effect without --executor" in capsys.readouterr().err


def test_the_address_of_a_ray_cluster_is_refused_with_another_executor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--executor", "other", "--ray-address", "a:1"]) == 2
    assert "--ray-address has no effect without --executor ray" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flag", "says"),
    [
        (["--generative"], "--generative: no task here asks for the likelihood"),
        (["--gate-cannot-tell", "pass"], "--gate-cannot-tell is for gates"),
        (["--by", "topci"], "--by has no effect here: no sample has the key `topci`"),
        (["--model-for", "judge=toy"], "--model-for judge: no task here has a model with the key `judge`"),
    ],
)
def test_flags_that_nothing_here_uses_are_refused(
    flag: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    with open("t.jsonl", "w") as file:
        file.write('{"id": "1", "prompt": "p", "targets": ["x"], "metric": "exact_match"}\n')
    assert main(["run", "t.jsonl", *flag]) == 2
    assert says in capsys.readouterr().err
