"""lm-evaluation-harness by itself, with the hub's documents taken from a folder: `TASK/SPLIT.jsonl`.

`python -m bench._lm_eval_alone FOLDER each ADDRESS TOKENIZER OUT TASK…` runs task after task in one process and writes
what each came to into OUT; `python -m bench._lm_eval_alone FOLDER command …` is lm_eval's own command with its flags.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def serve_documents(folder: Path) -> None:
    """Answer lm_eval's loader from files."""
    from lm_eval.api.task import ConfigurableTask

    import datasets

    real, download = datasets.load_dataset, ConfigurableTask.download
    asking = [""]

    def noted(task: Any, *arguments: Any, **options: Any) -> Any:
        asking[0] = str(getattr(task.config, "task", None) or "squad_completion")
        return download(task, *arguments, **options)

    def load_dataset(path: Any = None, name: Any = None, split: Any = None, **_: Any) -> Any:
        files = {each.stem: str(each) for each in (folder / asking[0]).glob("*.jsonl")}
        whole = real("json", data_files=files)
        return whole if split is None else whole[split]

    datasets.load_dataset, ConfigurableTask.download = load_dataset, noted


def score_what_was_asked() -> None:
    """Let lm_eval score the documents that it made its requests of, and not those of a second reading."""
    from lm_eval.api.task import Task

    read = Task.doc_iterator

    def kept(task: Any, **how: Any) -> Any:
        documents = task.__dict__.setdefault("_documents_asked_about", [])
        if not documents:
            documents += read(task, **how)
        return iter(documents)

    Task.doc_iterator = kept


def each_task(arguments: list[str]) -> None:
    """Every task with the settings that a line of JSON has for it."""
    from lm_eval.evaluator import simple_evaluate
    from lm_eval.tasks import TaskManager

    address, tokenizer, out, *plans = arguments
    manager = TaskManager()
    found = {}
    for line in plans:
        plan = json.loads(line)
        if plan.get("documents") == "read once":
            score_what_was_asked()
        try:
            found[line] = _evaluated(plan, address, tokenizer, manager, simple_evaluate)
        except Exception as error:
            found[line] = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(plan["task"], file=sys.stderr, flush=True)
    Path(out).write_text(json.dumps(found, default=_plain))


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _evaluated(plan: dict[str, Any], address: str, tokenizer: str, manager: Any, evaluate: Any) -> dict[str, Any]:
    chat = plan.get("chat")
    path = "chat/completions" if chat else "completions"
    model = {"model": plan.get("model", "long"), "base_url": f"{address}/v1/{path}", "num_concurrent": 8}
    if plan.get("model") == "embedded":  # a model with a tokenizer of its own, which its server tells
        model |= {"tokenizer_backend": "remote" if plan["likelihoods"] else None, "num_concurrent": 1}
        model |= {"tokenized_requests": plan["likelihoods"]}
    elif not chat:
        model |= {"tokenizer": tokenizer, "tokenizer_backend": "huggingface"}
    found = evaluate(
        model="local-chat-completions" if chat else "local-completions",
        model_args=model | {"max_length": 96 if plan.get("model") == "short" else 1 << 20},
        tasks=[plan["task"]],
        num_fewshot=plan.get("num_fewshot"),
        apply_chat_template=bool(chat),
        fewshot_as_multiturn=bool(plan.get("turns")),
        task_manager=manager,
        bootstrap_iters=0,
    )
    samples = {
        name: [
            {"doc_id": each["doc_id"], "filter": each["filter"], **{key: each[key] for key in each["metrics"]}}
            for each in rows
        ]
        for name, rows in found["samples"].items()
    }
    return {"results": found["results"], "groups": found.get("groups", {}), "samples": samples}


def main() -> None:
    folder, what, *arguments = sys.argv[1:]
    serve_documents(Path(folder))
    if what == "each":
        each_task(arguments)
        return
    from lm_eval.__main__ import cli_evaluate

    sys.argv = ["lm_eval", *arguments]
    cli_evaluate()


if __name__ == "__main__":
    main()
