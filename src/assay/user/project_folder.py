"""The project's folder `.assay`: cached answers, generated and downloaded datasets, converted logs. Never for git."""

from __future__ import annotations

from pathlib import Path

NAME = ".assay"


def make_project_folder(folder: Path) -> None:
    """Create a folder; `.assay`, if it is in there, gets a `.gitignore` of its own: it holds prompts and answers."""
    folder.mkdir(parents=True, exist_ok=True)
    for own in (folder, *folder.parents):
        ignore = own / ".gitignore"
        if own.name == NAME and not ignore.exists() and not ignore.is_symlink():
            ignore.write_text("*\n")
