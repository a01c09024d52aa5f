"""Tables as tasks: what flags and columns say, what is guessed and said, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.core.errors import UsageError
from assay.core.types import TaskDefinition
from assay.tasks.load import load_tasks

REVIEWS = "id,review,expected label\n1,Not bad at all,positive\n2,Another charger,negative\n3,Meh,neutral\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reviews.csv").write_text(REVIEWS)
    (tmp_path / "short.txt").write_text("Label: {{ review }}\n")
    (tmp_path / "careful.txt").write_text("Read twice, then label.\n\n{{ sample.review | trim }}\n")
    return tmp_path


def read(path: str = "reviews.csv", evaluated: tuple[str, ...] = (), **said: Any) -> list[TaskDefinition]:
    return load_tasks(path, source_options={"table": said} if said else {}, evaluated=evaluated)


def only(path: str = "reviews.csv", **said: Any) -> TaskDefinition:
    (task,) = read(path, **said)
    return task


def content(task: TaskDefinition) -> str:
    return str(task.solver.options["input_builder"]["input_messages"][0]["content"])


def test_the_only_question_and_the_only_target_are_used_and_said() -> None:
    task = only()
    assert content(task) == "{{ sample.review }}"
    assert [(part.use, part.options["ground_truth"]) for part in task.scorers] == [
        ("metric", '{{ sample["expected label"] }}')
    ]
    assert task.metric == "normalized_exact_match"
    assert task.provenance.warnings == (
        "reviews.csv: the right answers are in the column `expected label`",
        "reviews.csv: the questions are in the column `review`",
    )


def test_each_prompt_is_a_task_and_names_columns_by_themselves() -> None:
    short, careful = read(prompt=("short.txt", "careful.txt"))
    assert [task.plan.variant and task.plan.variant.prompt for task in (short, careful)] == ["short", "careful"]
    assert content(short) == "Label: {{ sample.review }}"
    assert content(careful).endswith("{{ sample.review | trim }}")


def test_a_prompt_may_be_written_into_the_command() -> None:
    assert content(only(prompt=("Label {{ review }}:",))) == "Label {{ sample.review }}:"


def test_scorers_are_filled_from_the_table() -> None:
    task = only(scorer=("contains", "f1", "my_own:metric"), target="expected label")
    contains, f1, own = task.scorers
    assert contains.options["assertions"][0]["value"] == '{{ sample["expected label"] }}'
    assert (f1.options["metric"], own.options["metric"]) == ("f1", "my_own:metric")


def test_recorded_answers_call_no_model() -> None:
    task = only(answers="review")
    assert (task.solver.use, task.solver.options) == ("pass_through_solver", {"answer_column": "review"})
    with pytest.raises(UsageError, match="recorded answers call no model; leave --model out"):
        read(answers="review", evaluated=("toy",))
    with pytest.raises(UsageError, match="recorded answers were given already; leave --prompt out"):
        read(answers="review", prompt=("short.txt",))


def test_passages_and_a_judge_reach_the_scorer(folder: Path) -> None:
    rows = [{"question": "q", "answer": "a", "passages": ["p"], "truth": "t"}]
    (folder / "log.json").write_text(json.dumps(rows))
    said = {"answers": "answer", "contexts": "passages", "scorer": ("rag_checker",)}
    task = load_tasks("log.json", source_options={"table": said}, models={"judge": "stub:x"})[0]
    options = task.scorers[0].options
    assert {name: options[name] for name in ("query_column", "target_column", "contexts_column")} == {
        "query_column": "question",
        "target_column": "truth",
        "contexts_column": "passages",
    }


def test_passages_questions_and_right_answers_reach_a_judged_metric(folder: Path) -> None:
    rows = [{"question": "q", "answer": "a", "docs": ["p"], "truth": "t"}]
    (folder / "log.json").write_text(json.dumps(rows))
    said = {"answers": "answer", "contexts": "docs", "scorer": ("faithfulness", "context_recall")}
    [task] = load_tasks("log.json", source_options={"table": said}, models={"judge": "stub:x"})
    faithful, recall = (scorer.options for scorer in task.scorers)
    assert (faithful["passages"], faithful["question"]) == ("{{ sample.docs }}", "{{ sample.question }}")
    assert (recall["passages"], recall["reference"]) == ("{{ sample.docs }}", "{{ sample.truth }}")
    assert recall["model_key"] == "judge"


RAG = [{"question": "q", "answer": "a", "contexts": ["p"], "truth": "t", "right?": "yes"}]
ANSWERED = {"answers": "answer", "target": "truth"}


@pytest.mark.parametrize(
    ("scorer", "said", "options"),
    [
        ("context_precision", {}, {"reference": "{{ sample.truth }}", "question": "{{ sample.question }}"}),
        ("answer_relevance", {}, {"question": "{{ sample.question }}"}),
        ("summarisation", {}, {"document": "{{ sample.question }}"}),
        ("faithfulness", {"labels": "right?"}, {"labels": '{{ sample["right?"] }}'}),
        ("rag_checker", {}, {"query_column": "question", "target_column": "truth", "contexts_column": "contexts"}),
    ],
)
def test_judged_metrics_read_the_columns_of_a_log(
    folder: Path, scorer: str, said: dict[str, Any], options: dict[str, str]
) -> None:
    (folder / "log.json").write_text(json.dumps(RAG))
    table = {**ANSWERED, "scorer": (scorer,), **said}
    (task,) = load_tasks("log.json", source_options={"table": table}, models={"judge": "stub:x"})
    assert options.items() <= task.scorers[0].options.items()


SAID = [("x", "x"), ("x", "x"), ("y", "x"), ("y", "x"), ("x", "x"), ("y", "x")]
PEOPLE = [True, True, False, True, False, False]


@pytest.mark.parametrize("words", [("true", "false"), ("1", "0"), ("Good", "bad"), ("pass", "fail"), ("yes", "no")])
@pytest.mark.parametrize("scorer", ["normalized_exact_match", "string_equals", "contains", "own:same"])
def test_labels_of_people_have_a_kappa_with_any_scorer(folder: Path, scorer: str, words: tuple[str, str]) -> None:
    (folder / "own.py").write_text("def same(answer, targets, extras):\n    return answer == targets[0]\n")
    rows = [f"{a},{b},{words[not good]}" for (a, b), good in zip(SAID, PEOPLE, strict=True)]
    (folder / "log.csv").write_text("\n".join(["answer,target,human", *rows, "x,x,"]) + "\n")
    board = assay.evaluate("log.csv", answers="answer", labels="human", scorer=scorer).leaderboard
    found = {each.name: each for each in board.tasks[0].aggregates}
    kappa = found["kappa"]
    assert kappa.value == pytest.approx(1 / 3)
    assert kappa.low is not None
    assert kappa.high is not None
    assert kappa.low < 1 / 3 < kappa.high
    assert found["agreement"].value == pytest.approx(4 / 6)


def test_a_judge_reads_the_question_that_the_prompt_shows(folder: Path) -> None:
    (folder / "asked.json").write_text('[{"frage": "q", "soll": "t"}]')
    said = {"prompt": ("Sag: {{ frage }}",), "scorer": ("answer_relevance",)}
    (task,) = load_tasks("asked.json", source_options={"table": said}, models={"judge": "stub:x"})
    assert task.scorers[0].options["question"] == "{{ sample.frage }}"
    assert "asked.json: the questions are in the column `frage`" in task.provenance.warnings


@pytest.mark.parametrize(
    ("scorer", "without", "message"),
    [
        ("faithfulness", "contexts", "which column has the retrieved passages? Say --contexts COLUMN"),
        ("rag_checker", "contexts", "which column has the retrieved passages? Say --contexts COLUMN"),
        ("context_recall", "truth", "which column has the right answers? Say --target COLUMN"),
        ("rag_checker", "truth", "which column has the right answers? Say --target COLUMN"),
        ("answer_relevance", "question", "which column is the question? Call it `question`"),
    ],
)
def test_a_column_that_a_judge_lacks_is_asked_for_before_it_is_called(
    folder: Path, scorer: str, without: str, message: str
) -> None:
    rows = [{name: value for name, value in row.items() if name != without} for row in RAG]
    rows = [{**row, "title": "one", "text": "two"} for row in rows]
    (folder / "log.json").write_text(json.dumps(rows))
    with pytest.raises(UsageError) as refused:
        load_tasks(
            "log.json", source_options={"table": {"answers": "answer", "scorer": (scorer,)}}, models={"judge": "stub:x"}
        )
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"target": "lable"}, "--target lable: reviews.csv: unknown column `lable`"),
        ({"prompt": ("nofile.txt",)}, "--prompt nofile.txt: there is no such file"),
        ({"prompt": ("{{ reveiw }}",)}, "unknown column `reveiw`. Did you mean `review`?"),
        ({"prompt": ("{{ 1 + 1 }}",)}, "the prompt is the same for every row"),
        ({"prompt": ("{{ review",)}, "unexpected end of template"),
        ({"prompt": ("{{ review }}", "{{ review }}!")}, "several prompts are told apart by the names of their files"),
        ({"scorer": ("contians",)}, "unknown scorer `contians`. Did you mean `contains`?"),
        ({"scorer": ("model_as_a_judge_scorer",)}, "--scorer model_as_a_judge_scorer: needs `"),
        ({"contexts": "review", "prompt": ("{{ review }}",)}, "none of these scorers reads passages"),
        ({"labels": "review", "prompt": ("{{ review }}",), "scorer": ("corpus_bleu",)}, "gives one verdict or share"),
        ({"scorer": ("contains", "contains")}, "--scorer contains: named twice"),
        ({"target": "lable", "by_keywords": True}, "target='lable': reviews.csv: unknown column `lable`"),
        ({"prompt": ("nofile.txt",), "by_keywords": True}, "prompt='nofile.txt': there is no such file"),
        ({"sheet": "one"}, "`sheet` is for .xlsx"),
    ],
)
def test_what_is_not_clear_is_refused_with_what_to_say(said: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(**said)
    assert message in str(refused.value)


def test_several_columns_that_could_be_meant_are_named(folder: Path) -> None:
    (folder / "two.csv").write_text("title,review,target\na,b,c\n")
    with pytest.raises(UsageError, match="which column is the question: `title` or `review`"):
        read("two.csv")
    (folder / "gold.csv").write_text("question,expected,gold\na,b,c\n")
    with pytest.raises(UsageError, match="which column has the right answers"):
        read("gold.csv")


def test_lines_of_any_keys_are_rows_and_records_of_tasks_are_tasks(folder: Path) -> None:
    (folder / "rows.jsonl").write_text('{"question": "2+2", "target": "4"}\n')
    (folder / "task.jsonl").write_text('{"id": "1", "prompt": "p", "targets": ["t"], "metric": "exact_match"}\n')
    assert only("rows.jsonl").provenance.table is not None
    assert only("task.jsonl").provenance.table is None
    assert only("task.jsonl", target="id", prompt=("{{ prompt }}",)).provenance.table is not None


def test_a_csv_file_is_a_table_whatever_its_columns_are_called(folder: Path) -> None:
    (folder / "quoted.csv").write_text('"question","metric","target"\na,b,c\n')
    assert only("quoted.csv").provenance.table is not None


def test_options_of_tables_are_refused_where_there_is_none(folder: Path) -> None:
    (folder / "task.yaml").write_text("key: a\n")
    with pytest.raises(UsageError, match=r"--target: only for table tasks: files that end in \.csv"):
        read("task.yaml", target="x")
    with pytest.raises(UsageError, match="--config nothing"):
        load_tasks("reviews.csv", config={"nothing": 1})


def test_a_table_without_rows_is_refused(folder: Path) -> None:
    (folder / "nothing.csv").write_text("")
    with pytest.raises(UsageError, match=r"nothing\.csv:1: expected a header row"):
        read("nothing.csv")
    (folder / "empty.csv").write_text("question,target\n")
    with pytest.raises(UsageError, match=r"empty\.csv: there are no rows"):
        read("empty.csv")
