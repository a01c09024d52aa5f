"""Writes the samples of a task into a file: every document, with the requests that lm_eval's own code builds."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from assay.bridges.lm_eval.worker.loading import load
from assay.bridges.lm_eval.worker.names import version
from assay.bridges.process.plain import plain
from assay.bridges.process.problem import BridgeError
from assay.bridges.process.samples_file import write_samples

USUAL_MAX_TOKENS = 256
"""The limit where a task sets none, as in lm_eval's own models."""
CHAT_STOPS = 4
"""How many stop sequences a chat endpoint takes; lm_eval's own client sends only the first ones too."""


class Chat(str):
    """A conversation that lm_eval handles as the text rendered by a chat template."""

    messages: list[dict[str, Any]]


def build(order: dict[str, Any]) -> dict[str, Any]:
    """Every task behind the name: its samples in a file, its metrics, the groups it belongs to."""
    loaded = load(order)
    tasks = [_built(name, task, order) for name, task in loaded["tasks"].items()]
    groups = [
        {
            "name": group.name,
            "tasks": [task.task_name for task in group.get_all_tasks()],
            "metrics": [
                {"metric": item.metric, "filters": item.filter_list, "weight_by_size": bool(item.weight_by_size)}
                for item in group.aggregate_metric_list or ()
            ],
        }
        for group in loaded["groups"].values()
    ]
    return {"version": version(), "tasks": tasks, "groups": groups}


def _built(name: str, task: Any, order: dict[str, Any]) -> dict[str, Any]:
    _make_requests(name, task, order)
    by_document: dict[int, list[Any]] = {}
    for instance in task.instances:
        by_document.setdefault(instance.doc_id, []).append(instance)
    likelihoods = any(each.request_type.startswith("loglikelihood") for each in task.instances)
    samples = (_sample(number, instances, task) for number, instances in by_document.items())
    path, sha256 = write_samples(name, samples, Path(order["folder"]))
    task._instances = None  # they are in the file now
    config = task.config
    return {
        "name": name,
        "path": str(path),
        "sha256": sha256,
        "size": len(by_document),
        "output_type": task.OUTPUT_TYPE,
        "likelihoods": likelihoods,
        "num_fewshot": config.num_fewshot or 0,
        "metrics": _metrics(task),
        "task_version": str(task.VERSION),
        "revision": _revision(task),
    }


def _make_requests(name: str, task: Any, order: dict[str, Any]) -> None:
    if getattr(task, "MULTIMODAL", False):
        raise BridgeError(f"`lm-eval:{name}` uses images or audio, which is not supported yet")
    chat = bool(order.get("chat_template"))
    try:
        task.build_all_requests(
            system_instruction=order.get("system"),
            apply_chat_template=chat,
            fewshot_as_multiturn=bool(order.get("fewshot_as_turns")),
            chat_template=_chat_template if chat else None,
        )
    except Exception as error:
        raise BridgeError(f"`lm-eval:{name}`: its requests cannot be built: {type(error).__name__}: {error}") from error


def _chat_template(messages: list[dict[str, Any]], **_: Any) -> Chat:
    turns = [{"role": message["role"], "content": message["content"]} for message in messages]
    chat = Chat("\n\n".join(str(turn["content"]) for turn in turns))
    chat.messages = turns
    return chat


def _sample(number: int, instances: list[Any], task: Any) -> dict[str, Any]:
    instances = sorted(instances, key=lambda each: each.idx)
    document = plain(instances[0].doc)
    contexts: dict[str, Any] = {}
    requests = [_request(instance, contexts) for instance in instances]
    extras: dict[str, Any] = {
        "contexts": list(contexts.values()),
        "requests": requests,
        "repeats": int(instances[0].repeats or 1),
    }
    return {
        "id": str(number),
        "prompt": "" if not extras["contexts"] else str(instances[0].args[0]),
        "targets": _targets(instances[0].doc, task),
        "extras": extras,
        # a document need not be a mapping: those of perplexity tasks may be texts
        "row": document if isinstance(document, dict) else {"document": document, "is_whole": True},
    }


def _request(instance: Any, contexts: dict[str, Any]) -> dict[str, Any]:
    """One request; contexts, which choices share, are stored once and referenced by index."""
    arguments = instance.args
    kind = instance.request_type
    if kind == "loglikelihood_rolling":
        return {"type": kind, "text": str(arguments[0])}
    is_chat = isinstance(arguments[0], Chat)
    context = arguments[0].messages if is_chat else str(arguments[0])
    key = json.dumps(context) if is_chat else context
    contexts.setdefault(key, context)
    place = list(contexts).index(key)
    if kind == "loglikelihood":
        return {"type": kind, "context": place, "continuation": str(arguments[1])}
    if kind == "generate_until":
        settings = generation(dict(arguments[1] or {}), is_chat=is_chat)
        return {"type": kind, "context": place, "settings": settings}
    raise BridgeError(f"`{instance.task_name}`: requests of type `{kind}` are not supported")


def generation(given: dict[str, Any], *, is_chat: bool = False) -> dict[str, Any]:
    """The generation settings, as lm_eval's own client for OpenAI-compatible servers sends them."""
    limits = [
        given.pop(name, None) for name in ("max_tokens", "max_gen_toks", "max_new_tokens", "max_completion_tokens")
    ]
    until = given.pop("until", None) or []
    is_greedy = given.pop("do_sample", None) is False
    temperature = float(given.pop("temperature", 0.0) or 0.0)
    stops = [until] if isinstance(until, str) else [str(item) for item in until]
    settings: dict[str, Any] = {
        "max_tokens": int(next((limit for limit in limits if limit is not None), USUAL_MAX_TOKENS)),
        "temperature": 0.0 if is_greedy else temperature,
        "stop": stops[:CHAT_STOPS] if is_chat else stops,
    }
    if (top_p := given.pop("top_p", None)) is not None:
        settings["top_p"] = float(top_p)
    extra = {name: plain(value) for name, value in given.items() if value is not None}
    return settings | ({"extra": extra} if extra else {})


def _targets(document: Any, task: Any) -> list[str]:
    """The right answers, for display only: the task itself scores."""
    with contextlib.suppress(Exception):
        target = task.doc_to_target(document)
        choices = task.doc_to_choice(document) if getattr(task.config, "doc_to_choice", None) is not None else None
        return [
            str(choices[item]) if choices and isinstance(item, int) and 0 <= item < len(choices) else str(item)
            for item in (target if isinstance(target, list) else [target])
        ]
    return []


def _metrics(task: Any) -> list[dict[str, Any]]:
    """Every metric that the task reports, in its own order, with its filter and how it is aggregated."""
    from lm_eval.api.metrics import mean

    better = task.higher_is_better() or {}
    filters = [item.name for item in getattr(task, "_filters", ())] or ["none"]
    functions = getattr(task, "_metric_fn_list", {})
    return [
        {
            "metric": str(metric),
            "filter": name,
            "mean": aggregation is mean,
            "own": getattr(functions.get(metric), "__module__", "lm_eval.").split(".")[0] != "lm_eval",
            "higher_is_better": bool(better.get(metric, True)),
        }
        for name in filters
        for metric, aggregation in (task.aggregation() or {}).items()
    ]


def _revision(task: Any) -> str:
    """The revision of the hub's dataset, where the addresses of its files contain one."""
    with contextlib.suppress(Exception):
        for split in task.dataset.values():
            for address in split.info.download_checksums or ():
                if "@" in address:
                    return str(address.partition("@")[2].partition("/")[0])
    return ""
