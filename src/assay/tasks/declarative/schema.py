"""The records of declarative files: every field of task, dataset, model, evaluation and run files, in one table each.

`checked_task` and its sisters take a document as it was read and return plain data with defaults filled in. The same
tables make the JSON Schema that editors use (`assay schema`).
"""

from __future__ import annotations

from typing import Any

from assay.tasks.declarative.shape import (
    Anything,
    Either,
    Field,
    Later,
    ListOf,
    MapOf,
    Number,
    Report,
    Scalar,
    Shape,
    Shaped,
    Tagged,
    Text,
    Truth,
    check,
    json_schema,
)
from assay.tasks.declarative.yaml_reader import Document, FieldPath

USER_KEY = Text(min_length=1, max_length=250, pattern=r"[a-zA-Z0-9_\-]+")
REFERENCED_KEY = Text(min_length=1, max_length=250, pattern=r"[a-zA-Z0-9_\-$]+")
JUDGE_SYSTEM_PROMPT = "You are a helpful assistant and will be used to judge the output of another model."
LABELER_SYSTEM_PROMPT = (
    "You are a helpful assistant and will be used to label the output of another model or a dataset sample."
)


def _word(value: str) -> Field:
    return Field(Text(words=(value,)), doc=f"`{value}`", placeholder=False)


def _text(doc: str = "", default: Any = ..., **limits: Any) -> Field:
    return Field(Text(**limits), doc=doc) if default is ... else Field(Text(**limits), default, doc)


# --- configuration parameters -----------------------------------------------------------------------------------

_DTYPES = Text(words=("string", "integer", "float", "boolean"))
_EXAMPLE = Shaped("an example", "A value to try.", {"value": Field(Text()), "display_name": Field(Text(), None)})


def _parameter(kind: str, doc: str, **extra: Field) -> Shaped:
    common = {
        "type": _word(kind),
        "key": Field(USER_KEY, doc="The name in `<< config.… >>`.", placeholder=False),
        "display_name": _text("The name people see.", min_length=1),
        "description": _text(default=None),
        "default_value": Field(Anything(), None, "Used when no value is given."),
        "nullable": Field(Truth(), False, "Whether null is a value.", placeholder=False),
    }
    return Shaped(f"a {kind} parameter", doc, {**common, **extra})


_LIMITS = {"min": Field(Number(), None, "Smallest value allowed."), "max": Field(Number(), None, "Largest value.")}
CONFIG_PARAMETER = Tagged(
    "parameter type",
    {
        "float": _parameter("float", "A number.", **_LIMITS),
        "int": _parameter("int", "A whole number.", **_LIMITS),
        "boolean": _parameter("boolean", "true or false."),
        "string": _parameter(
            "string",
            "A text.",
            string_kind=Field(Text(words=("freeform", "python", "jinja")), "freeform", "How an editor treats it."),
            examples=Field(ListOf(_EXAMPLE), None),
        ),
        "model": _parameter(
            "model",
            "The key of a model.",
            usage=Field(
                Text(words=("model_under_test", "judge_model", "synthesizer_model", "productivity_assistant")), None
            ),
        ),
        "dataset": _parameter("dataset", "The key of a dataset."),
        "dataset_column": _parameter("dataset_column", "The name of a column."),
        "list": _parameter("list", "A list of one kind of value.", dtype=Field(_DTYPES)),
        "categorical": _parameter(
            "categorical",
            "One of the allowed values, or several of them.",
            allowed_values=Field(ListOf(Text(), least=1)),
            multiple=Field(Truth(), False, "Whether several may be chosen."),
            values_mapping=Field(Anything(), None),
        ),
        "dict": _parameter("dict", "A mapping from names to one kind of value.", value_dtype=Field(_DTYPES)),
        "task_result": _parameter("task_result", "The key of a task's result."),
    },
)

# --- filters and actions ----------------------------------------------------------------------------------------

