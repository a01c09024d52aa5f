"""The server listens on loopback only."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.viewer.served import Viewer

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


def test_the_server_listens_on_loopback_only(viewer: Viewer) -> None:
    wanted = f":{viewer.port:04X}"
    listening = [
        line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if wanted in line.split()[1]
    ]
    assert listening
    assert all(address.startswith("0100007F:") for address in listening)
