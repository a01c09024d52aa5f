"""`assay optimize` as a user calls it, on the bundled example."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.chromium import chromium_program, needs_chromium
from tests.end_to_end.commands import environment
from tests.end_to_end.commands import write_task as write_sums
from tests.evaluators.loopback import Answer, serving
from tests.results.yaml_runs import EQUALS, write_task
from tests.tasks.model_files import write_model_file

from assay.cli.main import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "optimize"
TASKS = ["--task", "tickets.jsonl", "--task-model", "keyword_model:answer"]
COMMAND = ["--dataset", "records.jsonl", "--evaluator-command", f"{sys.executable} -S score_ticket.py"]
PROPOSER = ["--model", "proposer:propose"]


@pytest.fixture(autouse=True)
def _in_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLE)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def optimized(capsys: pytest.CaptureFixture[str], *arguments: str, expect: int = 0) -> dict[str, Any]:
    assert main(["optimize", *arguments, "--json"]) == expect
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["optimize", *arguments]) == 2
    return capsys.readouterr().err


def test_the_classification_example_improves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "run")
    arguments = ["seed.txt", *TASKS, *PROPOSER, "--split", "40/30/30", "--budget", "200", "--run-dir", folder]
    result = optimized(capsys, *arguments, "--output", str(tmp_path / "best.txt"), "--keep-placeholders")
    assert result["valset"]["seed"]["mean"] == 0.0
    assert result["valset"]["best"]["mean"] > 0.5
    assert result["testset"]["verdict"].startswith("better by")
    assert (tmp_path / "best.txt").read_text(encoding="utf-8") == result["best"]
    assert "{prompt}" in result["best"]


@needs_chromium
def test_with_the_toy_model_a_browser_shows_curve_and_diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    result = optimized(
        capsys, "seed.txt", "--task", "letters.jsonl", "--task-model", "toy", *PROPOSER, "--run-dir", str(folder)
    )
    assert (result["valset"]["seed"]["mean"], result["valset"]["best"]["mean"]) == (0.0, 1.0)
    page = (folder / "page.html").read_text(encoding="utf-8")
    seen = ["svg.for-page .m-line", "svg.for-page .m-sign", ".diff .removed", ".diff .added"]
    assert all(width > 5 and height > 5 for width, height in drawn_by_a_browser(page, tmp_path, seen))


def drawn_by_a_browser(page: str, folder: Path, selectors: list[str]) -> list[tuple[float, float]]:
    """Width and height of what a browser draws for each selector; the page is only let run this one script."""
    measure = """<script>document.title = JSON.stringify(SELECTORS.map(s => {
        const box = document.querySelector(s).getBoundingClientRect(); return [box.width, box.height]}))</script>"""
    page = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    copy = folder / "measured.html"
    copy.write_text(page + measure.replace("SELECTORS", json.dumps(selectors)), encoding="utf-8")
    browser = [
        chromium_program(),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={folder / 'profile'}",
    ]
    done = subprocess.run([*browser, "--dump-dom", copy.as_uri()], capture_output=True, text=True, timeout=300)
    title = re.search("<title>(.*?)</title>", done.stdout)
    assert title is not None, done.stderr
    return [(width, height) for width, height in json.loads(title[1])]


DATA = Path(os.environ.get("ASSAY_SHARED_DATA", EXAMPLE.parents[2] / "shared" / "data")) / "goemotions" / "dev.tsv"


@pytest.mark.skipif(not DATA.exists(), reason="the shared data is not here")
def test_hints_learned_from_real_sentences_help_on_unseen_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """GoEmotions: gratitude, love and sadness, as people wrote them; the scripted proposer finds the telling words."""
    names = {"15": "gratitude", "18": "love", "25": "sadness"}
    lines: dict[str, list[str]] = {label: [] for label in names}
    for line in DATA.read_text(encoding="utf-8").splitlines():
        text, label, _ = line.split("\t")
        if label in lines and len(lines[label]) < 40 and any(len(word) >= 5 for word in re.findall("[a-z]+", text)):
            lines[label].append(text)
    rows = [(names[label], text) for label, texts in lines.items() for text in texts]
    task = tmp_path / "emotions.jsonl"
    records = [
        {"id": str(n), "prompt": f"Ticket: {text}", "targets": [label], "metric": "exact_match"}
        for n, (label, text) in enumerate(rows)
    ]
    task.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    arguments = ["seed.txt", "--task", str(task), "--task-model", "keyword_model:answer", *PROPOSER]
    result = optimized(
        capsys, *arguments, "--split", "50/25/25", "--budget", "1500", "--run-dir", str(tmp_path / "run")
    )
    assert result["testset"]["low"] > 0.0
    assert result["testset"]["verdict"].startswith("better by")


def test_progress_estimate_and_files_are_printed_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "run")
    assert main(["optimize", "seed.txt", *TASKS, *PROPOSER, "--budget", "120", "--run-dir", folder, "--diff"]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("budget: 120 evaluator calls, of which 25 score the seed")
    assert "calls 25/120  best 0.0000  last: seed scored 0.000" in said.err
    assert f"page: {folder}/page.html" in said.err
    assert "proposals:" in said.out
    assert "+- billing:" in said.out


def test_without_a_seed_the_prompts_of_the_tasks_are_the_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = optimized(capsys, *TASKS, *PROPOSER, "--budget", "80", "--run-dir", str(tmp_path))
    assert result["seed"] == "{prompt}"
    assert result["valset"]["best"]["mean"] > 0.0


def test_no_seed_lets_the_proposer_begin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--no-seed", "--objective", "label tickets", "--budget", "80", "--run-dir", str(tmp_path)]
    result = optimized(capsys, *flags, *TASKS, *PROPOSER)
    assert result["seed"].startswith("Label the ticket")
    assert result["proposals"]["accepted"] > 0


def test_a_function_of_ones_own_writes_the_first_text_without_an_objective(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "drafts.py").write_text(
        "def propose(texts, feedback, components):\n    return texts['text'] + 'more '\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with serving(lambda payload: Answer(json.dumps({"score": len(payload["candidate"]) / 100}).encode())) as server:
        flags = ["--no-seed", "--evaluator-url", server.url, "--proposer", "drafts:propose", "--budget", "4"]
        result = optimized(capsys, *flags, "--run-dir", str(tmp_path / "run"))
    assert result["seed"] == "more "


def test_a_service_may_be_the_fitness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def score(payload: Any) -> Answer:
        return Answer(json.dumps({"score": min(1.0, len(payload["candidate"]) / 100)}).encode())

    with serving(score) as server:
        flags = ["--evaluator-url", server.url, "--model", f"stub:```\n{'longer ' * 20}\n```", "--budget", "10"]
        result = optimized(capsys, "seed.txt", *flags, "--run-dir", str(tmp_path), "--task-model", "openai/small")
    assert result["valset"]["best"]["mean"] == 1.0
    assert server.received[0].payload["candidate"] == "__optimize_anything_preflight__"
    assert {received.payload["task_model"] for received in server.received} == {"openai/small"}
    assert all("example" not in received.payload for received in server.received)


def test_p9_a_failed_preflight_ends_it_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Answer(b'{"score": 7}')) as server:
        errors = refusal(capsys, "seed.txt", "--evaluator-url", server.url, *PROPOSER, "--run-dir", str(tmp_path))
    assert {each.payload["candidate"] for each in server.received} == {"__optimize_anything_preflight__"}
    assert server.url in errors
    assert "outside 0..1" in errors


def test_a_dead_proposer_ends_with_a_code_and_a_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--model", "stub:no fences", "--budget", "60", "--run-dir", str(tmp_path)]
    assert main(["optimize", "seed.txt", *TASKS, *flags]) == 3
    said = capsys.readouterr()
    assert said.out.startswith("PROBLEM: the proposer failed")
    assert "assay optimize: the proposer failed" in said.err


def test_a_proposer_without_a_key_ends_with_a_code_and_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with serving(Answer(b'{"error": {"message": "no such key \\u001b[2J"}}', status=403)) as server:
        flags = ["--model", "openai:large", "--model-arg", f"base_url={server.url}", "--run-dir", str(tmp_path)]
        assert main(["optimize", "seed.txt", *TASKS, *flags]) == 3
    said = capsys.readouterr()
    assert "PROBLEM: the proposer failed" in said.out
    assert "403" in said.out
    assert "proposals: 0 made" in said.out
    assert "\x1b" not in said.out + said.err
    assert len(server.received) == 1


def test_a_killed_process_goes_on_to_the_same_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Killed with SIGKILL in the middle, while its evaluator runs as a program of its own."""
    arguments = ["seed.txt", *COMMAND, *PROPOSER, "--split", "60/40", "--budget", "60", "--json"]
    straight = optimized(capsys, *arguments, "--run-dir", str(tmp_path / "straight"))
    folder = tmp_path / "killed"
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", "optimize", *arguments, "--run-dir", str(folder)],
        cwd=EXAMPLE,
        env=environment(PYTHONDONTWRITEBYTECODE="1"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "last: accepted" in line:
            os.kill(process.pid, signal.SIGKILL)
            break
    process.stderr.close()
    assert process.wait() == -signal.SIGKILL
    before = len((folder / "journal.jsonl").read_bytes().splitlines())
    shutil.copytree(folder, tmp_path / "changed")
    result = optimized(capsys, *arguments, "--run-dir", str(folder))
    for each in (result, straight):
        for row in each["evaluations"]:
            del row["seconds"]
    assert {**result, "calls": 0} == {**straight, "calls": 0}
    assert before > 0
    assert 0 < result["calls"]["made_now"] < result["calls"]["used"] == straight["calls"]["used"]
    _continued_with_another_proposer_and_budget(tmp_path / "changed", capsys)


def _continued_with_another_proposer_and_budget(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = ["--model", "stub:```\n{prompt}\n```", "--budget", "50"]
    assert main(["optimize", "seed.txt", *COMMAND, *other, "--split", "60/40", "--run-dir", str(folder), "--json"]) == 0
    said = capsys.readouterr()
    result = json.loads(said.out)
    assert "continuing this search with what changed since: proposer, budget\n" in said.err
    assert result["proposer"].startswith("proposer:propose, stub")
    assert result["proposals"]["accepted"] > 0, "what was found before the kill is kept"
    assert result["calls"]["made_now"] < result["calls"]["used"]


def test_an_interrupt_ends_it_with_what_was_found(tmp_path: Path) -> None:
    hold = threading.Event()

    def slow_after_the_seed(payload: Any) -> Answer:
        hold_it = None if "one word" in payload["candidate"] or "preflight" in payload["candidate"] else hold
        return Answer(b'{"score": 0.25}', hold=hold_it)

    with serving(slow_after_the_seed) as server:
        flags = ["--evaluator-url", server.url, "--model", "stub:```\nbetter\n```", "--run-dir", str(tmp_path)]
        process = subprocess.Popen(
            [sys.executable, "-m", "assay", "optimize", "seed.txt", *flags],
            cwd=EXAMPLE,
            env=environment(PYTHONDONTWRITEBYTECODE="1"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        for line in process.stderr:
            if "seed scored" in line:
                break
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=300)
        hold.set()
    assert process.returncode == 130, errors
    assert "stopped: it was interrupted" in said
    assert "rerun the same command to resume" in errors


@pytest.mark.parametrize(
    ("margin", "proposer", "status"),
    [([], PROPOSER, 0), (["0.5"], PROPOSER, 0), (["0.99"], PROPOSER, 1), ([], ["--model", "stub:```\nno\n```"], 1)],
)
def test_a_gate_holds_the_search_to_being_better(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], margin: list[str], proposer: list[str], status: int
) -> None:
    flags = ["--split", "40/30/30", "--budget", "150", "--run-dir", str(tmp_path), "--fail-unless-better", *margin]
    assert main(["optimize", "seed.txt", *TASKS, *proposer, *flags, "--quiet"]) == status
    assert ("gate not met: --fail-unless-better" in capsys.readouterr().err) is (status == 1)


@pytest.mark.parametrize("split", [[], ["--split", "60/40"], ["--split", "60/40", "--holdout", "0.3"]])
def test_a_part_is_held_out_by_default(tmp_path: Path, capsys: pytest.CaptureFixture[str], split: list[str]) -> None:
    flags = ["--budget", "120", "--run-dir", str(tmp_path / "run"), *split]
    assert main(["optimize", "seed.txt", *TASKS, *PROPOSER, *flags]) == 0
    said = capsys.readouterr()
    assert "held out: 11 of 36 records of the dataset, for the verdict" in said.err
    assert "scoring seed and best on the 11 held-out records" in said.err
    assert "(selected on, so biased upwards)" in said.out
    assert re.search(r"^held out: seed ", said.out, re.MULTILINE)
    assert re.search(r"^verdict: .* 11 examples held out of the dataset$", said.out, re.MULTILINE)
    shown = (tmp_path / "run" / "page.html").read_text()
    assert "held out 11: " in shown
    assert "testset" not in said.out + said.err + shown, "nobody gave one"


def test_unresolved_failures_do_not_end_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def half(payload: Any) -> Answer:
        broken = payload["example"].get("broken") and "preflight" not in payload["candidate"]
        return Answer(b"no JSON" if broken else b'{"score": 0.5}')

    data = tmp_path / "d.jsonl"
    data.write_text("".join(json.dumps({"n": n, "broken": n % 2 == 0}) + "\n" for n in range(1, 7)))
    with serving(half) as server:
        flags = ["--evaluator-url", server.url, "--dataset", str(data), "--model", "stub:```\nx\n```", "--budget", "20"]
        assert main(["optimize", "seed.txt", *flags, "--run-dir", str(tmp_path / "run"), "--max-proposals", "1"]) == 3
    said = capsys.readouterr().out
    assert "3 evaluations of kept texts gave no score after all retries" in said
    assert "not valid JSON" in said, "and the message says why"
    assert re.search(r"^evaluator calls: .* [1-9]\d* retries$", said, re.MULTILINE)


def test_components_and_a_proposer_of_ones_own_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "def propose(texts, feedback, components):\n    return {each: texts[each] + '!' for each in components}\n"
    (tmp_path / "mine.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "b.txt").write_text("two")

    def count(payload: Any) -> Answer:
        parts = payload.get("components", {})
        return Answer(json.dumps({"score": min(1.0, sum(text.count("!") for text in parts.values()) / 4)}).encode())

    with serving(count) as server:
        flags = ["--component", f"a={tmp_path / 'a.txt'}", "--component", f"b={tmp_path / 'b.txt'}"]
        flags += ["--evaluator-url", server.url, "--proposer", "mine:propose"]
        flags += ["--output", str(tmp_path / "best")]
        result = optimized(capsys, *flags, "--run-dir", str(tmp_path / "run"))
    assert result["best_components"] == {"a": "one!!", "b": "two!!"}
    assert {path.name: path.read_text() for path in (tmp_path / "best").iterdir()} == {
        "a.txt": "one!!",
        "b.txt": "two!!",
    }
    assert "## a\n\none!!" in result["best"]
    assert result["proposer"] == "mine:propose"


HANGING = """
import json, os, sys, time
if "one word" in json.load(sys.stdin)["candidate"]:
    print(json.dumps({"score": 0.25}))
else:
    with open(sys.argv[1], "w") as pipe:
        pipe.write(str(os.getpid()))
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_sigterm_and_a_closed_terminal_end_the_evaluator_and_keep_what_was_found(tmp_path: Path, number: int) -> None:
    (tmp_path / "hang.py").write_text(HANGING)
    os.mkfifo(tmp_path / "pipe")
    command = shlex.join([sys.executable, "-S", str(tmp_path / "hang.py"), str(tmp_path / "pipe")])
    folder = tmp_path / "run"
    flags = ["--evaluator-command", command, "--evaluator-timeout", "600", "--no-preflight", "--run-dir", str(folder)]
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", "optimize", "seed.txt", *flags, "--model", "stub:```\nbetter\n```"],
        cwd=EXAMPLE,
        env=environment(PYTHONDONTWRITEBYTECODE="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    evaluator = int((tmp_path / "pipe").read_text())  # waits until it hangs
    process.send_signal(number)
    said, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert "stopped: it was interrupted" in said
    assert (folder / "summary.json").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(evaluator, 0)


def test_a_dry_run_calls_no_model(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Answer()) as server:
        flags = ["--evaluator-url", server.url, "--dataset", "records.jsonl", "--budget", "30", "--dry-run"]
        assert main(["optimize", "seed.txt", *flags, *PROPOSER]) == 0
    assert server.received == []
    said = capsys.readouterr()
    assert "about 0 to 0 proposals" in said.out
    assert "warning: this budget is too small" in said.err


def test_a_dry_run_with_a_judge_needs_no_key(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    judge = ["--judge-model", "openai:gpt-4o-mini", "--objective", "be kind"]
    flags = [*judge, "--model", "openai:gpt-4o-mini", "--dataset", "records.jsonl", "--budget", "60"]
    assert main(["optimize", "seed.txt", *flags, "--dry-run"]) == 0
    assert "proposals" in capsys.readouterr().out
    assert main(["optimize", "seed.txt", *flags]) == 2
    assert "OPENAI_API_KEY" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["seed.txt"], "--evaluator-command, --evaluator-url, --judge-model"),
        (["seed.txt", "--evaluator-url", "http://h/", "--judge-model", "toy"], "--evaluator-url and --judge-model"),
        (["--evaluator-url", "http://h/"], "SEED"),
        (["none.txt", "--evaluator-url", "http://h/"], "none.txt: cannot be read"),
        (["seed.txt", "--no-seed", "--evaluator-url", "http://h/"], "give one of them"),
        (["--no-seed", "--evaluator-url", "http://h/"], "--objective"),
        (["seed.txt", "--evaluator-url", "http://h/", "--valset", "records.jsonl"], "--valset needs --dataset"),
        (["seed.txt", *COMMAND, "--split", "50/50", "--valset", "records.jsonl"], "--split makes"),
        (["seed.txt", "--evaluator-url", "http://h/", "--split", "50/50"], "--split cuts"),
        (["seed.txt", *COMMAND, "--split", "50/25/25", "--holdout", "0.3"], "leave --holdout out"),
        (["seed.txt", *COMMAND, "--budget", "0"], "--budget"),
        (["seed.txt", *COMMAND, "--budget", "-1"], "--budget"),
        (["seed.txt", *COMMAND, "--budget", "20"], "leaves no call for a proposal"),
        (["seed.txt", *COMMAND, "--holdout", "1.5"], "--holdout"),
        (["seed.txt", *COMMAND, "--prompt-at", "x"], "--prompt-at has no effect without --task"),
        (["seed.txt", *COMMAND, "--limit", "2"], "--limit has no effect without --task"),
        (["seed.txt", *COMMAND, "--sampling", "same_parent"], "--sampling is for several --proposals"),
        (["seed.txt", *COMMAND, "--merge", "3"], "--merge is for several components and has no effect on one text"),
        (["seed.txt", *COMMAND, "--component-selector", "all"], "--component-selector is for several components"),
        (["seed.txt", *COMMAND, "--proposer", "m:f", "--temperature", "1"], "has no effect with --proposer"),
        (["seed.txt", *COMMAND, "--proposer", "m:f", "--feedback-chars", "500"], "has no effect with --proposer"),
        (["seed.txt", *COMMAND, "--proposer", "m:f", "--objective", "x"], "has no effect with --proposer"),
        (["seed.txt", *COMMAND, "--dry-run", "--feedback-chars", "9"], "--feedback-chars must be at least 200, got 9"),
        (["seed.txt", *COMMAND, "--dry-run", "--remember", "-1"], "--remember must be 0 or more, got -1"),
        (["seed.txt", *COMMAND, "--constraint", "x"], "--constraint has no effect without --judge-model"),
        (["seed.txt", *COMMAND, "--evaluator-header", "a:b"], "has no effect without --evaluator-url"),
        (
            ["seed.txt", "--evaluator-url", "http://h/", "--evaluator-cwd", "."],
            "has no effect without --evaluator-command",
        ),
        (["seed.txt", *TASKS, "--dimension", "x=1"], "has no effect without --judge-model"),
        (["seed.txt", "--evaluator-url", "http://h/", "--evaluator-header", "a:b\nc"], "one line"),
        (["seed.txt", "--evaluator-url", "http://h/", "--evaluator-timeout", "nan"], "timeout"),
        (["seed.txt", *COMMAND, "--target-score", "nan"], "--target-score"),
        (["seed.txt", *COMMAND, "--holdout", "nan"], "--holdout"),
        (["seed.txt", *COMMAND, "--split", "inf/1"], "--split"),
        (["seed.txt", *COMMAND, "--testset", "records.jsonl"], "share records"),
        (["seed.txt", *COMMAND, "--task-model", ""], "(--task-model) is blank"),
        (["seed.txt", *COMMAND, "--max-repeats", "0"], "--max-repeats must be at least 1"),
        (["seed.txt", *COMMAND, "--reuse", "nowhere"], "holds no search"),
        (["seed.txt", "--component", "a=seed.txt", *COMMAND], "give one text, or several components"),
        (["--component", "a", *COMMAND], "expected NAME=VALUE"),
        (["--component", "a=seed.txt", *COMMAND, "--output", "seed.txt"], "are written to a folder, a file each"),
        (["seed.txt", *COMMAND, "--proposer", "nowhere:propose"], "no module `nowhere`"),
        (["seed.txt", *TASKS, "--prompt-at", "nowhere"], "no `nowhere` there"),
        (["seed.txt", *COMMAND, "--output", "."], "is a folder"),
        (["seed.txt", "--task", "tickets.jsonl"], "--task needs --task-model"),
        (["seed.txt", *TASKS, "--judge-model", "toy"], "leave --judge-model out"),
        (
            ["seed.txt", *TASKS, "--testset", "records.jsonl"],
            "leave --testset out; --split 50/25/25 splits",
        ),
        (["seed.txt", *TASKS, "--valset", "records.jsonl"], "leave --valset out; --split 50/25/25 splits"),
        (["seed.txt", "--judge-model", "toy"], "--objective"),
        (["seed.txt", "--judge-model", "toy", "--judge-model", "stub", "--objective", "x"], "one judge"),
        (["seed.txt", *COMMAND, "--max-chars", "5"], "breaks its own rules"),
        (["score_ticket.py", *TASKS, "--task-model", "nonsense"], "unknown model"),
    ],
)
def test_bad_flags_get_a_sentence(
    arguments: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reason in refusal(capsys, *arguments, *PROPOSER, "--run-dir", str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("seed", [[], ["seed.txt"]])
def test_a_place_of_the_solver_that_holds_no_text_gets_a_sentence(
    seed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = ["--task", str(write_task(tmp_path, [{"q": "yes", "a": "yes"}], [EQUALS])), "--task-model", "toy"]
    arguments = [*seed, *task, "--prompt-at", "input_builder", *PROPOSER, "--run-dir", str(tmp_path / "run")]
    assert "--prompt-at input_builder: there is no text in task" in refusal(capsys, *arguments)
    assert not (tmp_path / "run").exists()


def test_who_proposes_is_to_be_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no proposer given: use --model" in refusal(capsys, "seed.txt", *COMMAND, "--run-dir", str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("bad", ["dataset", "valset", "testset"])
def test_bad_sets_are_reported_with_all_their_lines_before_anything_starts(
    bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"{bad}.jsonl"
    path.write_text('{}\n\n[]\n"x"\n', encoding="utf-8")
    sets = {"dataset": "records.jsonl", bad: str(path)}
    flags = [word for name, file in sets.items() for word in (f"--{name}", file)]
    with serving(Answer()) as server:
        errors = refusal(capsys, "seed.txt", *flags, "--evaluator-url", server.url, *PROPOSER)
    assert f"{path}:3: " in errors
    assert f"{path}:4: " in errors
    assert server.received == []
    other = tmp_path / "other.jsonl"
    other.write_text("[]\n")
    both = ["--dataset", str(other), "--valset", str(path), "--evaluator-url", "http://h/"]
    errors = refusal(capsys, "seed.txt", *both, *PROPOSER)
    assert f"{other}:1: " in errors
    assert f"{path}:3: " in errors, "every set is read before anything is refused"
    path.write_text("", encoding="utf-8")
    assert f"{path}: has no records" in refusal(capsys, "seed.txt", *flags, "--evaluator-url", "http://h/", *PROPOSER)


def test_an_outage_before_the_seed_is_scored_is_a_failure_and_not_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter([Answer()] * 5)
    with serving(lambda payload: next(answers, Answer(b"{}", status=503))) as server:
        flags = ["--evaluator-url", server.url, "--dataset", "records.jsonl", *PROPOSER, "--patience", "0.001"]
        assert main(["optimize", "seed.txt", *flags, "--run-dir", str(tmp_path)]) == 3
    assert "the seed was not scored" in capsys.readouterr().err


def test_the_model_that_answers_the_task_is_waited_for_as_long_as_was_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_sums(tmp_path / "sums.jsonl", {f"compute: {n} + 1": str(n + 1) for n in range(6)})
    said = {"choices": [{"message": {"role": "assistant", "content": "1"}, "finish_reason": "stop"}]}
    answers = iter([Answer(json.dumps(said).encode())])
    with serving(lambda payload: next(answers, Answer(b"{}", status=503))) as server:
        model = ["--task-model", f"openai:m@{server.url}", "--concurrency", "1", "--patience", "0.001"]
        flags = ["--task", str(tmp_path / "sums.jsonl"), *model, "--model", "stub:x", "--objective", "short"]
        (tmp_path / "seed.txt").write_text("{prompt}")
        assert main(["optimize", str(tmp_path / "seed.txt"), *flags, "--run-dir", str(tmp_path / "run")]) == 3
    assert "the seed was not scored: openai:m has not answered for 0 s (--patience)" in capsys.readouterr().err


def test_a_proposer_that_writes_no_first_text_is_a_failure_and_not_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--objective", "short", "--model", "stub:I would rather not", "--run-dir", str(tmp_path)]
    assert main(["optimize", "--no-seed", *COMMAND, *flags]) == 3
    assert "the proposer wrote no first text" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--dry-run"]], ids=["search", "estimate"])
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--task-max-tokens", "5"], "--task-max-tokens has no effect here: `toy` applies no such setting"),
        (["--judge-retries", "3"], "--judge-retries has no effect here: no task here has a judge"),
        (["--config", "a=b"], "--config a: there is no parameter `a`"),
    ],
)
def test_a_setting_of_the_task_that_nothing_applies_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], said: str, more: list[str]
) -> None:
    task, seed = write_sums(tmp_path / "sums.jsonl", {"compute: 1 + 1": "2"}), tmp_path / "seed.txt"
    seed.write_text("{prompt}")
    typed = ["optimize", str(seed), "--task", str(task), "--task-model", "toy", "--model", "stub:x"]
    assert main([*typed, "--objective", "short", "--run-dir", str(tmp_path / "run"), *flags, *more]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("more", [[], ["--dry-run"]], ids=["search", "estimate"])
@pytest.mark.parametrize("flag", ["--temperature", "--max-tokens"])
def test_a_setting_of_the_proposer_that_it_does_not_apply_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flag: str, more: list[str]
) -> None:
    flags = ["--dataset", "records.jsonl", "--model", "stub:x", "--objective", "short", flag, "1"]
    assert main(["optimize", "seed.txt", *COMMAND, *flags, "--run-dir", str(tmp_path / "run"), *more]) == 2
    assert f"{flag} has no effect here: `stub:x` applies no such setting" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_models_of_a_search_may_be_keys_of_model_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_sums(tmp_path / "sums.jsonl", {"compute: 1 + 1": "2"})
    Path("seed.txt").write_text("{prompt}")
    write_model_file("adder", "toy")
    write_model_file("writer", "stub:x")
    typed = ["optimize", "seed.txt", "--task", "sums.jsonl", "--task-model", "adder", "--model", "writer"]
    assert main([*typed, "--objective", "short", "--budget", "2", "--quiet"]) != 2, capsys.readouterr().err