_COMPARISONS = ("equals", "not_equals", "greater_than", "less_than", "greater_or_equal", "less_or_equal")
_MEMBERSHIPS = ("in", "not_in")
_UNARIES = ("exists", "not_exists", "is_true", "is_false")
_EXPRESSION = Field(Text(min_length=1), doc="A Jinja expression, such as `{{ sample.category }}`.")
FILTER = Tagged(
    "filter operator",
    {
        **{
            op: Shaped(
                f"a {op} filter",
                "Compares an expression with a value.",
                {"op": Field(Text(words=_COMPARISONS)), "expression": _EXPRESSION, "value": Field(Scalar())},
            )
            for op in _COMPARISONS
        },
        **{
            op: Shaped(
                f"a {op} filter",
                "Asks whether an expression is among values.",
                {"op": Field(Text(words=_MEMBERSHIPS)), "expression": _EXPRESSION, "values": Field(ListOf(Scalar()))},
            )
            for op in _MEMBERSHIPS
        },
        **{
            op: Shaped(
                f"a {op} filter",
                "Asks about an expression by itself.",
                {"op": Field(Text(words=_UNARIES)), "expression": _EXPRESSION},
            )
            for op in _UNARIES
        },
    },
    tag="op",
)
ACTION = Shaped(
    "an action rule",
    "What happens to samples that match a filter.",
    {
        "key": Field(USER_KEY),
        "action": Field(Text(words=("exclude_from_metrics",))),
        "filter": Field(FILTER),
    },
)

# --- metrics ----------------------------------------------------------------------------------------------------


def _metric(kind: str, doc: str, **own: Field) -> Shaped:
    fields = {"type": _word(kind), "key": Field(USER_KEY, None, "Unique within the scorer.")}
    return Shaped(f"a {kind} metric", doc, {**fields, **own})


_FIELD = _text("The score value it reads.", min_length=1)
_NAME = _text("What the number is called.", None)
METRIC = Tagged(
    "metric",
    {
        "python": _metric(
            "python", "The author's `compute_metrics(scores)`.", compute_metrics_snippet=_text(min_length=1)
        ),
        "binary-classification": _metric(
            "binary-classification",
            "Accuracy, precision, recall and F1 of two answers.",
            field_gt=_FIELD,
            field_pred=_FIELD,
            positive_answer=Field(Scalar()),
            negative_answer=Field(Scalar()),
        ),
        "multiclass-classification": _metric(
            "multiclass-classification",
            "Accuracy, and precision and recall per class.",
            field_gt=_FIELD,
            field_pred=_FIELD,
        ),
        **{
            kind: _metric(kind, f"The {word} of a score value.", field=_FIELD, name=_NAME)
            for kind, word in (("mean", "mean"), ("max", "maximum"), ("min", "minimum"), ("std_dev", "deviation"))
        },
        "frequency": _metric("frequency", "The share of each distinct value.", field=_FIELD),
        "recall": _metric(
            "recall",
            "TP / (TP + FN), summed over samples.",
            num_true_positives_field=_FIELD,
            num_false_negatives_field=_FIELD,
            name=_NAME,
        ),
        "precision": _metric(
            "precision",
            "TP / (TP + FP), summed over samples.",
            num_true_positives_field=_FIELD,
            num_false_positives_field=_FIELD,
            name=_NAME,
        ),
        "f1_score": _metric(
            "f1_score",
            "2TP / (2TP + FP + FN), summed over samples.",
            num_true_positives_field=_FIELD,
            num_false_positives_field=_FIELD,
            num_false_negatives_field=_FIELD,
            name=_NAME,
        ),
        "weighted_average": _metric(
            "weighted_average",
            "The mean weight of the labels.",
            field=_FIELD,
            weights=Field(MapOf(Number(), least=1)),
            name=_NAME,
        ),
    },
)

# --- scorers ----------------------------------------------------------------------------------------------------


def _scorer(kind: str, doc: str, rule: Any = None, **own: Field) -> Shaped:
    common = {
        "key": Field(USER_KEY, None, "The scorer's name inside the task."),
        "purpose": Field(Text(words=("score", "qa")), "score", "`qa` feeds actions and evidence, not the metrics."),
        "metrics": Field(ListOf(METRIC), None, "What is computed over all samples."),
        "display_name": _text("The name people see.", None),
        "type": _word(kind),
    }
    return Shaped(f"a {kind} scorer", doc, {**common, **own}, rule)


