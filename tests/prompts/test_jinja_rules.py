"""Templates of strangers: hostile and endless ones are stopped with a sentence."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.prompts import jinja_rules
from assay.prompts.jinja_rules import RenderError
from assay.prompts.template import Template

ROW = {"q": 'say "hi"\n', "n": 3, "items": [1, 2], "d": {"a": {"b": "deep"}}, "with space": "w", "none": None}


def render(source: str, **variables: Any) -> str:
    return Template(source).render({"sample": ROW, **variables})


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ sample.__class__ }}",
        "{{ sample['__class__'] }}",
        "{{ sample | attr('__class__') }}",
        "{{ ('{0.__init__.__globals__}' | attr('format'))(namespace) }}",
        "{{ ('{0.__init__.__globals__}' | attr('format'))(cycler) }}",
        "{{ (['{0.__class__}'] | map('attr', 'format') | first)(sample) }}",
        "{{ joiner('a') }}",
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


@pytest.mark.parametrize("version", ["3.1.5", "3.1.0", "3.0.3"])
def test_a_jinja_whose_sandbox_is_open_is_refused(version: str) -> None:
    with pytest.raises(UsageError, match=rf"Jinja2 {version} lets a template out of its sandbox"):
        jinja_rules.refuse_unsafe_jinja(version)


@pytest.mark.parametrize("version", ["3.1.6", "3.2", "4.0.0", None])
def test_later_releases_of_jinja_are_taken(version: str | None) -> None:
    jinja_rules.refuse_unsafe_jinja(version)


def test_what_is_installed_with_assay_is_safe_by_the_same_rule() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert f"Jinja2>={'.'.join(map(str, jinja_rules.SAFE_JINJA))}" in project["dependencies"]
