"""The tiers: which layers a sandbox has, its description, and the error when layers are missing."""

from __future__ import annotations

import os
import sys
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from assay.catalog import LOCAL_SANDBOX
from assay.core.errors import UsageError

ALLOW_UNSANDBOXED = "ASSAY_ALLOW_UNSANDBOXED"
STRONGEST_FIRST = ("A", "C", "B", "D", "M", "U")
DEFAULT_MIN_TIER = "B"

DESCRIPTIONS = {
    "A": "full",
    "C": "full, no Landlock",
    "B": "no namespaces: names and sizes of host files are visible",
    "D": "restricted imports: every file open is refused",
    "M": "reduced: no syscall filter, memory limit by polling",
    "U": "UNSANDBOXED: a process with resource limits, nothing else",
}

REMEDIES = {
    "namespaces": "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, on Ubuntu also "
    "kernel.apparmor_restrict_unprivileged_userns=0), run as root, "
    "or run the container with --security-opt seccomp=unconfined",
    "landlock": "a Linux kernel of 5.13 or newer with Landlock among its security modules "
    "(lsm=landlock,… on the kernel's command line)",
    "cgroup": "a host with cgroup v2, as root or in a folder of the hierarchy that is yours, "
    "as `systemd-run --user --scope assay …` gives the command one",
    "seccomp": "a kernel built with CONFIG_SECCOMP_FILTER, and x86_64 or aarch64",
}


class SandboxRefusedError(UsageError):
    """The host cannot provide the requested protection."""


class Canary(Struct, frozen=True, kw_only=True):
    """A harmless attack on a target of our own, or a control, run in the zygote before any candidate."""

    name: str
    expected: str
    """`shut` for an attack, `ok` for a control."""
    found: str

    @property
    def holds(self) -> bool:
        return self.found == self.expected


class RejectedPlan(Struct, frozen=True, kw_only=True):
    """A plan that was tried and did not hold."""

    plan: str
    reason: str


class SandboxReport(Struct, frozen=True, kw_only=True):
    """The protection that a run had: recorded with its results, and printed where it is not the full one."""

    tier: str
    description: str
    layers: dict[str, str]
    sandbox: str = LOCAL_SANDBOX
    """The name that it was chosen by: assay's own, or another one that the user has named."""
    canaries: tuple[Canary, ...] = ()
    tried: tuple[RejectedPlan, ...] = ()
    """Stronger plans that failed, and why."""
    python: str = ""
    kernel: str = ""
    workers: int = 1

    def line(self) -> str:
        """The report on one line."""
        layers = ", ".join(name for name, state in self.layers.items() if state.startswith("ok"))
        held = sum(canary.holds for canary in self.canaries)
        name = "" if self.sandbox == LOCAL_SANDBOX else f"`{self.sandbox}`, "
        return (
            f"sandbox {name}tier {self.tier} ({self.description}); layers: {layers or 'none'}; "
            f"canaries {held}/{len(self.canaries)}; {self.workers} worker{'' if self.workers == 1 else 's'}"
        )

    def warning(self) -> str | None:
        """What a run prints before it starts, if a stronger tier exists."""
        if self.tier == STRONGEST_FIRST[0]:
            return None
        return f"warning: {self.line()}; `assay doctor` lists what is missing and how to get it"


def strictest(*asked_for: str | None) -> str | None:
    """Of the tiers that task and user ask for, the one that meets both; a misspelt one stays, to be refused."""
    given = [tier.upper() for tier in asked_for if tier is not None]
    return min(given, key=lambda tier: "".join(STRONGEST_FIRST).find(tier), default=None)


