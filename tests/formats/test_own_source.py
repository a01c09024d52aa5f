"""What source says about a part is read without running it, and what cannot be read is a sentence."""

from __future__ import annotations

from inspect import Parameter
from pathlib import Path
from typing import Annotated, Literal

import pytest

from assay.core.errors import UsageError
from assay.formats.own_source import docstring_of, signature_of
from assay.part_options import Doc

SOURCE = '''
raise SystemExit("imported")

class Judge:
    """Judges."""

    def score(self):
        """Scores."""

def plain():
    return 1

alias = plain

async def later():
    """Later."""

def options(key, /, a: int, b: "str", *rest, c: list[str] | None = None, d: dict[str, float] = {}, **more: Judge): ...

class Made:
    def __init__(self, n: bool = True): ...

class Empty: ...

class Derived(Made): ...

@wrapped
def decorated(n): ...

@dataclass
class Record:
    n: int

class Built:
    def __new__(cls, n): ...
'''


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "own_docs_package"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    (package / "parts.py").write_text(SOURCE)
    (package / "broken.py").write_text("def f(:\n")
    (package / "null.py").write_text("x = 1\0")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [("Judge", "Judges."), ("Judge.score", "Scores."), ("later", "Later."), ("plain", ""), ("alias", "")],
)
def test_docstrings_are_read_and_nothing_is_imported(name: str, text: str) -> None:
    assert docstring_of(f"own_docs_package.parts:{name}") == text


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("own_docs_package.parts", "is not of the form"),
        (":x", "is not of the form"),
        ("own_docs_package.nobody:x", r"there is no module `own_docs_package\.nobody`"),
        ("no_such_package.deep:x", "there is no module `no_such_package`"),
        ("own_docs_package.parts:Juge", "Did you mean `Judge`"),
        ("own_docs_package.broken:f", r"broken\.py, line 1"),
        ("own_docs_package.null:x", "null"),
        ("_ctypes:CDLL", "has no Python source to show|there is no module"),
    ],
)
def test_what_cannot_be_shown_is_a_sentence(target: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        docstring_of(target)


def test_what_is_installed_comes_before_the_working_directory(here: Path) -> None:
    (here / "json.py").write_text('def dumps():\n    """Not the real one."""\n')
    assert "Not the real one" not in docstring_of("json:dumps")


def test_a_signature_has_the_names_the_defaults_and_the_annotations_that_are_plain_data() -> None:
    shown = signature_of("own_docs_package.parts:options")
    assert shown is not None
    assert [(str(each), each.annotation) for each in shown.parameters.values()] == [
        ("key", Parameter.empty),
        ("a: int", int),
        ("b", Parameter.empty),
        ("*rest", Parameter.empty),
        ("c: list[str] | None = None", list[str] | None),
        ("d: dict[str, float] = {}", dict[str, float]),
        ("**more", Parameter.empty),
    ]
    assert str(signature_of("own_docs_package.parts:Made")) == "(n: bool = True)"
    assert str(signature_of("own_docs_package.parts:Empty")) == "()"


def test_a_described_part_shows_its_signature_through_its_decorators(here: Path) -> None:
    source = (
        "@part('Counts.')\n@options.describes(info)\n"
        "def described(n: Annotated[int, Doc('How many.')], how: Literal['a', 'b'] = 'a'): ...\n"
    )
    (here / "telling.py").write_text(source)
    signature = signature_of("telling:described")
    assert signature is not None
    assert [each.annotation for each in signature.parameters.values()] == [
        Annotated[int, Doc("How many.")],
        Literal["a", "b"],
    ]


@pytest.mark.parametrize("name", ["alias", "Derived", "decorated", "Record", "Built"])
def test_a_signature_that_the_source_does_not_show_is_none(name: str) -> None:
    assert signature_of(f"own_docs_package.parts:{name}") is None
