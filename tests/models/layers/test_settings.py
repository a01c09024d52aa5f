"""Generation settings of a model's own fill what a request leaves open."""

from __future__ import annotations

import asyncio

from tests.scripted import Scripted

from assay.core.types import Draw, Request
from assay.models.layers.settings import NotesOverridden, WithSettings


def test_what_a_request_says_comes_first() -> None:
    model = Scripted(["a", "b"])
    settled = WithSettings(model, {"temperature": 0.0, "stop": ["END"]})
    asyncio.run(settled.generate(Request(prompt="x")))
    asyncio.run(settled.generate(Request(prompt="x", temperature=1.0)))
    assert [(each.temperature, each.stop) for each in model.requests] == [(0.0, ("END",)), (1.0, ("END",))]


def test_a_setting_that_no_request_of_a_task_had_is_known() -> None:
    noting = NotesOverridden(Scripted(["a", "b", "c"]), {"temperature": 0.1, "max_tokens": 9, "seed": 3})
    assert noting.overridden == {}
    one, two = Draw(task="one"), Draw(task="two")
    asyncio.run(noting.generate(Request(prompt="x", temperature=0.7, max_tokens=9, draw=one)))
    asyncio.run(noting.generate(Request(prompt="x", temperature=0.7, max_tokens=8, draw=one)))
    asyncio.run(noting.generate(Request(prompt="x", temperature=0.1, max_tokens=9, seed=3, draw=two)))
    assert noting.overridden == {"one": ["temperature", "seed"], "two": []}
