"""The long tail through litellm: its answers and its errors in our words, against the library itself."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.contracts.model import check_model, closing
from tests.servers.fake_openai import fake_openai

from assay.core.errors import FailureError, UsageError
from assay.core.seams import Model
from assay.core.types import Request
from assay.models.build import make_model

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("litellm", reason="needs the extra `litellm`")

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def model_on(base_url: str) -> Model:
    return make_model("litellm:openai/m", {"extra": {"api_base": base_url}})


def test_it_keeps_the_contract_of_a_model() -> None:
    @asynccontextmanager
    async def make_one() -> AsyncIterator[Model]:
        async with fake_openai() as server, closing(model_on(server.base_url)) as model:
            yield model

    check_model(make_one)


@pytest.mark.parametrize(
    ("prompt", "kind", "retryable"),
    [
        ("behave: status 429 9", "rate_limit", True),
        ("behave: status 401 9", "auth", False),
        ("behave: status 400 9", "bad_request", False),
        ("behave: status 503 9", "server_error", True),
    ],
)
def test_its_errors_have_our_kinds(prompt: str, kind: str, retryable: bool) -> None:
    async def ask() -> Any:
        async with fake_openai() as server, closing(model_on(server.base_url)) as model:
            with pytest.raises(FailureError) as caught:
                await model.generate(Request(prompt=prompt))
            return caught.value.failure, sum(server.seen.values())

    failure, asked = asyncio.run(ask())
    assert (failure.kind, failure.retryable) == (kind, retryable)
    assert asked == 1  # retrying is the run's business


def test_a_key_does_not_belong_into_options() -> None:
    with pytest.raises(UsageError, match="run files"):
        make_model("litellm:openai/m", {"extra": {"api_key": "sk-1"}})
