"""Separators and encodings, as spreadsheets and programs write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.datasets.tables import table
from assay.datasets.text_table import UTF_8, text_form

ROWS = [{"name": "Zoë", "n": "1"}, {"name": "a, b; c", "n": "2"}]


def written(folder: Path, separator: str, encoding: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(separator.join(["name", "n"]).join(["", "\n"]).encode(encoding))
    with path.open("ab") as file:
        body = f'Zoë{separator}1\n"a, b; c"{separator}2\n'.encode(encoding)
        file.write(body.removeprefix(b"\xff\xfe").removeprefix(b"\xef\xbb\xbf"))
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_what_spreadsheets_write_is_read(tmp_path: Path, separator: str, encoding: str) -> None:
    path = written(tmp_path, separator, encoding)
    form = text_form(path)
    assert form.separator == separator
    rows = [sample.row for sample in table(path=str(path), dtypes="string", **form.options(path))]
    assert rows == ROWS
    assert bool(form.remarks) == (separator != "," or encoding in ("utf-16", "cp1252"))


@pytest.mark.parametrize("line", ["sep=;\n", '"sep=;"\r\n'])
@pytest.mark.parametrize("said", [{}, {"separator": ";"}])
def test_a_line_that_says_the_separator_is_no_header(tmp_path: Path, line: str, said: dict[str, str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{line}name;n,m\nZoë;1\n")
    assert text_form(path).separator == ";"
    assert [sample.row for sample in table(path=str(path), dtypes="string", **said)] == [{"name": "Zoë", "n,m": "1"}]
    path.write_text(f"{line}name;n\nZoë\n")
    with pytest.raises(UsageError, match=r"t\.csv:3: 1 cells where the header has 2 columns"):
        list(table(path=str(path), **said))


def test_a_separator_that_cannot_be_one_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("sep=:\nname:n\n")
    with pytest.raises(UsageError, match=r"t\.csv:1: `:` is said to separate the cells; what can do so: `,`"):
        text_form(path)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_found_without_its_mark(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "q.csv"
    path.write_bytes("question,target\n猫?,cat\n".encode(encoding))
    assert text_form(path)[:2] == (",", encoding)


def test_the_usual_form_needs_no_options(tmp_path: Path) -> None:
    path = written(tmp_path, "\t", "utf-8", "t.tsv")
    assert text_form(path).options(path) == {}
    assert text_form(path).encoding == UTF_8


def test_two_separators_that_fit_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;b|c\n1;2|3\n")
    with pytest.raises(UsageError, match=r"t\.csv:1: the columns may be separated by `;` or `\|`"):
        text_form(path)
    assert text_form(path, separator=";").separator == ";"


def test_bytes_of_no_encoding_that_spreadsheets_write_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n\x81\x8d,2\n")
    with pytest.raises(UsageError, match=r"t\.csv:2: neither UTF-8 nor Windows-1252; say `encoding`"):
        text_form(path)


def test_another_encoding_and_an_unknown_one_are_named(tmp_path: Path) -> None:
    path = written(tmp_path, ",", "cp1252")
    with pytest.raises(UsageError, match=r"t\.csv: not UTF-8: .*say what it is with `encoding`"):
        list(table(path=str(path)))
    with pytest.raises(UsageError, match="there is no encoding `latin-99`"):
        list(table(path=str(path), encoding="latin-99"))