def _choice_fields(result: dict[str, Any], where: FieldPath, report: Report) -> None:
    """The old `…_field` names are read as templates over the sample."""
    for name in ("ground_truth_choice", "choices"):
        old = result.pop(f"{name}_field")
        if old is not None:
            report.warn((*where, f"{name}_field"), f"`{name}_field` is old; write `{name}: '{{{{ sample.{old} }}}}'`")
        if result[name] is None and old is not None:
            result[name] = f"{{{{ sample.{old} }}}}"
        elif result[name] is None:
            report.wrong(where, f"a string_equals_mcqa scorer needs the field `{name}`")
        elif old is not None:
            report.wrong((*where, f"{name}_field"), f"given beside `{name}`; keep `{name}`")


def _score_range(result: dict[str, Any], where: FieldPath, report: Report) -> None:
    low, high = result["score_min"], result["score_max"]
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and not low < high:
        report.wrong((*where, "score_max"), f"must be above score_min ({low}), got {high}")


def _label_sets(result: dict[str, Any], where: FieldPath, report: Report) -> None:
    correct, incorrect = result["correct_labels"], result["incorrect_labels"]
    if not isinstance(correct, list) or not isinstance(incorrect, list):
        return
    both = sorted({str(x) for x in correct} & {str(x) for x in incorrect})
    if both:
        report.wrong((*where, "incorrect_labels"), f"`{both[0]}` is also a correct label")


def _one_evaluator(result: dict[str, Any], where: FieldPath, report: Report) -> None:
    given = [name for name in ("command", "url", "model_key") if result[name] is not None]
    if len(given) != 1:
        found = f"got {' and '.join(given)}" if given else "got none of them"
        report.wrong(where, f"an evaluator scorer needs one of `command`, `url` and `model_key`; {found}")


_GROUND_TRUTH = _text("Template of the expected text; may read `sample`.")
_VALUE = _text("Template of the text compared; the last answer of the model when absent.", None)
_MODEL_KEY = Field(REFERENCED_KEY, doc="The key of the model that judges.")
_STRUCTURED = Field(Truth(), False, "Whether the judge is asked for JSON by schema.")
_PROMPT = _text("Template of the user message; may read `sample`, `model_output`, `messages`, `solver_output`.")
_RAG_SCORES = (
    "precision",
    "recall",
    "f1_score",
    "claim_recall",
    "context_precision",
    "context_utilization",
    "noise_sensitivity_in_relevant",
    "noise_sensitivity_in_irrelevant",
    "hallucination",
    "self_knowledge",
    "faithfulness",
)
SCORER = Tagged(
    "scorer",
    {
        "bleu": _scorer("bleu", "Word overlap with the expected text.", ground_truth=_GROUND_TRUTH, value=_VALUE),
        "string_equals": _scorer(
            "string_equals", "Exact equality of two texts.", ground_truth=_GROUND_TRUTH, value=_VALUE
        ),
        "string_equals_mcqa": _scorer(
            "string_equals_mcqa",
            "The first character of the answer against the right choice.",
            _choice_fields,
            ground_truth_choice=_text("Template of the right choice.", None),
            choices=_text("Template of the list of choices.", None),
            ground_truth_choice_field=_text("Old name.", None),
            choices_field=_text("Old name.", None),
        ),
        "model_as_a_judge_classifier": _scorer(
            "model_as_a_judge_classifier",
            "A judge says one of the labels.",
            _label_sets,
            model_key=_MODEL_KEY,
            system_prompt=_text("The judge's instructions.", JUDGE_SYSTEM_PROMPT),
            user_prompt=_PROMPT,
            correct_labels=Field(ListOf(Text(), least=1)),
            incorrect_labels=Field(ListOf(Text())),
            use_structured_outputs=_STRUCTURED,
        ),
        "model_as_a_judge_scorer": _scorer(
            "model_as_a_judge_scorer",
            "A judge gives a number, brought to [0, 1].",
            _score_range,
            model_key=_MODEL_KEY,
            system_prompt=_text("The judge's instructions.", JUDGE_SYSTEM_PROMPT),
            user_prompt=_PROMPT,
            score_min=Field(Number(), 0.0),
            score_max=Field(Number(), 1.0),
            use_structured_outputs=_STRUCTURED,
        ),
        "labeler_via_model": _scorer(
            "labeler_via_model",
            "A model labels the answer or the sample.",
            model_key=_MODEL_KEY,
            system_prompt=_text("The labeler's instructions.", LABELER_SYSTEM_PROMPT),
            user_prompt=_PROMPT,
            valid_labels=Field(ListOf(Text()), [], "Empty allows any label."),
            use_structured_outputs=_STRUCTURED,
        ),
        "python": _scorer(
            "python", "The author's `compute_scores`, one sample at a time.", compute_scores_snippet=_text(min_length=1)
        ),
        "python_all_samples": _scorer(
            "python_all_samples",
            "The author's `compute_scores` over all samples at once.",
            compute_scores_snippet=_text(min_length=1),
        ),
        "rag_checker": _scorer(
            "rag_checker",
            "Claims of answer, target and retrieved chunks, checked against each other by a judge.",
            query_column=_text("Column of the question.", "query"),
            target_column=_text("Column of the expected answer.", "target"),
            scores_to_compute=Field(ListOf(Text(words=_RAG_SCORES)), None, "All eleven when absent."),
            judge_model_key=_MODEL_KEY,
        ),
        "function_call_coverage": _scorer(
            "function_call_coverage",
            "Which of the required function calls were made.",
            function_calls=_text("Template of a JSON list of names or {name, arguments}."),
            mode=Field(Text(words=("any_order", "in_order")), "any_order"),
        ),
        "evaluator": _scorer(
            "evaluator",
            "A command, an HTTP service or a judge model that speaks evaluator protocol v2.",
            _one_evaluator,
            command=Field(ListOf(Text(), least=1), None, "The program and its arguments; needs `--trust`."),
            url=_text("The address that candidates are posted to.", None),
            model_key=Field(REFERENCED_KEY, None, "The key of the model that judges."),
            objective=_text("What a good answer is, for a judge.", None),
            quality_dimensions=Field(MapOf(Number(), least=1), None, "Names and weights, for a judge."),
            hard_constraints=Field(ListOf(Text()), None, "What must hold, for a judge."),
            cwd=_text("Working directory of the program.", None),
            headers=Field(MapOf(Text()), None, "Sent with every request to the service."),
            pass_env=Field(ListOf(Text()), None, "Variables the program gets although they look like secrets."),
            timeout_seconds=Field(Number(), None, "Patience for one evaluation."),
            score_range=Field(Text(words=("unit", "any")), "unit", "`unit` is [0, 1], `any` every finite number."),
            task_model=_text("The name of the model the candidate is meant for.", None),
        ),
    },
)

