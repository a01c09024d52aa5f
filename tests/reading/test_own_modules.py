"""Modules of the user's folders: their source runs, whatever compiled file lies next to it."""

from __future__ import annotations

import importlib.util
import py_compile
import sys
from pathlib import Path

import pytest

from assay.catalog import import_own
from assay.core.errors import UsageError
from assay.reading import own_modules


def compiled_file_that_lies(source: Path) -> Path:
    """Next to the source, and never compared with it: the form that packagers may ship."""
    other = source.with_suffix(".txt")
    other.write_text("WHO = 'the compiled file'\n")
    target = Path(importlib.util.cache_from_source(str(source)))
    py_compile.compile(str(other), str(target), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    return target


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "path_hooks", [*sys.path_hooks])
    monkeypatch.setattr(sys, "modules", {**sys.modules})
    return tmp_path


def test_a_compiled_file_that_came_along_is_not_run(folder: Path) -> None:
    (folder / "own_of_a_folder.py").write_text("WHO = 'the source'\n")
    compiled_file_that_lies(folder / "own_of_a_folder.py")
    assert import_own("own_of_a_folder:WHO") == "the source"


def test_nor_one_of_a_module_in_a_package_that_own_code_imports(folder: Path) -> None:
    package = folder / "own_package"
    package.mkdir()
    (package / "__init__.py").write_text("from own_package.inner import WHO\n")
    (package / "inner.py").write_text("WHO = 'the source'\n")
    compiled_file_that_lies(package / "inner.py")
    assert import_own("own_package:WHO") == "the source"


def test_nor_one_without_a_source(folder: Path) -> None:
    source = folder / "only_compiled.py"
    compiled_file_that_lies(source).rename(folder / "only_compiled.pyc")
    with pytest.raises(UsageError, match="there is no module `only_compiled`"):
        import_own("only_compiled:WHO")


def test_installed_modules_keep_theirs() -> None:
    own_modules.compile_own_modules()
    importlib.util.find_spec("assay.no_such_module")
    finder = sys.path_importer_cache[str(Path(own_modules.__file__).parents[1])]
    assert "_FromSource" not in repr(vars(finder))
