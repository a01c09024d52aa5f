"""A really installed package publishes a part of every kind, in the groups that the page about packages lists."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.catalog import CATALOG
from assay.entry_points import group_of

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "publish-a-package.md"
FOR_BRIDGES = {"importer", "run_log", "trace_file", "final_aggregation"}
"""Kinds that join assay with a program that it has a bridge to: no name of theirs is written by a user."""
KINDS = sorted(CATALOG.keys() - FOR_BRIDGES)
PARTS = """\
import assay
from assay.pages.document import Heading, Items, Sentence, Span
from assay.stats.score_table import ScoreTable


def mine_metric(prediction, targets, extras):
    return float(prediction == "MINE")


def mine_post_process(prediction):
    return "MINE"


class MineScorer:
    def __init__(self, key):
        self.name = key

    async def __call__(self, sample, trace):
        return assay.Score(name=self.name, values={"score": float("said by mine" in trace.prediction)})


@assay.describes(assay.SolverNeeds())
class MineSolver:
    async def __call__(self, sample, model):
        completion = await model.generate(assay.Request(prompt=f"mine: {sample.row['q']}"))
        return assay.Trace(prediction=completion.text, completions=(completion,))


class MineModel:
    name = "mine"

    async def generate(self, request):
        return assay.Completion(text=f"said by mine to {request.text()}")


@assay.describes(assay.DatasetInfo())
class MineDataset:
    def __len__(self):
        return 2

    def __iter__(self):
        return (assay.Sample(id=str(n), prompt=f"q {n}", targets=("x",), row={"q": f"q {n}"}) for n in range(2))


def mine_aggregate(table, *, level):
    return [assay.Summary(name="mine", value=float(len(table)), scored=len(table))]


def mine_action(*, rule, filter, context):
    return lambda sample, trace, scores: sample.id == "0"


class MineSource:
    Options = type("Options", (__import__("msgspec").Struct,), {})

    def read(self, text, options, context):
        raise assay.UsageError(f"mine reads {text}")


class MineExecutor:
    def __init__(self, cluster):
        raise assay.UsageError(f"mine has {cluster.workers} workers")


class MineSandbox:
    def start_here(self):
        raise OSError("mine is out")

    async def aclose(self):
        pass


def mine_report_section(runs):
    return [Heading(2, "Said by mine"), Sentence(("of ", Span(runs[0].name, "code"))), Items(["<one>"])]


class MineCommand:
    def add_arguments(self, parser):
        parser.add_argument("word")
        parser.add_argument("--twice", action="store_true")

    def run(self, options):
        if options.word == "broken":
            raise ValueError("mine broke")
        print("mine says", options.word, "twice" if options.twice else "once")
        return 4


class MineListener:
    def __init__(self, *, run):
        pass
