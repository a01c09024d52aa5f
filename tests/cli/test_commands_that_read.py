"""`list`, `show`, `validate`, `diff`, `view`, `report`, `leaderboard`, `export`, `verify`, `trust --show`: only read.

Every file here leaves a mark when something of it is imported, started or connected to: in the project as well as
outside of it, in a task, a model file, a run folder, or a module that is called like one of ours.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay

import assay as package

MARKING = "open({mark!r}, 'a').write(__name__ + ' ')\n"
SHADOWED = (
    *("numpy", "json", "rapidfuzz", "subprocess", "yaml", "jinja2", "msgspec", "aiohttp", "random", "token", "queue"),
    *("datasets", "httptools", "pip", "evil", "http", "logging", "statistics", "sqlite3"),
)
"""Modules of the standard library, of ours and of nobody's, each of which lies in the folder the command runs in."""

YAML = """\
key: {key}
display_name: T
description: ""
definition:
  dataset: {{key: d}}
  solver: {{type: python, run_solver_snippet: "{snippet}"}}
  scorers:
    - {{type: evaluator, key: program, command: [touch, "{mark}"]}}
    - {{type: evaluator, key: service, url: "{url}"}}
    - {{type: labeler_via_model, key: judge, model_key: j, user_prompt: "{{{{ sample.a }}}}"}}
    - {{type: python, key: own, compute_scores_snippet: "{snippet}"}}
"""


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, list[str]]]:
    """A port of this machine, and who called on it."""
    callers: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                callers.append("somebody connected")
                connection.close()

        threading.Thread(target=listen, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1", callers
        server.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory, address: tuple[str, list[str]]) -> Path:
    """For what leaves no mark and no file."""
    return make_trap(tmp_path_factory.mktemp("trap"), address[0])


@pytest.fixture
def trap_of_its_own(tmp_path: Path, address: tuple[str, list[str]]) -> Path:
    return make_trap(tmp_path, address[0])


def make_trap(root: Path, url: str) -> Path:
    """A project and a downloads folder, both full of files that leave `marks` when something of them runs."""
    mark = str(root / "marks")
    for place in ("project", "downloads"):
        folder = root / place
        folder.mkdir()
        for name in SHADOWED:
            (folder / f"{name}.py").write_text(MARKING.format(mark=mark))
        line = {"id": "1", "prompt": "write: x", "targets": ["x"], "metric": "evil:metric"}
        (folder / "own_metric.jsonl").write_text(json.dumps(line) + "\n")
        line = {**line, "metric": "evaluator", "extras": {"evaluator": {"command": ["touch", mark]}}}
        (folder / "program.jsonl").write_text(json.dumps(line) + "\n")
        line = {**line, "extras": {"evaluator": {"url": url}}}
        (folder / "service.jsonl").write_text(json.dumps(line) + "\n")
        marks = f"open({mark!r}, 'a').write('snippet')"
        snippet = (
            f"{marks}\\nasync def run_solver(sample, model, trace): return 'x'"
            "\\ndef compute_scores(sample, solver_output): return {'score': 1.0}"
        )
        (folder / "task.yaml").write_text(YAML.format(key="t", snippet=snippet, mark=mark, url=url))
        (folder / "hub.yaml").write_text(
            'key: h\ndisplay_name: H\ndescription: ""\ndefinition:\n  dataset: {key: far}\n'
            "  scorers: [{type: string_equals, ground_truth: x, value: y}]\n"
        )
        (folder / "far.yaml").write_text(
            "key: far\ndisplay_name: F\nsource: {type: huggingface, path: a/b, split: test, revision: abc}\n"
        )
        (folder / "j.yaml").write_text(
            "key: j\ndisplay_name: J\nconfig: {connection_type: assay, model: 'evil:judge'}\n"
        )
        (folder / "d.jsonl").write_text('{"a": 1}\n')
        run = folder / "run"
        assert assay("run", "starter", "--limit", "1", "--run-dir", run, cwd=root).returncode == 0
        described = json.loads((run / "run.json").read_text())
        for definition in described["definitions"]:
            definition["dataset"] = {"use": "evil:dataset", "options": {}, "sha256": "x", "size": 1}
            definition["solver"]["use"] = "evil:solver"
            definition["scorers"][0]["use"] = "evil:scorer"
            definition["metadata"] = {"model": {"model": "evil:model", "options": {}}}
        (run / "run.json").write_text(json.dumps(described))
        evil = folder / "evil_run"
        assert assay("run", "starter", "--limit", "1", "--run-dir", evil, cwd=root).returncode == 0
        for definition in described["definitions"]:
            definition["aggregates"][0]["use"] = "evil:aggregate"
        (evil / "run.json").write_text(json.dumps(described))
    return root


