"""How results are looked at: what flags say now comes before what the run was asked for with."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from tests.results.board.scripted_boards import write_run

from assay.cli.parser import Parser
from assay.cli.view_flags import add_view_arguments, view_from, view_of_run
from assay.core.errors import UsageError


def options(*words: str) -> argparse.Namespace:
    parser = Parser()
    add_view_arguments(parser)
    return parser.parse_args(words)


def test_flags_come_before_the_run_and_the_run_before_the_defaults(tmp_path: Path) -> None:
    import json

    folder = write_run(tmp_path, {"t": [[1.0]]})
    run = json.loads((folder / "run.json").read_text())
    run["config"] |= {"level": 0.9, "group_by": "topic", "by": ["level"]}
    (folder / "run.json").write_text(json.dumps(run))
    asked = view_of_run(options(), folder)
    assert (asked.level, asked.group_by, asked.by) == (0.9, "topic", ("level",))
    said = view_of_run(options("--level", "0.5", "--by", "metadata.x", "--group-by", "y"), folder)
    assert (said.level, said.group_by, said.by) == (0.5, "y", ("x",))


@pytest.mark.parametrize("level", ["0", "1", "-0.5", "95", "nan"])
def test_a_level_is_a_share(level: str) -> None:
    with pytest.raises(UsageError, match="--level must be between 0 and 1"):
        view_from(options(f"--level={level}"))
    assert view_from(options(), level=0.8).level == 0.8


def test_a_price_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.yaml"):
        view_from(options("--prices", str(tmp_path / "none.yaml")))
