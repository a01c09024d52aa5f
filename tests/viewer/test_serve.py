"""The server listens on loopback only, and before there is anything to show."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
from tests.viewer.served import Viewer, viewing
from tests.viewer.test_run_folders import run_at

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from assay.viewer.serve import listen


def test_the_server_listens_on_loopback_only(viewer: Viewer) -> None:
    wanted = f":{viewer.port:04X}"
    listening = [
        line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if wanted in line.split()[1]
    ]
    assert listening
    assert all(address.startswith("0100007F:") for address in listening)


def test_an_answer_is_sent_without_waiting_for_more_to_send() -> None:
    with listen(0) as listening:
        assert listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_before_the_first_run_there_is_an_empty_page_that_shows_it_when_it_appears(tmp_path: Path) -> None:
    with viewing(folder=tmp_path) as viewer:
        assert viewer.get("runs")["runs"] == []
        run_at(tmp_path / "runs" / "first")
        deadline = time.monotonic() + 300
        while not (found := viewer.get("runs")["runs"]) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert [run["name"] for run in found] == ["first"]
