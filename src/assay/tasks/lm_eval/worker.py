"""The process that lm_eval lives in: names, documents, requests, scores and aggregates of its own `Task` objects.

Imported by the snippet that `library.py` starts, never by assay itself. Plain data in, plain data out.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

FEWSHOT_SEED = 1234
"""What lm_eval seeds its choice of worked examples with, unless told otherwise."""
USUAL_MAX_TOKENS = 256
"""The longest answer where a task names none, as lm_eval's own models have it."""
_MANAGERS: dict[str, Any] = {}
_TASKS: dict[str, Any] = {}


class BridgeError(Exception):
    """Something that the user can do something about, in one sentence."""


class Chat(str):
    """A conversation on its way through lm_eval, which takes it for the text that a chat template gave."""

    messages: list[dict[str, Any]]


def answer(order: dict[str, Any]) -> dict[str, Any]:
    """What was asked for, or the `problem` in a sentence."""
    try:
        return _ORDERS[order["do"]](order)
    except BridgeError as error:
        return {"problem": str(error)}


# -- names -------------------------------------------------------------------------------------------------------------


def list_names(order: dict[str, Any]) -> dict[str, Any]:
    """Every name whose text holds the search: its kind, and how many tasks or which file it stands for."""
    manager = _manager(order)
    search = order.get("search", "").casefold()
    kinds = {entry: str(found.kind.name).lower() for entry, found in manager._index.items()}
    names = sorted(name for name in kinds if search in name.casefold())
    return {"version": _version(), "names": {name: kinds[name] for name in names}}


def describe(order: dict[str, Any]) -> dict[str, Any]:
    """The files behind a name and the Python they name. None of that runs."""
    manager = _manager(order)
    name = order["name"]
    if name not in manager._index:
        from difflib import get_close_matches

        near = get_close_matches(name, manager._index, n=3)
        meant = f"Did you mean {' or '.join(f'`lm-eval:{each}`' for each in near)}?" if near else ""
        raise BridgeError(f"lm_eval {_version()} has no task, group or tag `{name}`. {meant}".strip())
    found: dict[str, Any] = {"files": set(), "code": set(), "unsafe": False}
    _look_at(name, manager._index, found, set())
    main = manager._index[name].yaml_path
    return {
        "version": _version(),
        "files": sorted(map(str, found["files"])),
        "code": sorted(found["code"]),
        "unsafe": found["unsafe"],
        "package": str(_package()),
        "main": str(Path(main).resolve()) if main else next(iter(sorted(map(str, found["files"]))), ""),
    }


def _look_at(name: str, index: Any, found: dict[str, Any], seen: set[str]) -> None:
    if name in seen or name not in index:
        return
    seen.add(name)
    entry = index[name]
    for each in sorted(entry.tags) if str(entry.kind.name) == "TAG" else ():
        _look_at(each, index, found, seen)
    if entry.yaml_path is None:
        return
    config = _read_yaml(Path(entry.yaml_path), found)
    found["unsafe"] |= bool(config.get("unsafe_code"))
    _members(config.get("task"), index, found, seen)


def _members(members: Any, index: Any, found: dict[str, Any], seen: set[str]) -> None:
    for member in members if isinstance(members, list) else ():
        if isinstance(member, dict):
            found["unsafe"] |= bool(member.get("unsafe_code"))
            inner = member.get("group", member.get("task"))
            _members(member.get("task"), index, found, seen)
        else:
            inner = member
        if isinstance(inner, str):
            _look_at(inner, index, found, seen)


def _read_yaml(path: Path, found: dict[str, Any]) -> dict[str, Any]:
    """A file with what it includes; every `!function` in it, and the module's file, is noted."""
    import yaml

    path = path.resolve()

    class Loader(yaml.SafeLoader):
        pass

    def function(loader: Any, node: Any) -> str:
        spec = str(loader.construct_scalar(node))
        module = path.parent / f"{spec.rpartition('.')[0].replace('.', '/')}.py"
        found["code"].add((_shown(module, spec), str(module)) if module.exists() else (spec, ""))
        if module.exists():
            found["files"].update(each for each in module.parent.glob("*.py"))
        return spec

    Loader.add_constructor("!function", function)
    found["files"].add(path)
    with path.open("rb") as file:
        config = yaml.load(file, Loader=Loader)  # noqa: S506 - a safe loader with one word more
    if not isinstance(config, dict):
        raise BridgeError(f"{path}: no task of lm_eval: a mapping was expected")
    for metric in config.get("metric_list") or ():
        if isinstance(metric, dict) and metric.get("hf_evaluate"):
            found["code"].add((f"the metric `{metric.get('metric')}` of the hub", ""))
    if (config.get("dataset_kwargs") or {}).get("trust_remote_code"):
        found["code"].add((f"the loader of {config.get('dataset_path')}", ""))
    includes = config.get("include") or []
    whole: dict[str, Any] = {}
    for include in includes if isinstance(includes, list) else [includes]:
        whole.update(_read_yaml(path.parent / str(include), found))
    return {**whole, **config}


