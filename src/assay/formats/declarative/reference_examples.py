"""Examples of types in YAML files that are no parts with a factory of their own; a test loads all of them."""

from __future__ import annotations

from assay.scorers.assertions.assertion_kinds import ASSERTION_TYPES, NEGATION

_ASSERTED = {
    "equals": 'value: "{{ sample.answer }}"',
    "contains": 'value: "{{ sample.city }}"',
    "icontains": 'value: "{{ sample.city }}"',
    "contains_all": "value: [Bern, Aare]",
    "contains_any": "value: [Bern, Berne]",
    "icontains_all": "value: [bern, aare]",
    "icontains_any": "value: [bern, berne]",
    "starts_with": 'value: "Dear {{ sample.name }}"',
    "regex": r"value: '\b[0-9]{4}\b'",
    "is_json": "value: {type: object, required: [city]}",
    "contains_json": "value: {type: object, required: [city]}",
    "json_schema": "value: {type: object, properties: {city: {type: string}}}",
    "similar": 'value: "{{ sample.answer }}", threshold: 0.9',
    "word_count": "min: 5, max: 50",
    "cost": "max_cost: 0.002",
    "latency": "max_seconds: 5",
    "finish_reason": "value: stop",
}
_FILTERS = {
    **dict.fromkeys(("equals", "not_equals"), 'expression: "{{ sample.category }}", value: law'),
    **dict.fromkeys(
        ("greater_than", "less_than", "greater_or_equal", "less_or_equal"),
        'expression: "{{ sample.year }}", value: 2000',
    ),
    **dict.fromkeys(("in", "not_in"), 'expression: "{{ sample.category }}", values: [law, tax]'),
    **dict.fromkeys(("exists", "not_exists"), 'expression: "{{ sample.answer }}"'),
    **dict.fromkeys(("is_true", "is_false"), 'expression: "{{ sample.reviewed }}"'),
}
_PARAMETERS = {
    "float": "key: threshold, display_name: Threshold, default_value: 0.5, min: 0, max: 1",
    "int": "key: best, display_name: Best mark, default_value: 5, min: 2, max: 10",
    "boolean": "key: strict, display_name: Strict, default_value: false",
    "string": "key: tone, display_name: Tone, default_value: polite",
    "model": "key: judge_model, display_name: Judge, default_value: judge, usage: judge_model",
    "dataset": "key: rows, display_name: Rows, default_value: questions",
    "dataset_column": "key: column, display_name: Column",
    "list": "key: columns, display_name: Columns, dtype: string, default_value: [name, email]",
    "categorical": "key: language, display_name: Language, allowed_values: [en, de], default_value: en",
    "dict": "key: weights, display_name: Weights, value_dtype: float, default_value: {good: 1.0, bad: 0.0}",
    "task_result": "key: earlier, display_name: Earlier run",
}
_METRICS = {
    **dict.fromkeys(("mean", "max", "min", "std_dev"), "field: score"),
    "binary-classification": "field_gt: wanted, field_pred: label, positive_answer: spam, negative_answer: ham",
    "multiclass-classification": "field_gt: wanted, field_pred: label",
    "frequency": "field: label, label: refusal, name: refusals",
    "recall": "num_true_positives_field: found, num_false_negatives_field: missed",
    "precision": "num_true_positives_field: found, num_false_positives_field: invented",
    "f1_score": (
        "num_true_positives_field: found, num_false_positives_field: invented, num_false_negatives_field: missed"
    ),
    "bits_per_byte": "name: bits",
    "perplexity": "unit: word",
    "weighted_average": "field: label, weights: {good: 1, fair: 0.5, poor: 0}",
}
_ONE_LINE = {
    **{("scorer", kind): _ASSERTED[kind.removeprefix(NEGATION)] for kind in ASSERTION_TYPES},
    **{("assertion", kind): f"{_ASSERTED[kind.removeprefix(NEGATION)]}, weight: 2" for kind in ASSERTION_TYPES},
    **{("filter", op): fields for op, fields in _FILTERS.items()},
    **{("parameter", kind): fields for kind, fields in _PARAMETERS.items()},
    **{("metric", kind): fields for kind, fields in _METRICS.items()},
    ("solver", "pass_through_solver"): "trace_column: trace",
    ("solver", "text_likelihood_solver"): 'text: "{{ sample.text }}", window: 512, stride: 256',
    ("source", "local"): "file_path: quiz.csv, dtypes: {code: string}",
    ("source", "folder"): "directory_path: articles, extension: .md",
    ("source", "task_result"): "run_path: ../runs/first",
    ("source", "traces"): "file_path: log.eval",
    ("policy rule", "threshold"): 'metric: accuracy, operator: ">=", threshold: 0.7',
    ("policy rule", "exists"): "metric: accuracy",
    ("message builder", "chat_message"): 'role: user, content: "{{ sample.question }}"',
    ("message builder", "generate"): "terminate_if: {includes: DONE}",
    ("message builder", "load_trace"): "trace_column: trace",
}
"""The fields other than the one that chooses the type."""
_BLOCKS = {
    ("task", "task"): """\
key: capitals
display_name: Capitals
description: One question for each country.
definition:
  dataset: {key: countries}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "What is the capital of {{ sample.country }}?"}]
  scorers:
    - {type: contains, value: "{{ sample.capital }}"}
""",
    ("definition", "benchmark_task"): """\
type: benchmark_task
evaluated_entity_type: dataset
dataset: {key: people}
scorers:
  - {type: not_equals, value: "", text: "{{ sample.name }}"}
""",
    ("definition", "system_task"): """\
type: system_task
compute_evidence_snippet: |
  import sys

  def compute_evidence():
      return {"metrics": {"supported": {"value": int(sys.version_info >= (3, 11)), "reason": sys.version}}}
""",
    ("task dataset", "task dataset"): "{key: countries}\n",
    ("trials", "trials"): "{num_trials: 5}\n",
    ("example", "example"): "{value: be brief, display_name: Brevity}\n",
    ("generation settings", "generation settings"): '{temperature: 0, max_tokens: 200, stop: ["\\n\\n"]}\n',
    ("few-shot dataset", "few-shot dataset"): "{key: train}\n",
    ("few-shot examples", "few-shot examples"): (
        '{dataset: {key: train}, count: 4, seed: 7, assistant: "{{ sample.answer }}"}\n'
    ),
    ("postprocessor", "postprocessor"): """\
type: python
postprocess_snippet: |
  def postprocess(sample, solver_output):
      answers = str(solver_output.output).splitlines()
      return [({"target": target}, answer) for target, answer in zip(sample["targets"], answers, strict=True)]
""",
    ("solver", "single_turn_solver"): """\
type: single_turn_solver
generation: {temperature: 0}
input_builder:
  type: chat_completion
  input_messages:
    - {role: system, content: Answer in one sentence.}
    - {role: user, content: "{{ sample.question }}"}
""",
    ("solver", "multi_turn_solver"): """\
type: multi_turn_solver
message_builders:
  - {type: chat_message, role: user, content: "{{ sample.wish }}"}
  - {type: generate}
  - {type: chat_message, role: user, content: Are you sure?}
  - {type: generate}
""",
    ("solver", "choice_likelihood_solver"): """\
type: choice_likelihood_solver
prompt: "Question: {{ sample.question }}\\nAnswer:"
choices: "{{ sample.choices | tojson }}"
""",
    ("solver", "python"): """\
type: python
run_solver_snippet: |
  async def run_solver(sample, model, trace):
      trace.append_user_message(sample["question"])
      trace.add_model_response(await model.predict(trace.items))
      return trace
""",
    ("input builder", "generic"): """\
type: generic
template: |
  {"messages": [{"role": "user", "content": {{ sample.question | tojson }}}], "max_tokens": 1}
""",
    ("input builder", "chat_completion"): """\
type: chat_completion
input_messages: [{role: user, content: "{{ sample.question }}"}]
""",
    ("input message", "input message"): '{role: user, content: "{{ sample.question }}"}\n',
    ("termination condition", "termination condition"): "{includes: DONE, keep_iteration: true}\n",
    ("message builder", "generate_message"): """\
type: generate_message
model_key: customer
output_role: user
extra_input_messages:
  - {type: chat_message, role: system, content: "You are a customer from {{ sample.city }}."}
""",
    ("message builder", "loop"): """\
type: loop
max_iterations: 3
message_builders:
  - {type: generate, terminate_if: {includes: DONE}}
  - {type: chat_message, role: user, content: "Go on; this was turn {{ loop_index }}."}
""",
    ("scorer", "assertions"): """\
type: assertions
threshold: 0.75
assertions:
  - {type: icontains, value: "{{ sample.city }}", weight: 2}
  - {type: word_count, max: 50}
""",
    ("extraction step", "extraction step"): '{regex: "#### ([0-9]+)", select: -1, fallback: "[none]"}\n',
    ("metric", "python"): """\
type: python
compute_metrics_snippet: |
  def compute_metrics(scores):
      return {"longest": max(score.values["words"] for score in scores)}
""",
    ("action rule", "action rule"): """\
key: no-refusals
action: exclude_from_metrics
filter: {op: equals, expression: "{{ scores.kind.label }}", value: refusal}
""",
    ("dataset", "dataset"): """\
key: countries
display_name: Countries
source:
  type: inline
  samples:
    - {country: France, capital: Paris}
    - {country: Peru, capital: Lima}
""",
    ("source", "inline"): "{type: inline, samples: [{country: France, capital: Paris}]}\n",
    ("source", "url"): """\
type: url
url: https://example.org/quiz.csv
sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
""",
    ("source", "generated"): """\
type: generated
num_samples: 4
seed: 7
draw: {a: [1, 2, 3], b: [10, 20]}
steps:
  - {type: template, columns: {question: "What is {{ sample.a }} + {{ sample.b }}?"}}
""",
    ("source", "huggingface"): "{type: huggingface, path: owner/quiz, split: test, revision: v1.0}\n",
    ("generator step", "template"): """\
type: template
columns: {question: "What is {{ sample.a }} + {{ sample.b }}?"}
""",
    ("generator step", "python"): """\
type: python
generate_snippet: |
  def generate(sample, index, seed):
      return {"answer": sample["a"] + sample["b"]}
""",
    ("generator step", "model"): """\
type: model
model_key: writer
user_prompt: "Write a question about {{ sample.topic }}."
column: question
""",
    ("model", "model"): """\
key: our-server
display_name: Our server
rate_limit: 60
config:
  url: http://localhost:8000/v1
  model_key: qwen
  api_key: $OUR_SERVER_KEY
""",
    ("connection", "custom_connection"): """\
url: http://localhost:8000/v1
model_key: qwen
api_key: $OUR_SERVER_KEY
""",
    ("connection", "custom_inference"): """\
connection_type: custom_inference
run_inference_snippet: |
  import json

  def run_inference(body, environment):
      question = json.loads(body)["messages"][-1]["content"]
      return json.dumps({"choices": [{"message": {"role": "assistant", "content": question.upper()}}]})
""",
    ("connection", "provider_connection"): """\
connection_type: provider_connection
provider_id: openai
model_key: gpt-4.1-mini
""",
    ("connection", "assay"): "{connection_type: assay, model: openai:gpt-4.1-mini}\n",
    ("model adapter", "model adapter"): """\
key: bot
process_input: {source_code: '{"query": {{ input.messages[-1].content | tojson }}}'}
process_output: {source_code: '{"choices": [{"message": {"content": {{ (body | fromjson).reply | tojson }}}}]}'}
""",
    ("adapter code", "adapter code"): (
        """{language: jinja, source_code: '{"query": {{ input.messages[-1].content | tojson }}}'}\n"""
    ),
    ("adapter reference", "adapter reference"): "{key: bot}\n",
    ("provider model", "provider model"): "{$provider: openai/gpt-4.1-nano}\n",
    ("run file", "run file"): """\
models: [toy]
tasks:
  - key: sums
    display_name: Sums
    description: Whether the model can add.
    definition:
      dataset: {key: sums}
      solver:
        type: single_turn_solver
        input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.sum }}"}]}
      scorers: [{type: exact_match, ground_truth: "{{ sample.total }}"}]
datasets:
  - {key: sums, display_name: Sums, source: {type: inline, samples: [{sum: "compute: 2 + 2", total: 4}]}}
evaluation:
  key: first-look
  display_name: A first look
  task_specifications: [{task_key: sums, model_key: toy}]
""",
    ("evaluation", "evaluation"): """\
key: first-look
display_name: A first look
task_specifications:
  - {task_key: sums, model_key: toy, num_samples: 100}
""",
    ("task specification", "task specification"): "{task_key: sums, model_key: toy, task_config: {best: 5}}\n",
    ("run settings", "run settings"): "{num_samples: 100, subsampling: random}\n",
    ("policy", "policy"): """\
key: quality
display_name: Quality
rules:
  - key: accurate
    definition: {type: threshold, metric: accuracy, operator: ">=", threshold: 0.7}
    scope: {task_specification_keys: [sums]}
""",
    ("policy's rule", "policy's rule"): """\
key: accurate
definition: {type: threshold, metric: accuracy, operator: ">=", threshold: 0.7}
""",
    ("policy scope", "policy scope"): "{task_specification_keys: [sums]}\n",
}


def example_of(kind: str, name: str) -> str:
    """YAML of one thing of this type; empty where there is none, which a test forbids."""
    if (kind, name) in _BLOCKS:
        return _BLOCKS[kind, name]
    fields = _ONE_LINE.get((kind, name))
    tag = "op" if kind == "filter" else "type"
    return "" if fields is None else f"{{{tag}: {name}, {fields}}}\n"
