"""How many of all tasks that lm-evaluation-harness registers are built, asked and scored through `lm-eval:`.

Documents are made up from each task's templates and Python and repaired until lm_eval itself takes them; a scripted
model answers. `--of 500 --seed 1` takes a sample of the tasks. Needs lm_eval in this environment.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import hashlib
import io
import logging
import os
import re
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench._lm_eval_shapes import Shape, shapes_of_function, shapes_of_template

COUNT = 12
TRIES = 14
SECONDS = 30
TEMPLATES = (
    "doc_to_text",
    "doc_to_target",
    "doc_to_choice",
    "gen_prefix",
    "description",
    "doc_to_decontamination_query",
)
GUESSES: tuple[Any, ...] = ("A", 0, "1", "a", 1, "(A)", "yes", "True", "['A', 'B', 'C', 'D']", '["A", "B"]', 0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", type=int, help="how many tasks, drawn at random (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tasks", nargs="*", help="these tasks and no others")
    options = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    logging.disable(logging.CRITICAL)
    outcomes: dict[str, str] = {}
    started = time.time()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HF_HOME"] = folder
        for name in _names(options, folder):
            outcomes[name] = _outcome(name, folder)
            if sys.stderr.isatty() or options.tasks:
                print(f"{name}: {outcomes[name]}", file=sys.stderr, flush=True)
    _report(outcomes, time.time() - started)


def _names(options: argparse.Namespace, folder: str) -> list[str]:
    import random

    from assay.tasks.lm_eval.worker.names import manager

    if options.tasks:
        return list(options.tasks)
    index = manager({"folder": folder})._index
    known = sorted(name for name, entry in index.items() if entry.kind.name in ("TASK", "PY_TASK"))
    return random.Random(options.seed).sample(known, min(options.of, len(known))) if options.of else known


def _report(outcomes: dict[str, str], seconds: float) -> None:
    counts = collections.Counter(outcomes.values())
    apart = sum(count for reason, count in counts.items() if reason.startswith("images or sound"))
    ran = counts.get("ran", 0)
    print(f"{len(outcomes)} tasks in {seconds:.0f} s: {ran} built, asked and scored", end="")
    print(f" = {ran / max(1, len(outcomes) - apart):.1%} of those about neither images nor sound\n")
    print("| of the rest | tasks | for example |\n| --- | ---: | --- |")
    for reason, count in counts.most_common():
        if reason != "ran":
            example = next(name for name, each in outcomes.items() if each == reason)
            print(f"| {reason} | {count} | `{example}` |")


class TooLongError(Exception):
    """The task took longer than a census can wait."""


def _outcome(name: str, folder: str) -> str:
    """`ran`, or the reason why not."""

    def too_long(*_: Any) -> None:
        raise TooLongError(f"longer than {SECONDS} s")

    signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of the processor, whatever else the machine does
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            return _run(name, folder)
    except Exception as error:
        return _shown(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _shown(error: BaseException) -> str:
    text = re.sub(r"\s+", " ", str(error))
    text = re.sub(r"`lm-eval:[^`]*`:? ?(cannot be loaded: |its requests cannot be built: )?", "", text)
    return f"{type(error).__name__}: {re.sub(r'[0-9]+', 'N', text)}"[:110].replace("|", "/")


def _run(name: str, folder: str) -> str:
    from lm_eval.tasks._yaml_loader import load_yaml

    from assay.tasks.lm_eval.worker.names import manager

    config = load_yaml(manager({"folder": folder})._index[name].yaml_path, resolve_func=True)
    if config.get("doc_to_image") or config.get("doc_to_audio"):
        return "images or sound: not passed on"
    if config.get("unsafe_code"):
        return "runs what the model wrote: only in assay's sandbox"
    shape = _shape(config)
    last: Exception | None = None
    for attempt in range(TRIES):
        try:
            with _made_up(shape):
                _once(name, folder)
            return "ran"
        except TooLongError:
            raise
        except Exception as error:
            last = error
            if not _repair(shape, _root(error), attempt):
                break
    assert last is not None
    raise _root(last)


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
    choices = config.get("doc_to_choice")
    if isinstance(choices, str) and re.fullmatch(r"\w+", choices):
        root.at(choices).each()
    return root


@contextlib.contextmanager
def _made_up(shape: Shape) -> Iterator[None]:
    """The hub has documents of this shape in every split of every dataset."""
    import datasets

    real = datasets.load_dataset
    rows = datasets.Dataset.from_list([shape.make("document", number) for number in range(COUNT)])

    class Splits(datasets.DatasetDict):  # type: ignore[misc]
        def __missing__(self, split: str) -> Any:
            return rows

        def __getitem__(self, split: Any) -> Any:
            return rows

    datasets.load_dataset = lambda *_, split=None, **__: rows if split else Splits({"train": rows})
    try:
        yield
    finally:
        datasets.load_dataset = real


def _once(name: str, folder: str) -> None:
    """Build the task, answer its requests, score every sample and aggregate."""
    from assay.tasks.lm_eval.asking import requests_of
    from assay.tasks.lm_eval.samples import BuiltSamples
    from assay.tasks.lm_eval.worker.building import build
    from assay.tasks.lm_eval.worker.results import aggregate, keep_scores, score

    order = {"folder": folder, "name": name}
    for task in build(order)["tasks"]:
        scores = []
        for sample in BuiltSamples(task["path"], task["size"], task["sha256"]):
            answers = iter(requests_of(sample))
            repeats = sample.extras["repeats"]
            responses = [
                [_response(each["type"], next(answers)) for _ in range(repeats)] for each in sample.extras["requests"]
            ]
            samples = [{"row": sample.row, "responses": responses}]
            (made,) = score({**order, "task": task["name"], "samples": samples})["scores"]
            if "problem" in made:
                raise ScoringError(made["problem"], made["traceback"])
            scores.append(made)
        keep_scores({"key": "census", "scores": scores})
        found = aggregate({**order, "task": task["name"], "key": "census", "means": [], "rows": None})
        if "error" in found:
            raise RuntimeError(found["error"])
        Path(task["path"]).unlink()


class ScoringError(Exception):
    """The task's own scoring raised; with its traceback."""


