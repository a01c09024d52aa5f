"""Settings of an answer, as lm_eval's own client of OpenAI-compatible servers sends them."""

from __future__ import annotations

from assay.bridges.lm_eval.worker.building import generation


def test_a_task_without_limits_gets_those_of_lm_evals_models() -> None:
    assert generation({}) == {"max_tokens": 256, "temperature": 0.0, "stop": []}


def test_stops_and_limits_are_the_tasks_own() -> None:
    said = {"until": "\n", "max_gen_toks": 7, "do_sample": True, "temperature": 0.5, "top_p": 0.9, "top_k": 4}
    expected = {"max_tokens": 7, "temperature": 0.5, "stop": ["\n"], "top_p": 0.9, "extra": {"top_k": 4}}
    assert generation(said) == expected


def test_a_greedy_task_is_not_sampled_whatever_temperature_it_names() -> None:
    assert generation({"do_sample": False, "temperature": 0.7})["temperature"] == 0.0


def test_a_chat_endpoint_is_sent_no_more_stops_than_it_takes() -> None:
    until = [*"abcdef"]
    assert generation({"until": until}, is_chat=True)["stop"] == [*"abcd"]
    assert generation({"until": until})["stop"] == until
