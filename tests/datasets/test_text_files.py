"""The text files of a folder are rows: regular ones, inside it, in the order of their paths."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.datasets.text_files import TextFiles


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_md", ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_every_file_is_a_row_with_its_front_matter(tmp_path: Path) -> None:
    write(
        tmp_path,
        b_md="plain",
        a_md="---\ntopic: maths\nlevel: 3\nright: no\n---\nText\n---\nmore",
        sub__c_md="---\n\nrule",
    )
    assert [sample.row for sample in TextFiles(path=str(tmp_path))] == [
        {
            "sample_id": "a",
            "topic": "maths",
            "level": 3,
            "right": "no",
            "file_name": "a.md",
            "content": "Text\n---\nmore",
        },
        {"sample_id": "b", "file_name": "b.md", "content": "plain"},
        {"sample_id": "sub/c", "file_name": "c.md", "content": "---\n\nrule"},
    ]


def test_other_endings_hidden_files_links_and_pipes_are_no_rows(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "secret.md"
    outside.write_text("secret")
    write(inside, a_md="a")
    (inside / "b.txt").write_text("b")
    (inside / ".hidden.md").write_text("h")
    (inside / ".git").mkdir()
    (inside / ".git" / "c.md").write_text("c")
    (inside / "link.md").symlink_to(outside)
    (inside / "folder").symlink_to(tmp_path)
    os.mkfifo(inside / "pipe.md")
    assert [sample.id for sample in TextFiles(path=str(inside), extension="md")] == ["a"]


def test_the_hash_is_of_names_and_contents_and_not_of_the_place(tmp_path: Path) -> None:
    one = TextFiles(path=str(write(tmp_path / "one", a_md="x", b_md="y"))).sha256
    assert TextFiles(path=str(write(tmp_path / "two", a_md="x", b_md="y"))).sha256 == one
    assert TextFiles(path=str(write(tmp_path / "three", a_md="y", b_md="x"))).sha256 != one


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"\xff\xfe", "not UTF-8 at byte 0"),
        (b"---\n- a\n---\n", "not a mapping"),
        (b"---\na: [\n---\n", "not valid YAML"),
    ],
)
def test_what_cannot_be_read_is_reported_with_its_file(text: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "bad.md").write_bytes(text)
    with pytest.raises(UsageError, match=rf"bad\.md.*{told}"):
        list(TextFiles(path=str(tmp_path)))


def test_two_files_that_differ_in_their_ending_need_the_ending_said(tmp_path: Path) -> None:
    write(tmp_path, a_md="x")
    (tmp_path / "a.txt").write_text("y")
    with pytest.raises(UsageError, match="`a` is given twice"):
        len(TextFiles(path=str(tmp_path)))
