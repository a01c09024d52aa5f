"""A hub dataset without a revision, read over HTTP from a stand-in of the hub: the newest is taken and recorded."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote, urlsplit

import pytest
from tests.results.yaml_runs import EQUALS, write_task

SHA = "f00dfeed" * 5
FILE = "data/test.jsonl"
CONTENT = b'{"q": "capital?", "a": "Bern"}\n{"q": "\xe9\xa6\x96\xe9\x83\xbd?", "a": "\xe6\x9d\xb1\xe4\xba\xac"}\n'
ENTRY = {
    "type": "file",
    "path": FILE,
    "size": len(CONTENT),
    "oid": hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT, usedforsecurity=False).hexdigest(),
}

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None, reason="needs the extra `hub` (the package `datasets`)"
)


class _Hub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.asked.append(f"{self.command} {path}")
        if path in ("/api/datasets/org/set", f"/api/datasets/org/set/revision/{SHA}"):
            info = {"id": "org/set", "sha": SHA, "private": False, "tags": [], "siblings": [{"rfilename": FILE}]}
            self._send(200, json.dumps(info).encode())
        elif path.startswith(f"/api/datasets/org/set/tree/{SHA}"):
            inside = path.removeprefix(f"/api/datasets/org/set/tree/{SHA}").strip("/")
            folder = {"type": "directory", "path": "data", "size": 0, "oid": "0" * 40}
            self._send(200, json.dumps([ENTRY] if inside == "data" else [folder, ENTRY]).encode())
        elif path == f"/datasets/org/set/resolve/{SHA}/{FILE}":
            self._send(200, CONTENT)
        else:
            self._send(404, b'{"error": "Entry not found"}')

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        self.asked.append(f"POST {self.path}")
        wanted = body.get("paths", []) if isinstance(body, dict) else []
        self._send(200, json.dumps([ENTRY] if FILE in wanted else []).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if status == 404:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Repo-Commit", SHA)
        self.send_header("ETag", f'"{ENTRY["oid"]}"')
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def hub() -> Iterator[str]:
    _Hub.asked = []
    running = ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()


def test_the_newest_revision_is_taken_with_a_warning_and_recorded(hub: str, tmp_path: Path) -> None:
    write_task(tmp_path, [], [EQUALS])
    (tmp_path / "rows.jsonl").unlink()
    source = {
        "type": "huggingface",
        "path": "org/set",
        "split": "test",
        "load_dataset_kwargs": {"data_files": {"test": FILE}},
    }
    (tmp_path / "rows.yaml").write_text(json.dumps({"key": "rows", "display_name": "Rows", "source": source}))
    environ = {**os.environ, "HF_ENDPOINT": hub, "HF_HOME": str(tmp_path / "hub"), "HF_HUB_DISABLE_TELEMETRY": "1"}
    command = [sys.executable, "-m", "assay", "run", "task.yaml", "--model", "stub:Bern", "--run-dir", "run", "--trust"]
    made = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert made.returncode == 0, (made.stderr, _Hub.asked)
    assert "has no `revision`, so scores on it cannot be reproduced" in made.stderr
    assert f"write `revision: {SHA}` into its source" in made.stderr
    assert "GET /api/datasets/org/set" in _Hub.asked
    [task] = json.loads((tmp_path / "run" / "run.json").read_text())["definitions"]
    assert task["dataset"]["options"]["revision"] == SHA
    assert task["dataset"]["size"] == 2
