"""A judge and people: on recorded verdicts with people's labels, by independent formulas; what cannot be compared."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa
from tests.end_to_end.commands import assay, fake_server

DATA = Path(os.environ.get("ASSAY_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
TASK = """
key: judge
display_name: Judge
description: A judge whose verdicts were recorded, on answers that people have labelled.
definition:
  evaluated_entity_type: dataset
  dataset: {key: rows}
  scorers:
    - key: verdict
      model_key: judge
"""
JUDGE = "key: judge\ndisplay_name: J\nconfig: {connection_type: assay, model: 'openai:recorded@URL'}\n"
"""The server answers with the last line of the prompt: what was recorded."""


def made(folder: Path, scorer: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A run of the judge over HTTP, and its agreement with the column `human`."""
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "t.yaml").write_text(TASK + scorer)
    (folder / "models").mkdir(exist_ok=True)
    with fake_server() as server:
        (folder / "models" / "judge.yaml").write_text(JUDGE.replace("URL", server.base_url))
        done = assay("run", "t.yaml", "--run-dir", "run", cwd=folder)
        assert done.returncode == 0, done.stderr
    return compared(folder)


def compared(folder: Path, *words: str, code: int = 0) -> dict[str, Any]:
    done = assay("agreement", "run", "--labels", "human", "--json", *words, cwd=folder)
    assert done.returncode == code, done.stderr
    [found] = json.loads(done.stdout)
    return dict(found)


def cells(pairs: list[tuple[Any, Any]], labels: list[Any]) -> np.ndarray:
    table = np.zeros((len(labels), len(labels)))
    for a, b in pairs:
        table[labels.index(a), labels.index(b)] += 1
    return table


def kappa(pairs: list[tuple[Any, Any]]) -> float:
    """By its definition, with the standard library alone."""
    n = len(pairs)
    observed = sum(a == b for a, b in pairs) / n
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(first[label] * second[label] for label in first) / n**2
    return (observed - chance) / (1 - chance)


LABELS = '      type: labeler_via_model\n      valid_labels: ["0", "1", "2"]\n'
LABELS += '      system_prompt: "Compare."\n      user_prompt: "{{ sample.n }}\\n{{ sample.said }}"\n'


@pytest.mark.skipif(not (DATA / "pandalm").exists(), reason="the published data is not here")
@pytest.mark.parametrize(("file", "name"), [("gpt-3.5-turbo", "gpt"), ("pandalm-7b", "pandalm")])
def test_recorded_preferences_and_the_majority_of_three_people(tmp_path: Path, file: str, name: str) -> None:
    people = {row["idx"]: row for row in json.loads((DATA / "pandalm" / "testset-v1.json").read_text())}
    rows = []
    for row in json.loads((DATA / "pandalm" / f"{file}-testset-v1.json").read_text()):
        votes = Counter(people[row["idx"]][f"annotator{number}"] for number in (1, 2, 3))
        [(label, times)] = votes.most_common(1)
        said = str(row[f"{name}_result"])
        if times >= 2 and said in "012":
            rows.append({"n": row["idx"], "said": said, "human": str(label)})
    assert len(rows) > 900
    found = made(tmp_path, LABELS, rows)
    pairs = [(row["said"], row["human"]) for row in rows]
    assert found["n"] == len(rows)
    assert found["kappa"] == pytest.approx(kappa(pairs))
    theirs = cohens_kappa(cells(pairs, ["0", "1", "2"]))
    assert found["kappa"] == pytest.approx(theirs.kappa)
    interval = found["kappa_interval"]
    assert [interval["low"], interval["high"]] == pytest.approx([theirs.kappa_low, theirs.kappa_upp], abs=0.02)
    assert found["agreement"] == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))
    assert [row["judged"] for row in found["by_label"]] == cells(pairs, ["0", "1", "2"]).T.astype(int).tolist()


