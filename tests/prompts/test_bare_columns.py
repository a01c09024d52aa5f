"""Columns that prompt files name by themselves."""

from __future__ import annotations

import pytest

from assay.core.errors import UsageError
from assay.prompts.bare_columns import with_sample


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Label: {{ review }}\n", "Label: {{ sample.review }}\n"),
        ("{{ sample.review }}", "{{ sample.review }}"),
        ("{{ review | replace('review', x) }}", "{{ sample.review | replace('review', sample.x) }}"),
        ("{% for r in rows %}{{ r.rows }}{% endfor %}", "{% for r in sample.rows %}{{ r.rows }}{% endfor %}"),
        ("{{ rows | join(d=sep) }}", "{{ sample.rows | join(d=sample.sep) }}"),
        (
            "{%- if a is defined -%}{{ a.a }} a{% endif %}",
            "{%- if sample.a is defined -%}{{ sample.a.a }} a{% endif %}",
        ),
        ("{% raw %}{{ a }}{% endraw %}{# a #}{{ a }}", "{% raw %}{{ a }}{% endraw %}{# a #}{{ sample.a }}"),
        ("no column\n\n", "no column\n\n"),
    ],
)
def test_a_bare_name_is_a_column(written: str, read: str) -> None:
    assert with_sample(written) == read


def test_what_is_no_template_is_refused() -> None:
    with pytest.raises(UsageError, match="line 1 of the template"):
        with_sample("{{ a")
