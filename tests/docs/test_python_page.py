"""Every public name is documented, and the examples in the docstrings are true."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import assay
from tests.docs.python_page import doc_of, python_page

PUBLIC = {name: getattr(assay, name) for name in assay.__all__}


@pytest.mark.parametrize("name", assay.__all__)
def test_the_examples_in_the_docstring_are_true(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = doc_of(name)
    for line in re.findall(r"^Example: (.*)$", text, re.MULTILINE):
        assert eval(line, dict(PUBLIC)) is True
    found = doctest.DocTestParser().get_doctest(text, dict(PUBLIC), name, None, None)
    failed, _ = doctest.DocTestRunner(verbose=False).run(found)
    assert failed == 0


def test_some_names_have_examples() -> None:
    assert sum("Example: " in doc_of(name) or ">>> " in doc_of(name) for name in assay.__all__) >= 6


def test_every_name_has_an_entry_with_its_fields_and_methods() -> None:
    page = python_page()
    assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == list(assay.__all__)
    assert "- `outcome: str`: `right`, `partial`, `wrong`" in page
    assert "- `attempts(task: str | None=None) -> Iterator[Attempt]`: Every attempt that counts" in page
    assert "open_run(folder: Path | str, *, level: float | None = None, by: str | Sequence[str] = ()) -> Run" in page
