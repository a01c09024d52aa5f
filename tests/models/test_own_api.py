"""A user's own class over HTTP that declares itself remote is awaited, adapted to and cached, like ours."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.evaluators.loopback import Answer, Loopback, serving

from assay import Completion, ModelOffers, Request
from assay.cli.main import main
from assay.core.errors import FailureError
from assay.core.model_stack import Wrapper
from assay.core.seams import Model
from assay.models.adapters.python_callable import as_model
from assay.models.pool import ModelPool, attempts_in_flight
from assay.run_config import RunConfig


class OwnApi:
    """What a user writes: a client of the standard library, and one line about itself."""

    name = "own-api"
    offers = ModelOffers(remote=True, cacheable=True)

    def __init__(self, url: str) -> None:
        self._url = url
        self.settings = {"model": "m1"}

    async def generate(self, request: Request) -> Completion:
        return await asyncio.to_thread(self._post, request)

    def _post(self, request: Request) -> Completion:
        body = json.dumps({"prompt": request.text()}).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(self._url, data=body), timeout=30) as reply:
                return Completion(text=json.loads(reply.read())["text"])
        except urllib.error.HTTPError as error:
            error.close()
            raise


def echo(payload: Any) -> Answer:
    return Answer(json.dumps({"text": payload["prompt"]}).encode())


def ask(model: Model, *prompts: str) -> list[str]:
    async def go() -> list[str]:
        return [
            each.text
            for each in await asyncio.gather(*(model.generate(Request(prompt=p, temperature=0.0)) for p in prompts))
        ]

    return asyncio.run(go())


def test_its_answers_are_kept_and_given_again(tmp_path: Path) -> None:
    config = RunConfig(cache=True, cache_path=str(tmp_path / "cache.sqlite"))
    with serving(echo) as server:
        for _ in range(2):
            pool = ModelPool(config)
            assert ask(pool.wrap(as_model(OwnApi(server.url))), "a", "b") == ["a", "b"]
            asyncio.run(pool.aclose())
        assert len(server.received) == 2


def test_how_many_requests_it_takes_is_found_out() -> None:
    config = RunConfig(adaptive=True, cache=False)
    model = as_model(OwnApi("http://127.0.0.1:1"))
    kinds = {type(layer).__name__ for layer in layers(ModelPool(config).wrap(model))}
    assert {"Adaptive", "WaitsOutOutages", "Retrying"} <= kinds
    assert attempts_in_flight(config, model) > config.concurrency


def layers(model: Model) -> Iterator[Model]:
    while isinstance(model, Wrapper):
        yield model
        model = model.model


class Outage:
    """Answers, then turns everybody down so many times, then answers again."""

    def __init__(self, answer: Callable[[Any], Answer], refusals: int) -> None:
        self._answer = answer
        self._answered = 0
        self._left = refusals
        self._lock = threading.Lock()

    def __call__(self, payload: Any) -> Answer:
        with self._lock:
            if not self._answered or not self._left:
                self._answered += 1
                return self._answer(payload)
            self._left -= 1
            return Answer(b'{"error": "busy"}', status=503, headers={"Retry-After": "0.05"})

    @property
    def over(self) -> bool:
        return not self._left


def test_an_outage_costs_it_no_attempt() -> None:
    outage = Outage(echo, refusals=8)  # more than three requests use up with one retry each
    with serving(outage) as server:
        model = ModelPool(RunConfig(cache=False, retries=1)).wrap(as_model(OwnApi(server.url)))
        assert ask(model, "first") == ["first"]
        assert ask(model, *"abc") == list("abc")
    assert outage.over


def test_without_the_word_remote_it_is_only_retried() -> None:
    class Plain(OwnApi):
        offers = ModelOffers()

    with serving(Outage(echo, 10_000)) as server:
        model = ModelPool(RunConfig(cache=False, retries=1)).wrap(as_model(Plain(server.url)))
        assert ask(model, "first") == ["first"]
        with pytest.raises((FailureError, OSError)):
            ask(model, "second")


VERDICT = json.dumps({"score": 0.5, "reasoning": "fine"})
JUDGE = json.dumps({"choices": [{"message": {"content": VERDICT}, "finish_reason": "stop"}]})


@contextmanager
def judging(refusals: int) -> Iterator[tuple[Loopback, Outage]]:
    outage = Outage(lambda payload: Answer(JUDGE.encode(), headers={"Content-Type": "application/json"}), refusals)
    with serving(outage) as server:
        yield server, outage


def test_a_judge_of_score_waits_out_an_outage_as_in_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("artifact.txt").write_text("be kind")
    Path("set.jsonl").write_text("".join(f'{{"n": {n}}}\n' for n in range(2)))
    with judging(refusals=14) as (server, outage):  # more than two records use up with five retries each
        judge = ["--judge-model", "openai:m", "--judge-arg", f"base_url={server.url}", "--objective", "kind"]
        flags = ["--dataset", "set.jsonl", "--concurrency", "2", "--json"]
        assert main(["score", "artifact.txt", *judge, *flags]) == 0
    (found,) = json.loads(capsys.readouterr().out)["evaluators"]
    assert (found["scored"], found["failed"], outage.over) == (2, 0, True)


def test_a_judge_and_a_proposer_of_a_search_have_the_layers_of_a_run() -> None:
    from assay.models.pool import wrap_alone

    model = as_model(OwnApi("http://127.0.0.1:1"))
    alone = wrap_alone(model, concurrency=4, timeout_seconds=5, say=print)
    in_a_run = ModelPool(RunConfig(concurrency=4, cache=False)).wrap(model, timeout_seconds=5)
    assert [type(each) for each in layers(alone)] == [type(each) for each in layers(in_a_run)]