"""
TASK = """\
key: t
display_name: T
description: ""
definition:
  dataset: {key: d}
  solver: {type: mine}
  scorers:
    - {type: mine, metrics: [{type: mine}]}
    - type: metric
      metric: mine
      post_process: mine
      ground_truth: x
      metrics: [{type: mean, field: score, name: ruled}]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the package was installed by pip, from its sources and without a network."""
    folder = tmp_path_factory.mktemp("points")
    package = folder / "package"
    package.mkdir()
    (package / "mine_parts.py").write_text(PARTS)
    objects = {kind: f"Mine{kind.title()}" for kind in KINDS} | {
        kind: f"mine_{kind}" for kind in ("metric", "post_process", "aggregate", "action", "report_section")
    }
    points = "".join(
        f'[project.entry-points."{group_of(kind)}"]\nmine = "mine_parts:{objects[kind]}"\n' for kind in KINDS
    )
    (package / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "mine-parts"\nversion = "1.0"\n[tool.hatch.build]\ninclude = ["mine_parts.py"]\n' + points
    )
    options = ("--no-index", "--no-build-isolation", "--no-deps", "--quiet", "--disable-pip-version-check")
    target = folder / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(package)], check=True
    )
    return target


def python(site: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {"PYTHONPATH": ":".join([str(site), *sys.path]), "HOME": str(cwd), "PATH": "/usr/bin:/bin"}
    return subprocess.run([sys.executable, *words], cwd=cwd, env=env, capture_output=True, text=True)


def test_the_page_lists_the_group_of_every_kind() -> None:
    listed = re.findall(r"^\| `(assay\.\w+)`", PAGE.read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(map(group_of, KINDS))
    assert "assay.post_processes" in listed


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_every_kind_is_found_by_its_name(site: Path, kind: str, tmp_path: Path) -> None:
    code = (
        f"from assay import catalog; print(catalog.resolve({kind!r}, 'mine').__module__, catalog.published({kind!r}))"
    )
    assert python(site, "-c", code, cwd=tmp_path).stdout == "mine_parts ['mine']\n"


def test_tasks_use_what_the_package_publishes(site: Path, tmp_path: Path) -> None:
    sample = {"id": "1", "prompt": "p", "targets": ["t"], "metric": "mine", "post_process": "mine"}
    (tmp_path / "lines.jsonl").write_text(json.dumps(sample) + "\n")
    (tmp_path / "d.yaml").write_text("key: d\ndisplay_name: D\nsource: {type: mine}\n")
    (tmp_path / "t.yaml").write_text(TASK)
    words = ("-m", "assay", "run", "lines.jsonl", "t.yaml", "--model", "mine", "--run-dir", "run")
    assert "would run the Python `mine`" in python(site, *words, cwd=tmp_path).stderr, "a file outside a project"
    done = python(site, *words, "--trust", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines, task = json.loads((tmp_path / "run" / "leaderboard.json").read_text())["tasks"]
    assert (lines["score"], task["score"]) == (1.0, 2.0)
    assert {number["name"]: number["value"] for number in task["aggregates"]}["ruled"] == 1.0
    (tmp_path / "wrong.yaml").write_text(TASK.replace("post_process: mine", "post_process: mien"))
    refused = python(site, "-m", "assay", "validate", "wrong.yaml", cwd=tmp_path)
    assert "`mien` is not allowed here. Did you mean `mine`?" in refused.stdout
    assert "mine reads mine:x" in python(site, "-m", "assay", "run", "mine:x", cwd=tmp_path).stderr
    many = ("run", "lines.jsonl", "--executor", "mine", "--workers", "3", "--run-dir", "many")
    assert "mine has 3 workers" in python(site, "-m", "assay", *many, cwd=tmp_path).stderr


def test_a_package_adds_a_command(site: Path, tmp_path: Path) -> None:
    done = python(site, "-m", "assay", "mine", "a", "--twice", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (4, "mine says a twice\n")
    assert re.search(r"mine +a command of mine-parts", python(site, "-m", "assay", "--help", cwd=tmp_path).stdout)
    assert "--twice" in python(site, "-m", "assay", "mine", "--help", cwd=tmp_path).stdout
    broken = python(site, "-m", "assay", "mine", "broken", cwd=tmp_path)
    assert broken.returncode == 70
    assert broken.stderr == (
        "assay mine: ValueError: mine broke (a command of mine-parts; ASSAY_DEBUG=1 shows where)\n"
    )


def test_a_package_adds_a_section_to_reports(site: Path, tmp_path: Path) -> None:
    sample = {"id": "1", "prompt": "compute: 1 + 1", "targets": ["2"], "metric": "exact_match"}
    (tmp_path / "sums.jsonl").write_text(json.dumps(sample) + "\n")
    assert python(site, "-m", "assay", "run", "sums.jsonl", "--run-dir", "run", cwd=tmp_path).returncode == 0
    done = python(site, "-m", "assay", "report", "run", "--section", "mine", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "run" / "report.html").read_text()
    assert "<h2>Said by mine</h2>" in page
    assert "<p>of <code>run</code></p><ul><li>&lt;one&gt;</li></ul>" in page
    (example,) = re.findall(r"```python team_views.py\n(.+?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "team_views.py").write_text(example)
    own = python(site, "-m", "assay", "report", "run", "--section", "team_views:longest", cwd=tmp_path)
    assert own.returncode == 0, own.stderr
    assert "run: 1 characters" in (tmp_path / "run" / "report.html").read_text()
    plain = python(site, "-m", "assay", "report", "run", cwd=tmp_path)
    assert plain.returncode == 0, plain.stderr
    assert "Said by mine" not in (tmp_path / "run" / "report.html").read_text()
    unknown = python(site, "-m", "assay", "report", "run", "--section", "mein", cwd=tmp_path)
    assert "unknown section of reports `mein`. Did you mean `mine`?" in unknown.stderr


def test_what_a_package_publishes_is_shown_by_its_name_without_running_it(site: Path, tmp_path: Path) -> None:
    shown = python(site, "-m", "assay", "show", "mine", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "scorer mine   (mine_parts:MineScorer)" in shown.stdout
    assert "aggregate mine   (mine_parts:mine_aggregate)" in shown.stdout
    (package,) = site.glob("mine_parts.py")
    text = package.read_text()
    package.write_text(text + "\nraise SystemExit\n")
    assert python(site, "-m", "assay", "show", "mine", cwd=tmp_path).stdout == shown.stdout
    package.write_text(text)
