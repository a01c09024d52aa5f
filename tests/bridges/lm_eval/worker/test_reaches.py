"""What a task of lm_eval would run and read is listed before any of it runs, and odd files get a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.bridges.lm_eval.lm_eval_source import read_lm_eval
from assay.core.errors import UsageError
from assay.formats.task_source import SourceContext
from assay.trust.consent import require_trust

pytestmark = pytest.mark.peers


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stranger's folder, and the working directory in a project beside it."""
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "downloads").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "downloads"


def test_a_group_of_an_odd_shape_gets_a_sentence(elsewhere: Path) -> None:
    file = elsewhere / "g.yaml"
    file.write_text("group: [a, b]\ntask: {x: [1]}\n")
    with pytest.raises(UsageError, match=r"g\.yaml: lm_eval .* cannot read it|has no task, group or tag"):
        read_lm_eval(f"lm-eval:g@{file}", context=SourceContext(only_looks=True))


@pytest.mark.parametrize("secret", ["password: x\n", "a password, which is no mapping\n", "[1, 2"])
def test_an_include_does_not_lead_out_of_the_project(elsewhere: Path, secret: str) -> None:
    (elsewhere.parent / "secret.yaml").write_text(secret)
    file = elsewhere / "t.yaml"
    file.write_text("include: ../secret.yaml\ntask: t\noutput_type: generate_until\ndoc_to_text: '{{q}}'\n")
    with pytest.raises(UsageError, match=r"includes `../secret.yaml`, which leads outside the project"):
        read_lm_eval(f"lm-eval:t@{file}", context=SourceContext(only_looks=True))


def test_the_advice_names_what_was_typed(elsewhere: Path) -> None:
    file = elsewhere / "t.yaml"
    file.write_text("task: t\noutput_type: generate_until\ndoc_to_text: '{{q}}'\ndoc_to_target: a\n")
    (definition,) = read_lm_eval(f"lm-eval:t@{file}", context=SourceContext(only_looks=True))
    with pytest.raises(UsageError, match=rf"assay trust lm-eval:t@{file}"):
        require_trust([definition], trust=False)
