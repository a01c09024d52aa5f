"""Who may ask the viewer what: hosts, origins, sites, methods, headers and paths."""

from __future__ import annotations

import socket

import pytest
from tests.viewer.served import Viewer

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


def test_two_hosts_are_one_too_many(viewer: Viewer) -> None:
    ours = f"Host: 127.0.0.1:{viewer.port}\r\n"
    for hosts in (ours + "Host: evil.example\r\n", "Host: evil.example\r\n" + ours, ours + ours):
        with socket.create_connection(("127.0.0.1", viewer.port), timeout=300) as connection:
            head = f"GET /api/runs HTTP/1.1\r\n{hosts}Cookie: {viewer.cookie}\r\nConnection: close\r\n\r\n"
            connection.sendall(head.encode())
            assert connection.makefile("rb").readline().split()[1] == b"400"


@pytest.mark.parametrize("path", ["/", "/main.js", "/api/runs", "/api/events", "/api/marks"])
@pytest.mark.parametrize("given", ["", "assay-view=x", "assay-view-PORT=x", "assay-view-PORT="])
def test_without_the_session_nothing_is_answered(viewer: Viewer, path: str, given: str) -> None:
    status, _, body = viewer.ask(path, cookie=given.replace("PORT", str(viewer.port)))
    assert status == 403
    assert b"assay view" in body


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example", ""]
)
def test_a_foreign_host_is_refused(viewer: Viewer, host: str) -> None:
    assert viewer.ask("/api/runs", host=host)[0] == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://127.0.0.1", "null", "http://127.0.0.1:1", "file://"]
)
def test_a_foreign_origin_is_refused(viewer: Viewer, origin: str) -> None:
    assert viewer.ask("/api/runs", origin=origin)[0] == 403
    assert viewer.ask("/api/marks", method="POST", body=b"{}", origin=origin, content_type="application/json")[0] == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_cannot_load_anything(viewer: Viewer, site: str) -> None:
    assert viewer.ask("/api/runs", sec_fetch_site=site)[0] == 403
    assert viewer.ask("/main.js", sec_fetch_site=site)[0] == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_but_marks_can_be_written(viewer: Viewer, method: str) -> None:
    for path in ("/", "/api/runs", "/api/sample", "/main.js"):
        assert viewer.ask(path, method=method)[0] == 405


def test_every_answer_carries_the_strict_headers(viewer: Viewer) -> None:
    for path in ("/", "/main.js", "/api/runs", "/nothing-here"):
        _, headers, _ = viewer.ask(path)
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/..%2f..%2fsecret.txt",
        "/static/../secret.txt",
        "//etc/passwd",
        "/%2e%2e/secret.txt",
        "/data/x",
        "/index.html%00.js",
    ],
)
def test_no_path_leads_to_a_file(viewer: Viewer, path: str) -> None:
    status, _, body = viewer.ask(path)
    assert status == 404
    assert b"secret" not in body
