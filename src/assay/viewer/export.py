"""The static site: the same page over data files, for any web server or a file:// address."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.core.journal import DamagedError
from assay.pages.rendering.bundle import bundle
from assay.viewer import comparing, samples
from assay.viewer.api import Api, Params
from assay.viewer.page_files import page_files
from assay.viewer.query import Filters
from assay.viewer.query_rows import QueryRows
from assay.viewer.run_list import RunList, listed
from assay.viewer.run_view import RunView
from assay.viewer.selecting import wait_for_index

CHUNK_SAMPLES = 200
CHUNK_BYTES = 4 << 20
COMPARED_RUNS = 8
POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file: data:; "
    "media-src data:; "
    "base-uri 'none'; form-action 'none'"
)
MADE_BY = ".assay-site"


def export_site(roots: list[Path], folder: Path, most_samples: int) -> Path:
    """Write the site and return the file to open. A folder that holds something else is left alone.

    A run with a damaged line is refused before anything is written, and so is an unreadable one that is itself a root
    or where no other is readable; else it is named on stderr, and in the list of runs.
    """
    run_list = RunList(roots)
    views = run_list.views()
    if not views:
        raise UsageError(f"{', '.join(map(str, roots))}: no run folders here (a run folder holds a run.json)")
    for view in views:
        _refuse_damaged(view)
    lines = [listed(view) for view in views]
    unreadable = [(view, line["error"]) for view, line in zip(views, lines, strict=True) if "error" in line]
    for view, reason in unreadable:
        if view.folder in roots or len(unreadable) == len(views):
            run_list.builders.stop()
            raise UsageError(reason)
        print(f"skipped: {reason}", file=sys.stderr)
    _prepare(folder)
    data = folder / "data"
    whole = [(n, view) for n, (view, line) in enumerate(zip(views, lines, strict=True)) if "error" not in line]
    readable = [(n, view) for n, view in whole if lines[n]["kind"] == "run"]
    for number, view in whole:
        if lines[number]["kind"] == "search":
            lines[number]["file"] = f"r{number}"
            _write(data, f"r{number}", Api(run_list).run(Params([("run", view.name)])))
    for number, view in readable:
        lines[number]["file"] = f"r{number}"
        lines[number]["chunks"] = _write_run(data, f"r{number}", view, Api(run_list), most_samples)
    _write(data, "runs", {"runs": lines, "most_samples": most_samples})
    compared = readable[:COMPARED_RUNS]
    for first, view in compared:
        pairs = {
            other.name: comparing.compare_runs([view, other])["pairs"][0]
            for second, other in compared
            if second != first
        }
        _write(data, f"r{first}-compare", pairs)
    _write_charts(data, compared, Api(run_list))
    _write_page(folder)
    run_list.builders.stop()
    return folder / "index.html"


def _refuse_damaged(view: RunView) -> None:
    """What is wrong with a run otherwise is in its line of the list."""
    try:
        view.refuse_damaged()
    except DamagedError:
        raise
    except (UsageError, OSError):
        pass


def _write_charts(data: Path, compared: list[tuple[int, RunView]], api: Api) -> None:
    """Charts of every two runs, of all of them, and their histories: a static copy cannot draw others."""
    chosen = [[one, other] for one in compared for other in compared if one != other]
    if len(compared) > 2:
        chosen.append(compared)
    for runs in chosen:
        params = Params([("run", view.name) for _, view in runs])
        _write(data, f"charts-{'-'.join(f'{number}' for number, _ in runs)}", api.charts(params))
    _write(data, "history", api.history(Params([])))


def _prepare(folder: Path) -> None:
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MADE_BY).exists():
            raise UsageError(f"{folder}: is not empty and not an earlier export; choose another folder")
        shutil.rmtree(folder)
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (folder / MADE_BY).write_text("made by `assay view --export`; another export replaces this folder\n")


def _write_run(data: Path, name: str, view: RunView, api: Api, most_samples: int) -> int:
    """The run's overview, its table, and its samples in chunks; returns how many chunks."""
    params = Params([("run", view.name)])
    _wait_for_board(view)
    run = api.run(params)
    run["slices"] = {
        by: api.slices(Params([("run", view.name), ("by", by)]))
        for by in ["task", "outcome", "attempt", *(key["key"] for key in run["keys"])]
    }
    chosen = view.rows(Filters(), "order", False, []).tolist()
    run["omitted"] = max(0, len(chosen) - most_samples)
    _write(data, name, run)
    _write(data, f"{name}-charts", api.charts(params))
    _write(data, f"{name}-marks", api.marks(params))
    query_rows = QueryRows(view.snapshot(), view.schema(), view.columns([]))
    targets, answers = (view.snapshot().column(name) for name in ("targets", "answer"))
    table, chunk, size, number = [], {}, 0, 0
    for row in chosen[:most_samples]:
        shown = samples.table_rows(view, [row], [])[0]
        whole = samples.sample(view, shown["key"], whole=False)
        chunk[shown["key"]] = whole
        size += len(msgspec.json.encode(whole))
        hashes = {"targets": f"{int(targets[row]):016x}", "said": f"{int(answers[row]):016x}"}
        more = {**hashes, "fields": query_rows.row(row, view.line(row))}
        table.append({**shown, "chunk": number, **more})
        if len(chunk) >= CHUNK_SAMPLES or size >= CHUNK_BYTES:
            _write(data, f"{name}-s{number}", chunk)
            chunk, size, number = {}, 0, number + 1
    if chunk:
        _write(data, f"{name}-s{number}", chunk)
        number += 1
    _write(data, f"{name}-rows", table)
    return number


def _wait_for_board(view: RunView) -> None:
    wait_for_index(view)
    view.boards.latest(view.run_file())
    view.builders.wait()


def _write(data: Path, name: str, value: Any) -> None:
    """As a script: a page opened from a file may load scripts, but not fetch."""
    text = msgspec.json.encode(value)
    (data / f"{name}.js").write_bytes(b'assayData("' + name.encode() + b'", ' + text + b");\n")


def _write_page(folder: Path) -> None:
    files = page_files()
    page = files.pop("index.html").decode()
    modules = {name[:-3]: files.pop(name).decode() for name in list(files) if name.endswith(".js") and "/" not in name}
    (folder / "vendor").mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    setup = "window.ASSAY_STATIC = {};\nwindow.assayData = (name, value) => { window.ASSAY_STATIC[name] = value; };\n"
    (folder / "app.js").write_text(setup + bundle(modules, "main"), encoding="utf-8")
    page = page.replace('<script src="main.js" type="module"></script>', '<script src="app.js" defer></script>')
    page = page.replace("<title>", f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n<title>', 1)
    (folder / "index.html").write_text(page, encoding="utf-8")
