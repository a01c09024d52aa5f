"""Nunjucks templates: what Jinja reads alike, and what is refused because it would not."""

from __future__ import annotations

import pytest

from assay.prompts.nunjucks import TemplateError, ask, rendered


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ a }} {{ none }} {{ t }} {{ n }} {{ l }} {{ o }}", "x  true 2 1,2 [object Object]"),
        ("{{ l.length }} {{ a.length }} {{ o | dump }}", '2 1 {"k":1}'),
        ("{% for k, v in o %}{{ k }}={{ v }}{% endfor %}", "k=1"),
        ("{% if missing.deep %}a{% else %}b{% endif %}", "b"),
        ("{% raw %}{{ a }}{% endraw %}", "{{ a }}"),
        ("a tag {{ without its end", "a tag {{ without its end"),
        ("one\n", "one\n"),
        ("{{ env.HERE }}", "set"),
        ("{{ a.__class__.__mro__ }}", ""),
    ],
)
def test_a_template_renders_as_there(template: str, text: str) -> None:
    given = {"a": "x", "t": True, "n": 2.0, "l": [1, 2], "o": {"k": 1}, "env": {"HERE": "set"}}
    assert rendered(template, given) == text


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ a === b }}", "write `==`"),
        ("{{ _conversation[0] }}", "`_conversation`"),
        ("{{ env.SECRET }}", "`SECRET` of the environment"),
        ("{{ a ? b : c }}", "cannot be rendered"),
        ("{% include 'x' %}", "cannot read other files"),
    ],
)
def test_what_would_be_read_otherwise_is_refused(template: str, said: str) -> None:
    with pytest.raises(TemplateError, match=said):
        rendered(template, {"a": "x", "env": {}})


def test_json_and_yaml_with_roles_are_conversations() -> None:
    asked = ask('[{"role": "user", "content": "say \\"{{ a }}\\""}]', {"a": 'it\'s "x"\n'})
    assert asked.messages == [{"role": "user", "content": 'say "it\'s "x"\n"'}]
    assert ask("- role: user\n  content: hi {{ a }}", {"a": "x"}).messages == [{"role": "user", "content": "hi x"}]
    assert ask('{"not": "a chat"}', {}).messages is None