# --- solvers ----------------------------------------------------------------------------------------------------

_FORMAT = Field(Text(words=("latticeflow", "open_responses")), "latticeflow", "Both views are always available.")
_INPUT_MESSAGE = Shaped(
    "an input message",
    "One message of the conversation.",
    {"role": Field(Text(words=("system", "user", "assistant", "developer"))), "content": _text("Template.")},
)
INPUT_BUILDER = Tagged(
    "input builder",
    {
        "generic": Shaped(
            "a generic input builder",
            "A template that renders to the JSON of the model's input.",
            {"type": _word("generic"), "template": _text("Jinja text that renders to JSON.")},
        ),
        "chat_completion": Shaped(
            "a chat_completion input builder",
            "Messages whose contents are templates.",
            {"type": _word("chat_completion"), "input_messages": Field(ListOf(_INPUT_MESSAGE, least=1))},
        ),
    },
)
_TERMINATE = Shaped(
    "a termination condition",
    "Ends the loop, or the conversation, when the new message includes a text.",
    {"includes": _text("The text looked for."), "keep_iteration": Field(Truth(), True)},
)
_TERMINATE_IF = Field(_TERMINATE, None)
_CHAT_MESSAGE = Shaped(
    "a chat_message builder",
    "Appends a rendered message.",
    {
        "type": _word("chat_message"),
        "role": Field(Text(words=("system", "user", "assistant", "developer"))),
        "content": _text("Template; may read `sample`, `messages` and, in a loop, `loop_index`."),
        "terminate_if": _TERMINATE_IF,
    },
)
_LOOP = Shaped(
    "a loop builder",
    "Repeats its builders.",
    {
        "type": _word("loop"),
        "message_builders": Field(ListOf(Later("message builder", lambda: MESSAGE_BUILDER), least=1)),
        "max_iterations": Field(Number(whole=True, least=0), 10),
        "on_max_iterations": Field(Text(words=("error", "continue")), "error"),
    },
)
MESSAGE_BUILDER: Shape = Tagged(
    "message builder",
    {
        "chat_message": _CHAT_MESSAGE,
        "generate": Shaped(
            "a generate builder",
            "Asks the evaluated model and appends its answer.",
            {"type": _word("generate"), "terminate_if": _TERMINATE_IF},
        ),
        "generate_message": Shaped(
            "a generate_message builder",
            "Asks another model and appends its answer.",
            {
                "type": _word("generate_message"),
                "model_key": Field(REFERENCED_KEY),
                "extra_input_messages": Field(ListOf(Either(Anything(), _CHAT_MESSAGE), least=1)),
                "output_role": Field(Text(words=("system", "user", "assistant", "developer")), None),
                "include_conversation": Field(Truth(), True),
                "terminate_if": _TERMINATE_IF,
            },
        ),
        "loop": _LOOP,
        "load_trace": Shaped(
            "a load_trace builder",
            "Puts a recorded trace into the conversation.",
            {"type": _word("load_trace"), "trace_column": _text(min_length=1)},
        ),
    },
)
SOLVER = Tagged(
    "solver",
    {
        "single_turn_solver": Shaped(
            "a single_turn_solver",
            "One rendered input, one answer.",
            {"type": _word("single_turn_solver"), "message_format": _FORMAT, "input_builder": Field(INPUT_BUILDER)},
        ),
        "multi_turn_solver": Shaped(
            "a multi_turn_solver",
            "A conversation made by builders.",
            {
                "type": _word("multi_turn_solver"),
                "message_format": _FORMAT,
                "message_builders": Field(ListOf(MESSAGE_BUILDER, least=1)),
            },
        ),
        "pass_through_solver": Shaped(
            "a pass_through_solver",
            "Takes the recorded trace in a column as the answer.",
            {"type": _word("pass_through_solver"), "trace_column": _text(min_length=1), "message_format": _FORMAT},
        ),
        "python": Shaped(
            "a python solver",
            "The author's `async def run_solver(sample, model, trace)`.",
            {"type": _word("python"), "run_solver_snippet": _text(min_length=1)},
        ),
    },
)

