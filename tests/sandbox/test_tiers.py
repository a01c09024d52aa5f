"""Which tier a host gets, what it says of itself, and what is refused."""

from __future__ import annotations

import asyncio
import sys

import msgspec
import pytest

from assay.core.errors import UsageError
from assay.sandbox import Expressions, Sandbox, SandboxRefusedError, SandboxReport, tiers

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")


def report_of(sandbox: Sandbox) -> SandboxReport:
    try:
        sandbox.start_here()
        return sandbox.report
    finally:
        sandbox.close()


@linux
def test_the_report_fits_on_a_line_and_into_a_file() -> None:
    report = report_of(Sandbox(workers=1))
    assert report.tier in ("A", "B", "C")
    assert "\n" not in report.line()
    assert report.tier in report.line()
    assert all(canary.holds for canary in report.canaries)
    assert len(report.canaries) == 10
    assert msgspec.json.decode(msgspec.json.encode(report), type=SandboxReport) == report


@linux
def test_only_less_than_the_full_tier_is_warned_of() -> None:
    less = report_of(Sandbox(workers=1, pretend=("container",)))
    assert f"warning: sandbox tier {less.tier} ({less.description})" in (less.warning() or "")
    assert "`assay doctor`" in (less.warning() or "")
    assert msgspec.structs.replace(less, tier="A").warning() is None


@linux
def test_a_host_without_landlock_and_namespaces_is_refused_with_the_remedy() -> None:
    with pytest.raises(SandboxRefusedError, match=r"tier B or better.*landlock.*5\.13"):
        report_of(Sandbox(workers=1, pretend=("container", "no_landlock")))


@linux
def test_a_host_without_seccomp_is_refused() -> None:
    with pytest.raises(SandboxRefusedError, match="seccomp"):
        report_of(Sandbox(workers=1, pretend=("no_seccomp",), min_tier="D"))


@linux
def test_a_lower_tier_runs_when_it_is_allowed() -> None:
    report = report_of(Sandbox(workers=1, pretend=("container", "no_landlock"), min_tier="D"))
    assert report.tier == "D"
    assert {attempt.plan for attempt in report.tried} == {"A", "B", "C"}


@linux
def test_unsandboxed_needs_a_flag_and_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(tiers.ALLOW_UNSANDBOXED, raising=False)
    poor = ("no_seccomp",)
    with pytest.raises(SandboxRefusedError, match=tiers.ALLOW_UNSANDBOXED):
        report_of(Sandbox(workers=1, pretend=poor, min_tier="U"))
    monkeypatch.setenv(tiers.ALLOW_UNSANDBOXED, "1")
    with pytest.raises(SandboxRefusedError):
        report_of(Sandbox(workers=1, pretend=poor))
    report = report_of(Sandbox(workers=1, pretend=poor, min_tier="U"))
    assert report.tier == "U"
    assert "UNSANDBOXED" in report.line()


def test_an_unknown_tier_is_reported() -> None:
    with pytest.raises(UsageError, match="unknown sandbox tier `Z`"):
        report_of(Sandbox(min_tier="Z"))


def test_windows_is_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SandboxRefusedError, match="WSL2"):
        tiers.plans_for_this_host("B")


@linux
def test_the_tier_is_reported_with_every_outcome() -> None:
    async def use() -> str:
        async with Sandbox(workers=1, pretend=("no_landlock",)) as sandbox:
            program = Expressions(code="def f(x): return x", targets=("f(1) == 1",))
            return (await sandbox.run(program)).tier

    assert asyncio.run(use()) == "C"
