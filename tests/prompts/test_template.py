"""Templates: what they render, what they refuse, and that the fast path says the same as Jinja."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import UsageError
from assay.prompts import template as module
from assay.prompts.jinja_rules import RenderError
from assay.prompts.template import Expression, Template, template_reads

ROW = {"q": 'say "hi"\n', "n": 3, "items": [1, 2], "d": {"a": {"b": "deep"}}, "with space": "w", "none": None}


def render(source: str, **variables: Any) -> str:
    return Template(source).render({"sample": ROW, **variables})


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Q: {{ sample.q }}", 'Q: say "hi"\n'),
        ("x\n", "x"),
        ("x\n\n", "x\n"),
        ("{{ sample['with space'] }}{{ sample.d.a.b }}", "wdeep"),
        ("{{ sample.n }}|{{ sample.none }}", "3|None"),
        ("{{ sample.items }}", "[1, 2]"),
        ("{{ sample.q | tojson }}", '"say \\"hi\\"\\n"'),
        ("{{ '<é>' | tojson }}", '"<é>"'),
        ("{{ sample.q | json_escape }}", 'say \\"hi\\"\\n'),
        ("{{ ('{\"a\": [1]}' | fromjson).a[0] }}", "1"),
        ("{% for a, b in [1, 2] | zip(['x', 'y']) %}{{ a }}{{ b }}{% endfor %}", "1x2y"),
        ("{{ {'a': 1} | merge({'b': 2}) | tojson }}", '{"a": 1, "b": 2}'),
        ("{{ 'a1b22' | regex_replace('[0-9]+', '#') }}", "a#b#"),
        ("{{ 'Aa' | regex_replace('a', '', ignorecase=True, count=1) }}", "a"),
        ("{{ 'a\nb' | regex_replace('^', '> ', multiline=True) }}", "> a\n> b"),
        ("{% for i in sample.items %}{{ loop.index }}{{ loop.last }} {% endfor %}", "1False 2True "),
        ("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "01"),
        ("{{ 'a' ~ 1 ~ 'b' }}{{ ['x', 'y'] | join('-') }}", "a1bx-y"),
        ("{{ '%03d' | format(7) }}{{ '{:.2f}'.format(1.5) }}{{ '%s' % 3 }}", "0071.503"),
        ("{{ sample.missing | default('-') }}", "-"),
        ("{{ 'b' if sample.n > 2 else 'c' }}", "b"),
    ],
)
def test_rendering(source: str, text: str) -> None:
    assert render(source) == text


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("{{ sample.qq }}", "`sample.qq`: unknown field of `sample` `qq`. Did you mean `q`?"),
        ("{{ sample.qq | upper }}", "unknown field `qq`. Did you mean `q`?"),
        ("{{ smaple.q }}", "unknown variable `smaple`. Did you mean `sample`?"),
        ("{{ smaple.q | upper }}", "unknown variable `smaple`"),
        ("{{ sample.n.x }}", "`sample.n` (int) has no `x`"),
        ("{{ 'x' | to_json }}", "there is no filter or test `to_json`. Did you mean `tojson`?"),
        ("{{ 'x' | fromjson }}", "JSONDecodeError"),
        ("{{ 'x' | regex_replace('(', '') }}", "bad regular expression"),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
    ],
)
def test_a_template_that_cannot_be_rendered_says_why(source: str, says: str) -> None:
    template = Template(source)  # an unknown filter or column is no reason to refuse the file
    with pytest.raises(RenderError) as caught:
        template.render({"sample": ROW})
    assert says in str(caught.value)


def test_a_syntax_error_is_reported_when_the_file_is_read() -> None:
    with pytest.raises(UsageError, match=r"scorers\[0\].*line 2 of the template"):
        Template("x\n{{ sample.q", where="scorers[0].ground_truth")


def test_a_template_is_compiled_once() -> None:
    module._compiled.cache_clear()
    for _ in range(5):
        assert Template("{{ sample.n | string }}").render({"sample": ROW}) == "3"
    assert module._compiled.cache_info().misses == 1


names = st.sampled_from(["q", "n", "items", "none", "with space", "copy", "keys"])
pieces = st.lists(st.one_of(st.sampled_from(["a ", "\n", "} ", "{ "]), names.map(lambda n: f"{{{{ sample['{n}'] }}}}")))


@given(pieces)
def test_the_fast_path_says_what_jinja_says(parts: list[str]) -> None:
    source = "".join(parts)
    slow = source + "{% if true %}{% endif %}"  # a tag, so that Jinja itself renders
    try:
        expected = Template(slow).render({"sample": ROW})
    except (RenderError, UsageError) as error:
        with pytest.raises(type(error)):
            Template(source).render({"sample": ROW})
        return
    if not source.endswith("\n"):  # the tag hides the trailing newline that a template drops
        assert Template(source).render({"sample": ROW}) == expected


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("{{ sample.n }}", 3),
        ("sample.n", 3),
        ("{{ '3' }}", 3),
        ("{{ 'True' }}", True),
        ("{{ 'None' }}", None),
        ("{{ 'true' }}", "true"),
        ("{{ '2020-01-01' }}", "2020-01-01"),
        ("{{ sample.none }}", None),
        ("{{ sample.items }}", [1, 2]),
        ("{{ sample.n > 2 }}", True),
        ("{{ sample.n }}{{ sample.n }}", 33),
        ("{{ '(' * 5000 }}", "(" * 5000),
        ("{{ '\\\\d' }}", "\\d"),
    ],
)
def test_expressions_give_values_and_read_literals(source: str, value: Any) -> None:
    assert Expression(source).evaluate({"sample": ROW}) == value


@pytest.mark.parametrize("method", ["values", "get", "keys", "items", "copy"])
@pytest.mark.parametrize(
    "source", ["{{ sample.METHOD }}", "{{ sample['METHOD'] }}", "{% if 1 %}{{ sample.METHOD }}{% endif %}"]
)
def test_the_name_of_a_method_is_no_column(source: str, method: str) -> None:
    source = source.replace("METHOD", method)
    with pytest.raises(RenderError, match=method):
        Template(source).render({"sample": {"q": 1}})
    with pytest.raises(RenderError, match=method):
        Expression(source).evaluate({"sample": {"q": 1}})
    assert Template(source).render({"sample": {method: "a column"}}) == "a column"


@pytest.mark.parametrize(
    ("source", "columns"),
    [
        ("{{ sample.q }} {{ sample.a.b }} {{ other.c }}", ["q", "a"]),
        ("{{ sample.q | upper }}{{ sample.q + sample.a }}", ["q", "a"]),
        ("{% if sample.q == 'x' %}{{ sample.a }}{% else %}{{ sample.b }}{% endif %}", ["q"]),
        ("{{ sample.a if sample.q else sample.b }}{{ sample.c or sample.d }}", ["q", "c"]),
        ("{% for item in sample.list %}{{ sample.a }}{% endfor %}", ["list"]),
        ("{% if sample.q is defined %}{{ sample.a }}{% endif %}", []),
        ("{{ sample.q | default('') }}{{ sample.a }}", []),
        ("{{ sample.items() | list }}{{ sample.get('q') }}{{ sample['q'] }}", ["q"]),
        ("{% set a = sample.q %}{{ a | default('') }}", []),
        ("{% for sample in others %}{{ sample.a }}{% endfor %}", []),
    ],
)
def test_the_columns_that_every_sample_must_have(source: str, columns: list[str]) -> None:
    assert list(template_reads(source).columns) == columns