# --- tasks ------------------------------------------------------------------------------------------------------

_ENTITY = Text(words=("dataset", "model"))


def _benchmark_rule(result: dict[str, Any], where: FieldPath, report: Report) -> None:
    if result["evaluated_entity_type"] == "dataset":
        if result["solver"] is not None:
            report.wrong((*where, "solver"), "a task that evaluates a dataset has no `solver`")
    else:
        for name in ("dataset", "solver"):
            if result[name] is None:
                report.wrong(where, f"a task that evaluates models needs `{name}`")
    _unique(result["scorers"], (*where, "scorers"), report)
    _unique(result["actions"] or [], (*where, "actions"), report)


def _unique(items: list[dict[str, Any]], where: FieldPath, report: Report) -> None:
    seen: set[str] = set()
    for at, item in enumerate(items):
        key = item.get("key")
        if key is not None and key in seen:
            report.wrong((*where, at, "key"), f"`{key}` is given twice")
        if key is not None:
            seen.add(key)


def _task_rule(result: dict[str, Any], where: FieldPath, report: Report) -> None:
    _unique(result["config_spec"], (*where, "config_spec"), report)


def _inferred_entity(value: Any, document: Document, where: FieldPath) -> Any:
    """Later files leave the entity type out: a task with a dataset and without a solver evaluates that dataset."""
    definition = value.get("definition") if isinstance(value, dict) else None
    if not isinstance(definition, dict) or ("type" in definition and definition["type"] == "system_task"):
        return value
    if "evaluated_entity_type" in definition or "solver" in definition or "dataset" not in definition:
        return value
    document.warn((*where, "definition"), "there is no `solver`, so this is read as a task about its dataset")
    return {**value, "definition": {**definition, "evaluated_entity_type": "dataset"}}