FILES = ("own_metric.jsonl", "program.jsonl", "service.jsonl", "task.yaml", "hub.yaml", "j.yaml")
COMMANDS = [
    ("list",),
    *(("list", kind) for kind in ("metrics", "scorers", "solvers", "models", "datasets", "aggregates")),
    ("show", "exact_match"),
    ("show", "evil:metric"),
    ("show", "numpy:array"),
    *((verb, f"{place}/{name}") for verb in ("list", "show", "validate") for place in ("", "OUT") for name in FILES),
    *(("trust", "--show", f"{place}/{name}") for place in ("", "OUT") for name in FILES),
    *(
        (*command, f"{place}/{run}")
        for command in (("show",), ("report",), ("leaderboard",), ("view", "--export", "site"), ("trust", "--show"))
        for place in ("", "OUT")
        for run in ("run", "evil_run")
    ),
    ("export", "/run", "OUT/evil_run"),
    ("export", "/evil_run", "OUT/run", "--rows", "tasks"),
    ("diff", "/run", "OUT/evil_run"),
    ("diff", "/evil_run", "OUT/run"),
    ("verify", "/run", "/own_metric.jsonl"),
    ("verify", "OUT/evil_run", "OUT/task.yaml", "OUT/hub.yaml"),
    ("schema",),
    ("--help",),
]


@pytest.mark.timeout(900)  # some eighty commands
def test_no_command_that_reads_imports_starts_or_connects_whatever_it_is_pointed_at(
    trap: Path, address: tuple[str, list[str]]
) -> None:
    project, downloads = trap / "project", trap / "downloads"
    for command in COMMANDS:
        words = [word.replace("OUT/", f"{downloads}/") if "OUT" in word else word.removeprefix("/") for word in command]
        done = assay(*words, cwd=project)
        assert done.returncode in (0, 1, 2, 3), (command, done.stderr)
        assert "Traceback" not in done.stderr, (command, done.stderr)
        assert not (trap / "marks").exists(), (command, (trap / "marks").read_text())
        assert address[1] == [], command


def test_the_traps_are_live(trap_of_its_own: Path, address: tuple[str, list[str]]) -> None:
    done = assay("run", "own_metric.jsonl", cwd=trap_of_its_own / "project")
    assert "evil" in (trap_of_its_own / "marks").read_text(), done.stderr
    assay("run", "service.jsonl", cwd=trap_of_its_own / "project")
    assert address[1]
    address[1].clear()


@pytest.mark.parametrize("name", FILES[:4])
@pytest.mark.parametrize("verb", ["check", "run"])
def test_no_file_from_elsewhere_runs_or_connects_without_the_users_consent(
    trap: Path, address: tuple[str, list[str]], verb: str, name: str
) -> None:
    done = assay(verb, trap / "downloads" / name, cwd=trap / "project")
    assert done.returncode == 2
    assert "--trust" in done.stderr
    assert "assay trust" in done.stderr
    assert not (trap / "marks").exists()
    assert address[1] == []
    assert not (trap / "project" / "runs").exists()


@pytest.mark.parametrize("run", ["run", "evil_run"])
def test_a_downloaded_run_folder_runs_nothing_when_it_is_rescored_or_merged(trap_of_its_own: Path, run: str) -> None:
    folder = trap_of_its_own / "downloads" / run
    assert assay("rescore", folder, "--run-dir", "again", cwd=trap_of_its_own / "project").returncode == 2
    for words in (("rescore", folder, "--run-dir", "again"), ("merge", folder)):
        done = assay(*words, cwd=trap_of_its_own / "project")
        assert "Traceback" not in done.stderr
        assert not (trap_of_its_own / "marks").exists()


def test_the_package_itself_imports_nothing_from_the_folder_it_is_called_in(trap_of_its_own: Path) -> None:
    assert Path(package.__file__).is_file()
    for words in (("run",), ("check", "starter"), ("run", "starter", "--model", "stub:x", "--score-workers", "2")):
        done = assay(*words, "--quiet" if words[0] == "run" else "--json", cwd=trap_of_its_own / "project")
        assert done.returncode in (0, 3), done.stderr
        assert not (trap_of_its_own / "marks").exists(), (words, (trap_of_its_own / "marks").read_text())
