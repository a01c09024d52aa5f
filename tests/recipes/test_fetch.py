"""`assay recipe fetch`: announced, checked against what is published or came before, whole or not there."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.recipes.shapes import FILES
from tests.servers.file_server import FileServer, file_server

from assay.cli.main import main
from assay.core.errors import UsageError
from assay.recipes import recipe as recipes
from assay.recipes.fetch import fetch, plan
from assay.recipes.fetched import FETCHED, own_fetched_files
from assay.recipes.recipe import NAMES, PublishedFile, find_recipe, write_tasks

MATH = FILES["math-500"]["test.jsonl"].encode()


@pytest.fixture
def server() -> Iterator[FileServer]:
    with file_server({"/test.jsonl": MATH, "/datasets/x/test.jsonl": MATH}) as held:
        yield held


def pinned(content: bytes, **changes: Any) -> recipes.Recipe:
    """MATH-500 with the sha256 of this content for the published one."""
    digests = {"test.jsonl": hashlib.sha256(content).hexdigest()}
    return msgspec.structs.replace(find_recipe("math-500"), sha256=digests, **changes)


def fetched(recipe: recipes.Recipe, folder: Path, server: FileServer) -> list[str]:
    return [name for each in plan(recipe, folder, base=server.address) for name in fetch(each, folder)]


def test_a_published_file_is_fetched_and_made_into_tasks(tmp_path: Path, server: FileServer) -> None:
    recipe = pinned(MATH)
    assert fetched(recipe, tmp_path / "data", server) == ["test.jsonl"]
    assert [each.here for each in plan(recipe, tmp_path / "data")] == [True]
    assert write_tasks(recipe, tmp_path / "data", tmp_path / "t", variant=None, shots=None) == {"math-500": 1}
    assert json.loads((tmp_path / "t" / "recipe.json").read_text())["files"][0]["published"] is True


def test_another_file_than_the_published_one_is_not_kept(tmp_path: Path, server: FileServer) -> None:
    with pytest.raises(UsageError, match="the published one; nothing was kept"):
        fetched(pinned(b"other"), tmp_path / "data", server)
    assert [*tmp_path.iterdir()] == []


def test_where_nothing_is_published_the_first_file_is_what_must_come_again(tmp_path: Path, server: FileServer) -> None:
    recipe = msgspec.structs.replace(find_recipe("math-500"), sha256={})
    fetched(recipe, tmp_path, server)
    assert write_tasks(recipe, tmp_path, tmp_path / "t", variant=None, shots=None) == {"math-500": 1}
    assert json.loads((tmp_path / "t" / "recipe.json").read_text())["files"][0]["published"] is False
    (tmp_path / "test.jsonl").unlink()
    server.files["/test.jsonl"] = MATH + b"\n"
    with pytest.raises(UsageError, match="the one fetched before"):
        fetched(recipe, tmp_path, server)


def test_what_somebody_else_wrote_down_does_not_make_a_file_published(tmp_path: Path, server: FileServer) -> None:
    recipe = msgspec.structs.replace(find_recipe("math-500"), sha256={})
    fetched(recipe, tmp_path, server)
    forged = json.loads((tmp_path / FETCHED).read_text())
    forged["files"]["test.jsonl"].update(archive="a.zip", published=True)
    (tmp_path / FETCHED).write_text(json.dumps(forged))
    assert own_fetched_files(tmp_path) == {}
    with pytest.raises(UsageError, match="--accept-other-source"):
        write_tasks(recipe, tmp_path, tmp_path / "t", variant=None, shots=None)


def zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        link = tarfile.TarInfo("data/link.jsonl")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return packed.getvalue()


INSIDE = {"../../test.jsonl": MATH, "__MACOSX/._test.jsonl": b"x", "big/other.bin": b"x", f"a/{FETCHED}": b"{}"}


@pytest.mark.parametrize(("name", "content"), [("all.zip", zipped(INSIDE)), ("all.tar", tarred(INSIDE))])
def test_of_an_archive_the_wanted_members_are_kept_under_their_bare_names(
    name: str, content: bytes, tmp_path: Path, server: FileServer
) -> None:
    server.files[f"/{name}"] = content
    download = PublishedFile(name, f"http://nowhere.invalid/{name}", len(content), members=("*.jsonl", FETCHED))
    digests = {name: hashlib.sha256(content).hexdigest()}
    recipe = msgspec.structs.replace(find_recipe("math-500"), sha256=digests, downloads=(download,))
    folder = tmp_path / "a" / "b"
    assert fetched(recipe, folder, server) == ["test.jsonl"]
    assert sorted(path.name for path in folder.iterdir()) == [FETCHED, "test.jsonl"]
    assert [each.here for each in plan(recipe, folder)] == [True]
    write_tasks(recipe, folder, tmp_path / "t", variant=None, shots=None)
    assert json.loads((tmp_path / "t" / "recipe.json").read_text())["files"][0]["published"] is True


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"no archive", "cannot|can be read"), (zipped({"x.txt": b"x"}), "holds none of")],
)
def test_an_archive_without_the_files_is_a_sentence(
    content: bytes, says: str, tmp_path: Path, server: FileServer
) -> None:
    server.files["/all.zip"] = content
    download = PublishedFile("all.zip", "http://nowhere.invalid/all.zip", 100, members=("*.jsonl",))
    recipe = msgspec.structs.replace(find_recipe("math-500"), sha256={}, downloads=(download,))
    with pytest.raises(UsageError, match=says):
        fetched(recipe, tmp_path / "data", server)
    assert [*tmp_path.iterdir()] == []


def test_more_than_the_announced_size_is_refused(tmp_path: Path, server: FileServer) -> None:
    server.files["/test.jsonl"] = b"x" * (3 << 20)
    with pytest.raises(UsageError, match="could not be fetched"):
        fetched(find_recipe("math-500"), tmp_path / "data", server)
    assert [*tmp_path.iterdir()] == []


def test_the_hub_may_be_at_another_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9/hub/")
    [planned] = plan(find_recipe("math-500"), tmp_path)
    assert planned.url.startswith("http://127.0.0.1:9/hub/datasets/HuggingFaceH4/MATH-500/resolve/")
    assert plan(find_recipe("gsm8k"), tmp_path)[0].url.startswith("https://raw.githubusercontent.com/")


@pytest.mark.parametrize("name", NAMES)
def test_every_address_is_https_and_every_file_has_a_size(name: str) -> None:
    for file in find_recipe(name).downloads:
        assert file.url.startswith("https://")
        assert file.size > 0
        assert not file.members or file.name.endswith((".zip", ".tar"))


def run(*arguments: str) -> int:
    return main(["recipe", "fetch", *arguments])


def test_the_command_announces_asks_and_fetches(
    tmp_path: Path, server: FileServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("livecodebench", "--from", server.address) == 2
    said = capsys.readouterr().err
    assert "licence: CC" in said
    assert f"134.3 MB  {server.address}/test6.jsonl" in said
    assert "its sha256 is not pinned" in said
    assert "add --yes" in said
    assert server.asked == []
    server.files["/test6.jsonl"] = FILES["livecodebench"]["test6.jsonl"].encode()
    assert run("livecodebench", "--from", server.address, "--yes", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"folder": "data/livecodebench", "fetched": ["test6.jsonl"]}
    assert run("livecodebench", "--from", server.address) == 0
    assert "already here" in capsys.readouterr().err
    assert server.asked == ["/test6.jsonl"]
    assert main(["recipe", "make", "livecodebench", "--data", "data/livecodebench"]) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("gpqa", "--yes"), "cannot be downloaded directly"),
        (("math-500", "--yes", "--from", "http://127.0.0.1:9"), "could not be fetched"),
        (("math-500", "--yes", "--from", "{server}/nowhere"), "test.jsonl: there is no file at this address"),
        (("math-500", "--yes", "--from", "ftp://x"), "begins with http"),
        (("math-501", "--yes"), "Did you mean `math-500`"),
    ],
)
def test_what_goes_wrong_is_a_sentence(
    arguments: tuple[str, ...],
    says: str,
    tmp_path: Path,
    server: FileServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*(each.replace("{server}", server.address) for each in arguments)) == 2
    assert says in capsys.readouterr().err
    assert not list((tmp_path / "data").glob("*"))
