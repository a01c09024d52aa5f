"""What answered and what scored is recorded for each start and resume; what must not be mixed is refused by name."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.end_to_end.commands import write_task
from tests.runs.served_runs import evaluate_served, with_server
from tests.runs.shard_runs import run_shard
from tests.servers.fake_openai import FakeServer, compute, fake_openai

from assay.cli.main import main
from assay.core.describe import ModelOffers
from assay.core.errors import UsageError
from assay.core.seams import Served
from assay.core.types import Completion, Request
from assay.results.board.board_types import Leaderboard
from assay.results.board.leaderboard import build_leaderboard
from assay.results.board.stretches import Stretch, read_stretches
from assay.results.diff.comparison import diff
from assay.run_config import RunConfig
from assay.run_file import read_run_file
from assay.runs.entry import aevaluate, evaluate
from assay.runs.evaluate import RunOptions, run_all
from assay.runs.folder import record_change
from assay.runs.later.integrity import check_run
from assay.runs.later.rescore import rescore
from assay.runs.plan import plan_runs
from assay.runs.shards import merge_run
from assay.runs.stretches import record_stretch
from assay.tasks.load import load_tasks

OLD, NEW = "a" * 64, "b" * 64


def tags(digest: str) -> dict[str, Any]:
    return {"/api/tags": {"models": [{"name": "m:latest", "digest": digest}]}}


def listed(root: str) -> dict[str, Any]:
    return {"/v1/models": {"data": [{"id": "m", "root": root, "created": 1, "owned_by": "vllm"}]}}


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """One prompt that is answered, and one that fails the first time."""
    return write_task(tmp_path / "sums.jsonl", {"compute: 1 + 1": "2", "behave: status 500 1\ncompute: 2 + 2": "4"})


def test_a_run_records_what_was_served_and_every_surface_prints_it(
    task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work(server: FakeServer) -> None:
        server.pages = tags(OLD) | listed("/ckpt/1")
        server.more = {"system_fingerprint": "fp_1"}
        board = await evaluate_served(task, server, tmp_path / "run")
        assert [each.served for each in board.stretches] == [
            Served(strong={"digest": OLD}, weak={"root": "/ckpt/1", "owned_by": "vllm"})
        ]
        assert board.answered == {"system_fingerprint": {"fp_1": 1}}

    with_server(work)
    assert f"digest {OLD[:12]}… (strong); root /ckpt/1" in (tmp_path / "run" / "report.md").read_text()
    assert main(["show", str(tmp_path / "run")]) == 0
    assert f"served: digest {OLD[:12]}… (strong)" in capsys.readouterr().out


def test_a_resume_with_other_weights_is_refused_by_name_and_can_be_accepted(task: Path, tmp_path: Path) -> None:
    async def work(server: FakeServer) -> None:
        server.pages = tags(OLD)
        assert not (await evaluate_served(task, server, tmp_path / "run")).complete
        server.pages = tags(NEW)
        with pytest.raises(UsageError, match=f"digest {OLD[:12]}….*now have digest {NEW[:12]}….*--accept-model-change"):
            await evaluate_served(task, server, tmp_path / "run")
        assert len(read_stretches(tmp_path / "run")[0]) == 1, "a refused resume leaves no trace"
        board = await evaluate_served(task, server, tmp_path / "run", accept_model_change=True)
        assert board.complete
        assert board.notices == [f"answers of more than one model: digest {OLD[:12]}… and {NEW[:12]}…"]

    with_server(work)


def test_the_same_weights_resume_without_a_word(task: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work(server: FakeServer) -> None:
        server.pages = tags(OLD)
        await evaluate_served(task, server, tmp_path / "run")
        board = await evaluate_served(task, server, tmp_path / "run")
        assert (len(board.stretches), board.notices) == (2, [])
        await evaluate_served(task, server, tmp_path / "run")
        assert len(read_stretches(tmp_path / "run")[0]) == 2, "nothing was left to do"

    with_server(work)
    assert not caplog.records


def test_weak_signs_that_change_are_reported_and_recorded(
    task: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(server: FakeServer) -> None:
        server.pages = listed("/ckpt/1")
        await evaluate_served(task, server, tmp_path / "run", kind="vllm")
        server.pages = listed("/ckpt/2")
        board = await evaluate_served(task, server, tmp_path / "run", kind="vllm")
        assert board.notices == ["what the server says about the model changed in between: root /ckpt/1 → /ckpt/2"]

    with caplog.at_level(logging.WARNING):
        with_server(work)
    assert "root was /ckpt/1, now /ckpt/2" in caplog.text


def test_a_server_that_says_nothing_is_recorded_as_such(task: Path, tmp_path: Path) -> None:
    async def work(server: FakeServer) -> None:
        server.pages = {"/v1/models": b"<html>", "/api/tags": b"\xff"}
        board = await evaluate_served(task, server, tmp_path / "run")
        assert [each.served for each in board.stretches] == [None]

    with_server(work)
    assert "served: not known" in (tmp_path / "run" / "report.md").read_text()


def test_answers_with_several_fingerprints_are_counted(task: Path, tmp_path: Path) -> None:
    async def work(server: FakeServer) -> None:
        server.more = {"system_fingerprint": "fp_1"}
        await evaluate_served(task, server, tmp_path / "run")
        server.more = {"system_fingerprint": "fp_2", "model": "m-2025"}
        board = await evaluate_served(task, server, tmp_path / "run")
        assert board.answered == {"system_fingerprint": {"fp_1": 1, "fp_2": 1}, "model": {"m-2025": 1}}
        assert [each.answered for each in board.stretches] == [
            {"system_fingerprint": ["fp_1"]},
            {"system_fingerprint": ["fp_2"], "model": ["m-2025"]},
        ]
        changed = "what the server says about the model changed in between"
        assert board.notices == [
            f"{changed}: model in answers not said → m-2025",
            f"{changed}: system_fingerprint in answers fp_1 → fp_2",
        ]

    with_server(work)


def test_what_answers_name_is_not_compared_before_one_came(
    task: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(server: FakeServer) -> None:
        server.more = {"system_fingerprint": "fp_1"}
        for _ in range(3):  # one answer, the other one, none
            await evaluate_served(task, server, tmp_path / "run")

    with caplog.at_level(logging.WARNING):
        with_server(work)
    assert "otherwise than before" not in caplog.text


def test_diff_names_signs_in_answers_that_came_in_another_order(task: Path, tmp_path: Path) -> None:
    async def work(server: FakeServer) -> None:
        for name, fingerprints in (("a", ("fp_1", "fp_2")), ("b", ("fp_2", "fp_1"))):
            for fingerprint in fingerprints:
                server.more = {"system_fingerprint": fingerprint}
                await evaluate_served(task, server, tmp_path / name)
            server.seen.clear()

    with_server(work)
    changed = diff(tmp_path / "a", tmp_path / "b").settings_changed
    assert changed == ["served system_fingerprint in answers: fp_1 and fp_2 → fp_2 and fp_1 (a weak sign)"]


def test_several_fingerprints_within_a_stretch_are_counted(tmp_path: Path) -> None:
    async def work(server: FakeServer) -> None:
        def answer(prompt: str) -> str:
            server.more = {"system_fingerprint": "fp_2" if "2" in prompt else "fp_1"}
            return prompt

        server.answer = answer
        board = await evaluate_served(
            write_task(tmp_path / "two.jsonl", {"1": "1", "2": "2"}), server, tmp_path / "run", concurrency=1
        )
        assert [each.answered for each in board.stretches] == [{"system_fingerprint": ["fp_1", "fp_2"]}]
        assert board.notices == ["answers name several values of `system_fingerprint`: fp_1 (1), fp_2 (1)"]

    with_server(work)


def loaded_at_the_first_answer(server: FakeServer) -> None:
    """The server says nothing about itself before it has answered a request."""
    server.loading = True

    def answer(prompt: str) -> str:
        server.loading = False
        return compute(prompt)

    server.answer = answer


def test_a_server_that_is_down_at_the_start_is_asked_again_when_it_answers(task: Path, tmp_path: Path) -> None:
    async def work(server: FakeServer) -> None:
        server.pages = tags(OLD)
        loaded_at_the_first_answer(server)
        board = await evaluate_served(task, server, tmp_path / "run")
        assert [each.served for each in board.stretches] == [Served(strong={"digest": OLD})]

    with_server(work)


def test_a_resume_that_begins_while_the_server_is_down_is_compared_before_an_answer_is_journaled(
    task: Path, tmp_path: Path
) -> None:
    async def work(server: FakeServer) -> None:
        server.pages = tags(OLD)
        await evaluate_served(task, server, tmp_path / "run")
        journal = (tmp_path / "run" / "journal.jsonl").read_bytes()
        server.pages = tags(NEW)
        loaded_at_the_first_answer(server)
        with pytest.raises(UsageError, match=r"other weights.*--accept-model-change"):
            await evaluate_served(task, server, tmp_path / "run")
        assert (tmp_path / "run" / "journal.jsonl").read_bytes() == journal
        server.pages = tags(OLD)
        loaded_at_the_first_answer(server)
        board = await evaluate_served(task, server, tmp_path / "run")
        assert not board.failed
        assert not board.notices

    with_server(work)


JUDGED = """\
models:
  - {key: asked, display_name: A, config: {url: "%(url)s", model_key: other, api_key: $FAKE_API_KEY}}
  - {key: judge, display_name: J, config: {url: "%(url)s", model_key: m, api_key: $FAKE_API_KEY}}
