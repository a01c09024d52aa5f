"""In a project: `assay`, `assay list`, `assay show config`, `--project` and the parameters of single tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.shop import PROJECT, make_shop

from assay.cli.main import main

MODELS = """\
model: prod
models:
  prod: {model: "stub:4", label: Production}
  brief: {model: vllm:qwen, settings: {max_tokens: 9}}
  local: {model: vllm:qwen, base_url: "http://localhost:1/v1", api_key: $SHOP_KEY}
defaults: {settings: {temperature: 0}}
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(make_shop(tmp_path, PROJECT.replace("folders:", f"{MODELS}folders:")))
    return tmp_path


def test_list_has_tags_owners_sizes_and_the_last_score(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "math/sums", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["list"]) == 0
    rows = {line.split("|")[1].strip(): line for line in capsys.readouterr().out.splitlines()}
    assert [cell.strip() for cell in rows["support/intent"].split("|")[2:-1]] == [
        "smoke, pii",
        "support",
        "3",
        "never run",
        "",
    ]
    assert "1.000" in rows["math/sums"]
    assert main(["list", "support", "-t", "slow", "--json"]) == 0
    [task] = json.loads(capsys.readouterr().out)["tasks"]
    assert (task["task"], task["samples"], task["last"]) == ("support/legal/gdpr", 3, None)


def test_last_scores_of_several_models_say_whose_they_are(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "math", "--quiet", "--model", "toy"]) in (0, 1)
    capsys.readouterr()
    assert main(["list"]) == 0
    assert "| of" not in capsys.readouterr().out
    assert main(["run", "math/sums", "--quiet", "--model", "echo"]) in (0, 1)
    capsys.readouterr()
    assert main(["list", "math"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| math/")]
    assert {line.split("|")[1].strip(): line.split("|")[-2].strip() for line in rows}["math/sums"] == "echo"
    assert any(line.split("|")[-2].strip() == "toy" for line in rows)


def test_parts_are_listed_by_their_kind_as_ever(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "metrics"]) == 0
    assert "exact_match" in capsys.readouterr().out
    assert main(["list", "metrics", "-t", "smoke"]) == 2


def test_a_broken_task_hides_none_of_the_others(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shop / "tasks" / "geo" / "lakes.yaml").write_text("key: [\n")
    assert main(["list"]) == 2
    printed = capsys.readouterr()
    assert "geo/capitals" in printed.out
    assert "lakes.yaml:2:1: not valid YAML" in printed.err


def test_assay_alone_shows_the_project(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "math/sums", "--quiet"]) == 0
    capsys.readouterr()
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("shop: 6 tasks in 4 folders, 2 suites, model prod (stub:4)\n")
    assert "last run   Production, " in printed
    assert "never run: geo/capitals, geo/lakes and 3 more" in printed
    assert "assay run @smoke        2 tasks" in printed


def test_assay_alone_is_its_help_without_a_project(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (shop / "assay.yaml").unlink()
    assert main([]) == 0
    assert capsys.readouterr().out.startswith("usage: assay ")


def test_show_config_says_where_each_setting_is_from(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "config", "support/intent", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows["model"] == {"value": "stub:4", "from": "assay.yaml:4 → assay.yaml:6"}
    assert rows["temperature"] == {"value": 0, "from": "assay.yaml:9 defaults"}
    assert rows["owner"] == {"value": "support", "from": "assay.yaml:11 support/**"}
    assert rows["config.tone"] == {"value": "formal", "from": "assay.yaml:11 support/**"}
    assert rows["repeat"] == {"value": 1, "from": "built in"}
    assert main(["show", "config", "--model", "brief", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows["model"] == {"value": "vllm:qwen", "from": "--model → assay.yaml:7"}
    assert rows["max_tokens"] == {"value": 9, "from": "assay.yaml:7 brief"}


def test_show_config_says_whether_a_key_is_set(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for expected in (("not set", "neither in the environment nor in .env"), ("set", "the environment")):
        assert main(["show", "config", "--model", "local", "--json"]) == 0
        row = json.loads(capsys.readouterr().out)["$SHOP_KEY"]
        assert (row["value"], row["from"]) == expected
        monkeypatch.setenv("SHOP_KEY", "x")
    assert main(["show", "math/sums", "other"]) == 2


def test_a_missing_key_is_named_before_anything_is_sent(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "math", "--model", "local", "--quiet"]) == 2
    message = "assay.yaml:8: model `local` needs $SHOP_KEY: it is neither in the environment nor in .env"
    assert message in capsys.readouterr().err


def test_a_variable_is_sent_to_a_host_once_the_user_has_confirmed_it(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHOP_KEY", "x")
    run = ["run", "math/sums", "--model", "local", "--quiet", "--retries", "0", "--dry-run"]
    assert main(run) == 2
    message = "assay.yaml:8: model `local` sends $SHOP_KEY to localhost:1 for the first time here."
    assert message in capsys.readouterr().err
    assert main([*run, "--trust"]) == 0
    assert main(run) == 0
    Path("assay.yaml").write_text(Path("assay.yaml").read_text().replace("localhost:1", "localhost:2"))
    assert main(run) == 2
    assert "$SHOP_KEY to localhost:2" in capsys.readouterr().err


def test_another_project_can_be_named(
    shop: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert main(["validate", "math", "--project", str(shop)]) == 0
    assert main(["validate", "math", "--project", "nowhere"]) == 2


def test_a_parameter_of_one_task_and_the_text_of_a_file(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tone.txt").write_text("very warm\n")
    assert main(["check", "geo", "--all", "--config", "tone=@tone.txt", "--config", "geo/lakes:tone=cold"]) == 0
    printed = capsys.readouterr().out
    assert "user: very warm compute: 1 + 2" in printed
    assert "user: cold compute: 1 + 2" in printed
    assert main(["check", "geo", "--all", "--config", "tone=@@home"]) == 0
    assert "user: @home compute" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("geo/lake:tone=cold", "unknown task here `geo/lake`. Did you mean `geo/lakes`?"),
        ("geo/lakes:tne=cold", "there is no parameter `tne`. Did you mean `tone`?"),
        ("tone=@nowhere.txt", "--config tone=@nowhere.txt: No such file"),
    ],
)
def test_a_parameter_of_nothing_is_refused(
    shop: Path, given: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "geo", "--config", given]) == 2
    assert message in capsys.readouterr().err


def test_no_gates_is_refused_where_there_are_none(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "math", "--quiet", "--no-gates"]) == 2
    assert "--no-gates: neither a project nor a suite has gates here" in capsys.readouterr().err


def test_editors_get_the_schema_of_the_project(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "project"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert "$ref" not in schema["definitions"]["suite"]["properties"]
    assert (
        schema["definitions"]["suite"]["properties"]["limit"]["description"] == "Only the first samples of each task."
    )


def test_history_takes_the_names_of_tasks(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for model in ("stub:4", "toy"):
        assert main(["run", "math", "--model", model, "--quiet", "--no-cache"]) == 0
    capsys.readouterr()
    assert main(["history", "math", "--line-per", "all", "--json"]) == 0
    printed = capsys.readouterr().out
    assert '"tasks":["math/more"]' in printed
    assert '"tasks":["math/sums"]' in printed
    assert main(["history", "maths", "--line-per", "all"]) == 2
    assert "no task `maths`. Did you mean `math` (2)?" in capsys.readouterr().err