@pytest.mark.skipif(not (DATA / "frank").exists(), reason="the published data is not here")
def test_a_metric_of_summaries_and_how_factual_people_found_them(tmp_path: Path) -> None:
    folder = DATA / "frank"
    people = {
        (row["hash"], row["model_name"]): row["Factuality"]
        for row in json.loads((folder / "human_annotations.json").read_text())
    }
    rows = [
        {"n": n, "said": str(float(row["FactCC"])), "human": people[row["hash"], row["model_name"]]}
        for n, row in enumerate(json.loads((folder / "baseline_factuality_metrics_outputs.json").read_text()))
        if row.get("FactCC") is not None and (row["hash"], row["model_name"]) in people
    ]
    rows = [row for row in rows if row["human"] in (0.0, 1.0)]
    assert len(rows) > 500
    scorer = "      type: model_as_a_judge_scorer\n      system_prompt: Judge.\n"
    scorer += '      user_prompt: "{{ sample.n }}\\n{{ sample.said }}"\n'
    found = made(tmp_path, scorer, rows)
    pairs = [(float(row["said"]), row["human"]) for row in rows]
    levels = sorted({each for pair in pairs for each in pair})
    assert found["weights"] == "quadratic"
    expected = cohens_kappa(cells(pairs, levels), weights=np.arange(len(levels)), wt="quadratic")
    assert found["kappa"] == pytest.approx(expected.kappa, abs=1e-9)


@pytest.mark.skipif(not (DATA / "begin").exists(), reason="the published data is not here")
def test_a_scripted_judge_of_attribution_and_people(tmp_path: Path) -> None:
    """The script finds an answer faithful if every word of it is in the source."""
    with (DATA / "begin" / "begin_dev_wow.tsv").open(newline="") as file:
        rows = []
        for n, row in enumerate(csv.DictReader(file, delimiter="\t")):
            source = row["knowledge"].lower().split()
            supported = all(word in source for word in row["response"].lower().split())
            said = json.dumps({"statements": [{"statement": "all", "supported": supported}]})
            human = row["begin_label"] == "Fully attributable"
            rows.append({"n": n, "said": said, "question": row["message"], "docs": ["so"], "human": str(human)})
    scorer = '      type: faithfulness\n      passages: "{{ sample.docs }}"\n      answer: "{{ sample.said }}"\n'
    (tmp_path / "judge.py").write_text(
        "import re\ndef judge(prompt):\n    return re.search(r'<answer>\\s*(\\{.*\\})', prompt)[1]\n"
    )
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "t.yaml").write_text(TASK + scorer)
    (tmp_path / "models").mkdir()
    model = "key: judge\ndisplay_name: J\nconfig: {connection_type: assay, model: 'judge:judge'}\n"
    (tmp_path / "models" / "judge.yaml").write_text(model)
    assert assay("run", "t.yaml", "--run-dir", "run", cwd=tmp_path).returncode == 0
    found = compared(tmp_path)
    pairs = [(json.loads(row["said"])["statements"][0]["supported"], row["human"] == "True") for row in rows]
    assert (found["value"], found["n"]) == ("faithful", len(rows))
    assert found["kappa"] == pytest.approx(kappa(pairs))
    assert found["kappa"] == pytest.approx(cohens_kappa(cells(pairs, [False, True])).kappa)


ROWS = [
    {"n": n, "said": said, "human": human}
    for n, (said, human) in enumerate([("0", "0"), ("1", "1"), ("2", "1"), ("0", "0"), ("2", ""), ("1", "2")])
]


def test_what_people_did_not_label_is_left_out_and_said(tmp_path: Path) -> None:
    found = made(tmp_path, LABELS, ROWS)
    assert (found["n"], found["without_label"]) == (5, 1)
    done = assay("agreement", "run", "--labels", "human", cwd=tmp_path)
    assert "judge: verdict.label and human: kappa" in done.stdout.replace("**", "")
    assert "left out: 1 attempt have no label" in done.stdout.replace("attempts", "attempt")


