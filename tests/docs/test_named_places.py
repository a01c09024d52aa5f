"""What prose names in the tree is there: files and folders in pages, design notes and docstrings, and dotted names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import assay
from assay.catalog import CATALOG
from assay.entry_points import group_of
from tests.end_to_end.forks import ROOT

SOURCE = ROOT / "src" / "assay"
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
DESIGN = [path.relative_to(ROOT) for path in sorted((ROOT / "docs" / "design").glob("*.md"))]
OF_USERS = {"my_model.py"}
OF_OTHERS = {"last_boxed_only_string", "math_equivalence", "rouge_score", "stroke_width"}
ROOMS = {path.name for path in SOURCE.iterdir() if path.is_dir()} | {"src", "bench", "tests", "docs", ".ci", ".github"}
"""A name whose first part is one of these is of this tree; others are of the user's project."""
PLACE = re.compile(r"(?<![\w./:-])([\w.]+(?:/[\w.*{},-]+)+)(?![\w/])")
DOTTED = re.compile(r"(?<![\w./-])assay(?!\.(?:yaml|lock)\b)((?:\.[a-z_]\w*)+(?:\.[A-Z]\w*)?)")

PUBLIC = [
    *([name] for name in assay.__all__),
    *([group_of(kind).removeprefix("assay.")] for kind in CATALOG),
    *(["toml"], ["py"], ["score"]),  # files of that name, and an attribute of spans
]


def prose(path: Path) -> str:
    """A page without its code blocks, or the docstrings of a module."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return re.sub(r"^( *)```.*?^\1```", "", text, flags=re.DOTALL | re.MULTILINE)
    return "\n".join(docstrings(text))


def docstrings(text: str) -> list[str]:
    """Every statement that is a text alone: docstrings of modules, classes, functions and fields."""
    statements = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)]
    return [value.value for value in statements if isinstance(value, ast.Constant) and isinstance(value.value, str)]


@cache
def texts() -> dict[str, str]:
    return {str(path.relative_to(ROOT)): prose(path) for path in [*PAGES, *sorted(SOURCE.rglob("*.py"))]}


def places(text: str) -> Iterator[str]:
    for match in PLACE.finditer(text):
        place = match[1].rstrip(".")
        if place.split("/")[0] in ROOMS and re.search(r"\.(py|js|mjs|css|md)$", place):
            yield place


def is_there(place: str) -> bool:
    pattern = re.sub(r"\{[^}]*\}", "*", place)
    return any(True for folder in (ROOT, SOURCE, ROOT / "docs") for _ in folder.glob(pattern))


def is_defined(dotted: str) -> bool:
    """Whether the tree has the module, or one that defines the last name."""
    parts = dotted.strip(".").split(".")
    if parts in PUBLIC:
        return True
    for count in range(len(parts), -1, -1):
        folder = SOURCE.joinpath(*parts[:count])
        file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
        if file.is_file():
            return count == len(parts) or re.search(rf"\b{parts[count]}\b", file.read_text()) is not None
    return False


def test_files_that_are_named_are_there() -> None:
    missing = {f"{name}: {place}" for name, text in texts().items() for place in places(text) if not is_there(place)}
    assert missing == set()


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", *(str(path) for path in DESIGN)])
def test_files_that_are_named_without_their_folder_are_there(page: str) -> None:
    named = set(re.findall(r"`(\w+\.(?:py|js|mjs))`", texts()[page]))
    assert {name for name in named if not any((ROOT / "src").rglob(name))} - OF_USERS == set()


def test_names_with_underscores_in_docstrings_and_design_notes_are_in_the_code() -> None:
    ours = {
        name: text for name, text in texts().items() if name.startswith(("src/", "docs/design/")) or "/" not in name
    }
    named = {(word, name) for name, text in ours.items() for word in re.findall(r"`([a-z]+_[a-z_]+)(?:\.\w+)?`", text)}
    assert {(word, name) for word, name in named if word not in words_of_the_code() | OF_OTHERS} == set()


@cache
def words_of_the_code() -> set[str]:
    """Names and words of strings, and the names of files, but not what only docstrings and comments say."""
    words = {path.stem for path in SOURCE.rglob("*")} | {path.stem for path in (ROOT / "tests").rglob("*.py")}
    words |= {group_of(kind).removeprefix("assay.") for kind in CATALOG}
    for path in SOURCE.rglob("*"):
        if path.suffix == ".py":
            text = path.read_text(encoding="utf-8")
            for docstring in docstrings(text):
                text = text.replace(docstring, "")
            words |= set(re.findall(r"\w+", re.sub(r"#.*", "", text)))
        elif path.suffix in (".js", ".mjs", ".css", ".html", ".yaml"):
            words |= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return words


def test_modules_that_are_named_are_there() -> None:
    missing = {
        f"{name}: assay{m[1]}" for name, text in texts().items() for m in DOTTED.finditer(text) if not is_defined(m[1])
    }
    assert missing == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [("see `runs/plan.py`.", ["runs/plan.py"]), ("your tasks/sums.jsonl", []), ("and/or.py", [])],
)
def test_a_place_is_told_from_other_words(text: str, found: list[str]) -> None:
    assert list(places(text)) == found


def test_what_is_gone_is_noticed() -> None:
    assert is_there("runs/plan.py")
    assert not is_there("tasks/spec_rules.py")
    assert is_defined(".runs.plan")
    assert not is_defined(".tasks.spec_rules.read")