def _moved_entity(value: Any, document: Document, where: FieldPath) -> Any:
    """The old place of `evaluated_entity_type` is read into the definition."""
    if not isinstance(value, dict) or value.get("evaluated_entity_type") is None:
        return value
    old, definition = value["evaluated_entity_type"], value.get("definition")
    if not isinstance(definition, dict) or definition.get("type") == "system_task":
        return value
    inner = definition.get("evaluated_entity_type", old)
    if inner != old:
        raise document.error((*where, "evaluated_entity_type"), f"`{old}` here but `{inner}` in the definition")
    document.warn((*where, "evaluated_entity_type"), "belongs in `definition`; read from there in new files")
    return {**value, "evaluated_entity_type": None, "definition": {**definition, "evaluated_entity_type": old}}


BENCHMARK = Shaped(
    "a benchmark_task definition",
    "Dataset, solver, scorers and actions of a task.",
    {
        "type": Field(Text(words=("benchmark_task",)), "benchmark_task"),
        "evaluated_entity_type": Field(_ENTITY, "model", "What is evaluated."),
        "dataset": Field(
            Shaped(
                "a task dataset",
                "The dataset of a task.",
                {
                    "key": Field(REFERENCED_KEY, doc="The key of the dataset."),
                    "fast_subset_size": Field(Anything(), None, "Old; ignored."),
                },
            ),
            None,
        ),
        "solver": Field(SOLVER, None),
        "scorers": Field(ListOf(SCORER), []),
        "actions": Field(ListOf(ACTION), None),
    },
    _benchmark_rule,
)
SYSTEM = Shaped(
    "a system_task definition",
    "Evidence computed without model or dataset.",
    {"type": _word("system_task"), "compute_evidence_snippet": _text(min_length=1)},
)
TASK = Shaped(
    "a task",
    "One declarative task.",
    {
        "key": Field(USER_KEY, doc="The task's identity.", placeholder=False),
        "display_name": _text("The name people see.", min_length=1),
        "description": _text("One or two sentences."),
        "long_description": _text("Markdown.", None),
        "tasks": Field(ListOf(Text(words=("chat_completion", "embeddings", "custom"))), []),
        "evaluated_entity_type": Field(_ENTITY, None, "Old place; belongs in `definition`."),
        "config_spec": Field(ListOf(CONFIG_PARAMETER), [], "The parameters of the task."),
        "definition": Field(
            Tagged(
                "task definition",
                {"benchmark_task": BENCHMARK, "system_task": SYSTEM},
                default="benchmark_task",
                aliases={"declarative_task": "benchmark_task"},
            )
        ),
        "tags": Field(ListOf(Text()), []),
    },
    _task_rule,
)

# --- datasets ---------------------------------------------------------------------------------------------------

_FILTERS = Field(ListOf(FILTER), [], "Rows kept: those that match all.")
_COLUMNS = Field(ListOf(Text(min_length=1)), None, "Columns kept; all when absent.")
SOURCE = Tagged(
    "dataset source",
    {
        "local": Shaped(
            "a local source",
            "A file: .jsonl, .csv, .tsv or .parquet.",
            {
                "type": _word("local"),
                "file_path": _text("Relative to the file that defines the dataset.", min_length=1),
                "filters": _FILTERS,
                "columns": _COLUMNS,
            },
        ),
        "inline": Shaped(
            "an inline source",
            "Rows written in the YAML file.",
            {
                "type": _word("inline"),
                "samples": Field(ListOf(MapOf(Anything()))),
                "filters": _FILTERS,
                "columns": _COLUMNS,
            },
        ),
        "huggingface": Shaped(
            "a huggingface source",
            "A dataset of the hub, pinned to a revision.",
            {
                "type": _word("huggingface"),
                "path": _text(min_length=1),
                "split": _text(min_length=1),
                "revision": _text("Commit or tag; also accepted in `load_dataset_kwargs`.", None),
                "load_dataset_kwargs": Field(MapOf(Anything()), {}),
                "filters": _FILTERS,
                "columns": _COLUMNS,
            },
        ),
    },
)


def _dataset_rule(result: dict[str, Any], where: FieldPath, report: Report) -> None:
    old = result.pop("file_path")
    if old is not None and result["source"] is not None:
        report.wrong((*where, "file_path"), "given beside `source`; keep `source`")
    elif old is not None:
        report.warn((*where, "file_path"), "`file_path` is old; write `source: {type: local, file_path: …}`")
        result["source"] = {"type": "local", "file_path": old, "filters": [], "columns": None}
    if result["generator_specification"] is not None:
        report.wrong(
            (*where, "generator_specification"),
            "generated datasets are not supported; generate a file and name it in `source`",
        )
    elif result["source"] is None:
        report.wrong(where, "a dataset needs `source`")


