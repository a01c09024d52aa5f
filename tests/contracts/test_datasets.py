"""Every dataset reader of the catalog keeps the contract of a dataset."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from assay.catalog import CATALOG, dataset_info, make
from assay.core.describe import DatasetInfo
from assay.datasets.json_lines import file_sha256
from assay.datasets.remote import DOWNLOADS
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.tasks.built_tasks import FirstSamples
from assay.tasks.load import load_tasks
from assay.testing import check_dataset

ROWS = [{"q": f"question {n}", "n": n, "sample_id": f"s{n}"} for n in range(12)]
EXAMPLES = [{"id": str(n), "prompt": f"p {n}", "targets": [str(n)], "metric": "exact_match"} for n in range(12)]
LOGS = Path(__file__).parents[1] / "bridges" / "inspect" / "logs"
SPEC = {
    "category": "arithmetic", "prompt": "compute: 1 + 1", "targets": ["2"], "metric_name": "exact_match",
    "post_process": "strip_whitespace",
}  # fmt: skip


def lines(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def table_of(tmp_path: Path) -> list[dict[str, Any]]:
    path = lines(tmp_path / "rows.jsonl", ROWS)
    csv = tmp_path / "rows.csv"
    csv.write_text("q,n\r\n" + "".join(f'"a ""quoted"" {n}\nline",{n}\r\n' for n in range(12)), encoding="utf-8")
    tsv = tmp_path / "rows.tsv"
    tsv.write_text("q\tn\n" + "".join(f"question {n}\t{n}\n" for n in range(12)), encoding="utf-8")
    return [
        {"path": path},
        {"path": path, "columns": ["q"], "num_samples": 5},
        {"path": path, "filters": [{"op": "not_equals", "expression": "{{ sample.n }}", "value": 3}], "num_samples": 4},
        {"path": path, "num_samples": 5, "subsampling": "random", "seed": 7},
        {"path": str(csv)},
        {"path": str(tsv)},
    ]


def kept_download(folder: Path) -> str:
    """The sha256 of a file that was fetched before, so that no server is called for it."""
    path = Path(lines(folder / "rows.jsonl", ROWS))
    sha256 = file_sha256(path)
    DOWNLOADS.mkdir(parents=True)
    (DOWNLOADS / f"{sha256}.jsonl").write_bytes(path.read_bytes())
    return sha256


def texts(folder: Path) -> Path:
    folder.mkdir()
    for n in range(12):
        (folder / f"{n}.md").write_text(f"---\nn: {n}\n---\ntext {n}", encoding="utf-8")
    return folder


def promptfoo_config(path: Path) -> str:
    tests = [{"vars": {"q": f"question {n}"}, "assert": [{"type": "contains", "value": str(n)}]} for n in range(12)]
    path.write_text(json.dumps({"prompts": ["{{q}}"], "providers": ["echo"], "tests": tests}), encoding="utf-8")
    return str(path)


def finished_run(folder: Path) -> Path:
    path = lines(folder.with_name("task.jsonl"), EXAMPLES)
    run_evaluation(load_tasks([path]), RunConfig(), folder=folder)
    return folder


DATASETS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    "spec_file": lambda folder: [
        {
            "path": lines(folder / "spec.jsonl", [{**SPEC, "task_id": f"t{n}"} for n in range(12)]),
            "category": "arithmetic",
        }
    ],
    "task_folder": lambda folder: [{"path": lines(folder / "task.jsonl", EXAMPLES)}, {"examples": EXAMPLES}],
    "table": table_of,
    "inline": lambda folder: [{"samples": ROWS}, {"samples": ROWS, "num_samples": 3, "subsampling": "random"}],
    "url": lambda folder: [{"url": "http://127.0.0.1:9/rows.jsonl", "sha256": kept_download(folder)}],
    "folder": lambda folder: [
        {"path": str(texts(folder / "texts"))},
        {"path": str(texts(folder / "more")), "extension": ".md"},
    ],
    "task_result": lambda folder: [{"path": str(finished_run(folder / "run"))}],
    "traces": lambda folder: [
        {
            "path": lines(
                folder / "chats.jsonl", [{"messages": [{"role": "user", "content": str(n)}]} for n in range(12)]
            )
        }
    ],
    "joined": lambda folder: [
        {"parts": {name: {"use": "inline", "options": {"samples": ROWS}} for name in ("a", "b")}},
        {"parts": {name: {"use": "inline", "options": {"samples": ROWS}} for name in ("a", "b")}, "num_samples": 5},
    ],
    "generated": lambda folder: [{"path": lines(folder / "made.jsonl", ROWS), "recipe": {"steps": []}}],
    "lm_eval": lambda folder: [
        {
            "path": lines(folder / "built.jsonl", [{"id": str(n), "prompt": f"p {n}"} for n in range(12)]),
            "size": 12,
            "sha256": file_sha256(folder / "built.jsonl"),
        }
    ],
    "built": lambda folder: [
        {
            "path": lines(folder / "samples.jsonl", [{"id": str(n), "prompt": f"p {n}"} for n in range(12)]),
            "size": 12,
            "sha256": file_sha256(folder / "samples.jsonl"),
        }
    ],
    "openai_evals": lambda folder: [
        {
            "path": lines(folder / "evals.jsonl", [{"input": f"q {n}", "ideal": str(n)} for n in range(12)]),
            "kind": "match",
        },
        {"path": lines(folder / "graded.jsonl", ROWS), "kind": "model_graded"},
    ],
    "openai_evals_multiple_choice": lambda folder: [
        {
            "key": "facts.val.v0",
            "repository": "hendrycks_test",
            "split": "validation",
            "path": lines(
                folder / "facts.jsonl", [{"question": f"q {n}", "choices": ["a", "b"], "answer": 1} for n in range(12)]
            ),
        }
    ],
    "inspect_log": lambda folder: [{"path": str(LOGS / f"{name}.json")} for name in ("epochs", "tools")],
    "promptfoo": lambda folder: [{"path": promptfoo_config(folder / "promptfooconfig.yaml")}],
    "hub": lambda folder: [{"repository": "someone/rows", "split": "test", "revision": "abc"}],
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's own library, with rows of ours behind it: what it would fetch cannot be had here."""
    library = ModuleType("datasets")
    library.disable_progress_bars = lambda: None  # type: ignore[attr-defined]
    library.load_dataset = lambda path, **how: list(ROWS)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", library)


def test_every_dataset_reader_of_the_catalog_is_checked_against_the_contract() -> None:
    no_rows = {"awaited_result"}  # stands for rows that are not there yet
    assert {*DATASETS} == {*CATALOG["dataset"]} - no_rows


@pytest.mark.parametrize("name", CATALOG["dataset"])
def test_every_dataset_reader_of_the_catalog_says_what_it_reads(name: str) -> None:
    assert isinstance(dataset_info(name, {}), DatasetInfo)


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("name", DATASETS)
def test_it_keeps_the_contract_of_a_dataset(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for options in DATASETS[name](tmp_path):
        check_dataset(lambda options=options: make("dataset", name, options))
        check_dataset(lambda options=options: FirstSamples(make("dataset", name, options), 4))


def test_a_parquet_file_keeps_the_contract_of_a_dataset(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="the parquet extra is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "rows.parquet")
    check_dataset(lambda: make("dataset", "table", {"path": str(tmp_path / "rows.parquet")}))
