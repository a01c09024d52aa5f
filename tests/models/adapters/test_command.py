"""A program as a model: every way a program can misbehave has its failure, and none is left running."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.model import check_model, closing

from assay.core.errors import FailureError, UsageError
from assay.core.seams import Model
from assay.core.types import Completion, Failure, Message, Request
from assay.models.adapters.command import CommandModel, ServingCommandModel, make
from assay.text.wording import HALF_A_CHARACTER

HEAD = "import json, os, sys, time, signal, subprocess\n"
ANSWER = (
    HEAD
    + """
for line in sys.stdin:
    asked = json.loads(line)
    text = asked.get("prompt") or asked["messages"][-1]["content"]
    if "break" in text:
        answer = {"id": asked["id"], "error": "told to\\nbreak"}
    elif text.startswith("compute: "):
        answer = {"id": asked["id"], "text": str(sum(map(int, text.removeprefix("compute: ").split(" + "))))}
    else:
        answer = {"id": asked["id"], "text": line}
    print(json.dumps(answer), flush=True)
"""
)
REVERSED = HEAD + "for line in reversed(list(sys.stdin)): print(line.replace('prompt', 'text'), end='')"

Kind = type[CommandModel] | type[ServingCommandModel]
BOTH = pytest.mark.parametrize("kind", [CommandModel, ServingCommandModel])


def program(source: str) -> list[str]:
    return [sys.executable, "-c", source]


def ask(kind: Kind, source: str, request: Request | None = None, **options: Any) -> Completion:
    async def generate() -> Completion:
        async with closing(kind(program(source), name="p", **options)) as model:
            return await model.generate(request or Request(prompt="hi"))

    return asyncio.run(generate())


def failure_of(kind: Kind, source: str, request: Request | None = None, **options: Any) -> Failure:
    with pytest.raises(FailureError) as caught:
        ask(kind, source, request, **options)
    failure = caught.value.failure
    assert failure.message.isprintable()
    assert len(failure.message) <= 1000
    return failure


@BOTH
def test_it_keeps_the_contract_of_a_model(kind: Kind) -> None:
    @asynccontextmanager
    async def make_one() -> AsyncIterator[Model]:
        async with closing(kind(program(ANSWER))) as model:
            yield model

    check_model(make_one)


@BOTH
def test_it_works_on_uvloop_too(kind: Kind) -> None:
    uvloop = pytest.importorskip("uvloop")

    async def generate() -> list[str]:
        async with closing(kind(program(ANSWER))) as model:
            requests = [Request(prompt=f"compute: {number} + 0") for number in range(5)]
            await model.generate(Request(prompt="x" * 300_000))
            return [(await model.generate(request)).text for request in requests]

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(generate()) == ["0", "1", "2", "3", "4"]


@BOTH
def test_a_request_is_one_line_with_what_was_set(kind: Kind) -> None:
    import msgspec

    request = Request(
        messages=(Message(role="system", content=""), Message(role="user", content="line\nbreak\u2028é")),
        temperature=0.0,
        max_tokens=5,
        stop=("\n",),
        extra={"top_k": 1},
    )
    echo = HEAD + "line = sys.stdin.readline()\nprint(json.dumps({'id': json.loads(line)['id'], 'text': line}))"
    seen = msgspec.json.decode(ask(kind, echo, request).text)
    del seen["id"]
    assert seen == {
        "messages": [{"role": "system", "content": ""}, {"role": "user", "content": "line\nbreak\u2028é"}],
        "temperature": 0.0,
        "max_tokens": 5,
        "stop": ["\n"],
        "extra": {"top_k": 1},
    }


@BOTH
def test_what_the_program_reports_is_kept(kind: Kind) -> None:
    told = "'text': 'x', 'finish_reason': 'length', 'tokens_in': 3, 'tokens_out': 4, 'logprob': -1.5, 'new': 1"
    source = HEAD + f"print(json.dumps({{'id': json.loads(sys.stdin.readline())['id'], {told}}}))"
    completion = ask(kind, source, Request(prompt="a", continuation="b"))
    assert (completion.finish_reason, completion.tokens_in, completion.tokens_out) == ("length", 3, 4)
    assert completion.logprob == -1.5


def batch(model: CommandModel, prompts: list[str]) -> list[Completion | FailureError]:
    return asyncio.run(model.generate_batch([Request(prompt=prompt) for prompt in prompts]))


def test_a_batch_is_one_process_and_answers_may_come_in_any_order() -> None:
    answers = batch(CommandModel(program(REVERSED)), ["a", "b", "c"])
    assert [answer.text for answer in answers if isinstance(answer, Completion)] == ["a", "b", "c"]


def test_one_bad_answer_in_a_batch_fails_only_itself() -> None:
    good, bad = batch(CommandModel(program(ANSWER)), ["compute: 1 + 1", "break"])
    assert isinstance(good, Completion)
    assert isinstance(bad, FailureError)
    assert "told to break" in str(bad)


def test_half_a_character_in_a_batch_fails_only_itself() -> None:
    first, half, last = batch(CommandModel(program(REVERSED)), ["a", "\ud83d", "c"])
    assert isinstance(first, Completion)
    assert isinstance(last, Completion)
    assert (first.text, last.text) == ("a", "c")
    assert isinstance(half, FailureError)
    assert (half.failure.kind, half.failure.message) == ("bad_request", HALF_A_CHARACTER)


def test_a_missing_and_a_double_answer_fail_only_themselves() -> None:
    source = HEAD + "a, b, c = sys.stdin\nfor line in (a, b, b): print(line.replace('prompt', 'text'), end='')"
    one, two, three = batch(CommandModel(program(source)), ["a", "b", "c"])
    assert isinstance(one, Completion)
    assert "2 times" in str(two)
    assert "did not answer" in str(three)


READ = "line = sys.stdin.readline()\n"


@BOTH
@pytest.mark.parametrize(
    ("source", "kinds", "says"),
    [
        (
            "print('no cuda', file=sys.stderr); sys.exit(3)",
            {"exception"},
            "end of its standard error: no cuda",
        ),
        ("os.kill(os.getpid(), signal.SIGSEGV)", {"exception"}, "SIGSEGV"),
        ("print('Loading the model…', flush=True); time.sleep(60)", {"bad_output", "timeout"}, ""),
        ("print('Loading the model…', flush=True); sys.exit(0)", {"bad_output"}, "Loading the model…"),
        ("print('[1, 2]', flush=True)", {"bad_output"}, "[1, 2]"),
        ('print(\'{"id": "77", "text": "x"}\', flush=True)', {"bad_output"}, ""),
        ("sys.stdout.buffer.write(b'\\xff\\xfe\\n'); sys.stdout.flush()", {"bad_output"}, "something other"),
        ('sys.stdout.buffer.write(b\'{"id": "1", "text": "\\\\ud800\'); sys.stdout.flush()', {"bad_output"}, ""),
        ("print('{\"more\": ' + '[' * 40_000 + ']' * 40_000 + '}', flush=True)", {"bad_output"}, "something other"),
        ("pass", {"bad_output", "exception"}, ""),
        ("sys.stdout.write('x' * 500_000)", {"bad_output"}, "100,000 bytes"),
        ("print(json.dumps({'id': json.loads(line)['id']}))", {"bad_output"}, "neither"),
        ("print(json.dumps({'id': json.loads(line)['id'], 'text': 5}))", {"bad_output"}, "something other"),
        ("print(json.dumps({'id': json.loads(line)['id'], 'error': 'no\\x1b[1m'}))", {"exception"}, "no"),
    ],
)
def test_each_misbehaviour_has_its_failure(kind: Kind, source: str, kinds: set[str], says: str) -> None:
    failure = failure_of(kind, HEAD + READ + source, max_output_bytes=100_000, timeout_seconds=3)
    assert (failure.stage, failure.part) == ("model", "p")
    assert failure.kind in kinds
    assert says in failure.message


@BOTH
def test_a_program_that_reads_nothing_does_not_hang(kind: Kind) -> None:
    failure = failure_of(kind, "raise SystemExit(4)", Request(prompt="x" * 1_000_000))
    assert "status 4" in failure.message


@BOTH
def test_a_continuation_without_a_logprob_is_unsupported(kind: Kind) -> None:
    assert failure_of(kind, ANSWER, Request(prompt="a", continuation="b")).kind == "unsupported"


def fifo_program(fifo: Path, then: str) -> str:
    """A program with a child of its own; both hold the fifo open for writing, so its end is the end of both."""
    child = f"import time; f = open({str(fifo)!r}, 'w'); f.write('up'); f.flush(); time.sleep(600)"
    start = f"subprocess.Popen([sys.executable, '-c', {child!r}])"
    return HEAD + f"line = sys.stdin.readline()\n{start}\nf = open({str(fifo)!r}, 'w')\n{then}"


async def until_all_have_ended(fifo: Path, act: Callable[[], Any]) -> None:
    """Wait until the program's child is up, act, and wait until no one holds the fifo open any more."""
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    loop = asyncio.get_running_loop()
    up, ended = loop.create_future(), loop.create_future()

    def readable() -> None:
        data = os.read(reader, 100)
        if data and not up.done():
            up.set_result(None)
        if not data and up.done() and not ended.done():
            loop.remove_reader(reader)
            ended.set_result(None)

    loop.add_reader(reader, readable)
    try:
        await asyncio.wait_for(up, 30)
        act()
        await asyncio.wait_for(ended, 30)
    finally:
        loop.remove_reader(reader)
        os.close(reader)


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


