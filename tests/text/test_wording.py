"""Names and values in messages: the nearest name, and a value in the words of its file."""

from __future__ import annotations

import subprocess
import sys

import pytest

from assay.text.wording import hint, in_json, in_python, in_yaml, nearest, plain, quoted, shortened, show, show_no_score


def test_the_name_that_is_spelt_most_alike_is_named_and_otherwise_all_are() -> None:
    assert nearest("exact_mach", ["match", "exact_match"]) == "exact_match"
    assert nearest("zzz", ["match"]) is None
    assert hint("exact_mach", ["exact_match"]) == "Did you mean `exact_match`?"
    assert hint("zzz", ["b", "a"]) == "Known: b, a"
    assert hint("zzz", (name for name in ("a",)), "Known here") == "Known here: a"


@pytest.mark.parametrize(
    ("value", "json", "yaml", "python"),
    [
        (None, "null", "nothing (null)", "None"),
        (True, "true", "true", "bool True"),
        (4, "the number 4", "4", "int 4"),
        ("a", "the string 'a'", "the text `a`", "str 'a'"),
        ([1], "a list", "a list", "list [1]"),
        ({"a": 1}, "an object", "a mapping", "dict {'a': 1}"),
    ],
)
def test_a_value_is_called_what_its_file_calls_it(value: object, json: str, yaml: str, python: str) -> None:
    assert (in_json(value), in_yaml(value), in_python(value)) == (json, yaml, python)


def test_what_has_no_text_in_python_is_called_by_its_name() -> None:
    assert in_python(nearest) == "the function `nearest`"
    assert in_python(dict) == "the class `dict`"
    assert in_python(object()) == "an object of the class `object`"


def test_long_values_are_cut() -> None:
    assert show("a" * 80) == "'" + "a" * 56 + "…'"
    assert in_yaml("a" * 80) == f"the text `{'a' * 60}`"
    assert in_python("a" * 80) == "a str"
    assert plain("a\x1b" + "b" * 80).startswith("a\\x1bb")
    assert shortened("abcd", 3) == "ab…"
    assert shortened("abc", 3) == "abc"


def test_a_number_in_place_of_a_string_is_offered_as_one() -> None:
    assert quoted(4) == ', "4"'
    assert quoted(True) == quoted("a") == ""


def test_an_integer_that_is_too_long_for_a_score_is_not_spelt_out() -> None:
    assert show_no_score(10**5000) == "an integer of 16,610 bits"
    assert show_no_score("a" * 300) == "'" + "a" * 199


def test_hints_cost_nothing_before_a_name_is_wrong() -> None:
    script = "import sys, assay.text.wording, assay.catalog; sys.exit('difflib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_of_the_names_of_a_large_module_a_hint_lists_some() -> None:
    names = [f"{'x' * 9}{number:03}" for number in range(180)]
    said = hint("", names)
    assert said.endswith("and 141 more")
    assert len(said) < 600
