"""The server as its neighbours see it: only its own page with its own token is answered, and no question breaks it."""

from __future__ import annotations

import json
import os
import random
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from tests.viewer.demo_runs import HOSTILE, make_demo, make_hostile, marks
from tests.viewer.served import Viewer, target, viewing

from assay.viewer.index import index_path
from assay.viewer.library import IN_MEMORY, Library
from assay.viewer.words import words_path

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

READS = ("runs", "run", "samples", "neighbours", "sample", "slices", "compare", "marks")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("server")
    make_demo(folder / "runs" / "small", model="small", skill=0.5)
    make_demo(folder / "runs" / "large", model="large", skill=0.9)
    make_hostile(folder / "runs" / "hostile")
    make_demo(folder / "outside")
    (folder / "runs" / "link").symlink_to(folder / "outside")
    (folder / "secret.txt").write_text("secret")
    later = folder / "runs" / "later"
    make_demo(later, each=2)
    later.joinpath("run.json").write_text((later / "run.json").read_text().replace("run.v1", "run.v9"))
    broken = folder / "runs" / "broken"
    broken.mkdir()
    broken.joinpath("run.json").write_text("{")
    return folder


@pytest.fixture(scope="module")
def viewer(folder: Path) -> Iterator[Viewer]:
    with viewing(folder / "runs") as found:
        yield found


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


def test_two_hosts_are_one_too_many(viewer: Viewer) -> None:
    ours = f"Host: 127.0.0.1:{viewer.port}\r\n"
    for hosts in (ours + "Host: evil.example\r\n", "Host: evil.example\r\n" + ours, ours + ours):
        with socket.create_connection(("127.0.0.1", viewer.port), timeout=30) as connection:
            head = f"GET /api/runs HTTP/1.1\r\n{hosts}Cookie: {viewer.cookie}\r\nConnection: close\r\n\r\n"
            connection.sendall(head.encode())
            assert connection.makefile("rb").readline().split()[1] == b"400"


@pytest.mark.parametrize("path", ["/", "/main.js", "/api/runs", "/api/events", "/api/marks"])
@pytest.mark.parametrize("given", ["", "assay-view=x", "assay-view-PORT=x", "assay-view-PORT="])
def test_without_the_session_nothing_is_told(viewer: Viewer, path: str, given: str) -> None:
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


TRAVERSALS = [
    "../outside",
    "..",
    "/etc/passwd",
    "link",
    "small/../../outside",
    "..%2foutside",
    "small\0",
    "./small",
    "C:\\",
    "~",
]


@pytest.mark.parametrize("name", TRAVERSALS)
def test_no_name_leads_out_of_the_runs_folder(viewer: Viewer, name: str) -> None:
    for what in READS[1:]:
        for params in (
            {"run": name, "key": "1", "by": "task"},
            {"run": ["small", name]},
            {"run": "small", "against": name, "key": name, "by": name},
        ):
            status, _, body = viewer.ask(f"/api/{what}?{urlencode(params, doseq=True)}")
            assert status in (200, 400, 404), (what, params)
            assert b"secret" not in body
            if params["run"] == name:
                assert status == (400 if what == "compare" else 404), (what, params)


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


def test_runs_of_other_versions_and_broken_ones_are_told_in_a_sentence(viewer: Viewer) -> None:
    listed = {run["name"]: run for run in viewer.get("runs")["runs"]}
    assert set(listed) == {"small", "large", "hostile", "later", "broken"}
    assert "run.v9" in listed["later"]["error"]
    assert "run.json" in listed["broken"]["error"]
    status, _, body = viewer.ask("/api/run?run=later")
    assert (status, "run.v9" in json.loads(body)["error"]) == (400, True)


def test_one_run_tells_everything_from_above(viewer: Viewer) -> None:
    run = viewer.get("run", run="small")
    assert [row["task"] for row in run["board"]["tasks"]] == [each["task"] for each in run["distributions"]]
    assert {each["kind"] for each in run["failures"]} == {"model/timeout", "model/rate_limit"}
    assert run["provenance"]["command"].startswith("assay run tasks/ --model openai:small")
    assert [each["key"] for each in run["keys"]][:2] == ["difficulty", "year"]
    by_level = viewer.get("slices", run="small", by="difficulty")
    assert {each["value"] for each in by_level["slices"]} == {"easy", "medium", "hard"}
    assert sum(each["rows"] for each in by_level["slices"]) == run["summary"]["rows"]


def test_the_comparison_is_that_of_the_paired_statistics(viewer: Viewer) -> None:
    found = viewer.get("compare", run=["small", "large"])["pairs"][0]
    flips = viewer.get("samples", run="small", against="large", flip="flipped")["total"]
    assert found["overall"]["wins"] + found["overall"]["losses"] == flips
    assert found["overall"]["difference"] > 0
    assert all(each["adjusted_p"] >= each["p_value"] for each in found["tasks"])
    back = viewer.get("compare", run=["large", "small"])["pairs"][0]["overall"]
    assert back["difference"] == pytest.approx(-found["overall"]["difference"])


def test_a_sample_is_found_again_in_another_run(viewer: Viewer) -> None:
    row = viewer.get("samples", run="small", against="large", flip="flipped")["rows"][0]
    found = viewer.get("sample", run="small", key=row["key"], against=["large", "hostile"])
    assert found["others"]["large"] == row["others"][0]["key"]
    assert viewer.get("sample", run="large", key=found["others"]["large"])["id"] == row["id"]


