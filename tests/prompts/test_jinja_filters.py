"""The filters of templates: JSON, lists and patterns, in bounds; and values as JavaScript writes them."""

from __future__ import annotations

from typing import Any

import pytest

from assay.prompts.jinja_filters import FORGIVING, TEXT, as_javascript
from assay.prompts.jinja_rules import RenderError
from assay.prompts.template import Template


def render(source: str, **variables: Any) -> str:
    return Template(source, where="t").render(variables)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ v | tojson }}", '{"a": ["é", null, "<b>"]}'),
        ("{{ ('{\"n\": 3}' | fromjson).n }}", "3"),
        ('"{{ q | json_escape }}"', '"say \\"hi\\"\\n"'),
        ("{{ [1, 2] | zip(['a', 'b', 'c']) | list }}", "[(1, 'a'), (2, 'b')]"),
        ("{{ {'a': 1} | merge({'b': 2}, {'a': 3}) }}", "{'a': 3, 'b': 2}"),
        ("{{ 'Aa1' | regex_replace('[a-z]', '_', ignorecase=true) }}", "__1"),
        ("{{ 'aaa' | regex_replace('a', 'b', count=2) }}", "bba"),
        ("{{ [1, 2] | join('-') }}", "1-2"),
        ("{{ '%s and %s' | format('a', 'b') }}", "a and b"),
    ],
)
def test_filters(source: str, text: str) -> None:
    assert render(source, v={"a": ["é", None, "<b>"]}, q='say "hi"\n') == text


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'x' | center(100000) }}",
        "{{ 'x\\ny' | indent(99999999) }}",
        "{{ '%99999999d' | format(1) }}",
        "{{ ('a' * 1000) | replace('a', 'b' * 100000) }}",
        "{{ 'x' | regex_replace('(' ) }}",
        "{{ 'x' | regex_replace('a' * 3000) }}",
        "{{ '{' | fromjson }}",
        "{{ lipsum(1000) }}",
        "{{ 'x' | tojson(indent=1) | fromjson | fromjson }}",
    ],
)
def test_what_would_not_end_or_cannot_be_is_an_error_of_the_template(source: str) -> None:
    with pytest.raises(RenderError):
        render(source)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (None, ""),
        (2.0, "2"),
        (0.5, "0.5"),
        (1e21, "1e+21"),
        (-0.0, "0"),
        ([1, [None, False]], "1,,false"),
        ({"a": 1}, "[object Object]"),
        ("<x>", "<x>"),
    ],
)
def test_values_are_written_as_javascript_writes_them(value: Any, text: str) -> None:
    assert as_javascript(value) == text
    assert FORGIVING.from_string("{{ value }}").render(value=value) == text


def test_unknown_names_are_empty_only_where_the_file_is_of_a_forgiving_program() -> None:
    from jinja2 import UndefinedError

    assert FORGIVING.from_string("[{{ nobody.at.home }}]").render() == "[]"
    with pytest.raises(UndefinedError):
        TEXT.from_string("{{ nobody }}").render()


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ 'one two three' | wordwrap(7) }}", "one two\nthree"),
        ("{{ 20000 | string | wordwrap(3) }}", "200\n00"),
        ("{{ [1, 2, 3] | slice(2) | list }}", "[[1, 2], [3]]"),
        ("{{ [1, 2, 3] | batch(2) | list }}", "[[1, 2], [3]]"),
        ("{{ 'a' | center(3) }}|", " a |"),
    ],
)
def test_bounded_filters_give_what_jinjas_own_do(template: str, text: str) -> None:
    assert Template(template, where="t").render({}) == text


@pytest.mark.parametrize("name", ["wordwrap", "slice", "batch", "center"])
def test_no_filter_makes_endless_text(name: str) -> None:
    with pytest.raises(RenderError, match="10,000 characters"):
        Template(f"{{{{ 'a' | {name}(20000) | list }}}}", where="t").render({})
