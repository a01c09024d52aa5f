"""The embedded model with its real weights: the same whatever the batch, as other engines compute it, and as good.

Skipped where `assay model get` was not run. The demo's forty items were written before any model had seen them.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.contracts.model import closing
from tests.end_to_end.commands import assay

from assay.core.journal import read_records
from assay.core.types import Completion, Message, Record, Request
from assay.models.embedded import weights as embedded_weights
from assay.models.embedded.model import EmbeddedModel
from assay.run_file import read_run_file
from assay.stats.intervals import mean_interval
from assay.stats.subgroups import fisher_exact

pytest.importorskip("gguf", reason="needs the extra `embedded`")
pytest.importorskip("tokenizers", reason="needs the extra `embedded`")
pytestmark = [
    pytest.mark.skipif(
        not embedded_weights.is_here(embedded_weights.model_folder()), reason="`assay model get` was not run here"
    ),
    pytest.mark.timeout(600),
]

DEFAULT_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
STORY = "The ship left the harbour at dawn, and the sea was calm. "


def ask(*requests: Request, **options: int) -> list[Completion]:
    async def answers() -> list[Completion]:
        async with closing(EmbeddedModel(max_tokens=10, **options)) as model:  # type: ignore[arg-type]
            return await asyncio.gather(*(model.generate(request) for request in requests))

    return asyncio.run(answers())


def test_a_likelihood_and_an_answer_are_those_of_other_engines() -> None:
    score, answer = ask(
        Request(prompt="The capital of France is", continuation=" Paris"),
        Request(prompt="What is the capital of France?"),
        workers=1,
    )
    assert score.logprob == pytest.approx(-0.25808, abs=5e-5)  # torch: -0.25806; llama.cpp: -0.2591
    assert answer.text == "The capital of France is Paris."  # of torch too; llama.cpp says something else


def test_the_chat_template_brings_the_default_system_message() -> None:
    user = Message(role="user", content="Name a colour.")
    bare, with_system, other = ask(
        Request(prompt="Name a colour."),
        Request(messages=(Message(role="system", content=DEFAULT_SYSTEM), user)),
        Request(messages=(Message(role="system", content="Be brief."), user)),
        workers=1,
    )
    assert (bare.text, bare.tokens_in) == (with_system.text, with_system.tokens_in)
    assert other.tokens_in != bare.tokens_in


MIXED = [
    *(Request(prompt=f"{STORY * (n % 4)}What happened at {n} o'clock?") for n in range(8)),
    *(Request(prompt=f"Tell me about {n} ships.", temperature=0.8, seed=n) for n in range(3)),
    *(Request(prompt=STORY * (1 + n % 3), continuation=f" {STORY * (n % 2)}It was {n}") for n in range(9)),
]
"""Of mixed lengths: greedy, with chance, and likelihoods; some share their prompts."""


@pytest.mark.slow
def test_text_and_likelihoods_are_the_same_at_every_batch_size() -> None:
    alone = ask(*MIXED, workers=1, batch_size=1)
    for workers, batch_size in ((1, 3), (1, 8), (1, 16), (2, 5)):
        together = ask(*MIXED, workers=workers, batch_size=batch_size)
        assert [each.text for each in together] == [each.text for each in alone]
        for one, other in zip(together, alone, strict=True):
            assert one.logprob == pytest.approx(other.logprob, abs=1e-4)


# -- the demo, twice, through the command


@pytest.mark.slow
def test_the_demo_says_the_same_twice_and_scores_as_such_items_did_elsewhere(tmp_path: Path) -> None:
    """One test, because the two runs are what takes long."""
    first = demo(tmp_path, "one", batch_size=3, concurrency=3, workers=1)
    second = demo(tmp_path, "other", batch_size=16, concurrency=40, workers=2)
    assert fingerprint(tmp_path / "one") == fingerprint(tmp_path / "other")
    assert first.keys() == second.keys()
    for key, record in first.items():
        say_the_same(record, second[key])
    for task, measured in ELSEWHERE.items():
        score_like(measured, scores(first, task))
    summaries_overlap_like(ROUGE_ELSEWHERE, scores(first, "summary"))


@dataclass(frozen=True)
class Measured:
    """What another float32 engine got on ten items of the same kind, with the same template and system message."""

    right: int
    chance: float | None = None
    """The share that ten items must beat, one-sided at 0.05; None where that is not claimed."""


ELSEWHERE: Mapping[str, Measured] = {
    "arithmetic": Measured(7, chance=0.1),
    "multiple-choice": Measured(8, chance=0.25),
    "multiple-choice-letters": Measured(2),
    "sentiment": Measured(10, chance=0.5),
    "sentiment-written": Measured(9),
}
ROUGE_ELSEWHERE = 0.596

Records = dict[tuple[str, str], Record]


def demo(place: Path, name: str, *, batch_size: int, concurrency: int, workers: int) -> Records:
    common = ("run", "demo-real", "--model", "embedded", "--max-tokens", "48", "--no-cache", "--quiet")
    flags = ("--batch-size", str(batch_size), "--concurrency", str(concurrency), "--model-arg", f"workers={workers}")
    done = assay(*common, *flags, "--run-dir", name, cwd=place)
    assert done.returncode == 0, done.stderr
    return {(each.task, each.sample_id): each for each in read_records(place / name / "journal.jsonl")}


def fingerprint(run: Path) -> str:
    return read_run_file(run).fingerprint


def say_the_same(one: Record, other: Record) -> None:
    assert one.trace is not None
    assert other.trace is not None
    assert (one.key, one.trace.prediction) == (other.key, other.trace.prediction)
    for mine, theirs in zip(one.trace.items or [], other.trace.items or [], strict=True):
        assert mine["logprob"] == pytest.approx(theirs["logprob"], abs=1e-4)


def scores(found: Records, task: str) -> list[float]:
    values = [record.scores[0].values["score"] for record in found.values() if record.task == task]
    assert len(values) == 10
    return [float(value) for value in values if value is not None]


def score_like(measured: Measured, values: list[float]) -> None:
    right = round(sum(values))
    assert fisher_exact(right, 10, measured.right, 10) > 0.05
    if measured.chance is not None:
        assert at_least(right, 10, measured.chance) < 0.05


def summaries_overlap_like(elsewhere: float, values: list[float]) -> None:
    interval = mean_interval(values)
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low <= elsewhere <= interval.high
    assert interval.low > 0.11  # the first sentence of another item's text


def at_least(right: int, n: int, chance: float) -> float:
    """How likely guessing gets so many right, or more."""
    return sum(math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(right, n + 1))
