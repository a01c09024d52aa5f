"""The shape of the program: instant start-up, a small core, and names that are what they say."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

import assay.core
from assay import catalog
from assay.core import seams

SOURCE = Path(assay.__file__).parent
HEAVY = {"msgspec", "numpy", "aiohttp", "httptools", "yaml", "jinja2", "asyncio", "rapidfuzz", "uvloop"}


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(text_of(path))))


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from assay.cli.main import main; main([]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert HEAVY.isdisjoint(done.stderr.split())


def test_a_run_of_jsonl_tasks_imports_no_template_engine_and_no_http_client(tmp_path: Path) -> None:
    code = "import sys; from assay.cli.main import main; main(['run', '--quiet']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert {"jinja2", "aiohttp", "httptools", "assay.evaluators"}.isdisjoint(done.stderr.split())


def test_the_core_stays_small_enough_to_be_read_in_one_go() -> None:
    lines = sum(len(path.read_text().splitlines()) for path in (SOURCE / "core").glob("*.py"))
    assert lines < 2200


def test_the_core_is_listed_in_an_order_in_which_nothing_is_used_before_it_was_met() -> None:
    listed = re.findall(r"^    (\w+)  ", assay.core.__doc__ or "", re.MULTILINE)
    assert sorted(listed) == sorted(path.stem for path in (SOURCE / "core").glob("[!_]*.py"))
    for place, name in enumerate(listed):
        used = re.findall(r"^from assay\.core\.(\w+)", (SOURCE / "core" / f"{name}.py").read_text(), re.MULTILINE)
        assert not {*used} - {*listed[:place]}, name


def reached(path: Path) -> set[str]:
    return reached_in(nodes_of(path))


def reached_in(nodes: Iterable[ast.AST]) -> set[str]:
    """The dotted names that a file reaches, however it spells them: `import os as o; o.fork` reaches `os.fork`.

    With each name come those that it lies in, and `.name` for every attribute of anything.
    """
    meant: dict[str, str] = {}
    names: set[str] = set()
    used: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
            meant |= {
                each.asname or _first(each.name): each.name if each.asname else _first(each.name) for each in node.names
            }
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
            meant |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute):
            used.add(ast.unparse(node))
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[-1], ast.Constant):
            function, text = ast.unparse(node.func), str(node.args[-1].value)
            names |= {text} if function.endswith(("__import__", "import_module")) else set()
            used |= {f"{ast.unparse(node.args[0])}.{text}"} if function == "getattr" else set()
    names |= {meant[_first(each)] + each.removeprefix(_first(each)) for each in used if _first(each) in meant}
    inside = {each[: dot.start()] for each in names for dot in re.finditer(r"\.", each)}
    return names | inside | {f".{each.rpartition('.')[2]}" for each in used}


def _first(dotted: str) -> str:
    return dotted.partition(".")[0]


_OF_OS = re.compile(r"fork|forkpty|popen|system|posix_spawnp?|(spawn|exec)[lv]\w*")
STARTERS = {
    *("subprocess", "_posixsubprocess", "multiprocessing", "pty", "asyncio.subprocess", "concurrent.futures.process"),
    *(".create_subprocess_exec", "asyncio.create_subprocess_exec", ".subprocess_exec"),
    *(".create_subprocess_shell", "asyncio.create_subprocess_shell", ".subprocess_shell"),
    *(".ProcessPoolExecutor", "concurrent.futures.ProcessPoolExecutor"),
    *(f"os.{name}" for name in dir(os) if _OF_OS.fullmatch(name)),
}
"""What starts a child process. `asyncio` starts none: it loses the exit status of a process that others look at."""


def test_a_child_process_is_started_in_one_place() -> None:
    starting = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if reached(path) & STARTERS}
    # the sandbox has a launcher of its own: what it starts confines itself, and forks the children
    sandbox = {"sandbox/zygote.py", *(f"sandbox/inside/{name}.py" for name in ("child", "confine", "zygote"))}
    assert starting == {"processes/start.py", *sandbox}


FOREIGN = {
    "problem_mark problem": "an error of PyYAML",
    "verify_message pos": "an error of the standard library",
    "__doc__ __call__ __self__ __name__ __len__ __dict__ body attr": "a Python object or syntax node of anybody's",
    "sched_getaffinity pipe2 pthread_kill poll setitimer _base_executable": "a module that differs between platforms",
    "usage prompt_tokens_details prompt_tokens completion_tokens cached_tokens reasoning_content": "litellm's answer",
    "completion_tokens_details reasoning_tokens thinking_blocks logprobs content": "litellm's answer, too",
    "GLOBAL_LOGGING_WORKER _worker_task": "litellm's own logging, which not every release has",
    "response headers": "an error of somebody's HTTP client",
    "text_config model_max_length": "a configuration and a tokenizer of transformers",
    "to_json item completion trace": "a value that a template or an author's Python handed over",
    "_process alive pid": "an object that is taken apart before it was whole",
    "include_per_example": "flags that not every command has",
    "MULTIMODAL doc_to_choice _filters _metric_fn_list __module__ tolist": "a task of lm_eval's, and its values",
}
"""Whose attributes may be asked for without knowing that they are there."""


def test_what_a_part_can_do_is_known_by_its_protocol_and_never_by_a_default() -> None:
    allowed = {name for names in FOREIGN for name in names.split()}
    own = [kind for kind in vars(seams).values() if isinstance(kind, type) and kind.__module__ == seams.__name__]
    assert allowed.isdisjoint(name for kind in own for name in dir(kind) if not name.startswith("__"))
    found = {
        f"{path.relative_to(SOURCE)}: {ast.unparse(call)}"
        for path in SOURCE.rglob("*.py")
        if not {"core", "inside"}
        & {*path.relative_to(SOURCE).parts}  # `inside` is what runs in the sandbox, with no part of ours
        for call in nodes_of(path)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        if (call.func.id, len(call.args)) in (("getattr", 3), ("hasattr", 2))
        if isinstance(call.args[1], ast.Constant) and call.args[1].value not in allowed
    }
    assert not found


def test_no_factory_takes_its_context_as_anything_but_a_build_context() -> None:
    loose = re.compile(r"context: (Any|object|BuildContext \| None)")
    assert not [path for path in SOURCE.rglob("*.py") if loose.search(path.read_text())]


def test_no_two_classes_share_a_name() -> None:
    homes: dict[str, list[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.iter_child_nodes(nodes_of(path)[0]):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(path.relative_to(SOURCE).as_posix())
    assert not {name: places for name, places in homes.items() if len(places) > 1}


def test_no_type_is_called_like_a_class_of_the_core() -> None:
    """Neither is an alias in another file: a `Request`, `Usage` or `Stop` is the core's wherever one reads it."""
    words = {
        node.name
        for path in (SOURCE / "core").glob("*.py")
        for node in nodes_of(path)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }
    aliases = {
        f"{path.relative_to(SOURCE)}: {target.id}"
        for path in SOURCE.rglob("*.py")
        for node in ast.iter_child_nodes(nodes_of(path)[0])
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in words
    }
    assert not aliases


