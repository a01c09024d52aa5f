"""Likelihood tasks from file to leaderboard, with a model whose likelihoods are a table."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from assay.core.describe import ModelOffers
from assay.core.errors import FailureError, UsageError
from assay.core.journal import read_records
from assay.core.types import Completion, Failure, Request
from assay.formats.likelihood_words import generative_variant
from assay.results.board.board_types import Leaderboard
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.runs.later.rescore import rescore
from assay.tasks.load import load_tasks

LOGPROBS = {
    ("Q", " no"): -2.0,
    ("Q", " certainly"): -3.0,
    ("Q", " ja"): -2.5,
    ("", " no"): -1.0,
    ("", " certainly"): -9.0,
    ("", " ja"): -9.5,
    ("", "the cat"): -7.0,
    ("once", " upon"): -1.0,
    ("Ann thanked Eve because Ann", " had helped."): -4.0,
    ("Ann thanked Eve because Eve", " had helped."): -3.0,
}


class Table:
    """Tells the likelihoods of a table, and writes `B.`."""

    name = "table"
    offers = ModelOffers(likelihoods="yes", cacheable=True)

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def generate(self, request: Request) -> Completion:
        self.asked.append(request)
        if request.continuation is None:
            return Completion(text="B.")
        logprob = LOGPROBS.get((request.text(), request.continuation))
        if logprob is None:
            raise FailureError(Failure(stage="model", part=self.name, kind="bad_output", message="not in the table"))
        return Completion(text=request.continuation, logprob=logprob, raw={"continuation_tokens": 2})


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps({"id": f"s{n}", **line}) + "\n" for n, line in enumerate(lines)))
    return path


def choice(metric: str, target: str, choices: list[str]) -> dict[str, Any]:
    return {"prompt": "Q", "targets": [target], "metric": metric, "extras": {"choices": choices}}


def run(path: Path, model: Any, **options: Any) -> Leaderboard:
    config = RunConfig(include_per_example=True, **options)
    return run_evaluation(load_tasks([str(path)]), config, model=model, folder=path.with_suffix(".run")).leaderboard


CHOICES = ["no", "certainly", "ja"]


@pytest.mark.parametrize(
    ("metric", "picked"),
    [
        ("choice_likelihood", "no"),
        ("choice_likelihood_per_character", "certainly"),
        ("choice_likelihood_per_byte", "certainly"),
        ("choice_likelihood_unconditional", "ja"),
    ],
)
def test_each_normalisation_picks_its_own(tmp_path: Path, metric: str, picked: str) -> None:
    row = run(write(tmp_path / "t.jsonl", choice(metric, picked, CHOICES)), Table()).tasks[0]
    assert (row.score, row.metric) == (1.0, metric)
    assert isinstance(row.per_example, list)
    assert row.per_example[0].prediction == picked


@pytest.mark.parametrize("target", ["certainly", "B", "b", "1"])
def test_a_target_is_a_text_a_letter_or_a_number(tmp_path: Path, target: str) -> None:
    path = write(tmp_path / "t.jsonl", choice("choice_likelihood_per_byte", target, CHOICES))
    assert run(path, Table()).tasks[0].score == 1.0


def test_every_normalisation_is_on_the_leaderboard(tmp_path: Path) -> None:
    row = run(write(tmp_path / "t.jsonl", choice("choice_likelihood", "A", CHOICES)), Table()).tasks[0]
    assert {each.name: each.value for each in row.aggregates} == {
        "score_mean": 1.0,
        "per_character": 0.0,
        "per_byte": 0.0,
    }


def test_choices_in_the_middle_are_weighed_by_what_follows(tmp_path: Path) -> None:
    line = choice("choice_likelihood", "Eve", ["Ann", "Eve"])
    contexts = [f"Ann thanked Eve because {who}" for who in ("Ann", "Eve")]
    line["extras"] |= {"contexts": contexts, "continuation": "had helped."}
    assert run(write(tmp_path / "blanks.jsonl", line), Table()).tasks[0].score == 1.0
    line["extras"]["contexts"] = contexts[:1]
    broken = run(write(tmp_path / "short.jsonl", line), Table()).tasks[0]
    assert (broken.score, broken.failed) == (None, 1)
    line["extras"] |= {"contexts": contexts, "continuation": ""}  # of which every model is certain
    broken = run(write(tmp_path / "empty.jsonl", line), Table()).tasks[0]
    assert (broken.score, broken.failed) == (None, 1)
    assert "needs extras.continuation" in str(broken.failure_examples)


def test_what_follows_choices_is_normalised_by_its_own_length_not_by_theirs(tmp_path: Path) -> None:
    line = choice("choice_likelihood_per_character", "Eve", ["Annabella", "Eve"])
    contexts = [f"Ann thanked Eve because {who}" for who in ("Ann", "Eve")]
    line["extras"] |= {"contexts": contexts, "continuation": "had helped."}
    row = run(write(tmp_path / "blanks.jsonl", line), Table()).tasks[0]
    assert {each.name: each.value for each in row.aggregates}.items() >= {"score_mean": 1.0, "per_byte": 1.0}.items()


def test_likelihoods_are_cached(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", choice("choice_likelihood", "A", CHOICES))
    first, second = Table(), Table()
    cache: Any = {"cache": True, "cache_path": str(tmp_path / "cache.sqlite")}
    run(path, first, **cache)
    path.with_suffix(".run").rename(tmp_path / "old.run")
    run(path, second, **cache)
    assert (len(first.asked), len(second.asked)) == (3, 0)


def test_bits_per_byte_divide_sums_and_stay_out_of_the_overall_score(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl",
        {"prompt": "the cat", "targets": [], "metric": "bits_per_byte"},
        {"prompt": "once", "targets": [" upon"], "metric": "bits_per_byte"},
    )
    board = run(path, Table())
    assert board.tasks[0].score == pytest.approx(8.0 / math.log(2) / 12)
    assert board.overall_score is None
    assert "lower is better" in str(board.overall_reason)
    perplexity = board.tasks[0].aggregates[1]
    assert (perplexity.name, perplexity.value) == ("word_perplexity", pytest.approx(math.exp(8 / 3)))


class Writer:
    """Can only write."""

    name = "writer"

    def __init__(self, text: str) -> None:
        self._text = text
        self.asked: list[Request] = []

    async def generate(self, request: Request) -> Completion:
        self.asked.append(request)
        return Completion(text=self._text)


def test_a_model_that_can_only_write_is_refused_before_the_first_call(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", choice("choice_likelihood", "A", CHOICES))
    model = Writer("A")
    with pytest.raises(UsageError, match=r"`t` .* writer can only generate\. Add --generative"):
        run(path, model)
    assert not model.asked
    assert not path.with_suffix(".run").exists()


@pytest.mark.parametrize(("text", "score"), [("B.", 1.0), ("The answer is (b)", 1.0), ("A", 0.0), ("maybe", 0.0)])
def test_the_generative_variant_asks_for_the_letter(tmp_path: Path, text: str, score: float) -> None:
    path = write(tmp_path / "t.jsonl", choice("choice_likelihood", "certainly", CHOICES))
    model = Writer(text)
    definitions = [generative_variant(each) for each in load_tasks([str(path)])]
    board = run_evaluation(definitions, RunConfig(), model=model, folder=tmp_path / "run").leaderboard
    assert (board.tasks[0].score, board.tasks[0].metric) == (score, "lettered_choice")
    assert board.tasks[0].nothing_extracted == (text == "maybe")
    assert "\nB. certainly\n" in str(model.asked[0].prompt)
    (record,) = read_records(tmp_path / "run" / "journal.jsonl")
    assert record.trace is not None
    assert record.trace.prompt == model.asked[0].prompt


def test_the_generative_variant_keeps_the_system_prompt(tmp_path: Path) -> None:
    line = choice("choice_likelihood", "certainly", CHOICES)
    line["extras"]["system"] = "Be brief."
    model = Writer("B")
    definitions = [generative_variant(each) for each in load_tasks([str(write(tmp_path / "t.jsonl", line))])]
    run_evaluation(definitions, RunConfig(), model=model, folder=tmp_path / "run")
    messages = model.asked[0].messages
    assert messages is not None
    assert (messages[0].role, messages[0].content) == ("system", "Be brief.")
    again = rescore(tmp_path / "run")
    assert (again.rescored, again.remaining, again.leaderboard.tasks[0].score) == (1, 0, 1.0)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (choice("choice_likelihood", "D", CHOICES), "is none of the choices"),
        (choice("choice_likelihood", "A", ["one"]), "extras.choices"),
        ({"prompt": "Q", "targets": ["A"], "metric": "choice_likelihood"}, "extras.choices"),
        ({"prompt": "Q", "targets": ["A"], "metric": "choice_likelyhood"}, "Did you mean `choice_likelihood`"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_tasks([str(write(tmp_path / "t.jsonl", line))])
    assert says in str(caught.value)


def test_a_model_that_fails_for_one_choice_fails_the_attempt(tmp_path: Path) -> None:
    row = run(write(tmp_path / "t.jsonl", choice("choice_likelihood", "A", ["no", "new"])), Table(), retries=0).tasks[0]
    assert (row.scored, row.failed, row.score) == (0, 1, None)