def test_runs_looked_at_long_ago_give_their_memory_back(tmp_path: Path) -> None:
    for number in range(IN_MEMORY + 2):
        make_demo(tmp_path / f"run-{number}", each=1)
    library = Library([tmp_path])
    views = [library.run(f"run-{number}") for number in range(IN_MEMORY + 2) if library.run(f"run-{number}").snapshot()]
    assert [view._snapshot is None for view in views] == [True] * 2 + [False] * IN_MEMORY
    assert views[0].snapshot().rows == views[-1].snapshot().rows


def test_a_mark_is_kept_beside_the_run_and_told_again(folder: Path) -> None:
    with viewing(folder / "outside") as viewer:
        row = viewer.get("samples", run="outside", outcome="wrong")["rows"][0]
        viewer.mark(run="outside", key=row["key"], verdict="right", note="the target is wrong <b>")
        assert [(m["verdict"], m["note"], m["sample_id"]) for m in marks(folder / "outside")] == [
            ("right", "the target is wrong <b>", row["id"])
        ]
        assert viewer.get("marks", run="outside")["agreement"]["counts"]["right_wrong"] == 1
        assert viewer.get("sample", run="outside", key=row["key"])["mark"]["verdict"] == "right"
        viewer.mark(run="outside", key=row["key"], verdict=None)
        assert viewer.get("marks", run="outside")["marks"] == []


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        (b"not json", "application/json", 400),
        (b'{"run": "small", "key": "zz", "verdict": "great"}', "application/json", 400),
        (b'{"run": "../outside", "key": "1", "verdict": "right"}', "application/json", 404),
        (b'{"run": "small", "key": "nope", "verdict": "right"}', "application/json", 400),
        (b'{"run": "small", "key": "1", "verdict": "right", "file": "/etc/x"}', "application/json", 400),
        (b"run=small", "application/x-www-form-urlencoded", 415),
        (b"x" * 100_000, "application/json", 413),
    ],
)
def test_a_bad_mark_is_refused_and_nothing_is_written(
    viewer: Viewer, folder: Path, body: bytes, kind: str, expected: int
) -> None:
    assert viewer.ask("/api/marks", method="POST", body=body, content_type=kind)[0] == expected
    assert not list((folder / "runs").rglob("marks.jsonl"))


def test_long_answers_come_cut_and_whole_on_request(viewer: Viewer) -> None:
    row = viewer.get("samples", run="hostile", q="long answer")["rows"][0]
    cut = viewer.get("sample", run="hostile", key=row["key"])
    assert len(cut["record"]["trace"]["prediction"]) == 100_000
    assert {each["length"] for each in cut["cut"]} == {5_000_012}
    whole = viewer.get("sample", run="hostile", key=row["key"], whole=1)
    assert len(whole["record"]["trace"]["prediction"]) == 5_000_012


WORDS = [
    "",
    "small",
    "large",
    "hostile",
    "later",
    "0",
    "-1",
    "1",
    "99999999999999999999",
    "1e309",
    "nan",
    "inf",
    "score",
    "desc",
    "flipped",
    "task",
    "difficulty=hard",
    "=",
    "a=b=c",
    "label:judge.grade",
    "label:",
    "value:judge.score",
    "value:",
    "meta:",
    '"',
    '" OR 1',
    "NEAR(",
    "*",
    "\0",
    "\ud7ff",
    "💥",
    "%00",
    "../..",
    "<script>",
    "a" * 600,
    "right",
    "any",
    "disagree",
    "order",
    "changed",
    "written",
    "ff" * 8,
    "outcome",
    "attempt",
    *HOSTILE.values(),
]
NAMES = [
    "run",
    "key",
    "by",
    "task",
    "outcome",
    "failure",
    "meta",
    "value",
    "low",
    "high",
    "q",
    "against",
    "flip",
    "mark",
    "sort",
    "dir",
    "offset",
    "limit",
    "whole",
    "token",
    "x",
]


def test_no_question_breaks_the_server(viewer: Viewer) -> None:
    chance = random.Random(8)
    statuses = set()
    for _ in range(500):
        pairs = [(chance.choice(NAMES), chance.choice(WORDS)) for _ in range(chance.randint(0, 5))]
        if chance.random() < 0.8:
            pairs.append(("run", chance.choice(["small", "large", "hostile"])))
        path = f"/api/{chance.choice(READS)}?{urlencode(pairs)}"
        status, _, body = viewer.ask(path)
        assert status in (200, 400, 404, 414), (path, status, body)
        data: Any = json.loads(body) if status != 414 else {}
        assert status == 200 or data.get("error") or status == 414
        statuses.add(status)
    assert {200, 400, 404} <= statuses
    for _ in range(100):
        raw = "".join(chance.choice("/?&=%#.\\;:@!~ab0") for _ in range(chance.randint(1, 60)))
        assert viewer.ask("/" + quote(raw, safe="/?&=%;:@!~"))[0] < 500


def test_the_server_listens_on_loopback_only(viewer: Viewer) -> None:
    wanted = f":{viewer.port:04X}"
    listening = [
        line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if wanted in line.split()[1]
    ]
    assert listening
    assert all(address.startswith("0100007F:") for address in listening)


def test_reading_leaves_only_derived_files(folder: Path, viewer: Viewer) -> None:
    viewer.get("samples", run="small", q="capital")
    run = folder / "runs" / "small"
    derived = {index_path(run).name, words_path(run).name}
    assert set(os.listdir(run)) == {"run.json", "journal.jsonl", "leaderboard.json", *derived}
    assert not stat.S_IMODE((run / "journal.jsonl").stat().st_mode) & 0o111
