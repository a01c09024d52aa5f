"""What Python source imports, read without running it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable


def imported_names(source: str, package: str = "") -> set[str]:
    """The dotted names that the source imports, each as it could be a module: `a.b` of `from a import b` too.

    `package` is the package of the source, which relative imports count from. Nothing where it cannot be parsed.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level and package else []
            module = ".".join(filter(None, [*above, node.module]))
            names.add(module)
            names.update(f"{module}.{alias.name}" if module else alias.name for alias in node.names)
    return names - {""}


def reachable_modules(sources: Iterable[str], source_of: Callable[[str], str | None]) -> dict[str, str]:
    """The modules that these sources import, those that they import in turn, and so on: file -> source.

    `source_of` gives the source of a file such as `lib/text.py` where it is one of the author's, else None.
    """
    found: dict[str, str] = {}
    looked: set[str] = set()
    waiting = [name for source in sources for name in sorted(imported_names(source))]
    while waiting:
        name = waiting.pop(0)
        for file in _files_of(name):
            if file in looked:
                continue
            looked.add(file)
            if (source := source_of(file)) is not None:
                found[file] = source
                waiting += sorted(imported_names(source, _package_of(file)))
    return dict(sorted(found.items()))


def _files_of(name: str) -> list[str]:
    """Where a module and the packages around it may lie."""
    steps = name.split(".")
    paths = ["/".join(steps[:end]) for end in range(1, len(steps) + 1)]
    return [f"{path}{ending}" for path in paths for ending in ("/__init__.py", ".py")]


def _package_of(file: str) -> str:
    return file.rpartition("/")[0].replace("/", ".")
