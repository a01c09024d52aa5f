"""The embedded server as a process, and questions to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
import warnings
from pathlib import Path
from typing import Any, Self

SOURCE = Path(__file__).parents[3] / "src"


def started(cache: Path, *flags: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "ASSAY_CACHE": str(cache), "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "assay", "model", "serve", "--port", "0", "--workers", "1", *flags]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Server:
    """One for many tests; one that has ended in between fails one of them with its last words, and is replaced."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._process: subprocess.Popen[str] | None = None
        self._address = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.communicate()

    def address(self) -> str:
        if self._process is not None and (status := self._process.poll()) is not None:
            ended, self._process = self._process, None
            warnings.warn(f"the embedded server has ended with {status}: {ended.communicate()[1]}", stacklevel=2)
        if self._process is None:
            self._process = started(self._cache)
            assert self._process.stdout is not None
            self._address = self._process.stdout.readline().strip()
        return self._address


def post(url: str, body: Any) -> Any:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=60) as answer:
        return json.load(answer)
