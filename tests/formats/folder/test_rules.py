"""The rules of task folders, line by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.formats.folder.lines import code, example, without, write

from assay.core.errors import UsageError
from assay.formats.folder.reader import (
    Problem,
    iter_examples,
    read_task_file,
)
from assay.formats.folder.rules import Example


def with_more(text: str) -> str:
    """A good line with more at its end."""
    return f"{json.dumps(example())[:-1]}, {text}}}"


BAD: list[tuple[str | dict[str, Any], str, str]] = [
    ("{", "", "bad_json"),
    ('{"id": "a", "id": "b"}', "", "the key 'id' is given twice"),
    ('{"extras": {"a": 1, "a": 2}}', "", "duplicate_key"),
    ("[" * 100_000, "", "too_deep"),
    (with_more('"metric": "f1"'), "", "the key 'metric' is given twice"),
    (with_more('"extras": {}, "extras": {}'), "", "the key 'extras' is given twice"),
    (with_more('"extras": {"a": [{"b": 1, "b": 2}]}'), "", "the key 'b' is given twice"),
    (with_more('"metadata": {"b" : 1, "b" : 2}'), "", "the key 'b' is given twice"),
    (with_more('"metadata": ' + '{"a":' * 500 + "1" + "}" * 500), "", "too_deep"),
    ('"text"', "", "an example is a JSON object"),
    ('{"id": NaN}', "", "NaN is not a JSON value"),
    *[(without(name), name, "required and not there") for name in ("id", "prompt", "targets", "metric")],
    ({**without("targets"), "target": ["4"]}, "target", "Did you mean `targets`?"),
    (example(colour="red"), "colour", "unknown field"),
    (example(id=1), "id", 'must be a string, "1"'),
    (example(prompt=None), "prompt", "is null"),
    (example(targets="4"), "targets", "must be a list of strings"),
    (example(targets=[4]), "targets[0]", 'must be a string, "4"'),
    (example(metric=["f1"]), "metric", "is a list"),
    (example(extras=[]), "extras", "must be an object"),
    (example(metadata="x"), "metadata", "must be an object"),
    (example(post_process=3), "post_process", "must be a string"),
    (example(post_process=None), "post_process", "is null"),
    (example(id=" "), "id", "is empty"),
    (example(id="a\x1b[0m"), "id", "invisible"),
    (example(prompt=""), "prompt", "is empty"),
    (example(targets=[]), "targets", "is empty"),
    (example(metric="exact_mach"), "metric", "Did you mean `exact_match`?"),
    (example(metric="code"), "metric", "unknown metric `code`"),
    (example(metric="mine.py:"), "metric", "package.module:name"),
    (example(post_process="lowercase"), "post_process", "unknown post-process rule `lowercase`"),
    (code(), "extras.io_pairs", "required by code_exec"),
    (code(io_pairs=[]), "extras.io_pairs", "is an empty list"),
    (code(io_pairs={"1": 2}), "extras.io_pairs", "must be a list"),
    (code(io_pairs=[[1, 2], [3]]), "extras.io_pairs[1]", "must be a pair"),
    (code(io_pairs=[[1, 2]], imports="all"), "extras.imports", "is the string 'all'; must be \"any\" or a list"),
    (code(io_pairs=[[1, 2]], imports=None), "extras.imports", 'is null; must be "any" or a list'),
    (code(tests="assert f(1)", imports={"os": 1}), "extras.imports", "is an object; must be"),
    (code(stdout=True, imports=["os", 5]), "extras.imports", "has '5', which is not a module name"),
    (code(stdout=True, imports=["os\n"]), "extras.imports", "which is not a module name"),
    ({**code(stdout=True), "targets": []}, "targets", "expected outputs"),
]


@pytest.mark.parametrize(("bad", "field", "words"), BAD, ids=[f"{n}-{case[2][:20]}" for n, case in enumerate(BAD)])
def test_a_bad_line_is_reported_with_file_line_and_field(tmp_path: Path, bad: Any, field: str, words: str) -> None:
    path = write(tmp_path, "sums.jsonl", "# a comment", bad)
    (problem,) = iter_examples(path)
    assert isinstance(problem, Problem)
    assert (problem.line_number, problem.field) == (2, field)
    assert words in problem.detail
    with pytest.raises(UsageError) as caught:
        read_task_file(path)
    assert str(caught.value).startswith(f"{path}:2: ")


GOOD = [
    example(),
    example(prompt='the key "id": is no key here'),
    example(extras={"a": [{"b": {"c": 1}}, {"b": 2}]}, metadata={"a": {"b": 1}}),
    example(extras={}, metadata={"level": 1}, post_process="strip_whitespace"),
    example(metric="my_package.metrics:overlap", targets=[]),
    example(metric="rouge_l"),
    example(metric="label_in_set", targets=[], extras={"labels": ["a"]}),
    example(metric="forbidden_patterns", targets=[], extras={"patterns": ["a"]}),
    example(metric="contains"),
    example(metric="f1"),
    example(metric="evaluator", targets=[], extras={"evaluator": {"url": "http://127.0.0.1:9/"}}),
    {**code(io_pairs=[[1, 2]]), "targets": []},
    code(stdout=True),
]


@pytest.mark.parametrize("good", GOOD)
def test_a_good_line_comes_back_as_it_was(tmp_path: Path, good: dict[str, Any]) -> None:
    (found,) = iter_examples(write(tmp_path, "a.jsonl", good))
    assert isinstance(found, Example), found
    assert json.loads(msgspec.json.encode(found)) == {key: value for key, value in good.items() if value != {}}


def test_no_rule_at_all_and_the_rule_none_are_the_same(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", example(), example(id="b", post_process="none"))
    assert read_task_file(path).dataset.size == 2
