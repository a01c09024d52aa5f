"""The tests of a configuration: tables, scenarios, variables, programs that make them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.bridges.promptfoo.promptfoo_source import read_promptfoo
from assay.core.errors import UsageError
from assay.tasks.built_tasks import build_dataset


def rows(folder: Path, config: str, **files: str) -> list[dict[str, Any]]:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    path = folder / "promptfooconfig.yaml"
    path.write_text("prompts: [x]\nproviders: [echo]\n" + config)
    (task,) = read_promptfoo(path, trust=True)
    return [sample.row or {} for sample in build_dataset(task)]


def test_only_lists_of_texts_are_taken_one_by_one(tmp_path: Path) -> None:
    config = "tests: [{vars: {a: [x, y], b: [1, 2]}}, {vars: {a: [x, y]}, options: {disableVarExpansion: true}}]"
    assert rows(tmp_path, config) == [{"a": "x", "b": [1, 2]}, {"a": "y", "b": [1, 2]}, {"a": ["x", "y"]}]


@pytest.mark.skipif(shutil.which("node") is None, reason="JavaScript needs node")
def test_programs_make_tests_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    found = rows(
        tmp_path,
        "tests:\n  - file://gen.py:make\n  - {path: file://gen.mjs, config: {n: 3}}\n"
        "  - {vars: {w: file://var.py}}\n  - {vars: {w: 1}, options: {transformVars: '({w: vars.w + 1})'}}\n",
        gen__py="def make():\n    return [{'vars': {'w': 'py'}}]\n",
        gen__mjs="export default ({ n }) => [{ vars: { w: `js${n}` } }];\n",
        var__py="def get_var(name, prompt, others):\n    return {'output': name + '!'}\n",
    )
    assert found == [{"w": "py"}, {"w": "js3"}, {"w": "w!"}, {"w": 2}]


@pytest.mark.parametrize(
    ("config", "files", "said"),
    [
        ("tests: file://t.csv", {"t__csv": "a,b\n1\n"}, "t.csv:2:1: the row has a different number of columns"),
        ("tests: file://t.csv", {"t__csv": "a,__what\n1,2\n"}, "the column `__what` is not supported"),
        ("tests: file://t.csv", {"t__csv": 'a,__expected\n1,"contains-any: ""x"\n'}, "the quotes in"),
        ("tests: file://t.jsonl", {"t__jsonl": "{}\n{\n"}, "t.jsonl:2:1: not JSON"),
        ("tests: file://gone.yaml", {}, "there is no such file"),
        ("tests: huggingface://datasets/x", {}, "`huggingface://` tests are not supported"),
        ("tests: file://gen.py", {"gen__py": "def generate_tests():\n    1 / 0\n"}, "ZeroDivisionError"),
        ("tests: [{vars: {a: '{{env.SECRET}}'}}]", {}, "`SECRET` of the environment"),
        ("tests: [{vars: {}, threshold: high}]", {}, "a threshold is a number"),
    ],
)
def test_a_bad_test_is_named(tmp_path: Path, config: str, files: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        rows(tmp_path, config, **files)
    assert said in str(refused.value)
