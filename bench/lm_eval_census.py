"""How many of all tasks that lm-evaluation-harness registers are built, asked and scored through `lm-eval:`.

Tasks that differ only in their name, dataset, language or wording are of one kind: one of each kind stands for it.
Documents are made up from its templates and Python and repaired until lm_eval itself takes them, metrics of the hub are
stood in for, and a scripted model answers. `--of 200 --seed 1` takes a sample of the kinds, `--sample 120` one of all
tasks, `--part 1/2` every second of them, `--tasks` names tasks. Needs lm_eval in this environment.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import hashlib
import io
import itertools
import json
import logging
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench._lm_eval_documents import MADE_UP
from bench._lm_eval_families import documents_of
from bench._lm_eval_functions import shapes_of_function
from bench._lm_eval_repair import repair
from bench._lm_eval_shapes import Shape, shapes_of_template

from assay.bridges.lm_eval.lm_eval_process import LIBRARY
from assay.bridges.lm_eval.worker import loading, names

COUNT = 9
TRIES = 40
SECONDS = 30
"""Of the processor, for one task with all its repairs; one that waits gets ten times as long on the clock."""
TEMPLATES = (
    "doc_to_text",
    "doc_to_target",
    "doc_to_choice",
    "gen_prefix",
    "description",
    "doc_to_decontamination_query",
)
APART = "asks about images or sound"
KNOWN: dict[str, dict[str, Any]] = {
    "mafand": {"translation": ("en", "swa")},
}
"""Fields that neither templates nor code give away, as the hub has them."""
OF_ITS_OWN = {
    "task", "dataset_name", "dataset_path", "description", "tag", "group", "metadata", "task_alias", "include",
    "dataset_kwargs",
}  # fmt: skip
"""What tasks of one kind may differ in."""
_hub: list[Callable[[str | None], Any]] = []
"""What gives the documents of the task at hand."""
MARKED = re.compile(r"(\{\{.*?\}\}|\{%.*?%\})", re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", type=int, help="how many kinds, drawn at random (default: all)")
    parser.add_argument("--sample", type=int, help="how many tasks, drawn at random from all, each for itself alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="1/1", help="K/N: every N-th kind, from the K-th on")
    parser.add_argument("--tasks", nargs="*", help="these tasks and no others")
    parser.add_argument("--out", help="a file for what became of each kind; what it holds already is not done again")
    parser.add_argument("--sum", nargs="*", help="print the table of these files")
    options = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_EVALUATE_OFFLINE", "1")
    logging.disable(logging.CRITICAL)
    started = time.time()
    if options.sum:
        once = {each[0]: each for file in options.sum for each in _kept(Path(file))}
        _report([*once.values()], 0.0)
        return
    out = Path(options.out) if options.out else None
    outcomes = _kept(out) if out else []
    finished = {name for name, *_ in outcomes}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HF_HOME"] = folder
        _stand_in_for_the_hub()
        for name, count in _kinds(options):
            if name in finished:
                continue
            outcomes.append((name, count, _outcome(name, folder)))
            loading._TASKS.clear()
            if out:
                with out.open("a") as file:
                    file.write(json.dumps(outcomes[-1]) + "\n")
            if sys.stderr.isatty() or options.tasks:
                print(f"{name} ({count}): {outcomes[-1][2]}", file=sys.stderr, flush=True)
    _report(outcomes, time.time() - started)


def _kept(file: Path) -> list[tuple[str, int, str]]:
    lines = file.read_text().splitlines() if file.exists() else []
    return [(name, count, reason) for name, count, reason in map(json.loads, lines)]


def _kinds(options: argparse.Namespace) -> list[tuple[str, int]]:
    """One task of each kind, and how many tasks it stands for; the kinds with most tasks first."""
    if options.tasks:
        return [(name, 1) for name in options.tasks]
    found = _alike()
    if options.sample:
        every = sorted(name for alike in found for name in alike)
        drawn = random.Random(options.seed).sample(every, min(options.sample, len(every)))
        found = [[name] for name in drawn]
    if options.of:
        found = random.Random(options.seed).sample(found, min(options.of, len(found)))
    part, parts = (int(each) for each in options.part.split("/"))
    return [(random.Random(alike[0]).choice(alike), len(alike)) for alike in found[part - 1 :: parts]]


def _alike() -> list[list[str]]:
    """All tasks, those of one kind together; kept beside the index, since reading every file takes a while."""
    from lm_eval.tasks._yaml_loader import load_yaml

    kept = Path(LIBRARY.built_folder()) / f"kinds-{names.version()}.json"
    if kept.exists():
        known: list[list[str]] = json.loads(kept.read_text())
        return known
    kinds: dict[str, list[str]] = {}
    for name, entry in sorted(_index().items()):
        if entry.kind.name in ("TASK", "PY_TASK"):
            config = load_yaml(entry.yaml_path, resolve_func=False)
            family = str(entry.yaml_path).rpartition("/tasks/")[2].partition("/")[0]
            said = {key: _without_words(value, key) for key, value in config.items() if key not in OF_ITS_OWN}
            kinds.setdefault(json.dumps([family, said], sort_keys=True, default=str), []).append(name)
    found = sorted(kinds.values(), key=lambda alike: (-len(alike), alike))
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(found))
    return found


def _without_words(value: Any, key: str) -> Any:
    """A field of a task without what is only wording: translations of a template are one template."""
    if isinstance(value, dict):
        return {name: _without_words(each, name) for name, each in value.items()}
    if isinstance(value, list) and key == "samples":
        return sorted({str(sorted(each)) if isinstance(each, dict) else type(each).__name__ for each in value})
    if isinstance(value, list):
        shown = [_without_words(each, "") for each in value]
        return [len(value), sorted({json.dumps(each, default=str) for each in shown})]
    if isinstance(value, str) and not (re.fullmatch(r"\w+", value) or key in ("function", "metric", "aggregation")):
        return [re.sub(r"'[^']*\W[^']*'|\"[^\"]*\W[^\"]*\"", "''", each) for each in MARKED.findall(value)]
    return value


def _index() -> dict[str, Any]:
    index: dict[str, Any] = names.manager({"folder": LIBRARY.built_folder()})._index
    return index


def _stand_in_for_the_hub() -> None:
    """Metrics of the hub are not to be had. What `datasets` calls a table by takes it longer than the table."""
    import evaluate
    from datasets.fingerprint import Hasher

    import datasets

    evaluate.load = _HubMetric
    datasets.load_dataset = lambda *_, split=None, **__: _hub[-1](split)  # once: libraries keep what they import
    datasets.get_dataset_split_names = lambda *_, **__: ["train", "validation", "test"]
    numbers = itertools.count()
    Hasher.hash = classmethod(lambda _, __: f"{next(numbers):016x}")


def _report(outcomes: list[tuple[str, int, str]], seconds: float) -> None:
    tasks: collections.Counter[str] = collections.Counter()
    for _, count, reason in outcomes:
        tasks[reason] += count
    kinds = collections.Counter(reason for *_, reason in outcomes)
    asked, ran = tasks.total() - tasks[APART], tasks["ran"]
    print(
        f"{tasks.total():,} tasks of {kinds.total():,} kinds in {seconds:.0f} s, {tasks[APART]} about images or sound."
    )
    print(f"Built, asked and scored: {ran:,} of the other {asked:,} tasks = {ran / max(1, asked):.1%}", end="")
    print(f" ({kinds['ran']} of {kinds.total() - kinds[APART]} kinds)\n")
    print("| the rest | tasks | kinds | for example |\n| --- | ---: | ---: | --- |")
    for reason, count in tasks.most_common():
        if reason != "ran":
            example = next(name for name, _, each in outcomes if each == reason)
            print(f"| {reason} | {count} | {kinds[reason]} | `{example}` |")


class TooLongError(BaseException):
    """The task took longer than a census can wait. Not an `Exception`, so that a broad `except` does not swallow it."""


def _outcome(name: str, folder: str) -> str:
    """`ran`, or the reason why not."""

    def too_long(*_: Any) -> None:
        raise TooLongError(f"longer than {SECONDS} s")

    for which in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(which, too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of the processor, whatever else the machine does
    signal.setitimer(signal.ITIMER_REAL, 10 * SECONDS)
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            return _run(name, folder)
    except TooLongError as error:
        return str(error)
    except (Exception, SystemExit) as error:
        return _shown(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _shown(error: BaseException) -> str:
    text = re.sub(r"\s+", " ", str(error))
    text = re.sub(r"`lm-eval:[^`]*`:? ?(cannot be loaded: |its requests cannot be built: )?", "", text)
    return f"{type(error).__name__}: {re.sub(r'[0-9]+', 'N', text)}"[:110].replace("|", "/")


def _run(name: str, folder: str) -> str:
    from lm_eval.tasks._yaml_loader import load_yaml

    config = load_yaml(_index()[name].yaml_path, resolve_func=True)
    if config.get("doc_to_image") or config.get("doc_to_audio"):
        return APART
    if config.get("unsafe_code"):
        return "runs what the model wrote: assay does that in its sandbox only"
    shape = _shape(config)
    for family, fields in KNOWN.items():
        for field, keys in fields.items() if name.startswith(family) else ():
            shape.fields[field] = Shape(kind="dict", fields={key: Shape() for key in keys})
    first: Exception | None = None
    for _ in range(TRIES):
        try:
            with _made_up(shape, name):
                _once(name, folder)
            return "ran"
        except Exception as error:
            root = _root(error)
            if "images or sound" in str(root):
                return APART
            if "Couldn't find a module script" in str(root) or "Couldn't reach" in str(root):
                return "needs a metric of the hub, which cannot be reached here"
            first = first or root
            if not shape.tried and (documents_of(name) or _known(name)):
                shape.tried.add(
                    "known documents"
                )  # those of its kind may not be its own: from here on they are made up
                continue
            if not repair(shape, root):
                break
    assert first is not None
    if _fails_by_itself(name, shape):
        return f"as in lm_eval by itself: {_shown(first)}"
    raise first


def _fails_by_itself(name: str, shape: Shape) -> bool:
    """Whether lm_eval's own evaluator cannot run the task on these documents either."""
    from lm_eval.api.model import LM
    from lm_eval.evaluator import simple_evaluate

    class Scripted(LM):  # type: ignore[misc]
        def loglikelihood(self, requests: list[Any]) -> list[Any]:
            return [tuple(_response_to("loglikelihood", each.args[0] + each.args[1])) for each in requests]

        def loglikelihood_rolling(self, requests: list[Any]) -> list[Any]:
            return [_response_to("loglikelihood_rolling", each.args[0]) for each in requests]

        def generate_until(self, requests: list[Any]) -> list[Any]:
            return [_response_to("generate_until", each.args[0]) for each in requests]

    try:
        with _made_up(shape, name):
            simple_evaluate(
                Scripted(),
                tasks=[name],
                task_manager=names.manager({"folder": LIBRARY.built_folder()}),
                bootstrap_iters=0,
            )
    except Exception:
        return True
    return False


