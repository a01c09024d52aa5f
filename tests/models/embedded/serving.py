"""The embedded server as a process, and questions to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parents[3] / "src"


def started(cache: Path, *flags: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "ASSAY_CACHE": str(cache), "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "assay", "model", "serve", "--port", "0", "--workers", "1", *flags]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def post(url: str, body: Any) -> Any:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=60) as answer:
        return json.load(answer)