def test_the_order_of_labels_gives_them_weights(tmp_path: Path) -> None:
    made(tmp_path, LABELS, ROWS)
    found = compared(tmp_path, "--weights", "linear", "--order", "2,1,0")
    pairs = [(row["said"], row["human"]) for row in ROWS if row["human"]]
    assert found["kappa"] == pytest.approx(cohens_kappa(cells(pairs, ["2", "1", "0"]), wt="linear").kappa)
    assert found["labels"] == ["2", "1", "0"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--labels", "humen"], "no attempt has a label in `humen`; columns: n, said, human"),
        ([], "its scores hold no labels of people: name their column with --labels"),
        (["--labels", "human", "--scorer", "verdikt"], "no scorer `verdikt` here gives one verdict or share"),
        (["--labels", "human", "--value", "lable"], "gives no value `lable`"),
        (["--labels", "human", "--weights", "cubic"], "--weights must be one of none, linear, quadratic, got `cubic`"),
        (["--labels", "human", "--order", "0,1"], "--order lacks the label `2`"),
        (["--labels", "n"], "`3` is none of 0, 1, 2"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(tmp_path: Path, words: list[str], problem: str) -> None:
    made(tmp_path, LABELS, ROWS)
    done = assay("agreement", "run", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert problem in done.stderr


def logged(folder: Path, *words: str) -> None:
    rows = "".join(
        f"x,{target},{human}\n" for target, human in (("x", "good"), ("x", "good"), ("y", "bad"), ("y", "good"))
    )
    (folder / "log.csv").write_text("answer,target,human\n" + rows)
    assert assay("run", "log.csv", "--answers", "answer", "--run-dir", "run", *words, cwd=folder).returncode == 0


def test_a_scorer_that_asks_no_judge_is_compared_too(tmp_path: Path) -> None:
    logged(tmp_path)
    found = compared(tmp_path)
    assert (found["n"], found["agreement"], found["kappa"]) == (4, 0.75, pytest.approx(0.5))


def test_counts_are_nothing_that_people_say(tmp_path: Path) -> None:
    logged(tmp_path, "--scorer", "corpus_bleu")
    done = assay("agreement", "run", "--labels", "human", cwd=tmp_path)
    assert (done.returncode, "no scorer here gives one verdict or share" in done.stderr) == (2, True)


def test_the_same_label_everywhere_is_no_kappa_and_not_done(tmp_path: Path) -> None:
    made_of_one = [{**row, "said": "1", "human": "1"} for row in ROWS]
    (tmp_path / "models").mkdir()
    with pytest.raises(AssertionError):
        made(tmp_path, LABELS, made_of_one)
    found = compared(tmp_path, code=3)
    assert (found["kappa"], found["reason"]) == (None, "both raters gave every sample the same label")


def test_labels_that_came_later_are_joined_by_the_ids_of_samples(tmp_path: Path) -> None:
    rows = [{**row, "human": ""} for row in ROWS]
    with pytest.raises(AssertionError):  # the run has no labels yet
        made(tmp_path, LABELS, rows)
    labels = "".join(f"{n},{row['human']}\n" for n, row in enumerate(ROWS) if row["human"])
    (tmp_path / "labels.csv").write_text(f"id,human\n{labels}")
    found = compared(tmp_path, "--from", "labels.csv")
    pairs = [(row["said"], row["human"]) for row in ROWS if row["human"]]
    assert (found["n"], found["kappa"]) == (5, pytest.approx(kappa(pairs)))
    (tmp_path / "labels.csv").write_text("id,human\n1,0\n1,0\n")
    done = assay("agreement", "run", "--labels", "human", "--from", "labels.csv", cwd=tmp_path)
    assert "labels.csv: row 2: a second label of the sample `1`" in done.stderr
    (tmp_path / "labels.csv").write_text("sample,human\n1,0\n")
    done = assay("agreement", "run", "--labels", "human", "--from", "labels.csv", cwd=tmp_path)
    assert "labels.csv: row 1 has no column `id`" in done.stderr
