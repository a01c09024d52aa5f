"""What lm-evaluation-harness itself makes of task files: run by that program's own Python, cases in, answers out.

Each case names a task file, its documents by split and, for written answers, what a model says to each; printed are
the prompts, choices and golds, the generation settings and the scores.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask
from lm_eval.models.utils import normalize_gen_kwargs
from lm_eval.tasks._yaml_loader import load_yaml

import datasets


def main() -> None:
    print(json.dumps([answer(case) for case in json.load(sys.stdin)]))


def answer(case: dict[str, Any]) -> dict[str, Any]:
    config = load_yaml(case["file"])
    config.pop("dataset_kwargs", None)
    if case.get("shots") is not None:
        config["num_fewshot"] = case["shots"]

    class Local(ConfigurableTask):
        def download(self, *args: Any, **kwargs: Any) -> None:
            self.dataset = {split: datasets.Dataset.from_list(docs) for split, docs in case["splits"].items()}

    task = Local(config=config)
    task.set_fewshot_seed(1234)
    task.build_all_requests()
    documents = list(task.eval_docs)
    by_document: dict[int, list[Instance]] = {}
    for instance in task.instances:
        by_document.setdefault(instance.doc_id, []).append(instance)
    if task.OUTPUT_TYPE == "multiple_choice":
        return {
            "prompts": [group[0].args[0] for group in by_document.values()],
            "choices": [task.doc_to_choice(doc) for doc in documents],
            "continuations": [[each.args[1] for each in group] for group in by_document.values()],
            "golds": [task.doc_to_target(doc) for doc in documents],
        }
    settings = normalize_gen_kwargs(by_document[0][0].args[1])
    for number, (group,) in enumerate(by_document.values()):
        group.resps = [case["answers"][number]]
    task.apply_filters()
    name = next(iter(task.instances[0].filtered_resps))
    scored = [
        task.process_results(doc, [group[0].filtered_resps[name]])
        for doc, group in zip(documents, by_document.values(), strict=True)
    ]
    return {
        "prompts": [group[0].args[0] for group in by_document.values()],
        "stop": settings["until"],
        "max_tokens": settings["max_gen_toks"],
        "temperature": settings.get("temperature", 0.0),
        "scores": [float(next(iter(each.values()))) for each in scored],
    }


main()