def _shape(config: dict[str, Any]) -> Shape:
    root = Shape(kind="dict")
    shots = config.get("fewshot_config") or {}
    for source in (config, shots if isinstance(shots, dict) else {}):
        for key in TEMPLATES:
            template = source.get(key)
            if callable(template):
                shapes_of_function(template, root)
            for text in template if isinstance(template, list) else [template]:
                if isinstance(text, str):
                    shapes_of_template(text, root)
    for key in ("process_docs", "process_results", "class"):
        if callable(config.get(key)):
            shapes_of_function(config[key], root)
    for key, is_list in (("doc_to_choice", True), ("doc_to_target", False)):
        written = config.get(key)
        path = re.fullmatch(r"(?:\{\{)?\s*([\w.]+)\s*(?:\}\})?", written) if isinstance(written, str) else None
        if path is None:
            continue
        field = functools.reduce(Shape.at, path.group(1).split("."), root)
        if is_list:
            field.each()
        elif config.get("output_type") == "multiple_choice" and not field.values:
            field.be("int")
    return root


@functools.cache
def _known(task: str) -> Any:
    """Documents that are known for the task, or for one of its kind."""
    alike = next((each for each in _alike() if task in each), [])
    named = next((name for name in (task, *alike) if name in MADE_UP), None)
    return None if named is None else MADE_UP[named][1]


