"""The names that Python source imports, and the modules behind them."""

from __future__ import annotations

import pytest

from assay.reading.python_imports import imported_names, reachable_modules


@pytest.mark.parametrize(
    ("source", "package", "names"),
    [
        ("import a.b, c as d", "", {"a.b", "c"}),
        ("from a.b import c", "", {"a.b", "a.b.c"}),
        ("from . import c", "a.b", {"a.b", "a.b.c"}),
        ("from .c import d", "a.b", {"a.b.c", "a.b.c.d"}),
        ("from ..c import d", "a.b", {"a.c", "a.c.d"}),
        ("def f():\n    import a", "", {"a"}),
        ("if", "", set()),
    ],
)
def test_names_are_those_of_every_statement(source: str, package: str, names: set[str]) -> None:
    assert imported_names(source, package) == names


def test_the_closure_has_what_modules_import_in_turn_and_nothing_else() -> None:
    files = {
        "lib/__init__.py": "",
        "lib/text.py": "from .words import plain\nimport lib.text",
        "lib/words.py": "import deep.er",
        "lib/unused.py": "",
        "deep/er.py": "",
        "other.py": "",
    }
    found = reachable_modules(["import json\nfrom lib import text"], files.get)
    assert [*found] == ["deep/er.py", "lib/__init__.py", "lib/text.py", "lib/words.py"]
