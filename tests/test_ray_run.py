"""What a worker on another machine is given, and what it makes of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from assay import env_file
from assay.core.config import RunConfig
from assay.core.errors import UsageError
from assay.evaluation import prepare_folder, put_together
from assay.ray_run import open_worker, payload_of
from assay.tasks.load import load_tasks
from tests.end_to_end.commands import write_task


@pytest.fixture(autouse=True)
def no_chosen_file() -> Iterator[None]:
    yield
    env_file.choose(None)


def test_a_worker_looks_variables_up_in_the_file_that_the_command_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("team.env").write_text("SOME_KEY=of-the-team\n")
    parts = put_together(load_tasks([str(write_task(tmp_path / "t.jsonl", {"compute: 1 + 1": "2"}))]), RunConfig())
    prepare_folder(tmp_path / "run", parts.run_file, fresh=False)
    env_file.choose(Path("team.env"))
    payload = msgspec.json.encode(payload_of(parts.run_file, tmp_path / "run"))
    assert b"of-the-team" not in payload
    env_file.choose(None)
    os.chdir("/")
    open_worker(payload)
    assert env_file.key_variable("SOME_KEY") == "of-the-team"
    (tmp_path / "team.env").unlink()
    with pytest.raises(UsageError, match=r"team\.env: there is no such file"):
        open_worker(payload)