datasets:
  - {key: sums, display_name: S, source: {type: local, file_path: rows.jsonl}}
tasks:
  - key: sums
    display_name: Sums
    description: ""
    definition:
      dataset: {key: sums}
      solver:
        type: multi_turn_solver
        message_builders: [{type: chat_message, role: user, content: "{{ sample.a }}"}, {type: generate}]
      scorers:
        - {type: model_as_a_judge_scorer, key: rated, model_key: judge, user_prompt: "1"}
evaluation: {key: e, display_name: E, task_specifications: [{task_key: sums, model_key: asked}]}
"""


def test_a_judge_with_other_weights_is_refused_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAKE_API_KEY", "none")
    rows = [{"a": "compute: 1 + 1"}, {"a": "behave: status 500 1\ncompute: 2 + 2"}]
    Path("rows.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, rows)))

    async def work(server: FakeServer) -> None:
        Path("run.yaml").write_text(JUDGED % {"url": server.base_url})

        async def judged(*, accept: bool = False) -> Leaderboard:
            how: dict[str, Any] = {"cache": False, "retries": 0, "accept_model_change": accept}
            return (await aevaluate("run.yaml", folder="run", **how)).leaderboard

        server.pages = tags(OLD)
        assert not (await judged()).complete
        server.pages = tags(NEW)
        with pytest.raises(UsageError, match=f"judge openai:m digest {OLD[:12]}….*--accept-model-change"):
            await judged()
        board = await judged(accept=True)
        assert board.complete
        assert board.notices == [f"answers of more than one model: judge openai:m digest {OLD[:12]}… and {NEW[:12]}…"]

    with_server(work)


# -- a run whose attempts are all made -------------------------------------------------------------------------------


async def labelled(task: Path, server: FakeServer, folder: Path, label: str, kind: str, **how: Any) -> Leaderboard:
    model = {label: f"{kind}:m@{server.base_url}"}
    return (await aevaluate(task, model, folder=folder, cache=False, retries=0, **how)).leaderboard


@pytest.fixture
def answered_task(tmp_path: Path) -> Path:
    return write_task(tmp_path / "answered.jsonl", {"compute: 1 + 1": "2"})


def test_a_finished_run_is_not_given_out_as_that_of_other_weights(answered_task: Path, tmp_path: Path) -> None:
    async def work(server: FakeServer) -> None:
        server.pages = tags(OLD)
        assert (await labelled(answered_task, server, tmp_path / "run", "old", "ollama")).complete
        server.pages = tags(NEW)
        with pytest.raises(UsageError, match=f"{OLD[:12]}….*{NEW[:12]}….*--fresh.*--run-dir.*--accept-model-change"):
            await labelled(answered_task, server, tmp_path / "run", "new", "ollama")
        assert read_run_file(tmp_path / "run").config.label == "old"
        board = await labelled(answered_task, server, tmp_path / "run", "new", "ollama", accept_model_change=True)
        assert (board.label, len(board.stretches), board.notices) == ("old", 1, [])
        board = await labelled(answered_task, server, tmp_path / "run", "new", "ollama", fresh=True)
        assert (board.label, server.seen.total()) == ("new", 2)

    with_server(work)


def test_a_finished_run_keeps_its_label_when_weak_signs_differ(
    answered_task: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(server: FakeServer) -> None:
        server.pages = listed("/ckpt/1")
        await labelled(answered_task, server, tmp_path / "run", "old", "vllm")
        assert (await labelled(answered_task, server, tmp_path / "run", "mine", "vllm")).label == "mine"
        assert not caplog.records, "the same signs: renamed"
        server.pages = listed("/ckpt/2")
        assert (await labelled(answered_task, server, tmp_path / "run", "new", "vllm")).label == "mine"

    with_server(work)
    assert "root was /ckpt/1, now /ckpt/2; the run is still called `mine`" in caplog.text


def test_one_seed_for_all_attempts_at_a_sample_is_said_on_the_board(answered_task: Path, tmp_path: Path) -> None:
    async def work(server: FakeServer) -> None:
        noted = [
            (await evaluate_served(answered_task, server, tmp_path / str(number), **how)).notices
            for number, how in enumerate(({"repeat": 2, "temperature": 1.0}, {"repeat": 2, "temperature": 0.0}, {}))
        ]
        assert noted == [[], [], []]
        board = await evaluate_served(answered_task, server, tmp_path / "seeded", seed=3, repeat=2, temperature=1.0)
        assert any("--seed 3 is sent with every attempt: a server that honours it" in each for each in board.notices)
        for number, how in enumerate(({"repeat": 2, "temperature": 0.0}, {"temperature": 1.0})):
            assert (
                await evaluate_served(answered_task, server, tmp_path / f"seed {number}", seed=3, **how)
            ).notices == []

    with_server(work)


def test_the_tables_of_a_run_that_keeps_its_label_are_headed_by_it(answered_task: Path, tmp_path: Path) -> None:
    async def work(server: FakeServer) -> None:
        headings: list[str] = []
        for root, label in (("/ckpt/1", "old"), ("/ckpt/2", "new")):
            server.pages = listed(root)
            planned = plan_runs(
                load_tasks([str(answered_task)]), RunConfig(), [f"{label}=vllm:m@{server.base_url}", "toy"]
            )
            options = RunOptions(runs_folder=tmp_path / "runs")
            await run_all(planned, options, on_result=lambda result, shown: headings.append(shown))
        assert headings == ["old", "toy", "old", "toy"]

    with_server(work)


def test_a_finished_run_whose_server_is_silent_now_is_given_out_with_a_warning(
    answered_task: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(server: FakeServer) -> None:
        server.pages = tags(OLD)
        await labelled(answered_task, server, tmp_path / "run", "old", "ollama")
        server.pages = {}
        assert (await labelled(answered_task, server, tmp_path / "run", "new", "ollama")).label == "old"

    with_server(work)
    assert f"digest was {OLD[:12]}…, now not said" in caplog.text


def test_a_refused_resume_leaves_the_label(task: Path, tmp_path: Path) -> None:
    async def work(server: FakeServer) -> None:
        server.pages = tags(OLD)
        await labelled(task, server, tmp_path / "run", "old", "ollama")
        server.pages = tags(NEW)
        with pytest.raises(UsageError, match="other weights"):
            await labelled(task, server, tmp_path / "run", "new", "ollama")
        assert read_run_file(tmp_path / "run").config.label == "old"

    with_server(work)


def test_a_command_that_asks_nothing_says_so(
    answered_task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", str(answered_task), "--run-dir", str(tmp_path / "run"), "--model"]
    assert main([*command, "stub:2"]) == 0
    assert "no request was sent" not in capsys.readouterr().err
    day = read_run_file(tmp_path / "run").created[:10]
    assert main([*command, "stub:2"]) == 0
    assert (
        f"no request was sent: all 1 attempts were made on {day}; --fresh runs them again\n" in capsys.readouterr().err
    )
    assert main([*command, "mine=stub:2"]) == 0
    assert f"all 1 attempts were made on {day}, as `stub:2`; --fresh" in capsys.readouterr().err


# -- stretches of which nothing is known -----------------------------------------------------------------------------


def test_a_resume_by_a_server_that_no_longer_names_its_weights_is_refused(task: Path, tmp_path: Path) -> None:
    async def work(server: FakeServer) -> None:
        server.pages = tags(OLD)
        await evaluate_served(task, server, tmp_path / "run")
        await evaluate_served(task, server, tmp_path / "whole")
        server.pages = {}
        with pytest.raises(UsageError, match=f"digest {OLD[:12]}….*nothing that names.*--accept-model-change"):
            await evaluate_served(task, server, tmp_path / "run")
        board = await evaluate_served(task, server, tmp_path / "run", accept_model_change=True)
        assert board.notices == [f"answers of weights that are not known: digest {OLD[:12]}… and not said"]

    with_server(work)
    compared = diff(tmp_path / "whole", tmp_path / "run", allow_unequal=True)
    assert compared.same_model is None
    assert f"served digest: {OLD[:12]}… → {OLD[:12]}… and not said (weights that are not known)" in (
        compared.settings_changed
    )
    rescored = rescore(tmp_path / "run", folder=tmp_path / "again").leaderboard
    assert rescored.notices == [f"answers of weights that are not known: digest {OLD[:12]}… and not said"]


@pytest.mark.parametrize("said_first", [True, False], ids=["it disappears", "it appears"])
def test_a_weak_sign_in_one_stretch_only_is_reported(
    task: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, said_first: bool
) -> None:
    async def work(server: FakeServer) -> None:
        bare = {"/v1/models": {"data": [{"id": "m", "owned_by": "vllm"}]}}
        first, second = (listed("/ckpt/1"), bare) if said_first else (bare, listed("/ckpt/1"))
        server.pages = first
        await evaluate_served(task, server, tmp_path / "run", kind="vllm")
        server.pages = second
        board = await evaluate_served(task, server, tmp_path / "run", kind="vllm")
        seen = " → ".join(("/ckpt/1", "not said") if said_first else ("not said", "/ckpt/1"))
        assert board.notices == [f"what the server says about the model changed in between: root {seen}"]

    with_server(work)
    was, now = ("/ckpt/1", "not said") if said_first else ("not said", "/ckpt/1")
    assert f"root was {was}, now {now}" in caplog.text


TWO_JUDGES = """
key: two
display_name: Two
description: ""
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "x"}]}
  scorers:
    - {type: model_as_a_judge_scorer, key: first, model_key: strict, user_prompt: "compute: 1 + 0"}
    - {type: model_as_a_judge_scorer, key: second, model_key: kind, user_prompt: "compute: 1 + 0"}
