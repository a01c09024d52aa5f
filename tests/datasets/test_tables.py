"""Tables: the columns of a CSV file hold what all their cells look like, or what `dtypes` says."""

from __future__ import annotations

import sys
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.datasets.hub import Hub
from assay.datasets.tables import table

ROWS = [{"q": "a", "n": 1}, {"q": "b", "n": 2}, {"q": "c", "n": 3}]


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def rows(dataset: Any) -> list[dict[str, Any] | None]:
    return [sample.row for sample in dataset]


def test_csv_cells_are_what_their_column_looks_like(tmp_path: Path) -> None:
    text = '\ufeffname,n,x,ok,code\n"x, ""y""\nz",1,0.5,true,007\n,,,,\n3,-20,2,False,8\n'
    dataset = table(path=written(tmp_path, "d.csv", text))
    assert rows(dataset) == [
        {"name": 'x, "y"\nz', "n": 1, "x": 0.5, "ok": True, "code": "007"},
        {"name": "", "n": None, "x": None, "ok": None, "code": ""},
        {"name": "3", "n": -20, "x": 2.0, "ok": False, "code": "8"},
    ]
    assert [type(row["x"]) for row in rows(dataset) if row] == [float, type(None), float]


def test_dtypes_say_otherwise(tmp_path: Path) -> None:
    path = written(tmp_path, "d.csv", "id,n\n1,2\n2,3\n")
    assert rows(table(path=path, dtypes={"id": "string"})) == [{"id": "1", "n": 2}, {"id": "2", "n": 3}]
    assert rows(table(path=path, dtypes={"n": "float"}))[0] == {"id": 1, "n": 2.0}
    assert rows(table(path=path, dtypes="string"))[0] == {"id": "1", "n": "2"}


@pytest.mark.parametrize(
    ("dtypes", "says"),
    [
        ({"n": "boolean"}, r"d\.csv:2: dtypes says that the column `n` holds boolean values, got `2`"),
        ({"m": "float"}, "dtypes: unknown column `m`. Known: id, n"),
    ],
)
def test_dtypes_that_do_not_fit_are_refused(tmp_path: Path, dtypes: dict[str, str], says: str) -> None:
    path = written(tmp_path, "d.csv", "id,n\n1,2\n2,x\n")
    with pytest.raises(UsageError, match=says):
        len(table(path=path, dtypes=dtypes))


def test_dtypes_are_for_tables_of_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"`dtypes` is for \.csv and \.tsv"):
        table(path=written(tmp_path, "d.jsonl", "{}\n"), dtypes={"a": "string"})


def test_a_sample_id_is_a_text_whatever_it_looks_like(tmp_path: Path) -> None:
    dataset = table(path=written(tmp_path, "d.csv", "sample_id,n\n1e3,1\n2.50,2\n"))
    assert [sample.id for sample in dataset] == ["1e3", "2.50"]


def test_tsv(tmp_path: Path) -> None:
    assert rows(table(path=written(tmp_path, "d.tsv", "a\tb\n1\t2,3\n"))) == [{"a": 1, "b": "2,3"}]


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="the parquet extra is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "d.parquet")
    dataset = table(path=str(tmp_path / "d.parquet"), columns=["n"])
    assert rows(dataset) == [{"n": 1}, {"n": 2}, {"n": 3}]
    with pytest.raises(UsageError, match="not a Parquet file"):
        len(table(path=written(tmp_path, "bad.parquet", "no")))


