"""What a worker on another machine is given, and what it makes of it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.end_to_end.commands import write_task

from assay.core.errors import UsageError
from assay.core.seams import identity_of
from assay.models.model_names import make_model
from assay.reading import env_file
from assay.run_config import RunConfig
from assay.runs.assemble import describe
from assay.runs.folder import prepare_folder
from assay.runs.ray_cluster import remembers_a_cluster_that_is_gone
from assay.runs.worker import open_worker, payload_of
from assay.tasks.descriptions import with_descriptions
from assay.tasks.load import load_tasks


@pytest.fixture(autouse=True)
def no_chosen_file() -> Iterator[None]:
    yield
    env_file.choose(None)


def test_a_worker_looks_variables_up_in_the_file_that_the_command_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("team.env").write_text("SOME_KEY=of-the-team\n")
    loaded = load_tasks([str(write_task(tmp_path / "t.jsonl", {"compute: 1 + 1": "2"}))])
    tasks = [with_descriptions(each) for each in loaded]
    run_file = describe(tasks, identity_of(make_model("toy")), RunConfig())
    prepare_folder(tmp_path / "run", run_file)
    env_file.choose(Path("team.env"))
    payload = msgspec.json.encode(payload_of(run_file, tmp_path / "run"))
    assert b"of-the-team" not in payload
    env_file.choose(None)
    os.chdir("/")
    open_worker(payload).close()
    assert env_file.key_variable("SOME_KEY") == "of-the-team"
    (tmp_path / "team.env").unlink()
    with pytest.raises(UsageError, match=r"team\.env: there is no such file"):
        open_worker(payload)


def test_a_cluster_that_ray_remembers_is_joined_only_where_it_still_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    assert not remembers_a_cluster_that_is_gone()
    remembered = tmp_path / "ray" / "ray_current_cluster"
    remembered.parent.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        remembered.write_text(f"127.0.0.1:{server.getsockname()[1]}")
        assert not remembers_a_cluster_that_is_gone()
    assert remembers_a_cluster_that_is_gone()
    monkeypatch.setenv("RAY_ADDRESS", "elsewhere:6379")
    assert not remembers_a_cluster_that_is_gone()