@BOTH
def test_a_timeout_kills_the_whole_process_group(kind: Kind, fifo: Path) -> None:
    async def run() -> Failure:
        async with closing(kind(program(fifo_program(fifo, "time.sleep(600)")), timeout_seconds=2)) as model:
            task = asyncio.ensure_future(model.generate(Request(prompt="x")))
            await until_all_have_ended(fifo, lambda: None)
            with pytest.raises(FailureError) as caught:
                await task
            return caught.value.failure

    failure = asyncio.run(run())
    assert (failure.kind, failure.retryable) == ("timeout", True)
    assert "within 2 s" in failure.message


def test_a_cancelled_batch_leaves_no_process_behind(fifo: Path) -> None:
    async def run() -> bool:
        task = asyncio.ensure_future(
            CommandModel(program(fifo_program(fifo, "time.sleep(600)"))).generate(Request(prompt="x"))
        )
        await until_all_have_ended(fifo, task.cancel)
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(run())


def test_closing_a_served_program_leaves_no_process_behind(fifo: Path) -> None:
    async def run() -> None:
        model = ServingCommandModel(program(fifo_program(fifo, "time.sleep(600)")))
        task = asyncio.ensure_future(model.generate(Request(prompt="x")))
        closing_: list[asyncio.Task[None]] = []
        await until_all_have_ended(fifo, lambda: closing_.append(asyncio.ensure_future(model.aclose())))
        await closing_[0]
        with pytest.raises(FailureError, match="SIGKILL"):
            await task

    asyncio.run(run())


