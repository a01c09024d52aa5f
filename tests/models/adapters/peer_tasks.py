"""Tasks in lm_eval's format in the shapes of PIQA, MMLU, GSM8K, TriviaQA and WikiText, over made-up documents."""

from __future__ import annotations

import json
import random
from pathlib import Path

WORDS = (
    *("amber", "brisk", "cedar", "delta", "ember", "fjord", "glade", "hazel", "inlet", "jade", "kelp", "lumen"),
    *("mossy", "noble", "ochre", "plume", "quartz"),
)
SOURCE = "dataset_path: json\ndataset_kwargs: {data_files: {test: TEST, dev: DEV}}\ntest_split: test\n"
SHOTS = "fewshot_split: dev\nfewshot_config: {sampler: first_n}\nnum_fewshot: 5\n"
YAML = {
    "peer_piqa": """\
output_type: multiple_choice
doc_to_text: "Question: {{goal}}\\nAnswer:"
doc_to_choice: "{{[first, second]}}"
doc_to_target: label
metric_list: [{metric: acc}, {metric: acc_norm}]
""",
    "peer_spaces": """\
output_type: multiple_choice
doc_to_text: "Question: {{goal}}\\nAnswer:  "
doc_to_choice: "{{[first, second]}}"
doc_to_target: label
target_delimiter: ""
metric_list: [{metric: acc}]
""",
    "peer_mmlu": f"""\
{SHOTS}output_type: multiple_choice
description: "The following are questions about {{{{topic}}}}.\\n\\n"
doc_to_text: "{{{{goal}}}}\\nA. {{{{first}}}}\\nB. {{{{second}}}}\\nC. none\\nD. both\\nAnswer:"
doc_to_choice: ["A", "B", "C", "D"]
doc_to_target: label
metric_list: [{{metric: acc}}]
""",
    "peer_gsm8k": f"""\
{SHOTS}output_type: generate_until
doc_to_text: "Question: {{{{goal}}}}\\nAnswer:"
doc_to_target: "{{{{first}}}}"
generation_kwargs: {{until: ["Question:", "</s>"], do_sample: false, temperature: 0.0, max_gen_toks: 20}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
""",
    "peer_triviaqa": """\
output_type: generate_until
doc_to_text: "Question: {{goal}}?\\nAnswer:"
doc_to_target: "{{first}}"
generation_kwargs: {until: ["\\n", ".", ","], do_sample: false, temperature: 0.0, max_gen_toks: 12}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
""",
    "peer_wikitext": """\
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{passage}}"
metric_list: [{metric: word_perplexity}]
""",
}


def write_tasks(folder: Path, documents: int = 6) -> Path:
    """The folder of YAML files, with their documents."""
    folder.mkdir()
    rng = random.Random(3)
    for split, count in (("test", documents), ("dev", 5)):
        lines = [json.dumps(_document(rng)) for _ in range(count)]
        (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n")
    source = SOURCE.replace("TEST", str(folder / "test.jsonl")).replace("DEV", str(folder / "dev.jsonl"))
    for name, text in YAML.items():
        (folder / f"{name}.yaml").write_text(f"task: {name}\n{source}{text}")
    return folder


def _document(rng: random.Random) -> dict[str, object]:
    def some(least: int, most: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(least, most)))

    return {
        "goal": some(4, 12),
        "first": some(1, 5),
        "second": some(1, 5),
        "label": rng.randrange(2),
        "topic": WORDS[0],
        "passage": some(60, 120),
    }
