"""The samples of an eval's data file."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.bridges.openai_evals.samples import EvalSamples, text_of_chat
from assay.core.errors import UsageError


def test_a_conversation_as_a_text_has_the_roles_before_the_words() -> None:
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "a"},
    ]
    assert text_of_chat(messages) == "s\nUser: u\nAssistant: a\n"
    assert text_of_chat(messages[1:2]) == "u"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("version https://git-lfs.github.com/spec/v1", "Git LFS pointer"),
        ("{", "not JSON"),
        ("[]", "a JSON object is expected"),
        ('{"input": "x"}', "has no `ideal`"),
        ('{"input": 3, "ideal": "x"}', "is a text or a list of messages"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "s.jsonl").write_text(line + "\n")
    with pytest.raises(UsageError, match=said):
        list(EvalSamples(str(tmp_path / "s.jsonl"), kind="match"))
