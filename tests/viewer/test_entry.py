"""The way in: a link trades its token for a cookie once."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from tests.viewer.served import target, viewing

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


def test_the_link_trades_its_token_for_a_cookie_once(folder: Path) -> None:
    with viewing(folder / "runs") as viewer:
        link = viewer.link
        status, headers, body = viewer.ask(target(link), cookie="")
        assert (status, b'content="0; url=/"' in body) == (200, True)
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        session = cookie.partition(";")[0]
        token = link.partition("token=")[2]
        assert token not in session
        assert viewer.ask("/", cookie=session)[0] == 200
        assert viewer.ask(target(link), cookie=session)[0] == 200  # who is in may open the link again
        status, headers, body = viewer.ask(target(link), cookie="")  # nobody else may
        assert (status, "set-cookie" in headers) == (403, False)
        assert b"used already" in body
        assert viewer.ask("/api/runs", cookie=f"assay-view-{viewer.port}={token}")[0] == 403
        assert viewer.ask("/api/runs", cookie="", authorization=f"Bearer {token}")[0] == 403
        new = viewer.next_link(link)
        assert new not in (link, "")
        assert viewer.ask(target(new), cookie="", method="HEAD")[0] == 403  # a preview uses no link up
        assert "set-cookie" in viewer.ask(target(new), cookie="")[1]


def test_a_browser_of_ours_finds_its_link_in_a_file_that_only_its_owner_can_read(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "asked")
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > "{tmp_path}/asked"\n')
    browser.chmod(0o755)
    with viewing(folder / "runs", browser=f"{browser} %s") as viewer:
        asked = (tmp_path / "asked").read_text().strip()
        assert "token" not in asked
        page = Path(asked.removeprefix("file://"))
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
        link = page.read_text().partition('href="')[2].partition('"')[0]
        assert link != viewer.link
        assert "set-cookie" in viewer.ask(target(link), cookie="")[1]
        assert viewer.ask(target(link), cookie="")[0] == 403
        assert not page.parent.exists()
