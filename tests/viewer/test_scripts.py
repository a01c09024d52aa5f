"""The scripts of the pages as people read them; what node has to say of them is in `.ci/scripts`."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.viewer.page_files import page_files

HERE = Path(__file__).parent / "static"
SCRIPTS = sorted(name for name in page_files() if name.endswith(".js") and "/" not in name)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_says_what_it_is_for_and_its_lines_fit_a_screen(name: str) -> None:
    lines = page_files()[name].decode().splitlines()
    assert lines[0].startswith("// ")
    assert [n for n, line in enumerate(lines, start=1) if len(line) > 120] == []
    assert len(lines) < 500


def test_unit_tests_have_the_address_of_a_script() -> None:
    tested = {path.name.removesuffix(".test.js") + ".js" for path in HERE.glob("*.test.js")}
    assert tested
    assert tested <= set(SCRIPTS)
