"""The zygote: renewed after many children, replaced when it breaks, and a failure when it breaks again."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from assay.core.errors import FailureError
from assay.sandbox import IoPairs, Sandbox, TestProgram, pool
from assay.sandbox.relay import Relay
from assay.sandbox.zygote import ZygoteError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")


HONEST = IoPairs(code="def f(x): return x + 1", pairs=((1, 2),))


def test_a_broken_zygote_is_replaced_and_the_program_run_again() -> None:
    async def use() -> None:
        async with Sandbox(workers=1) as sandbox:
            zygote = sandbox._threads[0]._zygote
            assert zygote is not None
            zygote._process.kill()
            zygote._process.wait()
            assert (await sandbox.run(HONEST)).outcome == "pass"
            assert sandbox.replaced == 1

    asyncio.run(use())


def test_a_sandbox_that_breaks_twice_is_a_failure_and_not_a_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use() -> None:
        async with Sandbox(workers=1) as sandbox:
            monkeypatch.setattr("assay.sandbox.zygote.MAIN", "/nowhere/to/be/found.py")
            worker = sandbox._threads[0]
            assert worker._zygote is not None
            worker._zygote._process.kill()
            worker._zygote._process.wait()
            with pytest.raises(FailureError) as caught:
                await sandbox.run(HONEST)
            assert (caught.value.failure.stage, caught.value.failure.kind) == ("sandbox", "sandbox_broken")

    asyncio.run(use())


ASSERTED = TestProgram(code="def f(x): return 'odd'", tests="r = f(1)\nassert r == 'odd'")


def break_over(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    """Make the sandbox break over this value of a candidate's; None means over every one."""
    answer = Relay.answer

    def broken(self: Relay, message: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
        if value is None or reply.get("value") == value:
            raise ZygoteError("the verifier ended early")
        return answer(self, message, reply)

    monkeypatch.setattr(Relay, "answer", broken)


def test_a_program_under_which_alone_the_sandbox_breaks_does_not_escape_its_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    break_over(monkeypatch, "odd")

    async def use() -> None:
        async with Sandbox(workers=1) as sandbox:
            outcome = await sandbox.run(ASSERTED)
            assert (outcome.outcome, outcome.share) == ("crash", 0.0)
            assert "under no other" in outcome.checks[0].detail
            assert (await sandbox.run(HONEST)).outcome == "pass"

    asyncio.run(use())


def test_a_sandbox_that_breaks_under_a_harmless_program_too_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    break_over(monkeypatch, None)

    async def use() -> None:
        async with Sandbox(workers=1) as sandbox:
            with pytest.raises(FailureError) as caught:
                await sandbox.run(ASSERTED)
            assert (caught.value.failure.kind, caught.value.failure.retryable) == ("sandbox_broken", True)

    asyncio.run(use())


def test_a_zygote_is_renewed_after_many_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "RESTART_AFTER", 15)

    async def use() -> None:
        async with Sandbox(workers=1) as sandbox:
            first = sandbox._threads[0]._zygote
            for _ in range(8):
                assert (await sandbox.run(HONEST)).outcome == "pass"
            assert sandbox._threads[0]._zygote is not first
            assert sandbox.replaced == 0

    asyncio.run(use())
