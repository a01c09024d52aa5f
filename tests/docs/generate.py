"""Writes the generated reference pages: every catalog name with its docstring, every command with its help, every
field of YAML files and of the files of a run, and every public Python name.

`python -m tests.docs.generate` writes them; the tests fail when they are stale.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
from pathlib import Path

from assay import catalog
from assay.cli import main as cli
from assay.cli.help_text import HelpFormatter
from tests.docs.declarative_page import declarative_page
from tests.docs.files_page import files_page
from tests.docs.python_page import python_page

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


def pages() -> dict[Path, str]:
    return {
        REFERENCE / "catalog.md": catalog_page(),
        REFERENCE / "cli.md": cli_page(),
        REFERENCE / "declarative.md": declarative_page(),
        REFERENCE / "files.md": files_page(),
        REFERENCE / "python.md": python_page(),
    }


def catalog_page() -> str:
    lines = [
        "# Catalog",
        "",
        "After this page you can name any built-in metric, scorer, solver, model or dataset in a task file or a flag.",
        "Generated from `assay.catalog`; `make docs` regenerates it.",
        "Your own code needs no entry here: write `package.module:name` in place of a name.",
    ]
    for kind, names in catalog.CATALOG.items():
        if names:
            lines += ["", f"## {kind}", ""]
        for name, target in sorted(names.items()):
            lines += [f"### `{name}`", "", f"`{target}`", "", "```text", docstring(kind, name), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def docstring(kind: str, name: str) -> str:
    found = catalog.resolve(kind, name)
    text = inspect.getdoc(found)
    if not text:
        raise SystemExit(f"{kind} `{name}` ({catalog.CATALOG[kind][name]}) has no docstring")
    return text


def cli_page() -> str:
    os.environ["COLUMNS"] = "100"
    lines = [
        "# Command line",
        "",
        "After this page you can look up every command and flag. Generated from `--help`; `make docs` regenerates it.",
    ]
    for verb, summary in cli.SUBCOMMANDS.items():
        parser = argparse.ArgumentParser(prog=f"assay {verb}", description=summary, formatter_class=HelpFormatter)
        importlib.import_module(f"assay.cli.{cli.module_of(verb)}").add_arguments(parser)
        lines += ["", f"## assay {verb}", "", "```text", parser.format_help().rstrip(), "```"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