def _shown(module: Path, spec: str) -> str:
    package = _package().parent
    inside = module.resolve()
    shown = inside.relative_to(package) if inside.is_relative_to(package) else inside
    return f"{shown}:{spec.rpartition('.')[2]}"


# -- documents and requests --------------------------------------------------------------------------------------------


def build(order: dict[str, Any]) -> dict[str, Any]:
    """Every task behind the name: its samples in a file, its metrics, the groups it belongs to."""
    loaded = _loaded(order)
    tasks = []
    for name, task in loaded["tasks"].items():
        _TASKS[_key(order, name)] = task
        tasks.append(_built(name, task, order))
    groups = [
        {
            "name": group.name,
            "tasks": [each.task_name for each in group.get_all_tasks()],
            "metrics": [
                {"metric": each.metric, "filters": each.filter_list, "weight_by_size": bool(each.weight_by_size)}
                for each in group.aggregate_metric_list or ()
            ],
        }
        for group in loaded["groups"].values()
    ]
    return {"version": _version(), "tasks": tasks, "groups": groups}


def _built(name: str, task: Any, order: dict[str, Any]) -> dict[str, Any]:
    if getattr(task, "MULTIMODAL", False):
        raise BridgeError(f"`lm-eval:{name}` asks about images or sound, which are not passed on yet")
    chat = bool(order.get("chat_template"))
    try:
        task.build_all_requests(
            system_instruction=order.get("system"),
            apply_chat_template=chat,
            fewshot_as_multiturn=bool(order.get("fewshot_as_turns")),
            chat_template=_chat_template if chat else None,
        )
    except BridgeError:
        raise
    except Exception as error:
        raise BridgeError(f"`lm-eval:{name}`: its requests cannot be built: {type(error).__name__}: {error}") from error
    by_document: dict[int, list[Any]] = {}
    for instance in task.instances:
        by_document.setdefault(instance.doc_id, []).append(instance)
    digest = hashlib.sha256()
    folder = Path(order["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{os.getpid()}-{len(_TASKS)}.partial"
    with partial.open("wb") as file:
        for number, instances in by_document.items():
            line = json.dumps(_sample(number, instances, task), ensure_ascii=False, sort_keys=True).encode() + b"\n"
            digest.update(line)
            file.write(line)
    path = (
        folder
        / f"{''.join(each if each.isalnum() or each in '-_' else '_' for each in name)}-{digest.hexdigest()[:16]}.jsonl"
    )
    partial.replace(path)
    config = task.config
    source = (config.metadata or {}).get("config_source") if isinstance(config.metadata, dict) else None
    return {
        "name": name,
        "path": str(path),
        "sha256": digest.hexdigest(),
        "size": len(by_document),
        "output_type": task.OUTPUT_TYPE,
        "likelihoods": any(each.request_type.startswith("loglikelihood") for each in task.instances),
        "num_fewshot": config.num_fewshot or 0,
        "repeats": config.repeats or 1,
        "metrics": _metrics(task),
        "source": source,
        "task_version": str(task.VERSION),
        "revision": _revision(task),
        "description": "",
    }


def _sample(number: int, instances: list[Any], task: Any) -> dict[str, Any]:
    instances = sorted(instances, key=lambda each: each.idx)
    document = _plain(instances[0].doc)
    if not isinstance(document, dict):
        raise BridgeError(f"`lm-eval:{instances[0].task_name}`: document {number} is no mapping")
    contexts: dict[str, int] = {}
    asked = []
    for instance in instances:
        asked.append(_request(instance, contexts))
    extras: dict[str, Any] = {
        "contexts": [json.loads(each) for each in contexts],
        "requests": asked,
        "repeats": int(instances[0].repeats or 1),
    }
    first = extras["contexts"][0] if contexts else ""
    shown = first if isinstance(first, str) else "\n\n".join(str(each["content"]) for each in first)
    return {
        "id": str(number),
        "prompt": shown,
        "targets": _targets(instances[0].doc, task),
        "extras": extras,
        "row": document,
    }


def _request(instance: Any, contexts: dict[str, int]) -> dict[str, Any]:
    arguments = instance.args
    kind = instance.request_type
    if kind == "loglikelihood_rolling":
        return {"type": kind, "text": str(arguments[0])}
    context = arguments[0].messages if isinstance(arguments[0], Chat) else str(arguments[0])
    place = contexts.setdefault(json.dumps(context), len(contexts))
    if kind == "loglikelihood":
        return {"type": kind, "context": place, "continuation": str(arguments[1])}
    if kind == "generate_until":
        return {"type": kind, "context": place, "settings": _generation(dict(arguments[1] or {}))}
    raise BridgeError(f"`{instance.task_name}`: requests of the type `{kind}` are not known")


def _generation(said: dict[str, Any]) -> dict[str, Any]:
    """The settings of an answer, as lm_eval's own client of OpenAI-compatible servers sends them."""
    limits = [
        said.pop(name, None) for name in ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
    ]
    until = said.pop("until", None) or []
    samples = said.pop("do_sample", None)
    temperature = said.pop("temperature", 0.0)
    found: dict[str, Any] = {
        "max_tokens": int(next((each for each in limits if each is not None), USUAL_MAX_TOKENS)),
        "temperature": 0.0 if samples is False else float(temperature or 0.0),
        "stop": [until] if isinstance(until, str) else [str(each) for each in until],
    }
    if (top_p := said.pop("top_p", None)) is not None:
        found["top_p"] = float(top_p)
    extra = {name: _plain(value) for name, value in said.items() if value is not None}
    return found | ({"extra": extra} if extra else {})


def _targets(document: Any, task: Any) -> list[str]:
    """What the task calls right, for a reader: the scores are made by the task itself."""
    with contextlib.suppress(Exception):
        target = task.doc_to_target(document)
        choices = task.doc_to_choice(document) if getattr(task.config, "doc_to_choice", None) is not None else None
        each = target if isinstance(target, list) else [target]
        return [
            str(choices[at]) if choices and isinstance(at, int) and 0 <= at < len(choices) else str(at) for at in each
        ]
    return []


def _metrics(task: Any) -> list[dict[str, Any]]:
    """Metric and filter of every number that the task reports, in its own order, and how each is aggregated."""
    from lm_eval.api.metrics import mean

    better = task.higher_is_better() or {}
    filters = [each.name for each in getattr(task, "_filters", ())] or ["none"]
    functions = getattr(task, "_metric_fn_list", {})
    found = []
    for name in filters:
        for metric, aggregation in (task.aggregation() or {}).items():
            function = functions.get(metric)
            found.append(
                {
                    "metric": str(metric),
                    "filter": name,
                    "mean": aggregation is mean,
                    "own": getattr(function, "__module__", "lm_eval.").split(".")[0] != "lm_eval",
                    "higher_is_better": bool(better.get(metric, True)),
                }
            )
    return found


def _revision(task: Any) -> str:
    """The revision of the hub's dataset, where its files tell one."""
    with contextlib.suppress(Exception):
        for split in task.dataset.values():
            for address in split.info.download_checksums or ():
                if "@" in address:
                    return str(address.partition("@")[2].partition("/")[0])
    return ""


def _chat_template(messages: list[dict[str, Any]], **_: Any) -> Chat:
    plain = [{"role": each["role"], "content": each["content"]} for each in messages]
    chat = Chat("\n\n".join(str(each["content"]) for each in plain))
    chat.messages = plain
    return chat


# -- scores ------------------------------------------------------------------------------------------------------------


def score(order: dict[str, Any]) -> dict[str, Any]:
    """The task's own filters and `process_results` over what a model answered about one document.

    The document is the one that the requests were made of: a task may shuffle choices whenever it is asked for them.
    """
    from lm_eval.api.instance import Instance

    task = _task(order)
    document = order["row"]
    kind = task.OUTPUT_TYPE
    answered = [
        Instance(request_type=kind, doc=document, arguments=(), idx=place, metadata=(order["task"], 0, len(responses)))
        for place, responses in enumerate(order["responses"])
    ]
    for instance, responses in zip(answered, order["responses"], strict=True):
        instance.resps = [tuple(each) if isinstance(each, list) else each for each in responses]
    values: dict[str, Any] = {}
    items: dict[str, Any] = {}
    shown: list[str] = []
    for pipeline in getattr(task, "_filters", None) or [_AsTheyAre()]:
        pipeline.apply(answered)
        heard = [each.filtered_resps[pipeline.name] for each in answered]
        shown += [each for each in heard if isinstance(each, str)]
        for metric, value in task.process_results(document, heard).items():
            _keep(shown_name(str(metric), pipeline.name), _plain(value), values, items)
    return {"values": values, "items": items, "answer": shown[0] if shown else None}


class _AsTheyAre:
    """For Python tasks without filters: every answer, as `take_first` would leave it."""

    name = "none"

    def apply(self, instances: list[Any]) -> None:
        for each in instances:
            each.filtered_resps["none"] = each.resps[0]


def _keep(name: str, value: Any, values: dict[str, Any], items: dict[str, Any]) -> None:
    """A number is a value of the score; whatever else an aggregation works on is kept beside it."""
    if isinstance(value, bool | int | float) and (not isinstance(value, float) or math.isfinite(value)):
        values[name] = value
    else:
        items[name] = value


def aggregate(order: dict[str, Any], scores: list[Any]) -> dict[str, float]:
    """The task's own aggregation of every metric that is no plain mean, over the scores of these samples."""
    task = _task(order)
    from lm_eval.api.metrics import mean

    functions = task.aggregation() or {}
    found: dict[str, float] = {}
    for name in _names_in(scores, order["means"]):
        metric = name.rpartition(",")[0] or name
        kept = [item for each in scores for item in _items(each, name)]
        value = functions.get(metric, mean)(kept)
        if not isinstance(value, list | dict | str):
            found[name] = float(value)
    return found


def _names_in(scores: list[Any], means: list[str]) -> list[str]:
    """The numbers to make, in the order in which the samples name them."""
    names: dict[str, None] = {}
    for each in scores:
        names.update(dict.fromkeys([*each.values, *each.metadata["items"]]))
    return [name for name in names if name not in means]


def _items(each: Any, name: str) -> list[Any]:
    """What one sample brings to a number: a value, what was kept beside the values, or nothing."""
    if name in each.values:
        return [each.values[name]]
    kept = each.metadata["items"]
    if name not in kept:
        return []
    item = kept[name]
    return [math.nan if item is None else tuple(item) if isinstance(item, list) else item]


def shown_name(metric: str, which: str) -> str:
    """What a number is called: by its metric, and by its filter where the task names one."""
    return metric if which in ("none", "") else f"{metric},{which}"


# -- lm_eval's own parts -----------------------------------------------------------------------------------------------


def _task(order: dict[str, Any]) -> Any:
    """One task of those behind the name, loaded once."""
    key = _key(order, order["task"])
    if key not in _TASKS:
        loaded = _loaded(order)
        for name, task in loaded["tasks"].items():
            _TASKS[_key(order, name)] = task
        if key not in _TASKS:
            raise BridgeError(f"lm_eval has no task `{order['task']}` in `{order['name']}`")
    return _TASKS[key]


_HOW = ("name", "file", "include_path", "data", "num_fewshot", "fewshot_as_turns", "chat_template", "system", "seed")


def _key(order: dict[str, Any], task: str) -> str:
    return json.dumps([task, *(order.get(name) for name in _HOW)], sort_keys=True)


def _loaded(order: dict[str, Any]) -> dict[str, Any]:
    """lm_eval's tasks and groups behind a name, set up as its own command sets them up."""
    import random

    import numpy as np

    manager = _manager(order)
    random.seed(0)  # tasks that shuffle do it as under lm_eval's own command
    np.random.seed(FEWSHOT_SEED)
    with _local_files(order.get("data") or {}):
        try:
            loaded = manager.load([order["name"]])
        except BridgeError:
            raise
        except Exception as error:
            raise BridgeError(_not_loaded(order["name"], error)) from error
    shots = order.get("num_fewshot")
    for task in loaded["tasks"].values():
        own = task.get_config("num_fewshot")
        if shots is not None and own != 0:  # a task that says 0 means it, there and here
            task.set_config(key="num_fewshot", value=shots)
        elif own is None:
            task.set_config(key="num_fewshot", value=0)
        task.set_fewshot_seed(seed=order.get("seed", FEWSHOT_SEED))
    return dict(loaded)


def _not_loaded(name: str, error: Exception) -> str:
    told = " ".join(str(error).split())[:400]
    words = ("ConnectionError", "OfflineModeIsEnabled", "LocalEntryNotFoundError", "ConnectError", "MaxRetryError")
    kinds = {each.__name__ for each in _chain(error)}
    if kinds & set(words) or "Couldn't reach" in told or "offline" in told.lower():
        return (
            f"`lm-eval:{name}`: its documents are on the hub, which cannot be reached, and nothing of them is cached "
            f"here. Give them as files: --data SPLIT=FILE. ({type(error).__name__}: {told})"
        )
    if isinstance(error, ModuleNotFoundError):
        return f"`lm-eval:{name}` needs the package `{error.name}`: pip install {error.name}"
    return f"`lm-eval:{name}` cannot be loaded: {type(error).__name__}: {told}"


def _chain(error: BaseException | None) -> list[type]:
    kinds: list[type] = []
    while error is not None:
        kinds += type(error).__mro__
        error = error.__cause__ or error.__context__
    return kinds


@contextlib.contextmanager
def _local_files(data: dict[str, str]) -> Any:
    """With files for the splits, what the hub is asked for is read from them."""
    if not data:
        yield
        return
    import datasets

    loaders = {".jsonl": "json", ".json": "json", ".csv": "csv", ".parquet": "parquet"}
    real = datasets.load_dataset

    def load_dataset(path: Any = None, name: Any = None, split: Any = None, **options: Any) -> Any:
        found = {}
        for each, file in data.items():
            loader = loaders.get(Path(file).suffix)
            if loader is None:
                raise BridgeError(f"--data {each}={file}: files of documents end in {', '.join(loaders)}")
            if not Path(file).is_file():
                raise BridgeError(f"--data {each}={file}: there is no such file")
            found[each] = _read_rows(Path(file), loader, real)
        whole = datasets.DatasetDict(found)
        return whole if split is None else whole[split]

    datasets.load_dataset = load_dataset
    try:
        yield
    finally:
        datasets.load_dataset = real


def _read_rows(path: Path, loader: str, real: Any) -> Any:
    import datasets

    if loader == "parquet":
        return real("parquet", data_files=str(path), split="train")
    if loader == "csv":
        return datasets.Dataset.from_csv(str(path))
    text = path.read_text(encoding="utf-8-sig")
    try:
        rows = (
            json.loads(text)
            if path.suffix == ".json"
            else [json.loads(line) for line in text.splitlines() if line.strip()]
        )
        return datasets.Dataset.from_list(rows)
    except Exception as error:
        raise BridgeError(f"{path}: not a list of documents that `datasets` can read: {error}") from error


def _manager(order: dict[str, Any]) -> Any:
    include = order.get("include_path")
    key = json.dumps([include, order.get("file")])
    if key not in _MANAGERS:
        try:
            from lm_eval.tasks import TaskManager
        except ImportError as error:
            raise BridgeError(
                f"tasks of lm-evaluation-harness need its package: pip install 'assay-eval[lm-eval]' ({error})"
            ) from error
        manager = TaskManager(include_path=include, include_defaults=False)
        manager._index = {**_package_index(order), **manager._index}
        if order.get("file"):
            manager._index = {**manager._index, **_entry_of(order["file"])}
        _MANAGERS[key] = manager
    return _MANAGERS[key]


def _entry_of(file: str) -> dict[str, Any]:
    from lm_eval.tasks._index import TaskIndex

    try:
        entry = TaskIndex.entry_from_path(Path(file))
    except Exception as error:
        raise BridgeError(f"{file}: no task of lm_eval: {error}") from error
    if entry is None:
        raise BridgeError(f"{file}: no task of lm_eval")
    return {entry.name: entry}


def _package_index(order: dict[str, Any]) -> dict[str, Any]:
    """The package's own names. Reading its fourteen thousand files takes seconds, so what they held is kept."""
    from lm_eval.tasks._index import Entry, Kind, TaskIndex

    package = _package()
    stamp = [_version(), str(package), package.stat().st_mtime_ns, sys.version_info[:2]]
    path = Path(order["folder"]) / "index.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(path.read_text())
        if kept["stamp"] == json.loads(json.dumps(stamp)):
            return {
                name: Entry(name=name, kind=Kind[kind], yaml_path=Path(file) if file else None, tags=set(tags))
                for name, (kind, file, tags) in kept["names"].items()
            }
    index: dict[str, Any] = TaskIndex.build([package / "tasks"])
    names = {
        name: [each.kind.name, str(each.yaml_path) if each.yaml_path else None, sorted(each.tags)]
        for name, each in index.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"index-{os.getpid()}.partial")
    partial.write_text(json.dumps({"stamp": stamp, "names": names}))
    partial.replace(path)
    return index


def _package() -> Path:
    import lm_eval

    return Path(lm_eval.__file__).resolve().parent


def _version() -> str:
    return importlib.metadata.version("lm_eval")


def _plain(value: Any) -> Any:
    """JSON's own types of whatever a document or a metric holds; NaN and infinities are None."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return str(value)


_ORDERS = {"names": list_names, "describe": describe, "build": build, "score": score}