def test_no_file_has_a_name_that_says_nothing() -> None:
    vague = {"utils.py", "util.py", "helpers.py", "common.py", "misc.py"}
    assert not [path for path in SOURCE.rglob("*.py") if path.name in vague]


def test_tests_have_the_address_of_what_they_test() -> None:
    """A failing test names its module: `src/assay/a/b.py` has `tests/a/test_b.py`, for four modules in five."""
    tests = Path(__file__).parent
    modules = [path.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if not path.name.startswith("__")]
    without = sorted(str(path) for path in modules if not (tests / path.with_name(f"test_{path.name}")).exists())
    assert len(without) <= len(modules) / 5, without


def test_every_file_opens_by_saying_what_it_is_for() -> None:
    silent = [path for path in SOURCE.rglob("*.py") if not path.read_text().lstrip().startswith('"""')]
    assert not silent


def test_every_catalog_name_resolves() -> None:
    for kind, names in catalog.CATALOG.items():
        for name in names:
            assert callable(catalog.resolve(kind, name)), (kind, name)


def test_the_public_names_are_the_exported_ones() -> None:
    assert sorted(assay.__all__) == list(assay.__all__)
    for name in assay.__all__:
        assert getattr(assay, name) is not None


CHANCE = re.compile(r"p|(.*_)?p_value|.*_p|p_drop|p_of_changes")


