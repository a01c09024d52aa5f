"""Runs the `assay` command of this checkout, and a fake server in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.end_to_end.forks import ROOT, run_forked


def environment(**changes: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": "100", **changes}


def assay(
    *arguments: str | Path, cwd: Path, before: Sequence[str] = (), forked: bool = True, **changes: str
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; `before` are words to put before it.

    A process of its own either way. It is forked from one that has imported assay already, which takes a fraction of
    the time, unless the words or the variables matter to how Python itself starts.
    """
    if not forked or before or any(name.startswith(("PYTHON", "LD_")) for name in changes):
        return subprocess.run(
            [*before, sys.executable, "-m", "assay", *map(str, arguments)],
            cwd=cwd,
            env=environment(**changes),
            capture_output=True,
            text=True,
        )
    return run_forked(cwd, environment(**changes), arguments=[*map(str, arguments)])


def start_assay(*arguments: str | Path, cwd: Path, **changes: str) -> subprocess.Popen[bytes]:
    """Start the command and let it run."""
    return subprocess.Popen(
        [sys.executable, "-m", "assay", *map(str, arguments)],
        cwd=cwd,
        env=environment(**changes),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def without_capabilities() -> list[str]:
    """The words before a command that take from root what makes it more than a user, as containers do."""
    if os.geteuid() != 0:
        return []
    words = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
    if shutil.which(words[0]) is None or subprocess.run([*words, "true"], capture_output=True).returncode:
        pytest.skip("root, and no setpriv to become less")
    return words


class Server:
    """A fake server in another process."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.base_url = f"http://127.0.0.1:{port}/v1"
        self._seen = f"http://127.0.0.1:{port}/_seen"

    def seen(self) -> dict[str, int]:
        """How often each prompt was served."""
        with urllib.request.urlopen(self._seen) as answer:
            found: dict[str, int] = json.load(answer)
            return found


@contextlib.contextmanager
def fake_server(port: int = 0, trouble: float = 0.0) -> Iterator[Server]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.servers.fake_openai", "--port", str(port), "--trouble", str(trouble)],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield Server(int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def write_task(path: Path, prompts: dict[str, str], metric: str = "exact_match") -> Path:
    """A task file of prompt -> target."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        for number, (prompt, target) in enumerate(prompts.items()):
            line = {"id": f"s-{number:05}", "prompt": prompt, "targets": [target], "metric": metric}
            file.write(json.dumps(line) + "\n")
    return path


def leaderboard(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "leaderboard.json").read_text())
    return found