def half_readable(path: Path, **columns: Any) -> str:
    """A Parquet file of two row groups, of which the second cannot be decoded."""
    pyarrow = pytest.importorskip("pyarrow", reason="the parquet extra is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = pyarrow.table(columns)
    parquet.write_table(rows, path, row_group_size=len(rows) // 2, compression="none", use_dictionary=False)
    second = parquet.ParquetFile(path).metadata.row_group(1)
    content = bytearray(path.read_bytes())
    for at in range(second.num_columns):
        start = second.column(at).data_page_offset
        content[start : start + 16] = b"\xff" * 16
    path.write_bytes(content)
    return str(path)


def test_the_first_rows_of_a_parquet_file_are_read_without_the_rest(tmp_path: Path) -> None:
    dataset = table(path=half_readable(tmp_path / "d.parquet", n=list(range(20_000))))
    assert len(dataset) == 20_000
    assert [sample.row for sample in islice(dataset, 3)] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert len(table(path=str(tmp_path / "d.parquet"), num_samples=7)) == 7
    with pytest.raises((UsageError, OSError)):
        list(dataset)


def test_a_parquet_file_is_counted_by_reading_it_where_its_metadata_does_not_say_enough(tmp_path: Path) -> None:
    numbers = list(range(20_000))
    cases: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("ids", {"n": numbers, "sample_id": numbers}, {}),
        ("filters", {"n": numbers}, {"filters": [{"op": "equals", "expression": "{{ sample.n }}", "value": 3}]}),
    ]
    for name, columns, options in cases:
        with pytest.raises((UsageError, OSError)):
            len(table(path=half_readable(tmp_path / f"{name}.parquet", **columns), **options))
    with pytest.raises(UsageError, match="column `m`"):
        len(table(path=half_readable(tmp_path / "columns.parquet", n=numbers), columns=["m"]))


@pytest.mark.parametrize(("name", "says"), [("pyarrow", r"assay-eval\[parquet\]"), ("datasets", r"assay-eval\[hub\]")])
def test_a_missing_extra_is_answered_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, says: str
) -> None:
    for module in [each for each in sys.modules if each.split(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)  # what Python itself takes for "not installed"
    dataset: Any
    if name == "pyarrow":
        dataset = table(path=written(tmp_path, "d.parquet", ""))
    else:
        dataset = Hub(repository="org/set", split="test", revision="abc")
    with pytest.raises(UsageError, match=says):
        len(dataset)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("d.jsonl", '{"a": 1}\n{"a": \n', r"d\.jsonl:2: not a JSON object"),
        ("d.jsonl", "[1]\n", r"d\.jsonl:1"),
        ("d.csv", "a,b\n1\n", r"d\.csv:2: 1 cells where the header has 2"),
        ("d.csv", "a,a\n1,2\n", "`a` is given twice"),
        ("d.csv", "", "header row"),
        ("d.csv", 'a\n"x\n', r"d\.csv:"),
        ("d.txt", "a", "ends in"),
    ],
)
def test_bad_files_are_refused_with_their_line(tmp_path: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        list(table(path=written(tmp_path, name, text)))


def test_a_list_of_objects_is_a_table(tmp_path: Path) -> None:
    path = written(tmp_path, "d.json", '[{"q": "a", "n": 1}, {"q": "b", "n": 2}, {"q": "c", "n": 3}]')
    assert rows(table(path=path)) == ROWS


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"q": 1}', r"d\.json: expected a list of objects"),
        ('[{"q": 1}, 2]', "row 2"),
        ('[{"q": 1, "q": 2}]', "q"),
        ("[", r"d\.json: "),
    ],
)
def test_json_of_another_kind_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        list(table(path=written(tmp_path, "d.json", text)))


def test_the_header_of_another_separator_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"d\.csv:1: there is one column, `q;n`.*say `separator: ';'`"):
        list(table(path=written(tmp_path, "d.csv", "q;n\na;1\n")))


class TestSheets:
    @staticmethod
    def book(folder: Path, *lines: list[Any], names: tuple[str, ...] = ("Sheet",)) -> str:
        from openpyxl import Workbook

        book = Workbook()
        book.active.title = names[0]
        for name in names[1:]:
            book.create_sheet(name)
        for line in lines:
            book[names[-1]].append(line)
        path = folder / "d.xlsx"
        book.save(path)
        return str(path)

    def test_a_formula_that_was_never_calculated_is_no_empty_cell(self, tmp_path: Path) -> None:
        assert rows(table(path=self.book(tmp_path, ["q", "n"], ["a", None]))) == [{"q": "a", "n": None}]
        book = self.book(tmp_path, ["q", "n"], ["a", "=1+1"])
        with pytest.raises(UsageError, match=r"d\.xlsx:2: the formula of `n` was never calculated"):
            rows(table(path=book))

    def test_cells_have_the_types_of_the_sheet(self, tmp_path: Path) -> None:
        lines = (["q", "n", "day"], ["a", 1, datetime(2026, 1, 2)], [None, None, None], ["b", 2.5, None])
        assert rows(table(path=self.book(tmp_path, *lines))) == [
            {"q": "a", "n": 1, "day": "2026-01-02T00:00:00"},
            {"q": "b", "n": 2.5, "day": None},
        ]

    def test_one_of_several_sheets_has_to_be_named(self, tmp_path: Path) -> None:
        path = self.book(tmp_path, ["q"], ["a"], names=("first", "second"))
        with pytest.raises(UsageError, match=r"several sheets \(first, second\); say which with `sheet`"):
            list(table(path=path))
        with pytest.raises(UsageError, match=r"unknown sheet `secnd`\. Did you mean `second`\?"):
            list(table(path=path, sheet="secnd"))
        assert rows(table(path=path, sheet="second")) == [{"q": "a"}]

    @pytest.mark.parametrize(
        ("lines", "says"),
        [
            ([["q", "q"], [1, 2]], "the column `q` is given twice"),
            ([["q"], [1, 2]], r"d\.xlsx:2: a cell lies outside of the 1 columns"),
            ([["q"], ["#DIV/0!"]], r"d\.xlsx:2: the cell of `q` holds the error #DIV/0!"),
            ([], "expected a first row with column names"),
        ],
    )
    def test_what_is_no_table_is_refused(self, tmp_path: Path, lines: list[list[Any]], says: str) -> None:
        with pytest.raises(UsageError, match=says):
            list(table(path=self.book(tmp_path, *lines)))

    def test_a_file_that_is_no_sheet_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"d\.xlsx: not an \.xlsx file"):
            list(table(path=written(tmp_path, "d.xlsx", "q,n")))


def test_options_of_another_kind_of_file_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "d.jsonl", '{"q": 1}')
    for option, value in (("separator", ";"), ("encoding", "cp1252"), ("sheet", "one")):
        with pytest.raises(UsageError, match=f"`{option}` is for"):
            table(path=path, **{option: value})