DATASET = Shaped(
    "a dataset",
    "Where samples come from.",
    {
        "key": Field(REFERENCED_KEY),
        "display_name": _text(min_length=1),
        "description": _text(default=None),
        "long_description": _text(default=None),
        "tags": Field(ListOf(Text()), []),
        "source": Field(SOURCE, None),
        "file_path": _text("Old; use `source`.", None),
        "generator_specification": Field(Anything(), None),
    },
    _dataset_rule,
)

# --- models -----------------------------------------------------------------------------------------------------

_ADAPTER_REF = Field(Shaped("an adapter reference", "", {"key": Field(REFERENCED_KEY)}), None)
MODEL_CONFIG = Tagged(
    "connection type",
    {
        "custom_connection": Shaped(
            "a custom connection",
            "A chat server at an address.",
            {
                "connection_type": _word("custom_connection"),
                "adapter": _ADAPTER_REF,
                "url": _text(min_length=1),
                "api_key": _text("A secret: write `$NAME` and set the variable.", None),
                "model_key": _text("The name the server knows the model by.", None),
                "tls_context": Field(Anything(), None),
                "custom_headers": Field(MapOf(Text()), None),
            },
        ),
        "provider_connection": Shaped(
            "a provider connection",
            "A model of a known provider.",
            {
                "connection_type": _word("provider_connection"),
                "provider_id": _text(min_length=1),
                "model_key": _text(min_length=1),
                "api_key": _text("A secret: write `$NAME` and set the variable.", None),
            },
        ),
        "assay": Shaped(
            "an assay model",
            "Any model the command line can name.",
            {
                "connection_type": _word("assay"),
                "model": _text("As after `--model`.", min_length=1),
                "options": Field(MapOf(Anything()), {}, "As after `--model-arg`."),
            },
        ),
    },
    default="custom_connection",
    tag="connection_type",
)
MODEL = Shaped(
    "a model",
    "Something that answers.",
    {
        "key": Field(REFERENCED_KEY),
        "display_name": _text(min_length=1),
        "description": _text(default=None),
        "rate_limit": Field(Number(whole=True, least=1), None, "Requests per minute."),
        "max_concurrent_requests": Field(Number(whole=True, least=1), None),
        "task": Field(Text(words=("chat_completion", "embeddings", "custom")), "chat_completion"),
        "secrets": Field(Anything(), None),
        "config": Field(MODEL_CONFIG),
    },
)
PROVIDERS = ("anthropic", "fireworks", "gemini", "novita", "openai", "sambanova", "together", "latticeflow")
_PROVIDED = Shaped("a provider model", "A model named by provider.", {"$provider": _text("`openai/gpt-4.1-nano`.")})

# --- evaluations and run files ----------------------------------------------------------------------------------

_SUBSAMPLING = Field(Text(words=("head", "random")), None, "The first samples, or a fixed random choice.")
_COUNT = Field(Number(whole=True, least=1), None, "How many samples; all when absent.")
TASK_SPECIFICATION = Shaped(
    "a task specification",
    "One task of an evaluation, with its configuration, model or dataset.",
    {
        "type": Field(Text(words=("standard",)), "standard"),
        "key": Field(USER_KEY, None),
        "task_key": Field(REFERENCED_KEY),
        "task_config": Field(MapOf(Anything()), {}),
        "model_key": Field(REFERENCED_KEY, None),
        "dataset_key": Field(REFERENCED_KEY, None),
        "num_samples": _COUNT,
        "subsampling": _SUBSAMPLING,
        "display_name": _text(default=None),
    },
)
EVALUATION = Shaped(
    "an evaluation",
    "Tasks that are run together.",
    {
        "key": Field(USER_KEY),
        "display_name": _text(min_length=1),
        "description": _text(default=None),
        "long_description": _text(default=None),
        "config_spec": Field(ListOf(CONFIG_PARAMETER), []),
        "task_specifications": Field(ListOf(TASK_SPECIFICATION, least=1)),
        "num_samples": _COUNT,
        "subsampling": _SUBSAMPLING,
        "cache_policy": Field(Text(words=("reuse", "update", "no-cache")), "reuse"),
        "tags": Field(ListOf(Text()), []),
        "mode": Field(Text(words=("debug", "full")), None, "Old: debug is 10 samples."),
    },
)
RUN_SETTINGS = Shaped(
    "run settings",
    "How much is run.",
    {
        "num_samples": _COUNT,
        "subsampling": _SUBSAMPLING,
        "cache_policy": Field(Text(words=("reuse", "update", "no-cache")), "reuse"),
    },
)
RUN_FILE = Shaped(
    "a run file",
    "Models, datasets and tasks with the evaluation that uses them.",
    {
        "secrets": Field(Anything(), None),
        "models": Field(ListOf(Anything()), [], "Model files, or `$provider: openai/gpt-4.1-nano`."),
        "datasets": Field(ListOf(DATASET), []),
        "tasks": Field(ListOf(TASK), []),
        "evaluation": Field(EVALUATION),
        "config": Field(MapOf(Anything()), {}),
        "run_config": Field(RUN_SETTINGS, None),
    },
)
_NOT_RUN = ("model_adapters", "dataset_generators", "policies")

