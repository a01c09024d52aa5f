"""The page's modules as one script: in the order they need each other, each once, and a browser's parser takes it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from assay.pages.rendering.bundle import bundle
from assay.viewer.page_files import page_files

MODULES = {
    "main": 'import { twice } from "./sums.js";\nimport { one } from "./base.js";\nshow(twice(one));\n',
    "sums": 'import { one } from "./base.js";\nexport function twice(x) { return x + x * one; }\n',
    "base": "export const one = 1;\nconst hidden = 2;\nexport async function later() {}\n",
    "unused": "export const never = 0;\n",
}


def test_what_is_needed_comes_first_and_once_and_what_is_not_stays_out() -> None:
    made = bundle(MODULES, "main")
    places = [made.index(f"modules.{name} = ") for name in ("base", "sums", "main")]
    assert places == sorted(places)
    assert made.count("modules.base = ") == 1
    assert "never" not in made
    assert "return { one, later };" in made
    assert "import " not in made
    assert "export " not in made


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
def test_it_runs_as_the_modules_would_and_hides_what_they_hide() -> None:
    program = "const show = value => console.log(value, typeof hidden);\n" + bundle(MODULES, "main")
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    assert done.stdout == "2 undefined\n"


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
def test_the_viewers_own_modules_make_one_script(tmp_path: Path) -> None:
    modules = {name[:-3]: text.decode() for name, text in page_files().items() if name.endswith(".js")}
    script = tmp_path / "all.js"
    script.write_text(bundle(modules, "main"))
    assert "\nimport " not in script.read_text()
    subprocess.run(["node", "--check", str(script)], check=True, capture_output=True)