@contextlib.contextmanager
def _made_up(shape: Shape, task: str) -> Iterator[None]:
    """The hub has documents of this shape in every split of every dataset, or those that are known for the task."""
    import datasets

    make = (None if shape.tried else documents_of(task) or _known(task)) or functools.partial(shape.make, "document")
    rows = datasets.Dataset.from_list([make(number) for number in range(COUNT)])

    class Splits(datasets.DatasetDict):  # type: ignore[misc]
        def __missing__(self, split: str) -> Any:
            return rows

        def __getitem__(self, split: Any) -> Any:
            return rows

    _hub.append(lambda split: rows if split else Splits({"train": rows}))
    try:
        yield
    finally:
        _hub.pop()


class _HubMetric:
    """Stands for a metric of the hub, whatever it measures."""

    def __init__(self, name: str, *_: Any, **__: Any) -> None:
        self._name = name

    def compute(self, **_: Any) -> Any:
        return collections.defaultdict(lambda: _Half(0.5), {self._name: _Half(0.5)})


class _Half(float):
    """A number, or the list of those of each answer."""

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, place: int) -> float:
        if place >= COUNT:
            raise IndexError(place)
        return 0.5


def _once(name: str, folder: str) -> None:
    """Build the task, answer its requests, score every sample and aggregate."""
    from assay.bridges.lm_eval.asking import requests_of
    from assay.bridges.lm_eval.worker.building import build
    from assay.bridges.lm_eval.worker.loading import task_of
    from assay.bridges.lm_eval.worker.results import _scored, aggregate, keep_scores
    from assay.datasets.built import BuiltSamples

    order = {"folder": folder, "name": name}
    _index()  # which the folder's own would be made anew for
    for task in build(order)["tasks"]:
        scores = []
        for sample in BuiltSamples(task["path"], task["size"], task["sha256"]):
            answers = iter(requests_of(sample))
            repeats = sample.extras["repeats"]
            responses = [
                [_response(each["type"], next(answers)) for _ in range(repeats)] for each in sample.extras["requests"]
            ]
            scores.append(_scored(task_of({**order, "task": task["name"]}), task["name"], sample.row, responses))
        keep_scores({"key": "census", "scores": scores})
        found = aggregate({**order, "task": task["name"], "key": "census", "means": [], "rows": None})
        if "error" in found:
            raise RuntimeError(found["error"])
        Path(task["path"]).unlink()


def _response(kind: str, request: Any) -> Any:
    return _response_to(kind, (request.continuation or "") + request.text()[-200:])


def _response_to(kind: str, text: str) -> Any:
    share = int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48
    if kind == "generate_until":
        return f" It is {int(share * 9)}. The answer is {'ABCD'[int(share * 4)]}. #### {int(share * 9)}"
    return -20.0 * share - 0.1 if kind == "loglikelihood_rolling" else [-20.0 * share - 0.1, share < 0.3]


def _root(error: Exception) -> Exception:
    """What lm_eval or the task raised first."""
    seen = [error]
    while isinstance(error.__cause__, Exception) and error.__cause__ not in seen:
        error = error.__cause__
        seen.append(error)
    return error


if __name__ == "__main__":
    main()
