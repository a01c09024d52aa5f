"""The example projects that come with assay: where they lie, what each shows, and a copy of one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_NEVER_COPIED = ("__pycache__", "runs", "outputs", ".assay")
"""What running an example leaves behind."""


def examples_folder() -> Path:
    """Inside the installed package; in a checkout, where the package is under `src/`, next to it."""
    import assay

    package = Path(assay.__file__).parent
    installed = package / "examples"
    return installed if installed.is_dir() else package.parents[1] / "examples"


def examples() -> dict[str, str]:
    """Each example, and the first sentence of its README."""
    sentences: dict[str, str] = {}
    for readme in sorted(examples_folder().glob("*/README.md")):
        _, _, below_title = readme.read_text(encoding="utf-8").partition("\n")
        sentences[readme.parent.name] = " ".join(below_title.split()).partition(". ")[0]
    return sentences


def files_to_copy(folder: Path) -> Iterator[Path]:
    """The files of a project, without what running it has left there."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and not any(part in _NEVER_COPIED for part in inside.parts):
            yield inside
