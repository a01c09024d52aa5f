"""Documents as LaTeX: what strangers wrote is text there, never a command."""

from __future__ import annotations

from assay.pages.document import Heading, Items, Sentence, Span, TextTable
from assay.pages.latex import latex


def test_a_table_is_one_of_booktabs_with_numbers_to_the_right() -> None:
    table = TextTable(
        header=["task", "score"],
        rows=[["a_b & c", "0.5"], [Span("overall", "strong"), "50 %"]],
        numeric_from=1,
        summed=True,
    )
    assert latex([table]).splitlines() == [
        r"% \usepackage{booktabs}",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"task & score \\",
        r"\midrule",
        r"a\_b \& c & 0.5 \\",
        r"\midrule",
        r"\textbf{overall} & 50 \% \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_nothing_in_a_text_is_a_command() -> None:
    said = latex([Heading(2, "Methods"), Sentence(r"\input{/etc/passwd} $x^2$ 0.1 – 0.2"), Items(["~"])])
    assert r"\textbackslash{}input\{/etc/passwd\} \$x\textasciicircum{}2\$ 0.1 -- 0.2" in said
    assert r"\paragraph{Methods}" in said
    assert r"\item \textasciitilde{}" in said
    assert "x" * 900 in latex([Sentence("x" * 900)]), "a paragraph is never cut"
