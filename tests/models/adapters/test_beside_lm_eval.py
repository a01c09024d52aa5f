"""The same checkpoints under lm_eval's own `hf` and under `transformers:`: same likelihoods, same generated texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.models.adapters.peer_tasks import YAML, write_tasks
from tests.models.adapters.tiny_checkpoints import KINDS, write_checkpoint

from assay.bridges.lm_eval.lm_eval_source import LmEvalOptions, read_lm_eval
from assay.core.journal import read_records
from assay.core.types import Record
from assay.formats.shots import Shots
from assay.formats.task_source import SourceContext
from assay.results.board.leaderboard import read_leaderboard
from assay.runs.evaluate import RunOptions, run_all
from assay.runs.plan import make_config, plan_runs
from assay.runs.progress import run_blocking

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(600)]

TOLERANCE = 1e-4
CASES = [(kind, "text") for kind in KINDS]
CASES += [(kind, how) for kind in KINDS if KINDS[kind].template for how in ("chat", "turns")]

Answer = tuple[float, bool] | float | str
"""A likelihood and whether it is greedy, the likelihood of a whole text, or what was generated."""


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("peers")
    (home / "pyproject.toml").write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setenv("ASSAY_CACHE", str(home / "cache"))
        patch.setenv("HF_HOME", str(home / "hub"))
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield write_tasks(home / "tasks")


@pytest.mark.parametrize(("kind", "how"), CASES)
def test_every_answer_is_that_of_lm_eval(kind: str, how: str, tasks: Path, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "model", KINDS[kind])
    names = [name for name in YAML if name != "peer_wikitext" or not (how != "text" or KINDS[kind].adds_begin)]
    theirs = _by_lm_eval(folder, tasks, names, how=how)
    records = _by_assay(folder, tasks, names, tmp_path / "run", how=how)
    ours = {
        (record.task, int(record.sample_id)): [_answer(each) for each in record.trace.completions]
        for record in records
        if record.trace is not None
    }
    assert not [failure for record in records for failure in record.failures]
    assert ours.keys() == theirs.keys()
    for place, answers in theirs.items():
        for one, other in zip(ours[place], answers, strict=True):
            assert _same(one, other), (place, one, other)
    assert len({str(answer) for answers in theirs.values() for answer in answers}) > len(theirs)
    cut = {row.task for row in read_leaderboard(tmp_path / "run").tasks if row.prompts_cut}
    assert cut == ({"peer_mmlu", "peer_gsm8k"} if KINDS[kind].context < 1000 else set())


def _same(one: Answer, other: Answer) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return abs(one[0] - other[0]) < TOLERANCE and one[1] == other[1]
    if isinstance(one, tuple) and isinstance(other, float):
        return abs(one[0] - other) < TOLERANCE * 10  # a sum over a hundred tokens and more, in single precision there
    return one == other


def _answer(completion: Any) -> Answer:
    return completion.text if completion.logprob is None else (completion.logprob, completion.is_greedy)


def _by_lm_eval(folder: Path, tasks: Path, names: list[str], *, how: str) -> dict[tuple[str, int], list[Answer]]:
    from lm_eval.evaluator import simple_evaluate
    from lm_eval.tasks import TaskManager

    done = simple_evaluate(
        model="hf",
        model_args={"pretrained": str(folder), "dtype": "float32"},
        tasks=names,
        task_manager=TaskManager(include_path=str(tasks), include_defaults=False),
        batch_size=1,
        device="cpu",
        apply_chat_template=how != "text",
        fewshot_as_multiturn=how == "turns",
        bootstrap_iters=0,
        log_samples=True,
    )
    return {
        (name, sample["doc_id"]): [_their_answer(each[0]) for each in sample["resps"]]
        for name, samples in done["samples"].items()
        for sample in samples
    }


def _their_answer(answer: Any) -> Answer:
    return (float(answer[0]), bool(answer[1])) if isinstance(answer, tuple | list) else answer


def _by_assay(folder: Path, tasks: Path, names: list[str], run: Path, *, how: str) -> list[Record]:
    options = LmEvalOptions(include_path=str(tasks), chat_template=how != "text")
    context = SourceContext(trust=True, shots=Shots(None, how == "turns"))
    definitions = [each for name in names for each in read_lm_eval(f"lm-eval:{name}", options, context)]
    planned = plan_runs(definitions, make_config(cache=False, trust=True), [f"transformers:{folder}"])
    run_blocking(run_all(planned, RunOptions(folder=run)))
    return list(read_records(run / "journal.jsonl"))
