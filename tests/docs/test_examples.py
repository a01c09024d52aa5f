"""Every example in the README and in docs/ is executed: console blocks as commands, python blocks as programs.

How console blocks are run and compared: `tests/docs/console.py`. Blocks that cannot run here (they need a key or a
network) are fenced as `sh`; pages about searches have stand-ins for the models they name. The blocks of one page run in
one folder, top to bottom. A block that names a file after its language (`python shouts.py`) is written to that file for
the blocks below it. The README and the tutorial show everything that their commands print.

The README's commands are started as a user starts them; those of the other pages are forked from a process that has
imported assay already, which takes a fraction of the time.

`python -m tests.docs.test_examples PAGE…` writes the output into the pages again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.docs.console import BLOCK, Console, commands, same, with_outputs
from tests.docs.stand_ins import stand_in_models
from tests.end_to_end.forks import CLIENT, ROOT, address, run_forked

SKILL = ROOT / "examples" / "starter" / "skill" / "skill-assay.md"
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md", SKILL, *(ROOT / "docs").rglob("*.md")]
)
KNOWN = {"console", "python", "json", "jsonl", "yaml", "text", "sh", "mermaid", "toml", "js"}
SHOWN_WHOLE = {ROOT / "README.md", ROOT / "docs" / "tutorial.md"}


def blocks(page: Path) -> list[tuple[str, str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_says_what_it_is(page: Path) -> None:
    assert {language for language, *_ in blocks(page)} <= KNOWN


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(language in ("console", "python") for language, *_ in blocks(page))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_examples_run(page: Path, tmp_path: Path) -> None:
    for command, shown, printed in run_page(page, tmp_path):
        assert same(shown, printed) or (not shown.strip() and page not in SHOWN_WHOLE), (
            f"$ {command}\nthe page shows:\n{shown}\nit printed:\n{printed}\n`make docs` writes it into the page"
        )


def run_page(page: Path, tmp_path: Path) -> list[tuple[str, str, str]]:
    """Run every block of a page; each command with what the page shows and what it printed."""
    forked = page.name != "README.md"
    environment = environment_with_assay(tmp_path / "bin", forked=forked)
    with stand_in_models() if page.name.startswith("optimize-") else nullcontext({}) as models:
        return run_blocks(page, tmp_path / "work", {**environment, **models}, forked=forked)


def run_blocks(page: Path, work: Path, environment: dict[str, str], *, forked: bool) -> list[tuple[str, str, str]]:
    work.mkdir()
    for name in ("examples", "src", "tests"):
        (work / name).symlink_to(ROOT / name)
    console = Console(work, environment)
    outcomes = []
    for language, file, body in blocks(page):
        if file:
            (work / file).write_text(body, encoding="utf-8")
        elif language == "console":
            outcomes += [(command, shown, console.run(command)) for command, shown in commands(body)]
        elif language == "python":
            done = run_python(body, work, environment, forked=forked)
            assert done.returncode == 0, f"{body}\n{done.stdout}{done.stderr}"
    return outcomes


def run_python(body: str, work: Path, environment: dict[str, str], *, forked: bool) -> subprocess.CompletedProcess[str]:
    if forked:
        return run_forked(work, environment, code=body)
    return subprocess.run([sys.executable, "-c", body], cwd=work, env=environment, capture_output=True, text=True)


def environment_with_assay(folder: Path, *, forked: bool) -> dict[str, str]:
    """PATH begins with an `assay` of exactly this checkout."""
    folder.mkdir()
    script = folder / "assay"
    started = f'#!/bin/sh\nexec "{sys.executable}" -m assay "$@"\n'
    script.write_text(CLIENT.format(python=sys.executable, address=address()) if forked else started)
    script.chmod(0o755)
    path = os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100"}


def write_outputs(page: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        printed: dict[str, list[str]] = {}
        for command, _, output in run_page(page, Path(folder)):
            printed.setdefault(command, []).append(output)
    text = page.read_text(encoding="utf-8")
    text = with_outputs(text, printed, whole=page in SHOWN_WHOLE)
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for each in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        if any(language == "console" for language, *_ in blocks(each)):
            write_outputs(each)
            print(each.relative_to(ROOT))
