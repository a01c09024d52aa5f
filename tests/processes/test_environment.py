"""What a child inherits: a list, what the user passes, and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.processes.environment import (
    INHERITED,
    PASSED,
    PROXIES,
    bare_environment,
    child_environment,
    names_in,
    worker_environment,
)

KEYS = [
    *("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GH_TOKEN", "PGPASSWORD", "SENTRY_DSN", "hf_token", "DATABASE_URL"),
    *("PASSPHRASE", "ENCRYPTIONKEY", "OPENAI_KEY2", "SLACK_WEBHOOK_URL", "JWT", "npm_config__authToken"),
    *("LC_MY_SECRET", "PYTHONANYWHERE_API_TOKEN", "XDG_TOKEN", "ANYTHING_AT_ALL"),
    *("OPENAI_BASE_URL", "LD_PRELOAD", "ASSAY_ALLOW_UNSANDBOXED"),
]
USUAL = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH", "SSL_CERT_FILE", "NO_PROXY"]


@pytest.mark.parametrize("name", KEYS)
def test_what_is_not_on_the_list_is_left_out_whatever_its_name(name: str) -> None:
    assert child_environment((), {name: "value"}) == {}


@pytest.mark.parametrize("name", [*USUAL, "CUDA_VISIBLE_DEVICES", "no_proxy"])
def test_what_programs_need_to_work_is_inherited(name: str) -> None:
    assert child_environment((), {name: "value"}) == {name: "value"}


def test_no_name_on_the_list_is_one_that_holds_a_secret() -> None:
    words = ("KEY", "TOKEN_", "_TOKEN", "SECRET", "PASS", "AUTH", "CREDENTIAL", "COOKIE", "WEBHOOK", "DSN")
    assert [name for name in INHERITED if any(word in name for word in words)] == []


def test_the_list_in_the_documentation_is_the_list() -> None:
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    rows = page.partition("## What a child process inherits")[2].partition("Pass more by name")[0]
    assert set(re.findall(r"`([A-Z0-9_]+)`", rows)) == INHERITED | PROXIES


@pytest.mark.parametrize("name", ["HTTP_PROXY", "https_proxy"])
def test_a_proxy_is_inherited_unless_its_address_holds_a_login(name: str) -> None:
    assert child_environment((), {name: "http://proxy:3128"}) == {name: "http://proxy:3128"}
    assert child_environment((), {name: "http://me:hunter2@proxy:3128"}) == {}
    assert child_environment((), {name: "http://token@proxy:3128"}) == {}


def test_the_user_passes_names_one_by_one_or_for_every_child() -> None:
    environ = {"A": "1", "B": "2", "C": "3", "D": "4"}
    assert child_environment(["A"], environ) == {"A": "1"}
    assert child_environment(["A"], {**environ, PASSED: "B, C"}) == {"A": "1", "B": "2", "C": "3"}


def test_a_list_of_names_may_be_one_text() -> None:
    assert names_in(" A,B  C\n") == ["A", "B", "C"]
    assert names_in("") == []


def test_a_helper_of_ours_gets_what_it_is_given_and_what_the_loader_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/somewhere")
    monkeypatch.setenv(PASSED, "HOME")
    found = bare_environment(LC_ALL="C.UTF-8")
    assert found["LC_ALL"] == "C.UTF-8"
    assert found["LD_LIBRARY_PATH"] == "/somewhere"
    assert "HOME" not in found
    assert "PATH" not in found


def test_a_worker_of_ours_imports_from_the_same_places_and_the_working_directory_is_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open("json.py", "w") as file:
        file.write("raise SystemExit('a file of the working directory was run')")
    command = [sys.executable, "-P", "-c", "import json, sys, assay; print(*sys.path, sep='\\n')"]
    done = subprocess.run(command, env=worker_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert os.getcwd() not in done.stdout.splitlines()