EDITOR_SCHEMAS: dict[str, Shape] = {"task": TASK, "dataset": DATASET, "model": MODEL, "run": RUN_FILE}


def kind_of(value: Any) -> str:  # noqa: PLR0911 - a list of telltale fields
    """What a YAML file holds: `task`, `run`, `dataset`, `model` or `evaluation`."""
    if not isinstance(value, dict):
        return "task"
    if value.keys() & {"datasets", "dataset_generators", "models", "model_adapters", "evaluation"}:
        return "run"
    if "tasks" in value and not value.keys() & {"key", "display_name", "definition"}:
        return "run"
    if "task_specifications" in value:
        return "evaluation"
    if "definition" in value:
        return "task"
    if value.keys() & {"source", "file_path", "generator_specification"}:
        return "dataset"
    if "config" in value:
        return "model"
    return "task"


def checked_task(document: Document, value: Any, where: FieldPath = (), *, placeholders: bool = True) -> dict[str, Any]:
    """A task as it was read -> plain data with defaults; `UsageError` naming everything that is wrong."""
    value = _inferred_entity(_moved_entity(value, document, where), document, where)
    return _checked(document, value, TASK, where, placeholders=placeholders)


def checked_dataset(document: Document, value: Any, where: FieldPath = ()) -> dict[str, Any]:
    return _checked(document, value, DATASET, where, placeholders=False)


def checked_model(document: Document, value: Any, where: FieldPath = ()) -> dict[str, Any]:
    if isinstance(value, dict) and "$provider" in value:
        return _checked(document, value, _PROVIDED, where, placeholders=False)
    return _checked(document, value, MODEL, where, placeholders=True)


def checked_evaluation(
    document: Document, value: Any, where: FieldPath = (), *, placeholders: bool = True
) -> dict[str, Any]:
    return _checked(document, value, EVALUATION, where, placeholders=placeholders)


def checked_run(document: Document) -> dict[str, Any]:
    """A run file's own fields; its tasks, datasets and models are checked one by one as they are used."""
    value = document.value
    if not isinstance(value, dict):
        raise document.error((), "expected a run file (a mapping)")
    for name in _NOT_RUN:
        if value.get(name):
            document.warn((name,), f"`{name}` is not used here")
    outer = {name: item for name, item in value.items() if name not in _NOT_RUN}
    shape = Shaped(
        RUN_FILE.name,
        RUN_FILE.doc,
        {**RUN_FILE.fields, **{name: Field(ListOf(Anything()), []) for name in ("datasets", "tasks")}},
    )
    return _checked(document, outer, shape, (), placeholders=True)


def _checked(document: Document, value: Any, shape: Shape, where: FieldPath, *, placeholders: bool) -> dict[str, Any]:
    report = Report(document, placeholders=placeholders)
    result = check(value, shape, where, report)
    report.raise_errors()
    assert isinstance(result, dict)  # noqa: S101 - a shape that is a mapping has reported anything else
    return result


def editor_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of a kind of file, for `# yaml-language-server: $schema=…`."""
    return json_schema(EDITOR_SCHEMAS[kind], f"assay {kind} file")