"""


def test_two_judges_that_have_one_name_on_two_servers_stay_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.yaml").write_text(TWO_JUDGES)
    Path("rows.jsonl").write_text('{"q": "x"}\n')
    Path("prices.yaml").write_text("currency: USD\nmodels: {m: {input: 1, output: 1}}\n")
    Path("models").mkdir()

    async def work(server: FakeServer) -> None:
        async with fake_openai() as other:
            server.pages, other.pages = tags(OLD), tags(NEW)
            for key, label, where in (("strict", "The Judge", server), ("kind", "The Second", other)):
                Path(f"models/{key}.yaml").write_text(
                    f"key: {key}\ndisplay_name: {label}\nconfig: {{url: '{where.base_url}', model_key: m}}\n"
                )
            how: dict[str, Any] = {"cache": False, "folder": "run", "budget_cost": 5.0}
            board = (await aevaluate("two.yaml", "stub:x", **how)).leaderboard
        judges = [row for task in board.tasks for row in task.judges]
        assert [(row.model, row.answers) for row in judges] == [
            ("openai:m (The Judge)", 1),
            ("openai:m (The Second)", 1),
        ]
        assert all(row.cost is not None and row.cost.amount for row in judges)
        [stretch] = board.stretches
        assert sorted(each.strong["digest"] for each in stretch.judges.values()) == [OLD, NEW]

    with_server(work)
    assert main(["show", "run"]) == 0
    shown = capsys.readouterr().out
    assert "openai:m (The Judge) said: 1" in shown
    assert "openai:m (The Second) said: 1" in shown


# -- versions ----------------------------------------------------------------------------------------------------------


def as_if_scored_with(folder: Path, assay: str) -> None:
    """The run as another version of assay would have left it."""
    run_file = read_run_file(folder)
    newer = msgspec.structs.replace(run_file, versions={**run_file.versions, "assay-eval": assay})
    record_change(folder, newer)
    for path in (folder / "stretches").iterdir():
        stretch = msgspec.json.decode(path.read_bytes(), type=Stretch)
        versions = {**stretch.versions, "assay-eval": assay}
        record_stretch(folder, msgspec.structs.replace(stretch, versions=versions), path.stem)


class Flaky:
    """Fails for one prompt until it is mended."""

    name = "flaky"
    mended = False

    def __call__(self, prompt: str) -> str:
        if "2 + 2" in prompt and not self.mended:
            raise ValueError("broken")
        return "2"


def test_a_resume_under_other_versions_is_refused_or_marked_on_the_board(task: Path, tmp_path: Path) -> None:
    folder, model = tmp_path / "run", Flaky()
    evaluate(task, model, folder=folder)
    as_if_scored_with(folder, "0.0.1")
    model.mended = True
    with pytest.raises(
        UsageError, match=r"scored with assay-eval 0\.0\.1; installed here: assay-eval .*--accept-versions"
    ):
        evaluate(task, model, folder=folder)
    board = evaluate(task, model, folder=folder, accept_versions=True).leaderboard
    assert board.complete
    [notice] = board.notices
    assert notice.startswith("scored under several versions: assay-eval 0.0.1 and ")
    assert board.versions["assay-eval"].startswith("0.0.1, ")


def test_versions_that_were_accepted_once_need_no_second_word(task: Path, tmp_path: Path) -> None:
    folder, model = tmp_path / "run", Flaky()
    evaluate(task, model, folder=folder)
    as_if_scored_with(folder, "0.0.1")
    evaluate(task, model, folder=folder, accept_versions=True)
    model.mended = True
    assert evaluate(task, model, folder=folder).leaderboard.complete


@pytest.mark.parametrize("kept", [True, False], ids=["with its stretches", "without"])
def test_a_run_file_with_other_versions_is_noticed(task: Path, tmp_path: Path, kept: bool) -> None:
    folder, model = tmp_path / "run", Flaky()
    evaluate(task, model, folder=folder)
    if not kept:
        shutil.rmtree(folder / "stretches")
    text = (folder / "run.json").read_text()
    version = msgspec.json.decode(text)["versions"]["rapidfuzz"]
    (folder / "run.json").write_text(text.replace(f'"rapidfuzz": "{version}"', '"rapidfuzz": "0.1"'))
    if not kept:
        with pytest.raises(UsageError, match=r"rapidfuzz 0\.1; installed here: rapidfuzz"):
            evaluate(task, model, folder=folder)
    board = evaluate(task, model, folder=folder, accept_versions=True).leaderboard
    assert board.notices[0].startswith("scored under several versions: rapidfuzz 0.1 and ")


def test_the_command_line_has_both_flags(task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    command = ["run", str(task), "--model", "stub:2", "--run-dir", str(folder), "--quiet"]
    assert main(command) == 0
    first, _ = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "journal.jsonl").write_bytes(first)
    as_if_scored_with(folder, "0.0.1")
    assert main(command) == 2
    assert "--accept-versions" in capsys.readouterr().err
    assert main([*command, "--accept-versions", "--accept-model-change"]) == 0
    assert "scored under several versions" in capsys.readouterr().err


# -- shards, rescoring, damage ---------------------------------------------------------------------------------------


class Weighty:
    """A model with weights of its own to name."""

    name = "weighty"
    offers = ModelOffers()

    def __init__(self, digest: str = OLD) -> None:
        self._digest = digest

    async def generate(self, request: Request) -> Completion:
        return Completion(text="2")

    async def served(self) -> Served:
        return Served(strong={"digest": self._digest})


def test_the_stretches_of_all_shards_are_kept_by_a_merge(task: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for number in (1, 2):
        run_shard(load_tasks([str(task)]), RunConfig(model="stub:2"), number=number, count=2, folder=folder)
    merge_run(folder)
    assert [each.shard for each in build_leaderboard(folder).stretches] == ["0-1", "1-2"]


def test_a_rescored_run_keeps_what_answered_and_names_what_scored(task: Path, tmp_path: Path) -> None:
    evaluate(task, Weighty(), folder=tmp_path / "run")
    as_if_scored_with(tmp_path / "run", "0.0.1")
    board = rescore(tmp_path / "run", folder=tmp_path / "again").leaderboard
    assert [each.served for each in board.stretches] == [Served(strong={"digest": OLD}), None]
    assert "0.0.1" not in board.versions["assay-eval"]
    assert board.notices == []
    assert diff(tmp_path / "run", tmp_path / "again").same_model


def test_an_edited_stretch_is_found_by_verify_and_stops_a_resume(task: Path, tmp_path: Path) -> None:
    folder, model = tmp_path / "run", Flaky()
    evaluate(task, model, folder=folder)
    assert check_run(folder).intact
    [path] = (folder / "stretches").iterdir()
    path.write_bytes(path.read_bytes().replace(b'"started":"2', b'"started":"1'))
    assert [problem.what for problem in check_run(folder).problems] == ["edited"]
    assert "damaged" in build_leaderboard(folder).notices[0]
    with pytest.raises(UsageError, match="was changed or damaged"):
        evaluate(task, model, folder=folder)


# -- differences -----------------------------------------------------------------------------------------------------


def test_only_equal_strong_identities_are_called_the_same_model(
    task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, digest in (("a", OLD), ("b", OLD), ("c", NEW)):
        evaluate(task, Weighty(digest), folder=tmp_path / name)
    assert diff(tmp_path / "a", tmp_path / "b").same_model is True
    other = diff(tmp_path / "a", tmp_path / "c")
    assert other.same_model is False
    assert f"served digest: {OLD[:12]}… → {NEW[:12]}… (other weights)" in other.settings_changed
    assert main(["diff", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "the same model: both were answered by the same weights" in capsys.readouterr().out


def test_weak_signs_are_named_by_diff_and_prove_nothing(task: Path, tmp_path: Path) -> None:
    async def work(server: FakeServer) -> None:
        for name, root in (("a", "/ckpt/1"), ("b", "/ckpt/1"), ("c", "/ckpt/2")):
            server.pages, server.more = listed(root), {"system_fingerprint": f"fp{root}"}
            await evaluate_served(task, server, tmp_path / name, kind="vllm")
            server.seen.clear()

    with_server(work)
    assert diff(tmp_path / "a", tmp_path / "b").same_model is None
    other = diff(tmp_path / "a", tmp_path / "c")
    assert other.same_model is None
    assert other.settings_changed == [
        "served root: /ckpt/1 → /ckpt/2 (a weak sign)",
        "served system_fingerprint in answers: fp/ckpt/1 → fp/ckpt/2 (a weak sign)",
    ]
