"""Task and run files as a whole: what they become, what they refuse, and what a run of them gives."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import pytest
from tests.formats.declarative.yaml_tasks import PYTHON, RUN, TASK, Read, run

from assay.core.errors import UsageError
from assay.core.seams import BuildContext
from assay.core.task import task_fingerprint
from assay.formats.declarative.load import check_yaml_file
from assay.models.adapters.providers import NO_KEY
from assay.models.adapters.toy import ToyModel
from assay.tasks.built_tasks import build_task
from assay.tasks.load import files_of


def test_flags_become_the_kind_their_parameter_wants(read: Read) -> None:
    (definition,) = read(config={"word": 3})  # the command line read a number
    assert definition.provenance.config == {"word": "3"}


def test_an_unknown_parameter_is_a_warning_and_an_ill_typed_one_an_error(read: Read) -> None:
    assert "no parameter `wrod`" in read(config={"wrod": 1})[0].provenance.warnings[0]
    with pytest.raises(UsageError, match="must be text"):
        read(config={"word": ["a"]})


@pytest.mark.parametrize(
    ("change", "place", "says"),
    [
        (("{key: data}", "{key: dta}"), ":7:", "there is no dataset `dta`"),
        (("<< config.word >>", "<< config.wrod >>"), ":12:", "Did you mean `word`"),
        (("string_equals, ground_truth", "bleu, ground_truth"), None, None),
        (
            ("{type: string_equals, ground_truth: ", "{type: labeler_via_model, model_key: who, user_prompt: "),
            ":14:",
            "--model-for 'who=MODEL'",
        ),
        (
            (
                "{type: string_equals, ground_truth: ",
                "{type: python, compute_scores_snippet: 'def f(:', display_name: ",
            ),
            ":14:",
            "line 1 of the snippet",
        ),
    ],
)
def test_what_is_named_must_exist(read: Read, change: tuple[str, str], place: str | None, says: str | None) -> None:
    text = TASK.replace(*change)
    if says is None:
        read(text)
        return
    with pytest.raises(UsageError) as caught:
        read(text)
    assert says in str(caught.value)
    assert f"file.yaml{place}" in str(caught.value)


def test_datasets_and_models_are_found_in_the_folders_around(read: Read, tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "models").mkdir()
    (tmp_path / "datasets" / "any.yaml").write_text(
        "key: elsewhere\ndisplay_name: E\nsource: {type: local, file_path: ../data.jsonl, columns: [q, a]}\n"
    )
    (tmp_path / "models" / "any.yml").write_text(
        "key: who\ndisplay_name: W\n"
        "config: {url: 'http://127.0.0.1:9/v1/chat/completions', model_key: x, api_key: $SOME_KEY}\n"
    )
    (tmp_path / "models" / "broken.yaml").write_text("key: [")
    text = (
        TASK.replace("{key: data}", "{key: elsewhere}")
        + "    - {type: labeler_via_model, model_key: who, user_prompt: x}\n"
    )
    (definition,) = read(text)
    assert definition.dataset.options["columns"] == ["q", "a"]
    assert definition.scorers[1].options["model"] == {
        "model": "openai:x",
        "options": {"base_url": "http://127.0.0.1:9/v1", "api_key_env": "SOME_KEY"},
    }


def test_files_of_other_kinds_are_told_apart(read: Read, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this is a dataset file"):
        read("key: d\ndisplay_name: D\nsource: {type: inline, samples: []}\n")
    assert check_yaml_file(tmp_path / "file.yaml")[0] == "dataset file"
    (tmp_path / "file.yaml").write_text(RUN)
    assert check_yaml_file(tmp_path / "file.yaml")[:2] == ("run file", 1)


def test_validating_a_task_needs_neither_its_dataset_nor_its_model(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(TASK.replace("{key: data}", "{key: nowhere}"))
    form, good, warnings, key = check_yaml_file(path)
    assert (form, good, key) == ("task file", 1, "t")
    assert "there is no dataset `nowhere`" in warnings[0]
    path.write_text(TASK.replace("config.word", "config.wrod"))
    with pytest.raises(UsageError, match="names no parameter"):
        check_yaml_file(path)


# --- whole runs, worked out by hand ------------------------------------------------------------------------------


def test_a_second_run_scores_what_failed_and_calls_no_model_again(read: Read, tmp_path: Path) -> None:
    asked: deque[str] = deque()  # what is in a list that a model closes over distinguishes it from others

    def model(prompt: str) -> str:
        asked.append(prompt)
        return f"answer {prompt}"

    definitions = read(PYTHON)
    run(definitions, model, tmp_path / "run")
    run(definitions, model, tmp_path / "run")
    assert sorted(asked) == ["0", "1", "2", "3", "4", "5"]


SYSTEM = """\
key: s
display_name: S
description: ""
config_spec: [{type: float, key: x, display_name: X, default_value: 2}]
definition:
  type: system_task
  compute_evidence_snippet: |
    async def compute_evidence():
        return {"metrics": {"twice": {"value": 2 * << config.x >>, "reason": "doubled"}, "one": {"value": 1}}}
