"""HTTP evaluators, against a real server on the loopback interface."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from typing import Any

import pytest
from tests.evaluators.loopback import Answer, serving

from assay.core.errors import UsageError
from assay.evaluators import Evaluation, EvaluatorError, http_evaluator


def evaluate(url: str, example: Any = None, **options: Any) -> Evaluation:
    async def once() -> Evaluation:
        evaluator = http_evaluator(url, **options)
        try:
            return await evaluator("text", example)
        finally:
            await evaluator.close()

    return asyncio.run(once())


def failure(url: str, **options: Any) -> EvaluatorError:
    with pytest.raises(EvaluatorError) as caught:
        evaluate(url, **options)
    return caught.value


def failure_of(answer: Answer, **options: Any) -> EvaluatorError:
    with serving(answer) as server:
        return failure(server.url, **options)


def test_h1_one_post_with_version_and_candidate_only() -> None:
    with serving(Answer(b'{"score": 0.25, "reasoning": "thin"}')) as server:
        assert evaluate(server.url) == Evaluation(score=0.25, side_info={"reasoning": "thin"})
    assert [received.payload for received in server.received] == [{"_protocol_version": 2, "candidate": "text"}]
    assert server.received[0].headers["Content-Type"] == "application/json"


def test_h2_headers_are_passed_on() -> None:
    with serving(Answer()) as server:
        evaluate(server.url, headers={"X-Team": "evals", "Authorization": "Bearer t"})
    assert server.received[0].headers["X-Team"] == "evals"
    assert server.received[0].headers["Authorization"] == "Bearer t"


def test_h3_task_model_and_example_are_in_the_body() -> None:
    with serving(Answer()) as server:
        evaluate(server.url, {"input": "ü"}, task_model="openai/small")
    assert server.received[0].payload["task_model"] == "openai/small"
    assert server.received[0].payload["example"] == {"input": "ü"}


def test_h4_a_timeout() -> None:
    hold = threading.Event()
    with serving(Answer(hold=hold)) as server:
        broken = failure(server.url, timeout_seconds=0.1)
        hold.set()
    assert broken.failure.kind == "timeout"
    assert "timed out after 0.1 s" in broken.failure.message


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [(500, "server_error", True), (503, "server_error", True), (429, "rate_limit", True), (404, "bad_request", False)],
)
def test_h5_a_bad_status_even_with_a_valid_body(status: int, kind: str, retryable: bool) -> None:
    broken = failure_of(Answer(b'{"score": 1}', status=status))
    assert str(status) in broken.failure.message
    assert (broken.failure.kind, broken.failure.retryable) == (kind, retryable)


def test_h6_a_body_that_is_not_json() -> None:
    broken = failure_of(Answer(b"<html>hello</html>"))
    assert "the body is not valid JSON" in broken.failure.message
    assert "<html>" in broken.failure.message


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"score": "good"}', "not numeric"),
        (b'{"score": -0.25}', "outside 0..1"),
        (b"[1]", "must be an object"),
        (b'{"score": true}', "not numeric"),
        (b'{"a": 1}', "missing"),
        (b"", "nothing at all"),
        (b'{"score": 1, "a": "\xff"}', "not UTF-8"),
    ],
)
def test_h7_answers_that_are_no_score(body: bytes, reason: str) -> None:
    assert reason in failure_of(Answer(body)).failure.message


def test_a_redirect_is_not_followed() -> None:
    with serving(Answer()) as elsewhere:
        broken = failure_of(Answer(status=307, headers={"Location": elsewhere.url}))
    assert broken.failure.kind == "redirect"
    assert elsewhere.url in broken.failure.message
    assert elsewhere.received == []


def test_a_body_without_bounds_is_cut_off() -> None:
    assert "more than 1,000 bytes" in failure_of(Answer(b"x" * 200_000), max_body_bytes=1000).failure.message


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def test_a_port_without_a_server() -> None:
    broken = failure(f"http://127.0.0.1:{unused_port()}/score")
    assert broken.failure.kind == "connection"
    assert "Is the server running?" in broken.failure.message


def test_a_port_that_does_not_speak_tls_is_named_as_that_and_not_as_an_outage() -> None:
    with serving(Answer()) as server:
        broken = failure(server.url.replace("http:", "https:"))
    assert (broken.failure.kind, broken.failure.retryable, broken.away) == ("connection", False, None)
    assert "the TLS handshake failed (" in broken.failure.message
    assert broken.failure.message.endswith("Does this port speak https?")


def test_a_server_that_hangs_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            connection, _ = server.accept()
            connection.recv(65536)
            connection.close()

        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        broken = failure(f"http://127.0.0.1:{server.getsockname()[1]}/score")
        thread.join()
    assert broken.failure.kind == "connection"


@pytest.mark.parametrize("url", ["", "localhost:80", "ftp://host/x", "http://", "http://host:port/", "http://[::1"])
def test_an_address_that_cannot_be_one_is_refused_at_once(url: str) -> None:
    with pytest.raises(UsageError, match="evaluator URL"):
        http_evaluator(url)


def test_logins_and_queries_do_not_show() -> None:
    evaluator = http_evaluator("http://me:hunter2@127.0.0.1:9/score?token=abc")
    for shown in (evaluator.name, json.dumps(evaluator.identity)):
        assert "hunter2" not in shown
        assert "abc" not in shown


def test_an_address_that_is_refused_does_not_show_its_login() -> None:
    for url in ("ftp://me:hunter2@host/x?key=abc", "http://me:hunter2@[::1"):
        with pytest.raises(UsageError, match="evaluator URL") as caught:
            http_evaluator(url)
        assert "hunter2" not in str(caught.value)
        assert "abc" not in str(caught.value)


@pytest.mark.parametrize("header", ["Authorization: Bearer {}", "X-Api-Key: {}", "Cookie: {}"])
def test_a_service_that_repeats_what_it_was_sent_does_not_bring_it_into_the_journal(header: str) -> None:
    key = "sk-evaluator-0123456789abcdef"
    name, _, value = header.format(key).partition(": ")
    escaped = key.replace("-", "\\u002d")
    answer = Answer(f'{{"score": 1, "reasoning": "I was sent {escaped}", "seen": ["{key}"]}}'.encode())
    with serving(answer) as server:
        found = evaluate(server.url, headers={name: value})
    assert found.side_info == {"reasoning": "I was sent [key]", "seen": ["[key]"]}
    broken = failure_of(Answer(status=403, body=f"no such key: {key}".encode()), headers={name: value})
    assert "no such key: [key]" in broken.failure.message


@pytest.mark.parametrize("header", ["Bearer tok:SECRET99", "Token S3CR3T", "S3CR3T-9"])
def test_a_short_key_that_was_given_by_hand_is_removed_too(header: str) -> None:
    key = header.rpartition(" ")[2]
    answer = Answer(f"401: {header} is not known".encode(), status=401)
    broken = failure_of(answer, headers={"Authorization": header})
    assert key not in broken.failure.message
    assert key not in str(broken.side_info)
    assert "[key]" in broken.failure.message
    assert key not in repr(broken.side_info)


def test_a_header_given_by_hand_is_removed_whatever_its_name() -> None:
    headers = {"X-Team": "blue team 7", "Accept": "application/json"}
    answer = Answer(b'{"score": 1, "seen": "blue team 7 accepts application/json"}')
    with serving(answer) as server:
        found = evaluate(server.url, headers=headers)
    assert found.side_info == {"seen": "[key] accepts application/json"}


@pytest.mark.parametrize(
    ("login", "repeated", "left"),
    [
        ("bob:pw", "Basic Ym9iOnB3", "Basic [key]"),
        ("operator:hunter2", "Basic b3BlcmF0b3I6aHVudGVyMg==", "Basic [key]"),
        ("operator:hunter2", "operator with hunter2", "[key] with [key]"),
        ("operator:h%C3%BCnter2", "hünter2 or h%C3%BCnter2", "[key] or [key]"),
    ],
)
def test_a_login_in_the_address_is_removed_whole_and_in_parts(login: str, repeated: str, left: str) -> None:
    with serving(Answer(f"401: {repeated}".encode(), status=401)) as server, pytest.raises(EvaluatorError) as caught:
        evaluate(server.url.replace("://", f"://{login}@"))
    assert caught.value.side_info == {"body": f"401: {left}"}


def test_one_evaluator_serves_several_event_loops() -> None:
    with serving(Answer()) as server:
        evaluator = http_evaluator(server.url)

        async def once() -> float:
            try:
                return (await evaluator("text")).score
            finally:
                await evaluator.close()

        assert asyncio.run(once()) == asyncio.run(once()) == 0.5


def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Answer(b'{"score": 1}')) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.rpartition("/")[0])
        monkeypatch.setenv("no_proxy", "nowhere.example")
        assert evaluate("http://scores.example/rate").score == 1.0


def test_a_batch_is_one_post_and_its_answers_keep_their_order() -> None:
    def answer(payload: Any) -> Answer:
        results = [{"score": len(each["candidate"]) / 10} for each in payload["batch"]]
        return Answer(json.dumps({"results": results}).encode())

    async def run(url: str) -> list[float]:
        evaluator = http_evaluator(url, batch=4)
        found = await asyncio.gather(*(evaluator("x" * n, {"n": n}, "m") for n in range(6)))
        await evaluator.close()
        return [evaluation.score for evaluation in found]

    with serving(answer) as server:
        assert asyncio.run(run(server.url)) == [n / 10 for n in range(6)]
    # both are under way at once, so either may arrive first
    larger, smaller = sorted((each.payload for each in server.received), key=lambda sent: -len(sent["batch"]))
    assert [len(larger["batch"]), len(smaller["batch"])] == [4, 2]
    assert larger["_protocol_version"] == 2
    assert larger["batch"][1] == {
        "_protocol_version": 2,
        "candidate": "x",
        "task_model": "m",
        "example": {"n": 1},
    }


def test_a_batch_that_is_turned_away_for_now_is_not_taken_apart() -> None:
    async def run(url: str) -> list[Any]:
        evaluator = http_evaluator(url, batch=3)
        found = await asyncio.gather(*(evaluator("x") for _ in range(3)), return_exceptions=True)
        await evaluator.close()
        return found

    with serving(Answer(b"busy", status=429, headers={"Retry-After": "7"})) as server:
        found = asyncio.run(run(server.url))
    assert len(server.received) == 1
    assert [(error.failure.kind, error.status, error.headers["retry-after"]) for error in found] == [
        ("rate_limit", 429, "7")
    ] * 3


def test_a_redirect_to_an_address_that_cannot_be_read() -> None:
    broken = failure_of(Answer(status=302, headers={"Location": "http://[oops"}))
    assert broken.failure.kind == "redirect"
    assert "an address that cannot be read" in broken.failure.message


@pytest.mark.parametrize("headers", [{"a": "b\r\nc: d"}, {"a b": "c"}, {"": "c"}])
def test_headers_that_cannot_be_sent_are_refused_at_once(headers: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="header"):
        http_evaluator("http://127.0.0.1:1", headers=headers)