def decides(node: ast.AST) -> bool:
    """Whether a p-value is compared with something, or a chance of error is computed from a level."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        return any(CHANCE.fullmatch(ast.unparse(side).rpartition(".")[2]) for side in (node.left, *node.comparators))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Constant):
        return node.left.value == 1 and ast.unparse(node.right).endswith("level")
    return False


def test_what_is_significant_and_how_wide_an_interval_is_are_decided_in_stats_alone() -> None:
    """Every surface asks the same evidence: none compares a p-value, nor computes with a level. `pyproject.toml` keeps
    quantiles and tests from being imported elsewhere.
    """
    deciding = {
        f"{path.relative_to(SOURCE)}: {ast.unparse(node)}"
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] not in ("stats", "models", "sandbox", "text")  # other chances
        for node in nodes_of(path)
        if decides(node)
    }
    assert not deciding


HANDS_ON_SPREADS = {"cli/score.py: .stdev", "cli/score.py: statistics.stdev"}
"""Shows how far scores of one candidate lie apart, and concludes nothing from it."""
CHANCES = re.compile(
    r"(nan)?(quantile|percentile|std|var)|erfc?|NormalDist|ppf|isf|i?cdf|i?sf|ttest\w*|bootstrap|stdev"
)
"""What other libraries call that from which intervals and tests are made."""


def computes_chance(nodes: Iterable[ast.AST]) -> set[str]:
    """Functions of numpy, scipy, the standard library or any object that give quantiles, spreads or chances."""
    return {
        name
        for name in reached_in(tuple(nodes))
        if not name.startswith("assay.")
        and (name.partition(".")[0] in ("scipy", "statsmodels") or CHANCES.fullmatch(name.rpartition(".")[2]))
    }


def test_no_surface_computes_a_quantile_or_a_chance_by_itself() -> None:
    """Under whatever name it was imported: the contract of imports sees the modules of assay alone."""
    surfaces = ("results", "pages", "runs", "optimize", "viewer", "pytest_plugin", "cli", "checking", "bridges")
    found = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] in surfaces
        for name in computes_chance(nodes_of(path))
    }
    assert not found - HANDS_ON_SPREADS


@pytest.mark.parametrize(
    "code",
    [
        "import numpy as n\nn.quantile(x, 0.9)",
        "from numpy import percentile as part\npart(x, 90)",
        "from statistics import NormalDist as Bell\nBell().inv_cdf(0.9)",
        "import math as m\nm.erf(2.0)",
        "import scipy.stats as s\ns.anything(x)",
        "def f(values):\n    return values.std()",
    ],
)
def test_a_disguise_does_not_hide_that_a_chance_is_computed(code: str) -> None:
    assert computes_chance(ast.walk(ast.parse(code)))


MONEY = re.compile(r"price|cost|money", re.IGNORECASE)
NO_MONEY = {"metrics/reading.py", "sandbox/compare.py", "scorers/assertions/assertion_list.py"}
"""Where a cost or a price is one of computing."""
HANDS_ON_PRICES = {"formats/project/aliases.py"}
"""Takes the prices that a project file says to `costs/`."""


def counts_money(nodes: Iterable[ast.AST]) -> bool:
    """Whether amounts or prices are multiplied, divided, added up or made, under whatever name they were imported."""
    nodes = tuple(nodes)
    makes = {
        "assay.costs.prices.Price",
        "assay.costs.prices.read_price_file",
        "assay.costs.spending.money_of",
        ".price",
    }
    return bool(reached_in(nodes) & makes) or any(
        MONEY.search(name.attr if isinstance(name, ast.Attribute) else name.id)
        for node in nodes
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Mult | ast.Div | ast.Add | ast.Sub)
        for operand in ((node.left, node.right) if isinstance(node, ast.BinOp) else (node.target,))
        for name in [operand]
        if isinstance(name, ast.Name | ast.Attribute)
    )


def test_what_a_reader_keeps_for_itself_is_read_by_no_one_else() -> None:
    users = {
        path.relative_to(SOURCE).parts[0]
        for path in SOURCE.rglob("*.py")
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute) and ast.unparse(node).endswith("provenance.recorded")
    }
    assert users <= {"bridges"}


KNOW_THEIR_WORDS = ("bridges/", "formats/", "catalog.py")
"""A file format knows its own words; the catalog is the table of names."""


def compared_names(path: Path) -> int:
    """How often the name of a part or of a format is compared with a literal or looked up in a table."""

    def names(node: ast.AST) -> bool:
        if isinstance(node, ast.Tuple):
            return any(map(names, node.elts))
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        return name in ("use", "format")

    def knows(node: ast.AST) -> bool:
        return (
            (isinstance(node, ast.Constant) and isinstance(node.value, str))
            or (isinstance(node, ast.Tuple | ast.List | ast.Set) and all(map(knows, node.elts)))
            or (isinstance(node, ast.Name) and node.id.isupper())
            or (isinstance(node, ast.Attribute) and node.attr.isupper())
            or (isinstance(node, ast.Subscript) and knows(node.value))
        )

    count = 0
    for node in nodes_of(path):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            count += any(map(names, sides)) and any(map(knows, sides))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            count += knows(node.func.value) and any(map(names, node.args))
        elif isinstance(node, ast.Subscript):
            count += knows(node.value) and names(node.slice)
        elif isinstance(node, ast.Match):
            count += names(node.subject)
    return count


def test_no_name_of_a_part_or_a_format_is_compared_outside_the_place_that_defines_it() -> None:
    paths = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    counts = {name: compared_names(path) for name, path in paths.items() if not name.startswith(KNOW_THEIR_WORDS)}
    assert [name for name, count in counts.items() if count] == []


@pytest.mark.parametrize(
    "code",
    [
        "part.use == 'mean'",
        "use in ('a', 'b')",
        "definition.format not in _WORDS",
        "part.use in catalog.CATALOG['scorer']",
        "TABLE.get(part.use, 1)",
        "TABLE[part.use]",
        "(part.use, name) in TABLE",
        "match part.use:\n    case 'a': pass",
    ],
)
def test_a_disguise_does_not_hide_that_a_name_is_compared(code: str, tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text(code)
    assert compared_names(path) == 1


def test_money_is_counted_in_one_place() -> None:
    """Whoever needs an amount asks `costs/`: nobody else multiplies tokens by a price or reads a price file."""
    places = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if counts_money(nodes_of(path))}
    assert {place.partition("/")[0] for place in places - NO_MONEY - HANDS_ON_PRICES} == {"costs"}


@pytest.mark.parametrize(
    "code",
    [
        "spent = usage.tokens_in * price_in / 1e6",
        "total_cost += row.cost",
        "whole = cost.amount * 2 + judge_cost",
        "from assay.costs.prices import Price as P\nP(input=1, output=2)",
        "from assay.costs import prices\nprices.read_price_file(path)",
        "amount = quote.price.input",
    ],
)
def test_a_disguise_does_not_hide_that_money_is_counted(code: str) -> None:
    assert counts_money(ast.walk(ast.parse(code)))


CLIENTS = {
    *("aiohttp", "httptools", "httpx", "requests", "urllib3", "pycurl", "websockets", "urllib.request", "http.client"),
    *("asyncio.open_connection", "asyncio.open_unix_connection", "socket.create_connection"),
    *(".open_connection", ".open_unix_connection", ".create_connection", ".sock_connect", ".urlopen"),
}
"""What speaks HTTP, or opens a connection to speak it over."""


def test_http_is_spoken_in_one_place() -> None:
    """Models and evaluators send through `transport/`; the other modules that know HTTP are servers."""
    places = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py") if reached(path) & CLIENTS}
    servers = {"models/embedded/server.py", "models/embedded/event_stream.py"}
    # which only asks whether a cluster listens
    clients = places - servers - {"runs/ray_cluster.py"}
    assert {place.partition("/")[0] for place in clients} == {"transport"}
    assert "transport/client.py" in clients  # which opens the connection


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (STARTERS, "import os, subprocess"),
        (STARTERS, "if True: import subprocess"),
        (STARTERS, "def start():\n\timport subprocess as s"),
        (STARTERS, "from subprocess import Popen as Start"),
        (STARTERS, "import multiprocessing.pool"),
        (STARTERS, "from asyncio import subprocess"),
        (STARTERS, "import asyncio as a\na.create_subprocess_exec('x')"),
        (STARTERS, "asyncio.get_running_loop().subprocess_exec(None, 'x')"),
        (STARTERS, "import concurrent.futures as f\nf.ProcessPoolExecutor()"),
        (STARTERS, "from os import system\nsystem('x')"),
        (STARTERS, "import os as o\nrun = o.popen"),
        (STARTERS, "import os\ngetattr(os, 'fork')()"),
        (STARTERS, "__import__('subprocess').run('x')"),
        (STARTERS, "import importlib\nimportlib.import_module('_posixsubprocess')"),
        (CLIENTS, "import json, aiohttp"),
        (CLIENTS, "from urllib import request"),
        (CLIENTS, "import urllib.request as r"),
        (CLIENTS, "from http import client"),
        (CLIENTS, "import asyncio as a\na.open_connection('x', 80)"),
        (CLIENTS, "loop.create_connection(P, 'x', 80)"),
        (CLIENTS, "from importlib import import_module\nimport_module('httpx')"),
    ],
)
def test_a_disguise_does_not_hide_what_a_file_reaches(names: set[str], code: str) -> None:
    assert reached_in(ast.walk(ast.parse(code))) & names


def test_what_a_file_does_not_reach_is_not_found() -> None:
    harmless = "import os.path, asyncio\nfrom urllib.parse import quote\nfrom http import HTTPStatus\nos.getcwd()"
    assert not reached_in(ast.walk(ast.parse(harmless))) & (STARTERS | CLIENTS)


def users_of(*names: str) -> dict[str, set[str]]:
    """Where each of these names of ours is imported, or used through its module, below `src/assay/`."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for path in SOURCE.rglob("*.py"):
        ours = {each.rpartition(".")[2] for each in reached(path) if each.startswith("assay.")}
        for name in ours & {*names}:
            found[name].add(path.relative_to(SOURCE).as_posix())
    return found


