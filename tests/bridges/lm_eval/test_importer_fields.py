"""The files of lm-eval's tasks: every included one is read, and what cannot be is a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.bridges.lm_eval.importer import import_lm_eval
from assay.core.errors import UsageError
from assay.formats.imported import write_imported

ANSWER = "output_type: generate_until\ndoc_to_text: '{{a}}'\ndoc_to_target: a\n"


CHOICE = "output_type: multiple_choice\ndoc_to_text: '{{a}}'\ndoc_to_target: a\ndoc_to_choice: [b, c]\n"


@pytest.mark.parametrize(
    ("task", "says"),
    [
        (ANSWER.replace("'{{a}}'", "\"{{['9'].index(a)}}\""), "does not fit the data"),
        (CHOICE.replace("'{{a}}'", "'0'"), "several inputs"),
        (CHOICE.replace("[b, c]", "[no, 'yes']"), "gives False, which is not a text; write it in quotes"),
        (CHOICE.replace("[b, c]", "'{{[a]}}'"), "no list of choices"),
        (CHOICE.replace("[b, c]", "\"{{'[' * 999}}\""), "no list of choices"),
        (CHOICE.replace("[b, c]", "'{{made}}'") + "process_docs: !function u.f\n", r"process_docs .*u\.f.* may make"),
        (ANSWER.replace("'{{a}}'", "''"), "sample 0: prompt: is empty"),
        ("group: g\ntask: [a, b]\n", "a group of tasks"),
    ],
)
def test_what_cannot_be_read_at_all_is_a_sentence(tmp_path: Path, task: str, says: str) -> None:
    (tmp_path / "task.yaml").write_text(task)
    (tmp_path / "test.jsonl").write_text('{"a": "b"}\n{"a": "c"}\n')
    with pytest.raises(UsageError, match=says):
        write_imported(
            import_lm_eval(tmp_path / "task.yaml", tmp_path / "test.jsonl"), tmp_path / "task.yaml", tmp_path / "out"
        )
    assert not (tmp_path / "out").exists()


def test_every_file_of_a_list_is_included(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(ANSWER + "task: one\ntarget_delimiter: a\n")
    (tmp_path / "two.yaml").write_text("task: two\nfewshot_delimiter: b\n")
    (tmp_path / "task.yaml").write_text("include: [one.yaml, two.yaml]\ntest_split: test\n")
    (tmp_path / "test.jsonl").write_text('{"a": "b"}\n')
    found = import_lm_eval(tmp_path / "task.yaml", tmp_path / "test.jsonl")
    assert found.tasks["two"][0]["extras"]["generation"]["stop"] == ["b"]
    (tmp_path / "task.yaml").write_text("include: [task.yaml, one.yaml, task.yaml]\n")
    with pytest.raises(UsageError, match="more than 20 files include each other"):
        import_lm_eval(tmp_path / "task.yaml", tmp_path / "test.jsonl")
