"""Templates: what they render, what they refuse, and that the fast path says the same as Jinja."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import UsageError
from assay.prompts import jinja_rules
from assay.prompts import template as module
from assay.prompts.jinja_rules import RenderError
from assay.prompts.template import Expression, Template

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
        ("{{ 'x' | to_json }}", "No filter named 'to_json'"),
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


def test_a_syntax_error_is_told_when_the_file_is_read() -> None:
    with pytest.raises(UsageError, match=r"scorers\[0\].*line 2 of the template"):
        Template("x\n{{ sample.q", where="scorers[0].ground_truth")


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ sample.__class__ }}",
        "{{ sample['__class__'] }}",
        "{{ sample | attr('__class__') }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ self.__init__ }}",
        "{% do sample.items.append(3) %}",
        "{% do sample.update({'a': 1}) %}",
        "{{ 'a' * 99999999999 }}",
        "{{ [1] * 99999999999 }}",
        "{{ 9 ** 999999999 }}",
        "{{ 'a'.ljust(99999999999) }}",
        "{{ 'a' | center(99999999999) }}",
        "{{ 'a' | indent(99999999999) }}",
        "{{ [1] | batch(99999999999, 'x') | list }}",
        "{{ '%99999999999d' % 1 }}",
        "{{ '%*d' % (99999999999, 1) }}",
        "{{ '%99999999999d' | format(1) }}",
        "{{ '{:99999999999}'.format(1) }}",
        "{{ '{:{}}'.format(1, 99999999999) }}",
        "{{ range(99999999999) | list }}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% for i in range(99999) %}{{ 'a' * 10000 }}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set n = namespace(x='a') %}{% for i in range(64) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
        "{% set n = namespace(x='a') %}{% for i in range(64) %}{% set n.x = n.x + n.x %}{% endfor %}",
        "{% set n = namespace(x='a') %}{% for i in range(64) %}{% set n.x = n.x | replace('a', 'aa') %}{% endfor %}",
        "{% set n = namespace(x='a') %}{% for i in range(64) %}{% set n.x = n.x.replace('a', 'aa') %}{% endfor %}",
        "{% set n = namespace(x='a') %}{% for i in range(64) %}{% set n.x = [n.x, n.x] | join %}{% endfor %}",
        "{% set n = namespace(x='a') %}{% for i in range(64) %}{% set n.x %}{{ n.x }}{{ n.x }}{% endset %}{% endfor %}",
        "{{ ('a' * 40 ~ '!') | regex_replace('(a+)+$', 'x') }}",
        "{{ ('a' * 40 ~ '!') | regex_replace('(a|aa)+$', 'x') }}",
        "{{ ('a' * 3000) | regex_replace('.*.*.*.*b', 'x') }}",
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(40) }}",
        "{{ x }}" * 30000,
        "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
        "{% include '/etc/passwd' %}",
        "{% import '/etc/passwd' as x %}",
    ],
)
def test_hostile_templates_are_stopped_with_a_sentence(source: str) -> None:
    with pytest.raises((RenderError, UsageError)) as caught:
        render(source)
    assert "Error:" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_template_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jinja_rules, "MAX_SECONDS", 0.2)
    slow = "{% for i in range(99999) %}{% if ('a' * 3999999) | upper | length == 1 %}{% endif %}{% endfor %}"
    with pytest.raises(RenderError, match="took longer"):
        render(slow)


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
