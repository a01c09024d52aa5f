"""What a part declares of itself is read in one way, survives every wrapper, and is nothing when it says nothing."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
from collections.abc import Iterator
from inspect import signature

import pytest

import assay.costs.budget
import assay.models.layers
from assay.core.describe import ModelOffers
from assay.core.errors import UsageError
from assay.core.model_stack import Limited, Wrapper, innermost
from assay.core.seams import NO_CONTEXT, BuildContext, close_part, identity_of, offers_of, walk_from
from assay.core.types import Completion, Request, Sample
from assay.models.adapters.native_model import NativeModel
from assay.models.layers.retrying import Retrying
from assay.models.rate_limits import RateLimits


class Declared:
    name = "declared"
    offers = ModelOffers(remote=True, cacheable=True, likelihoods="yes")
    settings = {"temperature": 0.5}  # noqa: RUF012 - as adapters have it
    limits = RateLimits(3, 1.0)
    closed = 0

    async def generate(self, request: Request) -> Completion:
        return Completion(text=request.text())

    async def aclose(self) -> None:
        self.closed += 1


def wrappers(kind: type[Wrapper] = Wrapper) -> Iterator[type[Wrapper]]:
    for each in pkgutil.iter_modules(assay.models.layers.__path__, "assay.models.layers."):
        importlib.import_module(each.name)
    for under in kind.__subclasses__():
        if not under.__module__.startswith("assay."):
            continue  # another test's
        yield under
        yield from wrappers(under)


@pytest.mark.parametrize("kind", sorted({*wrappers()}, key=lambda kind: kind.__name__))
def test_no_wrapper_loses_what_its_model_declares(kind: type[Wrapper]) -> None:
    model = Declared()
    wrapped = kind.__new__(kind)
    Wrapper.__init__(wrapped, model)
    assert offers_of(wrapped) == Declared.offers
    assert identity_of(wrapped) == identity_of(model) == {"name": "declared", "temperature": 0.5}
    assert innermost(wrapped) is model
    assert "offers" not in vars(kind), "a wrapper passes it on as it is"
    assert "settings" not in vars(kind) or kind is NativeModel, "and only this one has settings for who has none"
    assert "model" in signature(kind).parameters


def test_what_is_around_a_model_closes_it_and_what_has_nothing_to_close_is_left_alone() -> None:
    model = Declared()
    asyncio.run(close_part(Retrying(Limited(model, 2), retries=1)))
    asyncio.run(close_part(object()))
    assert model.closed == 1


def test_a_part_that_declares_nothing_can_do_nothing() -> None:
    offers = offers_of(object())
    assert offers == ModelOffers()
    assert not any((offers.remote, offers.cacheable, offers.embeddings, offers.renders_prompts))
    assert (offers.likelihoods, offers.chat, offers.applies, offers.cache) == ("no", True, None, None)


def test_a_capability_that_does_not_exist_and_one_in_another_shape_are_refused() -> None:
    with pytest.raises(TypeError, match="remoet"):
        ModelOffers(remoet=True)  # type: ignore[call-arg]  # which mypy sees as well

    class Loose:
        offers = {"remote": True}  # noqa: RUF012

    with pytest.raises(UsageError, match=r"Loose\.offers must be an assay\.ModelOffers"):
        offers_of(Loose())


def test_nothing_runs_where_no_context_says_that_it_may() -> None:
    assert not NO_CONTEXT.own_code
    assert NO_CONTEXT.model_behind("judge") is None


def test_a_key_is_the_model_its_reader_found_and_else_a_name_by_itself() -> None:
    asked: list[object] = []

    def model_for(spec: str, options: object, **limits: object) -> Declared:
        asked.append((spec, options, limits))
        return Declared()

    context = BuildContext(model_for=model_for, paces={"j": {"concurrency": 2}})
    context.model_behind("j", {"model": "openai:x", "options": {"seed": 1}}, timeout_seconds=3)
    context.model_behind("toy")
    limits = {"key": "j", "concurrency": 2, "timeout_seconds": 3}
    assert asked == [("openai:x", {"seed": 1}, limits), ("toy", {}, {"key": "toy"})]


def test_a_dataset_that_can_seek_is_not_read_from_its_beginning() -> None:
    samples = [Sample(id=str(n), prompt="?") for n in range(5)]

    class Seeks(list[Sample]):
        def walk_from(self, position: int) -> Iterator[Sample]:
            return iter([samples[-1]])

    assert [each.id for each in walk_from(samples, 3)] == ["3", "4"]
    assert [each.id for each in walk_from(Seeks(samples), 3)] == ["4"]
