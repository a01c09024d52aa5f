"""One sample in full: what was asked, with what the run said around it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from tests.viewer.rich_runs import few_shot, make_rich

from assay.cli.main import main
from assay.core.run_file import read_run_file
from assay.viewer.builders import Builders
from assay.viewer.run_view import RunView
from assay.viewer.samples import sample


def test_the_system_message_and_prefill_of_the_run_are_shown_with_each_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_rich(tmp_path / "rich")
    key = str(few_shot(0, "112", 1).key)
    plain = sample(RunView("rich", folder, Builders()), key, whole=False)
    run = read_run_file(folder)
    framed_run = replace(run, config=replace(run.config, system="Be kind.", prefill="So:"))
    (folder / "run.json").write_bytes(msgspec.json.encode(framed_run))
    framed = sample(RunView("rich", folder, Builders()), key, whole=False)
    assert [turn["role"] for turn in framed["turns"]] == ["system", "user", "prefill", "assistant"]
    assert [message["role"] for message in framed["request"]["messages"]] == ["system", "user", "assistant"]
    # what all samples begin with is folded in the same turn as before, which is now the second
    assert framed["shared"] == {**plain["shared"], "turns": 1}
    assert plain["shared"]["turns"] == 0
    assert main(["show", str(folder), "--sample", str(few_shot(0, "112", 1).sample_id)]) == 0
    shown = capsys.readouterr().out
    assert "system:    Be kind." in shown
    assert "prefill:   So:" in shown
