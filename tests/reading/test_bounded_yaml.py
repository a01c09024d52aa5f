"""YAML of strangers: bounded before anything is built of it, and read by the rules of YAML 1.2 where asked for."""

from __future__ import annotations

import math
import tracemalloc

import pytest

from assay.core.errors import UsageError
from assay.reading import bounded_yaml
from assay.reading.bounded_yaml import MAX_DEPTH, Yaml12Loader, load_yaml


def test_depth_is_refused_with_its_line_before_it_is_composed() -> None:
    assert load_yaml("[" * MAX_DEPTH + "]" * MAX_DEPTH, "f") is not None
    with pytest.raises(UsageError, match=r"^f:2:1: nested more than 100 levels deep$"):
        load_yaml("a:\n " + "[" * 100_000, "f")


def test_an_alias_to_what_holds_it_is_too_deep() -> None:
    with pytest.raises(UsageError, match="levels deep with its aliases expanded"):
        load_yaml("&a [*a]", "f")


@pytest.mark.parametrize("part", ["x", "a long text " * 40])
def test_what_aliases_expand_to_is_counted_texts_by_their_length(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_yaml, "MAX_NODES", 500)
    few = 80 if part == "x" else 10
    laughs = f"- &a '{part}'\n" + "- *a\n" * few
    assert len(load_yaml(laughs, "f")) == few + 1
    with pytest.raises(UsageError, match="more than 500 values with its aliases expanded"):
        load_yaml(laughs + "- *a\n" * 500, "f")
    with pytest.raises(UsageError, match="aliases expanded"):
        load_yaml(f"- &a [1, '{part}']\n- &b [*a, *a, *a, *a]\n- &c [*b, *b, *b, *b]\n- [{'*c, ' * 40}]\n", "f")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", r"^f:2:1: not valid YAML: "),
        ("a: b: c", r"^f:1:5: not valid YAML: mapping values are not allowed"),
        ("a: 1\n---\nb: 2", r"^f:2:1: a second document begins here"),
        ("a: !!python/object:os.system x", "not valid YAML: could not determine a constructor"),
        ("a: \x07", "not valid YAML"),
        ("2026-02-31", "a value cannot be read"),
        ("*nobody", "not valid YAML"),
    ],
)
def test_what_cannot_be_read_is_a_sentence_with_its_place(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load_yaml(text, "f")


def test_an_empty_document_is_none() -> None:
    assert load_yaml("# only a comment\n", "f") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("010", 10),
        ("0o10", 8),
        ("0xff", 255),
        ("1e3", 1000.0),
        ("12:30:45", "12:30:45"),
        ("2026-02-31", "2026-02-31"),
        ("-.INF", -math.inf),
        ("~", None),
        ("TRUE", True),
        ("'1'", "1"),
    ],
)
def test_yaml_1_2_reads_norway_as_a_text(text: str, value: object) -> None:
    found = load_yaml(f"v: {text}", "f", Yaml12Loader)["v"]
    assert (found, type(found)) == (value, type(value))


def test_an_endless_number_is_not_a_number() -> None:
    with pytest.raises(UsageError, match="a value cannot be read"):
        load_yaml("9" * 5000, "f", Yaml12Loader)


def test_a_file_of_too_many_values_is_refused_before_it_is_held_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_yaml, "MAX_NODES", 10_000)
    text = "a: [" + "x," * 50_000 + "]"
    tracemalloc.start()
    with pytest.raises(UsageError, match=r"x: more than 10,000 values; the file is refused"):
        load_yaml(text, "x")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000  # a tree of them takes eighteen
