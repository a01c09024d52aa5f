"""A folder with tasks in lm_eval's format and their documents, as someone would have written them."""

from __future__ import annotations

import json
from pathlib import Path

CHOICE = """\
task: own_choice
dataset_path: json
dataset_kwargs: {data_files: {test: TEST}}
output_type: multiple_choice
test_split: test
doc_to_text: "Question: {{question}}\\nAnswer:"
doc_to_choice: choices
doc_to_target: answer
metric_list: [{metric: acc}, {metric: f1}]
"""
WRITING = """\
task: own_writing
dataset_path: json
dataset_kwargs: {data_files: {test: TEST}}
output_type: generate_until
test_split: test
doc_to_text: "{{question}}"
doc_to_target: "{{choices[answer]}}"
generation_kwargs: {until: ["\\n"], do_sample: true, temperature: 0.5, max_gen_toks: 7}
repeats: 3
process_results: !function scoring.process
filter_list:
  - name: vote
    filter: [{function: majority_vote}, {function: take_first}]
metric_list: [{metric: hit, aggregation: mean, higher_is_better: true}]
"""
GROUP = """\
group: own_group
task: [own_choice, own_writing]
aggregate_metric_list: [{metric: acc, weight_by_size: true}]
"""
SCORING = """\
def process(doc, results):
    return {"hit": float(results[0].strip() == doc["choices"][doc["answer"]])}
"""
DOCUMENTS = [{"question": f"Is {number} odd?", "choices": ["no", "yes"], "answer": number % 2} for number in range(6)]


def write_own_tasks(folder: Path) -> Path:
    """The folder of YAML files, in a project of its own."""
    tasks = folder / "tasks"
    tasks.mkdir()
    (folder / "pyproject.toml").write_text("")
    test = tasks / "test.jsonl"
    test.write_text("".join(json.dumps(each) + "\n" for each in DOCUMENTS))
    for name, text in (("choice", CHOICE), ("writing", WRITING), ("group", GROUP)):
        (tasks / f"{name}.yaml").write_text(text.replace("TEST", str(test)))
    (tasks / "scoring.py").write_text(SCORING)
    return tasks
