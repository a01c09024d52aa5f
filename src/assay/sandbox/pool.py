"""The sandbox: a worker thread and a zygote per core, behind one async interface.

A thread per zygote keeps the event loop free (comparing a large answer does not block it), works with any loop,
and lets each program be judged by straight-line code. A stuck candidate blocks its own worker and no other.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any

from assay.core.errors import FailureError
from assay.core.types import Failure
from assay.overriding import override
from assay.processes.start import cores
from assay.sandbox import canaries, tiers
from assay.sandbox.assertions import Plan
from assay.sandbox.cgroups import CgroupParent, CgroupRefusedError, find_place
from assay.sandbox.clean_text import clean
from assay.sandbox.judge import judge, plan_of
from assay.sandbox.programs import Check, Limits, Outcome, OutcomeName, Program, Stdout, TestProgram
from assay.sandbox.rehearsal import SOUND, Rehearsal, refusal, rehearse
from assay.sandbox.session import CancelledRunError, ExhaustedError
from assay.sandbox.tiers import DEFAULT_MIN_TIER, RejectedPlan, SandboxReport
from assay.sandbox.trial import BrokenUnderCandidateError
from assay.sandbox.zygote import Zygote, ZygoteError

RESTART_AFTER = 1_000
"""Children that a zygote forks before it is replaced by a fresh one."""

Judge = Callable[[Program, Plan | None, Limits, Zygote, int], Outcome | Rehearsal]


class Job:
    """A program to be judged, or its test to be rehearsed, by a worker."""

    def __init__(self, program: Program, limits: Limits, how: Judge = judge) -> None:
        self.program = program
        self.plan = plan_of(program)
        self.limits = limits
        self.how = how
        self.future: Future[Outcome | Rehearsal] = Future()
        self.worker: Worker | None = None
        self.lock = threading.Lock()
        self.cancelled = False

    def cancel(self) -> None:
        """End the candidate now instead of at its limit, because the caller no longer waits."""
        with self.lock:
            self.cancelled = True
            if self.worker is not None:
                self.worker.interrupt()


CONTROL = Job(
    TestProgram(code="def f(x): return x + 1", tests="values = [f(n) for n in range(3)]\nassert values == [1, 2, 3]"),
    Limits(cpu_seconds=10),
)
"""Harmless, and needs both kinds of process: if this passes, the sandbox works."""


class Sandbox:
    """Runs untrusted programs, as many at a time as there are cores."""

    def __init__(
        self,
        *,
        min_tier: str = DEFAULT_MIN_TIER,
        workers: int | None = None,
        pretend: tuple[str, ...] = (),
    ) -> None:
        """`pretend` simulates a host without some features, for tests: `container`, `no_cgroup`, `no_landlock`,
        `no_seccomp`, `old_kernel`, `unmappable`."""
        self.min_tier = min_tier
        self.workers = workers or cores()
        self.pretend = pretend
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._threads: list[Worker] = []
        self._report: SandboxReport | None = None
        self._place: CgroupParent | str = ""
        self._start_lock = threading.Lock()
        self._door = threading.Lock()
        """Locked while a job is queued or the sandbox is closed, so that these never overlap."""
        self._closed = False

    async def __aenter__(self) -> Sandbox:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def start(self) -> SandboxReport:
        """Find the strongest tier that this host supports, check it, and return its report. Safe to call again."""
        if self._report is None:
            await asyncio.to_thread(self.start_here)
        if self._report is None:
            raise _broken("the sandbox was closed before it had started")
        return self._report

    @property
    def report(self) -> SandboxReport:
        if self._report is None:
            raise RuntimeError("the sandbox has not been started")
        return self._report

    async def run(self, program: Program, limits: Limits | None = None) -> Outcome:
        """Run one program and return its outcome.

        `FailureError` when the sandbox broke twice, was closed meanwhile, or the test is unusable.
        """
        if self._closed:
            raise RuntimeError("the sandbox is closed")
        await self.start()
        outcome = await self._done(Job(program, limits or Limits()))
        if isinstance(outcome, Rehearsal):
            raise TypeError("a program was judged, not rehearsed")
        return outcome

    async def rehearse(self, program: Program, limits: Limits | None = None) -> Rehearsal:
        """Try the test of a program on made-up ones; `program` has no code but what the task puts before all."""
        if self._closed:
            raise RuntimeError("the sandbox is closed")
        await self.start()
        try:
            result = await self._done(Job(program, limits or Limits(), rehearse))
        except FailureError as error:
            return refusal(error)
        # an outcome stands for a limit that the made-up program reached, which says nothing about the test
        return result if isinstance(result, Rehearsal) else SOUND

    async def _done(self, job: Job) -> Outcome | Rehearsal:
        self._put(job)
        try:
            return await asyncio.wrap_future(job.future)
        except asyncio.CancelledError:
            job.cancel()
            raise

    def _put(self, job: Job) -> None:
        with self._door:
            if self._closed:
                raise _broken("the sandbox was closed")
            self._jobs.put(job)

    @property
    def replaced(self) -> int:
        """How many zygotes broke and were replaced."""
        return sum(worker.replaced for worker in self._threads)

    async def aclose(self) -> None:
        """End the zygotes and everything that runs in them."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        with self._start_lock:
            with self._door:
                self._closed = True
            self._dismiss(self._threads)
            self._threads.clear()
        with contextlib.suppress(queue.Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None and job.future.set_running_or_notify_cancel():
                    job.future.set_exception(_broken("the sandbox was closed"))

    def start_here(self) -> None:
        """`start` without an event loop."""
        with self._start_lock:
            if self._report is not None or self._closed:
                return
            self._place = place_for_cgroups(self.pretend)
            zygote, checked, tried = self._strongest()
            try:
                self._threads = self._hire(zygote)
            except BaseException:
                zygote.close()
                raise
            self._report = SandboxReport(
                tier=zygote.plan["name"],
                description=tiers.DESCRIPTIONS[zygote.plan["name"]],
                layers=zygote.layers,
                canaries=checked,
                tried=tuple(tried),
                python=zygote.python,
                kernel=f"{platform.system()} {platform.release()} {platform.machine()}",
                workers=self.workers,
            )

    def _hire(self, zygote: Zygote) -> list[Worker]:
        """Start all workers or none; the first gets the zygote that was checked."""
        workers: list[Worker] = []
        try:
            for number in range(self.workers):
                first = zygote if number == 0 else None
                workers.append(Worker(self._jobs, zygote.plan, self.pretend, self._place, first))
            for worker in workers:
                worker.start()
        except BaseException:
            self._dismiss(workers)
            self._jobs = queue.SimpleQueue()  # their stop requests must not reach later workers
            raise
        return workers

    def _dismiss(self, workers: list[Worker]) -> None:
        for worker in workers:
            worker.stop()
            self._jobs.put(None)
        for worker in workers:
            if worker.ident is not None:  # it had been started
                worker.join()
            worker.close_wake()

    def _strongest(self) -> tuple[Zygote, tuple[tiers.Canary, ...], list[RejectedPlan]]:
        """Try the plans, each in its own process; one that does not start, or fails a canary, is rejected."""
        tried: list[RejectedPlan] = []
        for plan in tiers.plans_for_this_host(self.min_tier):
            try:
                zygote = Zygote(plan, self.pretend, self._place)
            except (ZygoteError, OSError) as error:
                tried.append(RejectedPlan(plan=plan["name"], reason=clean(str(error), 300)))
                continue
            try:
                checked = _canaries_of(zygote)
            except (ZygoteError, FailureError, OSError) as error:
                tried.append(RejectedPlan(plan=plan["name"], reason=clean(str(error), 300)))
                zygote.close()
                continue
            failed = [canary for canary in checked if not canary.holds]
            if not failed:
                return zygote, checked, tried
            reasons = "; ".join(f"canary `{canary.name}`: {canary.found}" for canary in failed)
            tried.append(RejectedPlan(plan=plan["name"], reason=reasons))
            zygote.close()
        raise tiers.refusal(self.min_tier, tried)


def place_for_cgroups(pretend: tuple[str, ...] = ()) -> CgroupParent | str:
    """Where zygotes get their cgroups, or why they get none."""
    if "no_cgroup" in pretend:
        return "disabled by the test"
    try:
        return find_place()
    except CgroupRefusedError as error:
        return str(error)


def _canaries_of(zygote: Zygote) -> tuple[tiers.Canary, ...]:
    inward, outward = os.pipe()
    try:
        return canaries.run_canaries(zygote, inward)
    finally:
        os.close(inward)
        os.close(outward)


class Worker(threading.Thread):
    """Takes jobs from the common queue and judges them in its own zygote."""

    def __init__(
        self,
        jobs: queue.SimpleQueue[Job | None],
        plan: dict[str, Any],
        pretend: tuple[str, ...],
        place: CgroupParent | str,
        zygote: Zygote | None,
    ) -> None:
        super().__init__(name="assay-sandbox", daemon=True)
        self._jobs = jobs
        self._plan = plan
        self._pretend = pretend
        self._place = place
        self._zygote = zygote
        self.stopping = False
        self.replaced = 0
        self._wake_in, self._wake_out = wake_pipe()

    @override
    def run(self) -> None:
        try:
            while not self.stopping:
                job = self._jobs.get()
                if job is None:
                    return
                self._take(job)
        finally:
            self._discard()

    def stop(self) -> None:
        """End what runs, and the thread."""
        self.stopping = True
        self.interrupt()

    def interrupt(self) -> None:
        try:
            os.write(self._wake_out, b"x")
        except BlockingIOError:
            pass  # the pipe is full: the worker will wake anyway

    def close_wake(self) -> None:
        """Call after joining the thread: if closed earlier, an interrupt could be written to a reused descriptor."""
        os.close(self._wake_in)
        os.close(self._wake_out)

    def _take(self, job: Job) -> None:
        with job.lock:
            if job.cancelled or not job.future.set_running_or_notify_cancel():
                return
            self._drain_wake()
            job.worker = self
        try:
            self._leave_if_stopping()  # after draining, which may have swallowed the interrupt of `stop`
            outcome = self._judge_twice(job)
        except CancelledRunError:
            self._finish(job, error=_broken("the sandbox was closed" if self.stopping else "cancelled"))
        except BaseException as error:
            self._finish(job, error=error)
        else:
            self._finish(job, outcome)

    def _finish(self, job: Job, outcome: Outcome | Rehearsal | None = None, error: BaseException | None = None) -> None:
        with job.lock:
            job.worker = None
        if error is not None:
            job.future.set_exception(error)
        elif outcome is not None:
            job.future.set_result(outcome)

    def _judge_twice(self, job: Job) -> Outcome | Rehearsal:
        """A sandbox that breaks is replaced and the program run again; a second break is a failure, never a score.

        Unless the program caused it: the break came after its source was sent, and a program that is known to be
        harmless passes in the same worker. Then the break is its outcome, or it could choose not to be judged.
        """
        try:
            return self._judge(job)
        except (ZygoteError, OSError):
            self._leave_if_stopping()
        try:
            return self._judge(job)
        except (ZygoteError, OSError) as error:
            self._leave_if_stopping()
            if isinstance(error, BrokenUnderCandidateError) and self._control_passes():
                message = clean(f"the sandbox breaks under it, and under no other: {error}", 500)
                return exhausted(job, "crash", message, self._plan["name"])
            raise _broken(f"the sandbox broke twice under this program: {error}") from None

    def _judge(self, job: Job) -> Outcome | Rehearsal:
        try:
            zygote = self._ready_zygote()
            return job.how(job.program, job.plan, job.limits, zygote, self._wake_in)
        except ExhaustedError as error:
            return exhausted(job, error.outcome, error.detail, self._plan["name"])
        except (ZygoteError, OSError):
            ran_out = self._zygote is not None and self._zygote.ran_out_of_memory()
            self.replaced += 1
            self._discard()
            if ran_out:  # the kernel killed the zygote, but only the candidate can have used up the memory
                return exhausted(job, "memory", f"more than {job.limits.memory_mb} MB", self._plan["name"])
            raise

    def _leave_if_stopping(self) -> None:
        if self.stopping:
            raise CancelledRunError

    def _control_passes(self) -> bool:
        try:
            control = self._judge(CONTROL)
            return isinstance(control, Outcome) and control.outcome == "pass"
        except (ZygoteError, OSError):
            return False

    def _ready_zygote(self) -> Zygote:
        if self._zygote is not None and self._zygote.served >= RESTART_AFTER:
            self._discard()
        if self._zygote is None:
            self._zygote = Zygote(self._plan, self._pretend, self._place)
        return self._zygote

    def _discard(self) -> None:
        zygote, self._zygote = self._zygote, None
        if zygote is not None:
            zygote.close()

    def _drain_wake(self) -> None:
        try:
            while os.read(self._wake_in, 64):
                pass
        except BlockingIOError:
            pass  # nothing is left from an earlier job


def exhausted(job: Job, outcome: OutcomeName, detail: str, tier: str) -> Outcome:
    """The outcome of a program that took its judges down with it: the same for every check."""
    checks = tuple(Check(label=label, outcome=outcome, detail=detail) for label in _labels(job))
    return Outcome(outcome=outcome, checks=checks, share=0.0, tier=tier)


def _labels(job: Job) -> Sequence[str]:
    if job.plan is not None:
        return job.plan.labels
    inputs = job.program.stdin if isinstance(job.program, Stdout) else ""
    return [f"output {number}" for number in range(1, 1 + (1 if isinstance(inputs, str) else len(inputs)))]


def wake_pipe() -> tuple[int, int]:
    """A non-blocking pipe that interrupts the wait for a candidate."""
    inward, outward = os.pipe()
    os.set_blocking(inward, False)
    os.set_blocking(outward, False)
    return inward, outward


def _broken(message: str) -> FailureError:
    return FailureError(
        Failure(stage="sandbox", kind="sandbox_broken", part="code_exec", message=clean(message, 500), retryable=True)
    )