def unmet(tier: str, asked_for: str | None) -> str:
    """What a sandbox of another is, in words, where it is weaker than asked for; empty where it is not.

    A tier that assay does not know may be as good as any, and meets nothing that is asked for by name.
    """
    wanted = asked_for or DEFAULT_MIN_TIER
    if tier not in STRONGEST_FIRST:
        return "" if asked_for is None else f"of tier {tier}, of which assay cannot say that it meets tier {wanted}"
    weaker = STRONGEST_FIRST.index(tier) > STRONGEST_FIRST.index(wanted)
    return f"of tier {tier}, and tier {wanted} or better is asked for" if weaker else ""


def refuse_unallowed(min_tier: str | None) -> None:
    """`UsageError` for a tier that does not exist, or that takes more than its name to be allowed."""
    if min_tier is not None and min_tier not in STRONGEST_FIRST:
        raise UsageError(f"min_tier: unknown sandbox tier `{min_tier}`; known: {', '.join(STRONGEST_FIRST)}")
    if min_tier == "U" and os.environ.get(ALLOW_UNSANDBOXED) != "1":
        raise SandboxRefusedError(
            "running model-written code without a sandbox needs min_tier U and also the environment variable "
            f"{ALLOW_UNSANDBOXED}=1"
        )


def plans_for_this_host(min_tier: str) -> list[dict[str, Any]]:
    """The plans worth trying, strongest first; `UsageError` where the system has none that is allowed."""
    refuse_unallowed(min_tier)
    if sys.platform == "win32":
        raise SandboxRefusedError(
            "code_exec cannot confine programs on Windows; run assay inside WSL2, where the full tier works"
        )
    allowed = STRONGEST_FIRST[: STRONGEST_FIRST.index(min_tier) + 1]
    return [plan for plan in _plans() if plan["name"] in allowed]


def _plans() -> list[dict[str, Any]]:
    if sys.platform == "darwin":
        from assay.sandbox.macos import profile

        return [
            _plan("M", opens="read", uid="none", profile=profile()),
            _plan("U", opens="read", uid="none"),
        ]
    return [
        _plan("A", namespaces=True, landlock=True, seccomp=True),
        _plan("C", namespaces=True, seccomp=True),
        _plan("B", landlock=True, seccomp=True),
        # root with an interpreter in a private home cannot import after dropping the uid: it keeps the uid and drops
        # its capabilities
        _plan("B", landlock=True, seccomp=True, uid="keep"),
        _plan("D", seccomp=True, opens="none"),
        _plan("U", uid="none"),
    ]


class _Layers(Struct, frozen=True, kw_only=True):
    """The layers of a plan, as the zygote reads them."""

    name: str
    namespaces: bool = False
    landlock: bool = False
    seccomp: bool = False
    opens: str = "read"
    uid: str = "drop"
    profile: str = ""


def _plan(name: str, **layers: Any) -> dict[str, Any]:
    return asdict(_Layers(name=name, **layers))


def empty_plan() -> dict[str, Any]:
    """A plan without any layer, for trying them one by one."""
    return _plan("U", uid="none")


def refusal(min_tier: str, tried: list[RejectedPlan]) -> SandboxRefusedError:
    """The error that names the missing layers and how to get them."""
    reasons = "; ".join(f"tier {attempt.plan}: {attempt.reason}" for attempt in tried) or "nothing could be tried"
    if sys.platform == "darwin":
        return SandboxRefusedError(
            f"no sandbox of tier {min_tier} or better on macOS; allow the reduced tier M in the task's options "
            "(min_tier: M), or run assay in a Linux container or virtual machine"
        )
    text = " ".join(attempt.reason for attempt in tried)
    words = {"namespaces": ("unshare", "uid_map", "mount"), "landlock": ("landlock",), "seccomp": ("seccomp",)}
    missing = [layer for layer, signs in words.items() if any(sign in text for sign in signs)]
    remedies = "; ".join(f"for {layer}: {REMEDIES[layer]}" for layer in missing)
    return SandboxRefusedError(
        f"no sandbox of tier {min_tier} or better on this host ({reasons}). "
        f"What would help: {remedies or 'see assay doctor'}"
    )