def test_a_run_is_put_together_in_one_place() -> None:
    here = {"runs/assemble.py"}
    assert users_of("build_task", "build_solver", "start_scorers", "attempts_in_flight", "placed") == {
        "build_task": here,
        "build_solver": {"runs/preview.py"},  # which shows requests, and answers none
        "start_scorers": here | {"checking/task_check.py"},  # which says what cannot be started
        "attempts_in_flight": here,
        "placed": {"tasks/built_tasks.py"},
    }
    # a dry run asks models that only record
    assert users_of("ModelPool")["ModelPool"] == here | {"runs/later/dry_run.py"}


def test_everybody_who_runs_scores_estimates_checks_or_searches_has_it_put_together_there() -> None:
    doors = users_of("assemble", "assemble_tasks", "preview", "preview_sample", "Parts")
    through = {place for places in doors.values() for place in places}
    assert {
        *(f"runs/{name}.py" for name in ("evaluate", "shards", "driver", "worker", "later/rescore", "later/dry_run")),
        *(f"cli/{name}.py" for name in ("check", "show")),
        "optimize/task_fitness.py",
    } <= through


def test_a_run_folder_is_written_in_one_place() -> None:
    writers = [path for path in SOURCE.rglob("*.py") if re.search(r"write\w*\([^)\n]*run\.json", path.read_text())]
    assert [path.relative_to(SOURCE).as_posix() for path in writers] == ["runs/folder.py"]
    assert users_of("write_report")["write_report"] == {"runs/finish.py"}


def test_the_tree_that_is_described_is_the_tree_there_is() -> None:
    text = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text()
    table = text.partition("## The tree")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    described = [name.strip("/") for row in rows for name in re.findall(r"`([^`]+)`", row)]
    there = [
        path.name
        for path in SOURCE.iterdir()
        if path.name[0] != "_" and (path.suffix == ".py" or (path / "__init__.py").exists())
    ]
    assert sorted(described) == sorted(there)
