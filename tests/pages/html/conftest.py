"""Reports of one run and of two, by a model that is sometimes wrong, hostile or broken."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from tests.results.runs import number, run_into, write_sums

from assay.core.errors import FailureError
from assay.core.types import Completion, Failure, Request
from assay.pages.html.report_page import report_page
from assay.results.report_settings import View

HOSTILE = (
    "<script>document.title='owned'</script></style></pre><img src=http://127.0.0.1:9/x onerror=alert(1)>\u202egnp"
)


class Confident:
    """Says how sure it is, is sometimes wrong, sometimes hostile, sometimes broken."""

    def __init__(self, name: str, shift: float) -> None:
        self.name = name
        self._shift = shift

    async def generate(self, request: Request) -> Completion:
        n = number(request.text())
        if n == 13:
            raise FailureError(Failure(stage="model", kind="server_error", part=self.name, message=HOSTILE))
        chance = random.Random(n)
        sure = chance.uniform(0.4, 0.99)
        text = str(n + 1) if chance.random() < sure - self._shift else HOSTILE
        return Completion(
            text=text, logprobs=[{"token": "x", "logprob": math.log(sure)}], tokens_in=12, tokens_out=3, cached=False
        )


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`one.html` of one run, `two.html` of two."""
    folder = tmp_path_factory.mktemp("reports")
    for name in ("sums", "more sums"):
        write_sums(folder / "tasks", name, 80, metadata=lambda n: {"difficulty": "<i>hard</i>" if n % 3 else "easy"})
    for name, shift in (("one", 0.0), ("two <b>bold</b>", 0.2)):
        run_into(folder / name.split(" ")[0], folder / "tasks", Confident(name, shift), repeat=2, retries=0)
    view = View(by=("difficulty",))
    (folder / "one.html").write_text(report_page([folder / "one"], view))
    (folder / "two.html").write_text(report_page([folder / "one", folder / "two"], view))
    return folder