def test_what_a_program_leaves_running_does_not_hold_up_its_answer(fifo: Path) -> None:
    source = fifo_program(fifo, "print(line.replace('prompt', 'text'), flush=True)")

    # the program may end before its child is up; either way no one is left and the answer is there
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        completion = asyncio.run(CommandModel(program(source), timeout_seconds=60).generate(Request(prompt="x")))
    finally:
        os.close(reader)
    assert completion.text == "x"


def test_a_served_program_stays_up_and_is_started_again_when_it_dies() -> None:
    source = (
        HEAD
        + """
for line in sys.stdin:
    asked = json.loads(line)
    if asked["prompt"] == "die":
        sys.exit(9)
    print(json.dumps({"id": asked["id"], "text": str(os.getpid())}), flush=True)
"""
    )

    async def run() -> tuple[list[str], Failure]:
        async with closing(ServingCommandModel(program(source))) as model:
            pids = [(await model.generate(Request(prompt="x"))).text for _ in range(2)]
            with pytest.raises(FailureError) as caught:
                await model.generate(Request(prompt="die"))
            pids.append((await model.generate(Request(prompt="x"))).text)
            return pids, caught.value.failure

    pids, failure = asyncio.run(run())
    assert pids[0] == pids[1] != pids[2]
    assert (failure.kind, failure.retryable) == ("exception", True)
    assert "status 9 before it answered" in failure.message


