"""What installed packages publish: a group of entry points for each kind of part, such as `assay.metrics`."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def group_of(kind: str) -> str:
    """The entry points under which packages publish parts of a kind: `assay.metrics`, `assay.post_processes`, …"""
    return f"assay.{kind}{'es' if kind.endswith(('s', 'x')) else 's'}"


def entry_points_of(kind: str) -> dict[str, EntryPoint]:
    """What is published under each name of a kind."""
    return _published_on(kind, tuple(sys.path))


def packages_with(kind: str, name: str) -> list[str]:
    """The installed packages that publish a name; more than one is a conflict."""
    if name not in entry_points_of(kind):
        return []
    from importlib.metadata import entry_points

    points = entry_points(group=group_of(kind), name=name)
    return sorted({point.dist.name if point.dist is not None else point.value for point in points})


@cache
def _published_on(kind: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Cached for each path: every installed package is searched, and each line of a task file may need the result."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=group_of(kind))}
