"""The example on docs/methods.md runs and prints what the page says."""

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "methods.md"


def test_the_example_prints_what_its_comments_say():
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    told = re.findall(r"print\(.*\)  # (.*)", code)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(PAGE), "exec"), {})
    assert printed.getvalue().splitlines() == told
