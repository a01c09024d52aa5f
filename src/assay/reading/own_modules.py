"""Modules of the user's own folders are compiled from their source, never taken from a `__pycache__`.

Compiled files that came along with a repository or an archive run in place of the source next to them, which is what
was looked at and allowed.
"""

from __future__ import annotations

import site
import sys
import sysconfig
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from pathlib import Path
from types import CodeType

from assay.overriding import override

_ASSAY = Path(__file__).parents[1]


def compile_own_modules() -> None:
    """From now on in this process, what lies outside the environment is compiled from its source."""
    if _finder not in sys.path_hooks:
        sys.path_hooks.insert(0, _finder)
        sys.path_importer_cache.clear()


class _FromSource(SourceFileLoader):
    @override
    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _finder(path: str) -> FileFinder:
    folder = Path(path).absolute()
    if not folder.is_dir() or any(folder.is_relative_to(installed) for installed in _environment()):
        raise ImportError(f"not a folder of the user's: {path}")
    return FileFinder(path, (ExtensionFileLoader, EXTENSION_SUFFIXES), (_FromSource, SOURCE_SUFFIXES))


def _environment() -> list[str]:
    """Where installed modules lie, and ours."""
    installed = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return [*installed, *site.getsitepackages(), site.getusersitepackages(), str(_ASSAY)]
