"""YAML files: values, places, inclusions, and everything a hostile file may try."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.core.errors import UsageError
from assay.formats.declarative.yaml_reader import Document, dotted, read_yaml
from assay.reading.env_file import read_env_file
from assay.tasks.load import load_tasks
from assay.trust.project import project_root


def read(folder: Path, text: str, **options: object) -> Document:
    path = folder / "file.yaml"
    path.write_text(text, encoding="utf-8")
    return read_yaml(path, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("12:30:45", "12:30:45"),
        ("2020-01-01", "2020-01-01"),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("~", None),
        ("", None),
        ("True", True),
        ("<< config.x >>", "<< config.x >>"),
        ('"3"', "3"),
    ],
)
def test_scalars_follow_the_core_schema_of_yaml_1_2(tmp_path: Path, text: str, value: object) -> None:
    assert read(tmp_path, f"a: {text}\n").value == {"a": value}


def test_every_field_knows_its_line_and_column(tmp_path: Path) -> None:
    document = read(tmp_path, "definition:\n  scorers:\n    - type: bleu\n      key: x\n")
    where = ("definition", "scorers", 0, "key")
    assert dotted(where) == "definition.scorers[0].key"
    assert str(document.mark(where)).endswith("file.yaml:4:7")
    # a field that is not there is shown at the nearest one around it
    assert document.mark((*where, "deeper")) == document.mark(where)


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("a: 1\nb: 2\na: 3\n", "3:1", "given twice"),
        ("a: [1,\n", "2:1", "not valid YAML"),
        ("a: !!python/object/apply:os.system ['x']\n", "1:4", "unknown tag"),
        ("a: !thing x\n", "1:4", "unknown tag"),
        ("a: !include {file: x}\n", "1:4", "`!include` takes the name of a file"),
        ("a: 1\n---\nb: 2\n", "2:1", "second document"),
        ("a: !include missing.py\n", "1:4", "there is no file"),
        ("$ref: missing.yaml\n", "1:1", "there is no file"),
        ("a:\n  $ref: '#/x'\n", "2:3", "not supported"),
        ("$ref: https://example.org/x.yaml\n", "1:1", "not supported"),
        ("a: !include /etc/passwd\n", "1:4", "outside the project"),
        ("a: !include ../../../../../../etc/passwd\n", "1:4", "outside the project"),
        ("$ref: /etc/passwd\n", "1:1", "outside the project"),
        ("", "1:1", "empty"),
        ("[" * 5000, "1:1", "levels deep"),
        ("a: " + "{a: " * 200 + "1" + "}" * 200, "1:1", "levels deep"),
        ("a: &a [*a]\n", "1:4", "levels deep"),
        ("a: $SOME_API_KEY\n", "1:4", "looks like a secret"),
        ("? [a, b]\n: 1\n", "1:3", "plain text"),
        ("a: " + "9" * 5000 + "\n", "1:4", "not a number"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path: Path, text: str, place: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    assert says in str(caught.value)
    assert f"file.yaml:{place}" in str(caught.value)


@pytest.mark.parametrize(
    ("named", "says"),
    [("folder", "not a regular file"), ("''", "names no file"), ("bytes.txt", "not UTF-8 at byte 2")],
)
def test_what_cannot_be_included_is_refused_where_it_is_named(tmp_path: Path, named: str, says: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "bytes.txt").write_bytes(b"ab\xff")
    with pytest.raises(UsageError) as caught:
        read(tmp_path, f"a: 1\nb:\n  c: !include {named}\n")
    assert str(caught.value).startswith(f"{tmp_path / 'file.yaml'}:3:6: ")
    assert says in str(caught.value)


def test_a_billion_laughs_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    with pytest.raises(UsageError, match="aliases expanded"):
        read(tmp_path, "\n".join(lines))


def test_a_billion_laughs_are_refused_before_they_are_read(tmp_path: Path) -> None:
    lines = ["a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    tracemalloc.start()
    try:
        with pytest.raises(UsageError, match="aliases expanded"):
            read(tmp_path, "\n".join(lines))
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


def test_a_symbolic_link_out_of_the_project_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    project = tmp_path / "project"
    project.mkdir()
    (project / "link.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(UsageError, match="outside the project"):
        read(project, "a: !include link.txt\n")
    assert read(project, "a: !include link.txt\n", allow_outside=True).value == {"a": "secret"}


def test_a_hidden_file_is_not_included_even_inside_the_project(tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id").write_text("private")
    for named in (".ssh/id", "x/../.ssh/id"):
        with pytest.raises(UsageError, match="hidden file"):
            read(tmp_path, f"a: !include {named}\n")


def test_the_current_project_is_what_its_files_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "shared.txt").write_text("text")
    with pytest.raises(UsageError, match="outside the project"):
        read(tmp_path / "tasks", "a: !include ../shared.txt\n")
    monkeypatch.chdir(tmp_path)
    assert read(tmp_path / "tasks", "a: !include ../shared.txt\n").value == {"a": "text"}


def test_a_mark_in_a_folder_of_everybody_makes_no_project(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "mine").mkdir(parents=True)
    (shared / ".assay").mkdir()
    assert project_root(shared / "mine") == shared
    shared.chmod(0o1777)
    assert project_root(shared / "mine") == shared / "mine"


def test_a_device_is_not_included(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a regular file"):
        read(tmp_path, "a: !include /dev/zero\n", allow_outside=True)


def test_included_text_is_stripped_and_relative_to_its_yaml_file(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "code.py").write_text("\n\nx = 1  \n\n")
    (tmp_path / "parts" / "part.yaml").write_text("snippet: !include code.py\nkey: theirs\n")
    document = read(tmp_path, "one: !include parts/code.py\ntwo:\n  key: theirs\n  other: 1\n  $ref: parts/part.yaml\n")
    assert document.value["one"] == "x = 1"
    assert document.value["two"] == {"key": "theirs", "other": 1, "snippet": "x = 1"}
    assert document.directory(("two", "snippet")) == tmp_path / "parts"


def test_a_reference_alone_may_be_a_list_but_not_next_to_other_keys(tmp_path: Path) -> None:
    (tmp_path / "list.yaml").write_text("- 1\n- 2\n")
    assert read(tmp_path, "a:\n  $ref: list.yaml\n").value == {"a": [1, 2]}
    with pytest.raises(UsageError, match="not a mapping"):
        read(tmp_path, "a:\n  b: 1\n  $ref: list.yaml\n")


def test_a_key_beside_a_reference_that_would_be_ignored_is_refused_at_its_place(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("dataset: d0\nsolver: s\n")
    with pytest.raises(UsageError, match=r"file.yaml:2:3: definition.dataset: `dataset` is also in base.yaml") as error:
        read(tmp_path, "definition:\n  dataset: d1\n  $ref: base.yaml\n  more: 1\n")
    assert "`more`" not in str(error.value)
    assert "extends: base.yaml" in str(error.value)


def test_only_mappings_are_merged_also_out_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "list.yaml").write_text("- 1\n- 2\n")
    with pytest.raises(UsageError, match="`<<` merges mappings"):
        read(tmp_path, "a:\n  <<: {$ref: list.yaml}\n")


def test_files_that_refer_to_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("$ref: file.yaml\n")
    with pytest.raises(UsageError, match="refers to itself"):
        read(tmp_path, "$ref: other.yaml\n")


def test_a_quoted_include_is_text_with_a_warning(tmp_path: Path) -> None:
    document = read(tmp_path, 'a: "!include x.py"\n')
    assert document.value == {"a": "!include x.py"}
    assert "unquoted" in document.warnings[0]


def test_merge_keys_give_way_to_own_keys(tmp_path: Path) -> None:
    text = "x: &x {p: 1, q: 2}\nz: &z {q: 5, r: 6}\ny:\n  <<: [*x, *z]\n  p: 3\n"
    assert read(tmp_path, text).value["y"] == {"p": 3, "q": 2, "r": 6}


def test_only_a_whole_mapping_value_is_a_variable(tmp_path: Path) -> None:
    text = "a: $CITY\nb: ${CITY}\nc: pre-$CITY\nd: $CITY tail\ne: [$CITY]\nf: [{g: $CITY}]\nh: $UNSET\n"
    document = read(tmp_path, text, environ={"CITY": "Bern"})
    assert document.value == {
        "a": "Bern",
        "b": "Bern",
        "c": "pre-$CITY",
        "d": "$CITY tail",
        "e": ["$CITY"],
        "f": [{"g": "Bern"}],
        "h": "$UNSET",
    }
    assert "`UNSET` is not set" in document.warnings[0]


def test_a_secret_in_a_models_config_stays_a_name(tmp_path: Path) -> None:
    text = "models:\n  - config:\n      api_key: $OPENAI_API_KEY\n"
    document = read(tmp_path, text, environ={"OPENAI_API_KEY": "sk-very-secret"})
    assert document.value["models"][0]["config"]["api_key"] == "$OPENAI_API_KEY"


def test_env_files(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("# places\nexport CITY='Bern'\nRIVER = Aare\n\n")
    assert read_env_file(path) == {"CITY": "Bern", "RIVER": "Aare"}
    path.write_text("CITY\n")
    with pytest.raises(UsageError, match=r"\.env:1:1"):
        read_env_file(path)


LONE = [
    "!include",
    "!include ''",
    "!include .",
    "!include ..",
    "!include file.yaml/x",
    '!include "\\0"',
    "!include " + "x" * 5000,
    "!include loop",
    "- !include",
    "a: !include",
    "!include {}",
    "!include []",
    "$ref:",
    "$ref: ''",
    "$ref: .",
    "$ref: []",
    "$ref: file.yaml",
    "$ref: loop",
    '$ref: "\\0"',
    "a: {$ref: empty.yaml}",
    "!anything",
    "!anything {}",
    "!",
    "! x",
    "!!binary x",
    "!!python/none",
    "!!set {a}",
    "!!int x",
    "!!float x",
    "",
    "#",
    "---",
    "--- 1\n--- 2",
    "...",
    "*a",
    "&a [*a]",
    "<<: 1",
    "<<: [1]",
    "? [a]\n: b",
    "%YAML 9.9\n---\n",
    "{",
    "\t",
    "\x00",
    "a: &a " + "x" * 40_000 + "\nb: [" + "*a, " * 10_000 + "]",
]


@pytest.mark.parametrize("text", LONE, ids=lambda text: repr(text[:24]))
def test_a_refusal_names_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    try:
        read(tmp_path, text)
    except UsageError as error:
        named = "empty.yaml" if "empty" in text else "file.yaml"
        assert str(error).startswith(f"{tmp_path / named}:"), error  # noqa: PT017 - some of these are read
    else:
        assert text in ("! x", "!", "---")


@pytest.mark.parametrize("text", [*LONE, "1", "hello", "- 1", "{}", "[]"], ids=lambda text: repr(text[:24]))
def test_no_such_file_is_a_task_and_the_refusal_names_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file.yaml").write_text(text, encoding="utf-8")
    named = "empty.yaml" if "empty" in text else "file.yaml"
    with pytest.raises(UsageError, match=re.escape(str(tmp_path / named))):
        load_tasks([str(tmp_path / "file.yaml")])


@given(st.text(max_size=60))
@example("!include")
def test_any_text_is_read_or_refused_with_a_sentence(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("any")
    try:
        path = folder / "file.yaml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        read_yaml(path)
    except UsageError as error:
        if "file.yaml" not in str(error):
            raise
