"""`.env`: named keys are looked up in it, and nothing else of it counts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.models.model_names import make_model
from assay.models.pool import ModelPool
from assay.reading import env_file
from assay.run_config import RunConfig


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    for name in ("MY_KEY", *env_file.NOT_READ_HERE):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    env_file.choose(None)


def test_a_key_is_looked_up_in_the_environment_and_then_in_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert env_file.key_variable("MY_KEY") is None
    (folder / ".env").write_text("MY_KEY=of-the-file\n")
    assert env_file.key_variable("MY_KEY") == "of-the-file"
    assert "MY_KEY" not in os.environ
    monkeypatch.setenv("MY_KEY", "of-the-environment")
    assert env_file.key_variable("MY_KEY") == "of-the-environment"


def test_another_file_may_be_chosen_and_must_be_there(folder: Path) -> None:
    (folder / ".env").write_text("MY_KEY=usual\n")
    (folder / "other").write_text("MY_KEY=other\n")
    env_file.choose(folder / "other")
    assert env_file.key_variable("MY_KEY") == "other"
    assert env_file.variables()["MY_KEY"] == "other"
    with pytest.raises(UsageError, match="no such file"):
        env_file.choose(folder / "missing")
    env_file.choose(None)
    assert env_file.key_variable("MY_KEY") == "usual"


def test_a_word_that_has_no_effect_there_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "MY_KEY=1\nOPENAI_BASE_URL=http://evil/v1\nhttps_proxy=http://evil\nASSAY_NEW_WORD=1\n"
    (folder / ".env").write_text(text)
    told = env_file.ignored_here()
    assert [sentence.split()[1] for sentence in told] == ["OPENAI_BASE_URL", "https_proxy", "ASSAY_NEW_WORD"]
    assert not any("evil" in sentence for sentence in told)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://mine/v1")
    assert len(env_file.ignored_here()) == 2


def test_a_file_that_cannot_be_read_matters_only_where_a_key_is_needed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".env").write_text("-----BEGIN PRIVATE KEY-----\n")
    assert env_file.ignored_here() == []
    with pytest.raises(UsageError, match=r"\.env:1:1"):
        env_file.key_variable("MY_KEY")
    monkeypatch.setenv("MY_KEY", "k")
    assert env_file.key_variable("MY_KEY") == "k"


@pytest.mark.parametrize("content", [b"A=\xff\n", b"A=" + b"x" * env_file.LARGEST_BYTES])
def test_bytes_that_are_no_variables_are_refused_in_words(folder: Path, content: bytes) -> None:
    (folder / ".env").write_bytes(content)
    with pytest.raises(UsageError, match=r"^\.env: "):
        env_file.variables()


def test_what_is_no_regular_file_is_not_opened(folder: Path) -> None:
    os.mkfifo(folder / ".env")
    assert env_file.key_variable("MY_KEY") is None


KEYS = [
    "sk-live-Zq83hVtt-0192837465",
    "sk_live_Zq83hVtt0192837465",
    "gsk_Zq83hVttabcdefghijkl",
    "hf_abcdefghijklmnopqrstuvwx",
    "AIzaSyDabcdefghijklmnopqrst",
    "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",
    "A94A8FE5CCB19BA61C4C0873D391E987",
    "qwhzkrlpxnvtcmgdjsfyboqwhzkrlpxn",
    "",
    "A B",
    "$OPENAI_API_KEY",
]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_where_a_name_belongs_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(UsageError, match="api_key_env must be the name") as caught:
        env_file.check_name("api_key_env", key)
    assert not key or key not in str(caught.value)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "k", "my_team_key", "KEY_OF_PROJECT_2024_11_16", "hf_token"])
def test_a_name_is_a_name_whether_it_is_set_or_not(name: str) -> None:
    env_file.check_name("api_key_env", name)


def test_a_name_that_is_set_is_never_taken_for_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("gsk_of_project_2024_november", "x")
    env_file.check_name("api_key_env", "gsk_of_project_2024_november")


def test_names_to_pass_on_are_checked_alike(folder: Path) -> None:
    with pytest.raises(UsageError, match="pass_env must be the name") as caught:
        env_file.refuse_unset("pass_env", ["sk-live-Zq83hVtt-0192837465"])
    assert "Zq83" not in str(caught.value)


@pytest.mark.parametrize("name", ["openai", "anthropic", "gemini"])
def test_a_base_url_beside_the_key_that_is_sent_elsewhere_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (folder / ".env").write_text(f"{name.upper()}_API_KEY=k\n{name.upper()}_BASE_URL=http://127.0.0.1:9/v1\n")
    for variable in (f"{name.upper()}_API_KEY", f"{name.upper()}_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UsageError, match=rf"{name.upper()}_BASE_URL is not read .* `{name}:m@URL`"):
        ModelPool(RunConfig()).wrap(make_model(f"{name}:m"))
    ModelPool(RunConfig()).wrap(make_model(f"{name}:m@http://127.0.0.1:9/v1"))
