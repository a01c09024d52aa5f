"""Every reader of bytes that somebody else wrote: a name, a few good inputs to begin with, and a call.

A target may answer, or refuse with an error of ours. Anything else it raises is a bug, and so is not coming back.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.core.errors import AssayError
from assay.core.journal import Journal, read_records
from assay.core.seams import identity_of
from assay.core.types import Completion, DatasetSpec, Failure, PartSpec, Record, Request, Score, TaskDefinition, Trace
from assay.evaluators.llm_judge import llm_judge_evaluator
from assay.evaluators.payload import read_answer
from assay.evaluators.usable_answers import UnusableError, json_object
from assay.formats.declarative.load import check_yaml_file
from assay.models.adapters.stub import make as make_stub
from assay.results.board.board_types import read_leaderboard_file
from assay.results.board.leaderboard import build_leaderboard
from assay.run_config import RunConfig
from assay.runs.assemble import describe
from assay.runs.earlier_attempts import EarlierAttempts
from assay.runs.shard_files import Shard, merge_shards, new_file
from assay.scorers.judging.verdict import read_label
from assay.storage.checksum import with_checksums
from assay.tasks.descriptions import with_descriptions
from assay.tasks.load import load_tasks

ROOT = Path(__file__).parents[2]


class Target(NamedTuple):
    """What is fed, what it begins with, and what counts as a refusal."""

    name: str
    call: Callable[[bytes, Path], object]
    seeds: Sequence[bytes]
    refusals: tuple[type[Exception], ...] = (AssayError,)

    def feed(self, data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(*self.refusals):
            self.call(data, Path(folder))


def task_folder_file(data: bytes, folder: Path) -> None:
    load_tasks([str(written(folder / "sums.jsonl", data))])


def spec_file(data: bytes, folder: Path) -> None:
    path = str(written(folder / "tasks.jsonl", b'{"task_id": "x"}\n' + data))
    load_tasks([path], allow_bad=True)


def yaml_file(data: bytes, folder: Path) -> None:
    check_yaml_file(written(folder / "task.yaml", data))


def journal(data: bytes, folder: Path) -> None:
    """Lines with any content, whose checksums match: others are refused before they are parsed."""
    path = written(folder / "journal.jsonl", with_checksums(data.splitlines(), 1))
    written(folder / "run.json", RUN)
    EarlierAttempts(path)
    Journal(path).close()
    build_leaderboard(folder)
    list(read_records(path))


def run_file(data: bytes, folder: Path) -> None:
    written(folder / "run.json", data)
    written(folder / "journal.jsonl", with_checksums(JOURNAL.splitlines(), 1))
    build_leaderboard(folder)


def shard_file(data: bytes, folder: Path) -> None:
    path = new_file(folder, Shard(0, 9))
    path.parent.mkdir()
    written(path, with_checksums(data.splitlines(), 1))
    merged = Journal(folder / "journal.jsonl")
    try:
        merge_shards(folder, merged)
    finally:
        merged.close()


def leaderboard(data: bytes, folder: Path) -> None:
    read_leaderboard_file(written(folder / "leaderboard.json", data))


def evaluator_answer(data: bytes, folder: Path) -> None:
    evaluation = read_answer(data, "unit", "fuzz")
    assert 0.0 <= evaluation.score <= 1.0


def judge_answer(data: bytes, folder: Path) -> None:
    judge = llm_judge_evaluator(model=Says(data.decode("utf-8", "replace")), objective="judge")
    evaluation = asyncio.run(judge("candidate"))
    assert 0.0 <= evaluation.score <= 1.0


def verdict(data: bytes, folder: Path) -> None:
    text = data.decode("utf-8", "replace")
    json_object(text, ["label"])
    label, _ = read_label(text, ["yes", "no"], ["label"])
    assert label in ("yes", "no")


class Says:
    """A judge that says one thing."""

    name = "says"

    def __init__(self, text: str) -> None:
        self._text = text

    async def generate(self, request: Request) -> Completion:
        return Completion(text=self._text)


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def lines_of(*values: object) -> bytes:
    return b"".join(msgspec.json.encode(value) + b"\n" for value in values)


DEFINITION = with_descriptions(
    TaskDefinition(
        name="sums",
        format="task_folder",
        dataset=DatasetSpec(use="task_folder", options={"path": "sums.jsonl"}, sha256="0" * 64, size=2),
        solver=PartSpec(key="single_turn", use="single_turn"),
        scorers=(PartSpec(key="m", use="metric", options={"metric": "exact_match"}),),
        aggregates=(PartSpec(key="score", use="mean", options={"field": "score"}),),
        metric="exact_match",
    )
)
RUN = msgspec.json.encode(describe([DEFINITION], identity_of(make_stub("")), RunConfig(model="stub")))
BROKEN = Failure(stage="model", kind="timeout", message="late")
JOURNAL = lines_of(
    Record(
        key="00ff",
        task="sums",
        sample_id="1",
        index=0,
        trace=Trace(prediction="2", completions=(Completion(text="2", tokens_out=1),)),
        scores=(Score(name="m", values={"score": 1.0}),),
    ),
    Record(key="00fe", task="sums", sample_id="2", index=1, failures=(BROKEN,)),
)


def leaderboard_seed() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        written(Path(name) / "run.json", RUN)
        written(Path(name) / "journal.jsonl", with_checksums(JOURNAL.splitlines(), 1))
        return msgspec.json.encode(build_leaderboard(Path(name)))


EXAMPLES = ROOT / "examples"
YAML_EXAMPLES = ["mcqa.yaml", "rating.yaml", "system.yaml", "action-rules.yaml", "function-calls.yaml"]
TARGETS = {
    target.name: target
    for target in (
        Target("task folder file", task_folder_file, [(EXAMPLES / "task_folder" / "capitals.jsonl").read_bytes()]),
        Target("spec file", spec_file, [(EXAMPLES / "frozen_spec" / "tasks.jsonl").read_bytes()]),
        Target("yaml file", yaml_file, [(EXAMPLES / "declarative" / name).read_bytes() for name in YAML_EXAMPLES]),
        Target("journal", journal, [JOURNAL]),
        Target("run file", run_file, [RUN]),
        Target("shard file", shard_file, [JOURNAL]),
        Target("leaderboard", leaderboard, [leaderboard_seed()]),
        Target("evaluator answer", evaluator_answer, [b'{"score": 0.5, "notes": ["a", {"b": null}]}']),
        Target("judge answer", judge_answer, [b'{"score": 0.5, "reasoning": "fine"}', b'```json\n{"score": 1}\n```']),
        Target("verdict", verdict, [b'I say {"label": "yes"}', b"no"], (AssayError, UnusableError)),
    )
}
