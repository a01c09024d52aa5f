"""`assay.yaml` is read into typed fields, and what is wrong with it is said with file, line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.formats.project.reader import Project, read_project
from assay.formats.project.records import ModelPrice, ProjectDataset

WHOLE = """\
version: 1
name: shop-evals
tasks: [tasks]
exclude: ["tasks/drafts/**"]
python: [lib]
baseline: main
model: prod
judge: referee
models:
  prod: openai:gpt-4o-mini
  referee: openai:gpt-4o
  local:
    model: vllm:qwen-2.5@http://localhost:8000/v1
    label: Qwen, ours
    api_key: $OUR_KEY
    args: {reasoning_effort: low}
    settings: {temperature: 0, max_tokens: 512}
    limits: {rpm: 600, concurrency: 16}
    price: {input: 0.15, output: 0.60}
defaults: {settings: {temperature: 0}, repeat: 1, timeout: 60}
folders:
  "support/**": {owner: support, tags: [pii], repeat: 3, config: {tone: formal}}
  "support/legal/**": {judge: local, tags: ["!pii"]}
scorers: lib/scorers.yaml
datasets:
  tickets: {path: data/tickets.parquet}
  gsm8k: {hub: openai/gsm8k, split: test, revision: main}
gates: [no-significant-drop, "failed <= 1 %"]
reuse: {max_age: 14 d, sampled: false}
suites:
  smoke: {select: ["*"], where: [smoke, "!slow"], limit: 20, budget: {cost: 0.50, minutes: 5}}
  safety: {select: [safety]}
  nightly: {select: ["*"], weights: {"safety/**": 3, "support/**": 2}, gates: ["overall >= 0.82"]}
  release: {select: ["@nightly", "@safety"], model: [prod, local], budget: {cost: 40}}
  tone:
    select: [support/intent]
    matrix: {prompt: [lib/prompts/a.txt, lib/prompts/b.txt], model: [prod, local], config.tone: [formal, warm]}
    leave_out: [{model: local, config.tone: warm}]
    max_cells: 64
"""


def read(tmp_path: Path, text: str) -> Project:
    path = tmp_path / "assay.yaml"
    path.write_text(text)
    return read_project(path)


def test_every_field_of_a_project_has_its_type(tmp_path: Path) -> None:
    project = read(tmp_path, WHOLE)
    entry = project.entry
    assert (project.name, entry.tasks, entry.python, entry.baseline) == ("shop-evals", ("tasks",), ("lib",), "main")
    assert project.models["prod"].model == "openai:gpt-4o-mini"
    assert project.models["local"].price == ModelPrice(input=0.15, output=0.60)
    assert [*entry.folders] == ["support/**", "support/legal/**"]
    assert entry.folders["support/legal/**"].tags == ("!pii",)
    assert entry.datasets["gsm8k"] == ProjectDataset(hub="openai/gsm8k", split="test", revision="main")
    assert entry.reuse.max_age_seconds == 14 * 86400
    assert project.suite("nightly").weights == {"safety/**": 3, "support/**": 2}
    matrix = project.suite("tone").matrix
    assert matrix is not None
    assert [*matrix] == ["prompt", "model", "config.tone"]
    line = WHOLE[: WHOLE.index("  smoke:")].count("\n") + 1
    assert project.place(("suites", "smoke")) == f"{tmp_path}/assay.yaml:{line}"


def test_only_the_version_is_needed(tmp_path: Path) -> None:
    project = read(tmp_path, "version: 1\n")
    assert (project.name, project.entry.tasks) == (tmp_path.name, ("tasks",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version: 2", "1:1: version: must be 1"),
        ("name: x", "the project file needs the field `version`"),
        ("version: 1\nmodles: {}", "2:9: modles: unknown field of the project file. Did you mean `models`?"),
        ("version: 1\nmodels: {a: {model: x, args: {k: $FOO}}}", "`$NAME` is read only in api_key and base_url"),
        ("version: 1\nname: $FOO", "2:1: name: `$NAME` is read only in"),
        ("version: 1\nmodels: {'a:b': toy}", "a name has letters"),
        ("version: 1\nmodels: {a: b, b: a}", "models name each other: a → b → a"),
        ("version: 1\nmodels: {a: {model: x, price: {input: -1, output: 1}}}", "must be at least 0, got -1"),
        (
            "version: 1\nfolders: {'x/**': {solver: {type: a}}}",
            "into a task or its parent; folders set tags, owner, config, settings, repeat, limit, judge, weight",
        ),
        ("version: 1\ndefaults: {weight: 0}", "weights are above 0, got 0; leave tasks out with `select`"),
        ("version: 1\nsuites: {a: {select: [x], weights: {x: -1}}}", "weights are above 0"),
        ("version: 1\nsuites: {a: {select: ['@b']}, b: {select: ['@c']}, c: {select: ['@a']}}", "@a → @b → @c → @a"),
        ("version: 1\nsuites: {ab: {select: ['@abc']}}", "unknown suite `@abc`. Did you mean `@ab`?"),
        ("version: 1\nsuites: {a: {select: [x], max_cells: 3}}", "has no effect without `matrix`"),
        ("version: 1\nsuites: {a: {select: [x], matrix: {tone: [1]}}}", "unknown axis; known: model, prompt"),
        ("version: 1\nsuites: {a: {select: [x], matrix: {model: [a]}, leave_out: [{prompt: x}]}}", "is no axis of"),
        ("version: 1\nreuse: {max_age: fortnight}", "`fortnight` is not an age"),
        (
            "version: 1\ndatasets: {t: {path: a.csv, hub: b}}",
            "needs one of `path`, `hub` and `source`; got path and hub",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(tmp_path, text + "\n")
    assert message in str(refused.value)
    assert str(refused.value).startswith(f"{tmp_path}/assay.yaml:")


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        read(tmp_path, "version: 1\nmodles: {}\nsuites: {a: {select: []}}\nreuse: {sampled: 3}\n")
    assert [line.split(":")[1] for line in str(refused.value).splitlines()] == ["2", "3", "4"]