def _response(kind: str, request: Any) -> Any:
    text = (request.continuation or "") + request.text()[-200:]
    share = int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48
    if kind == "generate_until":
        return f" It is {int(share * 9)}. The answer is {'ABCD'[int(share * 4)]}. #### {int(share * 9)}"
    return -20.0 * share - 0.1 if kind == "loglikelihood_rolling" else [-20.0 * share - 0.1, share < 0.3]


def _root(error: Exception) -> Exception:
    """What lm_eval or the task raised first."""
    while isinstance(error.__cause__, Exception):
        error = error.__cause__
    return error


def _repair(shape: Shape, error: Exception, attempt: int) -> bool:
    """Change the documents such that this error cannot come again; False where nothing is known to help."""
    text = str(error)
    if isinstance(error, ModuleNotFoundError | ImportError | ConnectionError | FileNotFoundError):
        return False
    if named := re.search(r"(\w[\w -]*?)\d*~ made up", text):
        return _guess(shape, named.group(1), attempt)
    if shape.guessing and shape.at(shape.guessing).values and str(shape.at(shape.guessing).values[0]) in text:
        return _guess(shape, shape.guessing, attempt)
    if (named := re.search(r"KeyError: '(\w[^']*)'", text)) or isinstance(error, KeyError):
        return _add(shape, named.group(1) if named else str(error.args[0]))
    if named := re.search(r"'([^']+)' is undefined", text):
        return _add(shape, named.group(1))
    if named := re.search(r"object' has no attribute '([^']+)'", text):
        return _add(shape, named.group(1))
    if shape.hints and ("out of bounds for size 0" in text or "did not find any docs" in text):
        return _keep_documents(shape, attempt)
    return _by_the_line(shape, error, attempt)


def _keep_documents(shape: Shape, attempt: int) -> bool:
    """A task that keeps only some documents: one field after the other holds what its function is bound to."""
    names = sorted(shape.fields, key=lambda name: "sub" not in name.lower() and "cat" not in name.lower())
    if attempt >= len(names):
        return False
    shape.fields[names[attempt]].values = [*shape.hints]
    return True


def _add(shape: Shape, name: str) -> bool:
    if name in shape.fields:
        others = [each for each in shape.walk() if each.kind in ("dict", "") and each is not shape and not each.values]
        for each in others:
            each.at(name)
        return bool(others)
    shape.at(name)
    return True


def _guess(shape: Shape, name: str, attempt: int) -> bool:
    found = [each for parent in shape.walk() for key, each in parent.fields.items() if key == name]
    shape.guessing = name if name in shape.fields else ""
    for each in found:
        each.kind, each.values = "", [GUESSES[attempt % len(GUESSES)]]
    return bool(found)


def _by_the_line(shape: Shape, error: Exception, attempt: int) -> bool:
    """Fields that the failing line names get other values in turn."""
    lines = [frame.line or "" for frame in traceback.extract_tb(error.__traceback__)]
    lines += str(error.args[-1]).splitlines() if isinstance(error, ScoringError) else []
    names = [name for line in reversed(lines) for name in re.findall(r"[\"'](\w+)[\"']", line) if name in shape.fields]
    if not names:
        names = [name for name, each in shape.fields.items() if each.kind in ("", "str")]
        if not names:
            return False
        names = [names[attempt % len(names)]]
    each = shape.fields[names[0]]
    options: list[Any] = [*GUESSES]
    choice = options[attempt % len(options)]
    if attempt % 3 == 1:
        each.kind, each.values = "", []
        each.each()
    else:
        each.kind, each.values = "", [choice]
    return True


if __name__ == "__main__":
    main()
