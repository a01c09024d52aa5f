"""Row datasets: what is read, kept, named and refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.datasets.hub import Hub
from assay.datasets.inline import Inline
from assay.datasets.tables import table

ROWS = [{"q": "a", "n": 1}, {"q": "b", "n": 2}, {"q": "c", "n": 3}]


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def rows(dataset: Any) -> list[dict[str, Any] | None]:
    return [sample.row for sample in dataset]


def test_json_lines_skip_blank_lines_and_leave_absent_columns_absent(tmp_path: Path) -> None:
    dataset = table(path=written(tmp_path, "d.jsonl", '{"a": 1, "b": null}\n\n  \n{"a": "x"}\n'))
    assert rows(dataset) == [{"a": 1, "b": None}, {"a": "x"}]
    assert [sample.id for sample in dataset] == ["0", "1"]
    assert len(dataset) == 2


def test_csv_cells_are_text_and_blanks_are_empty(tmp_path: Path) -> None:
    dataset = table(path=written(tmp_path, "d.csv", '\ufeffa,b\n1,"x, ""y""\nz"\n,\n'))
    assert rows(dataset) == [{"a": "1", "b": 'x, "y"\nz'}, {"a": "", "b": ""}]


def test_tsv(tmp_path: Path) -> None:
    assert rows(table(path=written(tmp_path, "d.tsv", "a\tb\n1\t2,3\n"))) == [{"a": "1", "b": "2,3"}]


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="the parquet extra is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "d.parquet")
    dataset = table(path=str(tmp_path / "d.parquet"), columns=["n"])
    assert rows(dataset) == [{"n": 1}, {"n": 2}, {"n": 3}]
    with pytest.raises(UsageError, match="not a Parquet file"):
        len(table(path=written(tmp_path, "bad.parquet", "no")))


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


def test_a_hub_dataset_is_pinned_and_runs_no_code() -> None:
    with pytest.raises(UsageError, match="give a `revision`"):
        Hub(repository="org/set", split="test")
    with pytest.raises(UsageError, match="trust_remote_code"):
        Hub(repository="org/set", split="test", revision="abc", load_dataset_kwargs={"trust_remote_code": True})
    assert (
        Hub(repository="o/s", split="a", revision="x").sha256 != Hub(repository="o/s", split="a", revision="y").sha256
    )


def test_filters_are_combined_and_ids_stay_positions_in_the_source() -> None:
    dataset = Inline(
        samples=ROWS,
        filters=[
            {"op": "greater_than", "expression": "{{ sample.n }}", "value": 1},
            {"op": "not_equals", "expression": "{{ q }}", "value": "b"},
        ],
    )
    assert [(sample.id, sample.row) for sample in dataset] == [("2", {"q": "c", "n": 3})]
    assert len(dataset) == 1


def test_a_filter_on_a_missing_column_names_dataset_filter_and_row() -> None:
    dataset = Inline(samples=ROWS, name="d", filters=[{"op": "equals", "expression": "{{ sample.x }}", "value": 1}])
    with pytest.raises(UsageError, match=r"dataset `d`: filters\[0\].*`x`.*row 1"):
        len(dataset)


def test_columns_are_selected_and_must_exist() -> None:
    assert rows(Inline(samples=ROWS, columns=["q"]))[0] == {"q": "a"}
    with pytest.raises(UsageError, match="unknown column `qq`"):
        rows(Inline(samples=ROWS, columns=["qq"]))


def test_a_sample_id_column_names_samples_once() -> None:
    dataset = Inline(samples=[{"sample_id": 7, "q": "a"}, {"sample_id": "x", "q": "b"}], columns=["q"])
    assert [sample.id for sample in dataset] == ["7", "x"]
    with pytest.raises(UsageError, match="given twice"):
        list(Inline(samples=[{"sample_id": 7}, {"sample_id": "7"}]))


def test_subsamples_are_the_head_or_a_fixed_choice() -> None:
    many = [{"n": n} for n in range(50)]
    assert [sample.id for sample in Inline(samples=many, num_samples=3)] == ["0", "1", "2"]
    chosen = [s.id for s in Inline(samples=many, num_samples=10, subsampling="random")]
    assert chosen == [s.id for s in Inline(samples=many, num_samples=10, subsampling="random")]
    assert len(set(chosen)) == 10
    assert chosen == sorted(chosen, key=int)
    assert chosen != [str(n) for n in range(10)]
    assert len(Inline(samples=many, num_samples=99, subsampling="random")) == 50


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


def test_the_hash_follows_the_content(tmp_path: Path) -> None:
    first = table(path=written(tmp_path, "a.jsonl", '{"a": 1}\n')).sha256
    assert table(path=written(tmp_path, "b.jsonl", '{"a": 1}\n')).sha256 == first
    assert table(path=written(tmp_path, "b.jsonl", '{"a": 2}\n')).sha256 != first
    assert Inline(samples=ROWS).sha256 != Inline(samples=ROWS[:1]).sha256