def test_a_served_program_answers_in_any_order_and_late_answers_are_dropped(tmp_path: Path) -> None:
    got_one = tmp_path / "got_one"
    os.mkfifo(got_one)
    source = (
        HEAD
        + f"got_one = {str(got_one)!r}\n"
        + """
held = []
for line in sys.stdin:
    held.append(json.loads(line))
    if held[-1]["prompt"] == "given up":
        open(got_one, "w").close()
    if len(held) == 3:
        for asked in reversed(held):
            print(json.dumps({"id": asked["id"], "text": asked["prompt"]}), flush=True)
        held.clear()
"""
    )

    async def run() -> list[str]:
        async with closing(ServingCommandModel(program(source))) as model:
            given_up = asyncio.ensure_future(model.generate(Request(prompt="given up")))
            await asyncio.to_thread(got_one.read_bytes)
            given_up.cancel()
            answers = await asyncio.gather(*(model.generate(Request(prompt=prompt)) for prompt in "ab"))
            answers += await asyncio.gather(*(model.generate(Request(prompt=prompt)) for prompt in "cde"))
            return [answer.text for answer in answers]

    assert asyncio.run(run()) == list("abcde")


@BOTH
def test_the_program_gets_no_secret_unless_it_is_named(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("MY_SETTING", "mine")
    source = HEAD + READ + "print(json.dumps({'id': json.loads(line)['id'], 'text': ' '.join(os.environ)}))"
    assert "OPENAI_API_KEY" not in ask(kind, source).text
    assert "MY_SETTING" not in ask(kind, source).text
    assert "PATH" in ask(kind, source).text
    assert "MY_SETTING" in ask(kind, source, pass_env=["MY_SETTING"]).text
    assert "sk-secret" not in repr(kind(program(source), pass_env=["OPENAI_API_KEY"]).settings)


def test_an_edited_script_is_another_model(tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    script.write_text(ANSWER)
    before = CommandModel([sys.executable, str(script)]).settings
    script.write_text(ANSWER + "\n")
    assert CommandModel([sys.executable, str(script)]).settings != before


def test_a_program_that_vanishes_is_a_failure(tmp_path: Path) -> None:
    script = tmp_path / "model"
    script.write_text("#!/bin/sh\ncat\n")
    script.chmod(0o755)
    model = CommandModel([str(script)])
    script.unlink()
    with pytest.raises(FailureError, match="cannot start"):
        asyncio.run(model.generate(Request(prompt="x")))


def test_words_are_split_like_a_shell_and_nothing_else_is_done() -> None:
    model = make(f"{shlex.quote(sys.executable)} -c {shlex.quote(ANSWER)} '$HOME; echo hi'")
    assert isinstance(model, CommandModel)
    assert asyncio.run(model.generate(Request(prompt="compute: 1 + 1"))).text == "2"
    with pytest.raises(UsageError, match="PROGRAM"):
        make("")
