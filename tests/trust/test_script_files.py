"""Which files a command runs, as far as its words and its scripts tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.trust import script_files
from assay.trust.script_files import files_of_command


def names(command: str, folder: Path) -> set[str]:
    return {str(path.relative_to(folder.resolve())) for path in files_of_command(command, [folder])}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_command_line_within_a_command_is_read_too(tmp_path: Path) -> None:
    write(tmp_path, {"run.sh": "echo 1", "other.sh": ""})
    assert names("sh -c 'sh run.sh --quiet'", tmp_path) == {"run.sh"}
    assert names("bash -c \"cd . && sh -c 'sh other.sh'\"", tmp_path) == {"other.sh"}
    assert names("sh -c '(sh run.sh); sh other.sh>log&'", tmp_path) == {"run.sh", "other.sh"}


def test_a_folder_that_a_command_or_a_script_changes_into_is_searched(tmp_path: Path) -> None:
    write(tmp_path, {"tools/run.sh": "cd deep && python3 ev.py", "tools/deep/ev.py": "import helper"})
    write(tmp_path, {"tools/deep/helper.py": "", "tools/unused.sh": ""})
    expected = {"tools/run.sh", "tools/deep/ev.py", "tools/deep/helper.py"}
    assert names("sh -c 'cd tools && sh run.sh'", tmp_path) == expected
    assert names(f"sh -c 'cd {tmp_path}/tools; sh run.sh'", tmp_path) == expected


def test_modules_that_a_python_script_imports_from_its_folder_are_followed(tmp_path: Path) -> None:
    write(tmp_path, {"ev.py": "import json, helper\nfrom package import part", "helper.py": "import deeper"})
    write(tmp_path, {"deeper.py": "", "unused.py": "", "package/part.py": "", "package/__init__.py": ""})
    beside = {"helper.py", "deeper.py", "package/part.py", "package/__init__.py"}
    assert names("python3 ev.py", tmp_path) == {"ev.py", *beside}


def test_scripts_that_a_script_starts_are_followed_but_not_its_data(tmp_path: Path) -> None:
    write(tmp_path, {"run.sh": "python3 tools/score.py < input.json > out.json", "tools/score.py": "import math"})
    write(tmp_path, {"out.json": "{}", "input.json": "{}"})
    assert names("sh run.sh", tmp_path) == {"run.sh", "tools/score.py"}


def test_programs_of_the_system_are_not_among_them(tmp_path: Path) -> None:
    write(tmp_path, {"run.sh": "#!/bin/sh\n/bin/cat x"})
    assert names("sh run.sh", tmp_path) == {"run.sh"}


def test_odd_commands_and_endless_imports_end(tmp_path: Path) -> None:
    assert files_of_command("'unclosed", [tmp_path]) == {}
    assert files_of_command("~nobody/x \0 " + "x" * 10_000, [tmp_path]) == {}
    write(tmp_path, {"a.py": "import b", "b.py": "import a"})
    assert names("python3 a.py", tmp_path) == {"a.py", "b.py"}


def test_too_many_files_are_not_trusted_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script_files, "MAX_FILES", 20)
    write(tmp_path, {"c.py": "import many", **{f"many/m{number}.py": "" for number in range(30)}})
    with pytest.raises(UsageError, match="more than 20 files of code"):
        files_of_command("python3 c.py", [tmp_path])
