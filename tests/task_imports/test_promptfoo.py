"""promptfoo configurations are asked and checked here as they are there, by promptfoo's own answers.

`cases/promptfoo/answers.json` is what promptfoo 0.121.20 with the provider `echo` says to the files beside it;
where that program is installed (`PROMPTFOO` names its command), it is asked again. Record anew with
`python -m tests.task_imports.test_promptfoo`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from assay.cli.main import main
from assay.core.errors import UsageError
from assay.scorers.assertion_list import holds
from assay.task_imports.promptfoo import import_promptfoo

CASES = Path(__file__).parent / "cases" / "promptfoo"
COMMAND = shutil.which(os.environ.get("PROMPTFOO", "promptfoo"))


def recorded() -> dict[str, Any]:
    answers: dict[str, Any] = json.loads((CASES / "answers.json").read_text())
    return answers


def test_every_assertion_is_answered_as_promptfoo_answers_it() -> None:
    found = import_promptfoo(CASES / "assertions.yaml")
    (rows,) = found.tasks.values()
    answers = [[holds(row["prompt"], each) for each in row["extras"]["assertions"]] for row in rows]
    assert answers == recorded()["assertions"]
    assert not found.losses


@pytest.mark.skipif(COMMAND is None, reason="promptfoo is not installed (PROMPTFOO names its command)")
def test_what_promptfoo_says_is_what_was_recorded() -> None:
    assert recording() == recorded()


def recording() -> dict[str, Any]:
    checked, asked = (ask_promptfoo(CASES / name) for name in ("assertions.yaml", "prompts.yaml"))
    return {
        "assertions": [[part["pass"] for part in each["gradingResult"]["componentResults"]] for each in checked],
        "prompts": [
            each["response"]["output"] for each in sorted(asked, key=lambda each: (each["promptIdx"], each["testIdx"]))
        ],
    }


def ask_promptfoo(config: Path) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out.json"
        quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": name}
        subprocess.run(
            [str(COMMAND), "eval", "-c", str(config), "-o", str(out), "--no-cache", "--no-table", "--no-progress-bar"],
            env={**os.environ, **quiet},
            check=False,  # a failed assertion is a failed command
            stdout=subprocess.DEVNULL,
        )
        results: list[dict[str, Any]] = json.loads(out.read_text())["results"]["results"]
    return sorted(results, key=lambda each: (each["testIdx"], each["promptIdx"]))


ONE = "prompts: ['{{q}}']\ntests: [{vars: {q: a}, assert: [{type: equals, value: a}]}]\n"


@pytest.mark.parametrize(
    ("config", "loss"),
    [
        (ONE.replace("equals", "llm-rubric"), "scoring: test 1: assertion llm-rubric"),
        (ONE.replace("equals, value: a", "equals, value: file://x"), "scoring: test 1: assertion equals: its value is"),
        (ONE.replace("equals, value: a", "equals, value: a, transform: x"), "assertion equals: transform"),
        (ONE.replace("equals, value: a", "is-json, value: {$ref: '#/a'}"), "its schema cannot be checked here: `$ref`"),
        (ONE.replace("equals, value: a", "regex, value: '('"), "scoring: test 1: assertion regex: bad regular"),
        (ONE.replace("vars", "threshold: 0.5, vars"), "scoring: test 1: threshold"),
        (ONE.replace("q: a", "q: file://a.txt"), "prompt: test 1: vars.q: a value from another file"),
        (ONE.replace("['{{q}}']", "[file://p.js, '{{q}}']"), "prompt: prompt file://p.js"),
        (ONE.replace("['{{q}}']", "[p.py, '{{q}}']"), "prompt: prompt p.py"),
        (ONE + "defaultTest: {options: {transform: x}}\n", "scoring: defaultTest: options"),
        (ONE + "nunjucksFilters: {f: f.js}\n", "prompt: nunjucksFilters"),
        (ONE.replace("tests: [", "tests: [file://more.csv, "), "documents: test 1: `file://more.csv`"),
        (ONE.replace("tests: [", "tests: [{vars: {q: b}}, "), "documents: test 1: has no assertion"),
    ],
)
def test_what_would_measure_something_else_is_a_loss(tmp_path: Path, config: str, loss: str) -> None:
    (tmp_path / "config.yaml").write_text(config)
    losses = import_promptfoo(tmp_path / "config.yaml").losses
    assert loss in losses[0]
    assert main(["import", "promptfoo", str(tmp_path / "config.yaml"), "--out", str(tmp_path / "out")]) == 2
    assert not (tmp_path / "out").exists()


def test_a_default_test_elsewhere_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(ONE + "defaultTest: file://gone.yaml\n")
    with pytest.raises(UsageError, match=r"defaultTest: `file://gone.yaml`: only YAML files"):
        import_promptfoo(tmp_path / "config.yaml")


if __name__ == "__main__":
    (CASES / "answers.json").write_text(json.dumps(recording(), indent=1, ensure_ascii=False) + "\n")
