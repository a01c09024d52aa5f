"""Which libraries the texts of a page need, by the same signs as in the script that renders them."""

from __future__ import annotations

import re

import pytest

from assay.pages.rendering.libraries import MARKDOWN, MATHS, PYTHON, libraries_for, modules

MARKUP, SUMS, CODE = "markdown-it.min.js", "katex.min.js", "highlight.min.js"


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("It is 42, or 6 * 7.", None),
        ("It costs $5, not $6.", None),
        ("a **bold** word", [MARKUP]),
        ("```\nplain\n```", [MARKUP]),
        ("```python\nx = 1\n```", [CODE, MARKUP]),
        ("so $x = 1$", [SUMS, MARKUP]),
        ("\\begin{align}a\\end{align}", [SUMS, MARKUP]),
        ("import os\nprint(os.name)", [CODE]),
        ('{"a": 1}', []),
    ],
)
def test_a_text_names_the_libraries_it_needs(text: str, needed: list[str] | None) -> None:
    assert libraries_for([text]) == needed
    assert libraries_for(["plain", text, text]) == needed


def test_the_signs_are_those_of_the_script() -> None:
    script = modules()["render"]
    for name, pattern in (("MARKDOWN", MARKDOWN), ("MATHS", MATHS), ("PYTHON", PYTHON)):
        written = re.search(rf"^const {name} = /(.+)/m?;$", script, re.MULTILINE)
        assert written is not None
        assert written[1] == pattern.pattern