"""


def test_a_system_task_gives_its_evidence(read: Read, tmp_path: Path) -> None:
    board = run(read(SYSTEM, config={"x": 4}), lambda prompt: "", tmp_path / "run")
    assert {s.name: s.value for s in board.tasks[0].aggregates} == {"one": 1.0, "twice": 8.0}
    with pytest.raises(UsageError, match="takes no dataset"):
        read(SYSTEM, dataset="data")


def test_a_dataset_task_needs_a_dataset_and_no_model(read: Read, tmp_path: Path) -> None:
    text = (
        "key: d\ndisplay_name: D\ndescription: ''\ndefinition:\n  evaluated_entity_type: dataset\n  scorers:\n"
        '    - {type: string_equals, ground_truth: "{{ sample.a }}", value: "{{ sample.n }}"}\n'
    )
    with pytest.raises(UsageError, match="--dataset-key KEY"):
        read(text)
    asked: list[str] = []
    board = run(read(text, dataset="data"), asked.append, tmp_path / "run")
    assert board.tasks[0].score == pytest.approx(0.5)  # 0, 1 and 2 equal themselves, 3, 4 and 5 do not
    assert asked == []


def test_a_judge_is_cached_limited_and_counted_apart(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "judges.py").write_text(
        "import assay\nfrom assay import Completion\n"
        "class Judge:\n"
        "    name = 'judge'; settings = {}; offers = assay.ModelOffers(cache=True); asked = 0\n"
        "    async def generate(self, request):\n"
        "        Judge.asked += 1\n"
        "        return Completion(text='good', tokens_in=10, tokens_out=1)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    text = TASK + "    - {type: labeler_via_model, key: l, model_key: j, user_prompt: '{{ sample.q }}'}\n"
    definitions = read(text, models={"j": "judges:Judge"})
    board = run(definitions, lambda prompt: "1", tmp_path / "run")
    row = board.tasks[0]
    assert (row.judge_tokens_in, row.judge_tokens_out) == (60, 6)
    assert row.tokens_in == 0
    run(definitions, lambda prompt: "2", tmp_path / "other")
    import judges  # type: ignore[import-not-found]

    assert judges.Judge.asked == 6  # the second run took its verdicts from the cache


JUDGES = [
    "    - {type: labeler_via_model, key: l, model_key: j, user_prompt: '{{ sample.q }}'}\n",
    "    - {type: evaluator, key: l, model_key: j, objective: be good}\n",
]


@pytest.mark.parametrize("scorer", JUDGES)
def test_the_limits_of_a_judges_model_file_hold_and_are_no_part_of_the_task(
    read: Read, tmp_path: Path, scorer: str
) -> None:
    limits = "rate_limit: 90\nmax_concurrent_requests: 2\n"
    model = "key: j\ndisplay_name: J\nconfig: {url: 'http://127.0.0.1:1/v1', model_key: q}\n"
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "j.yaml").write_text(model)
    (unlimited,) = read(TASK + scorer)
    (tmp_path / "models" / "j.yaml").write_text(model + limits)
    (limited,) = read(TASK + scorer)
    assert task_fingerprint(limited) == task_fingerprint(unlimited)
    asked: list[dict[str, Any]] = []

    def model_for(name: str, options: dict[str, Any], **pace: Any) -> Any:
        asked.append({"name": name, **options, **pace})
        return ToyModel()

    build_task(limited, context=BuildContext(model_for=model_for))
    for each in asked:
        each.pop("timeout_seconds", None)  # what an evaluator's judge may take
        assert each.pop("asked_by") == ("t", "l")
    assert asked == [
        {
            "name": "openai:q",
            "base_url": "http://127.0.0.1:1/v1",
            "api_key_env": NO_KEY,
            "requests_per_minute": 90,
            "concurrency": 2,
            "key": "j",
            "label": "J",
        }
    ]


OTHER_FILES = {
    "app.yaml": "key: a\ndisplay_name: A\n",
    "shop.yaml": "key: a\ndisplay_name: A\nkey_info: {lifecycle_stage: idea}\n",
    "rule.yaml": "key: r\naction: exclude_from_metrics\nfilter: {op: exists, expression: x}\n",
    "scorer.yaml": "type: string_equals\nground_truth: x\n",
}


def test_files_of_a_project_that_are_no_tasks_are_called_what_they_are(read: Read, tmp_path: Path) -> None:
    for name, text in OTHER_FILES.items():
        (tmp_path / name).write_text(text)
        form, tasks, *_ = check_yaml_file(tmp_path / name)
        assert (tasks, "which is not read by itself" in form) == (0, True)
        if name != "app.yaml":
            with pytest.raises(UsageError, match=r"this looks like .*, not a task; a task has `definition`"):
                read(text)
            (tmp_path / "file.yaml").unlink()
    assert [path.name for path in files_of(str(tmp_path))] == ["task.yaml"]


def test_a_half_written_task_is_no_app(tmp_path: Path) -> None:
    (tmp_path / "half.yaml").write_text("key: half\ndisplay_name: H\ndescription: d\n")
    with pytest.raises(UsageError, match="a task needs the field `definition`"):
        check_yaml_file(tmp_path / "half.yaml")


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (
            "{url: 'http://x.example/v1', api_key: sk-abcdefghijklmnopqrstuvwx, model_key: z}",
            "never written into a file",
        ),
        ("{url: 'ftp://x.example/v1', model_key: z}", "not the address of a server"),
    ],
)
def test_a_model_file_that_no_run_can_use_is_not_valid(tmp_path: Path, config: str, says: str) -> None:
    (tmp_path / "m.yaml").write_text(f"key: m\ndisplay_name: M\nconfig: {config}\n")
    with pytest.raises(UsageError, match=says):
        check_yaml_file(tmp_path / "m.yaml")
