"""Every example in the README and in docs/ is executed: console blocks as commands, python blocks as programs.

A console block holds `$ command` lines, each followed by what it prints; `…` stands for anything, and a command that
must not exit with 0 says `# exit code N`. Output that is not shown is not compared. Blocks that cannot run here
(they need a key or a network) are fenced as `sh`; pages about searches have stand-ins for the models they name. The
blocks of one page run in one folder, top to bottom. A block that names a file after its language (`python shouts.py`)
is written to that file for the blocks below it.

The README's commands are started as a user starts them; those of the other pages are forked from a process that has
imported assay already, which takes a fraction of the time.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.docs.stand_ins import stand_in_models
from tests.end_to_end.forks import CLIENT, ROOT, address, run_forked

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w*) ?([^\n]*)\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
KNOWN = {"console", "python", "json", "jsonl", "yaml", "text", "sh", "mermaid", "toml"}


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
    forked = page.name != "README.md"
    environment = environment_with_assay(tmp_path / "bin", forked=forked)
    with stand_in_models() if page.name.startswith("optimize-") else nullcontext({}) as models:
        run_blocks(page, tmp_path, {**environment, **models}, forked=forked)


def run_blocks(page: Path, tmp_path: Path, environment: dict[str, str], *, forked: bool) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for name in ("examples", "src", "tests"):
        (work / name).symlink_to(ROOT / name)
    for language, file, body in blocks(page):
        if file:
            (work / file).write_text(body, encoding="utf-8")
        elif language == "console":
            run_console(body, work, environment)
        elif language == "python":
            done = run_python(body, work, environment, forked=forked)
            assert done.returncode == 0, f"{body}\n{done.stdout}{done.stderr}"


def run_python(body: str, work: Path, environment: dict[str, str], *, forked: bool) -> subprocess.CompletedProcess[str]:
    if forked:
        return run_forked(work, environment, code=body)
    return subprocess.run([sys.executable, "-c", body], cwd=work, env=environment, capture_output=True, text=True)


def run_console(body: str, work: Path, environment: dict[str, str]) -> None:
    for command, expected in commands(body):
        code = int(found.group(1)) if (found := re.search(r"# exit code (\d+)", command)) else 0
        done = subprocess.run(["bash", "-c", command], cwd=work, env=environment, capture_output=True, text=True)
        said = done.stdout + done.stderr
        assert done.returncode == code, f"$ {command}\n{said}"
        if expected.strip():
            pattern = ".*".join(re.escape(part.strip()) for part in expected.split("…"))
            assert re.search(pattern, normal(said), re.DOTALL) or re.search(
                ".*".join(re.escape(normal(part)) for part in expected.split("…")), normal(said), re.DOTALL
            ), f"$ {command}\nexpected:\n{expected}\ngot:\n{said}"


def commands(body: str) -> list[tuple[str, str]]:
    found: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found and found[-1][0].endswith("\\"):
            found[-1] = (found[-1][0][:-1] + line.strip(), [])
        elif found:
            found[-1][1].append(line)
    return [(command, "\n".join(lines)) for command, lines in found]


def normal(text: str) -> str:
    return " ".join(text.split())


def environment_with_assay(folder: Path, *, forked: bool) -> dict[str, str]:
    """PATH begins with an `assay` of this very checkout."""
    folder.mkdir()
    script = folder / "assay"
    started = f'#!/bin/sh\nexec "{sys.executable}" -m assay "$@"\n'
    script.write_text(CLIENT.format(python=sys.executable, address=address()) if forked else started)
    script.chmod(0o755)
    path = os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100"}
