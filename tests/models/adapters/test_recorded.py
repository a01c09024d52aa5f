"""`recorded` has a name and no answers."""

from __future__ import annotations

import asyncio

import pytest

from assay.core.errors import FailureError
from assay.core.types import Request
from assay.models.adapters.recorded import make, none


def test_it_is_called_by_whose_answers_they_are() -> None:
    assert (make().name, make("gpt-4o").name) == ("recorded", "recorded:gpt-4o")
    assert none().name == "no-model"


def test_it_gives_no_answer() -> None:
    with pytest.raises(FailureError, match="calls no model"):
        asyncio.run(make().generate(Request(prompt="x")))
