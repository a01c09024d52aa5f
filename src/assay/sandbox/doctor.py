"""Which layers this host can confine a program with: one row per layer, found by trying it."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

from msgspec import Struct

from assay.core.errors import AssayError
from assay.sandbox import tiers
from assay.sandbox.zygote import Zygote, ZygoteError, interpreter


class Row(Struct, frozen=True, kw_only=True):
    """One layer: whether it works here, what it provides, and how to get it."""

    layer: str
    present: bool
    detail: str
    gives: str
    remedy: str = ""


def doctor() -> list[Row]:
    """Try every layer in a temporary process; return their rows, and the resulting tier."""
    rows = [_platform(), _interpreter()]
    if sys.platform.startswith("linux"):
        rows += [*(_try_layer(*layer) for layer in _LAYERS), _uid(), _cgroup()]
    return [*rows, tier_row()]


def tier_row() -> Row:
    """The tier that a run would get here: started, checked by its canaries, and ended again."""
    from assay.sandbox.pool import Sandbox

    sandbox = Sandbox(min_tier="D" if sys.platform != "darwin" else "M", workers=1)
    try:
        sandbox.start_here()
        report = sandbox.report
    except AssayError as error:
        return Row(layer="tier", present=False, detail=str(error), gives="nothing: code_exec is refused")
    finally:
        sandbox.close()
    enough = tiers.STRONGEST_FIRST.index(report.tier) <= tiers.STRONGEST_FIRST.index("B")
    return Row(
        layer="tier",
        present=enough,
        detail=report.line(),
        gives="what code_exec runs under by default" if enough else "runs only with --min-sandbox " + report.tier,
    )


def _platform() -> Row:
    supported = sys.platform.startswith("linux") or sys.platform == "darwin"
    return Row(
        layer="platform",
        present=supported,
        detail=f"{platform.system()} {platform.release()} {platform.machine()}",
        gives="Linux confines fully, macOS in part, Windows not at all",
        remedy="" if supported else "run assay inside WSL2 or another Linux",
    )


def _interpreter() -> Row:
    path = interpreter()
    return Row(
        layer="interpreter",
        present=os.access(path, os.X_OK),
        detail=f"{path} ({platform.python_version()})",
        gives="runs the candidates, with its standard library and no installed package",
    )


_LAYERS: tuple[tuple[str, dict[str, Any], str], ...] = (
    (
        "seccomp",
        {"seccomp": True, "name": "D", "opens": "none"},
        "no process creation, no network, no writing, no odd system calls: the one layer that cannot be missing",
    ),
    ("landlock", {"landlock": True, "uid": "keep"}, "no file of the host can be opened"),
    ("namespaces", {"namespaces": True}, "a private root: the host's files, processes and network are not there"),
)
"""Each layer, the plan that has only it, and what it provides."""


def _try_layer(layer: str, wanted: dict[str, Any], gives: str) -> Row:
    plan = {**tiers.empty_plan(), **wanted}
    try:
        zygote = Zygote(plan)
    except (ZygoteError, OSError) as error:
        return Row(layer=layer, present=False, detail=str(error), gives=gives, remedy=tiers.REMEDIES[layer])
    detail = zygote.layers.get(layer, "ok")
    zygote.close()
    return Row(layer=layer, present=True, detail=detail, gives=gives)


def _cgroup() -> Row:
    from assay.sandbox.pool import place_for_cgroups

    gives = "a second line for memory and tasks; without it the limits of each process still hold"
    try:
        zygote = Zygote(tiers.empty_plan(), place=place_for_cgroups())
    except (ZygoteError, OSError) as error:
        return Row(layer="cgroup", present=False, detail=str(error), gives=gives)
    state = zygote.layers["cgroup"]
    zygote.close()
    present = state.startswith("ok")
    return Row(
        layer="cgroup",
        present=present,
        detail=state.removeprefix("none: "),
        gives=gives,
        remedy="" if present else tiers.REMEDIES["cgroup"],
    )


def _uid() -> Row:
    root = os.getuid() == 0
    return Row(
        layer="uid",
        present=True,
        detail="root: each zygote drops to an unused number" if root else f"uid {os.getuid()}",
        gives="a candidate that got out would own nothing" if root else "a candidate has at most your own rights",
    )
