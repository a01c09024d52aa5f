"""Documents for popular tasks of lm-evaluation-harness: real ones where they are available, else in the hub's shapes.

`write_documents(folder)` writes `TASK/SPLIT.jsonl` for every task, which is what `assay run --data FOLDER` reads.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SHARED = Path(os.environ.get("ASSAY_SHARED_DATA", "../shared/data"))
COUNT = 20
Document = dict[str, Any]
WORDS = """river stone light answer engine garden letter number table window summer winter doctor teacher city
market measure copper planet forest bridge morning music question paper silver energy pressure island history
it's “quoted” naïve café 北京 Straße"""


def text(number: int, salt: str, length: int = 8) -> str:
    """A made-up sentence, the same whenever it is asked for."""
    rng = random.Random(f"{salt}-{number}")
    return " ".join(rng.choice(WORDS.split()) for _ in range(length)).capitalize()


def several(number: int, salt: str, count: int = 4, length: int = 4) -> list[str]:
    return [text(number, f"{salt}{place}", length) for place in range(count)]


def pick(number: int, salt: str, count: int) -> int:
    return random.Random(f"{salt}={number}").randrange(count)


def _pair(salt: str, *names: str, labels: int = 2, **more: Any) -> Callable[[int], Document]:
    """Texts under these names, and a label."""
    return lambda n: {
        **{name: text(n, f"{salt}{name}") + "." for name in names},
        "label": pick(n, salt, labels),
        "idx": n,
        **more,
    }


def _arc(n: int) -> Document:
    labels = ["1", "2", "3", "4"] if n % 5 == 4 else ["A", "B", "C", "D"]
    texts = several(n, "arc")
    texts[2] = 'it\'s "quoted"'
    return {
        "id": str(n),
        "question": text(n, "arcq") + "?",
        "choices": {"text": texts, "label": labels},
        "answerKey": labels[pick(n, "arc", 4)],
    }


def _openbook(n: int) -> Document:
    return {
        "id": str(n),
        "question_stem": text(n, "obq"),
        "choices": {"text": several(n, "ob"), "label": [*"ABCD"]},
        "answerKey": "ABCD"[pick(n, "ob", 4)],
    }


def _truthful(n: int) -> Document:
    right, wrong = several(n, "tqr", 3), several(n, "tqw", 3)
    return {
        "question": text(n, "tq") + "?",
        "mc1_targets": {"choices": [right[0], *wrong], "labels": [1, 0, 0, 0]},
        "mc2_targets": {"choices": [*right, *wrong], "labels": [1, 1, 1, 0, 0, 0]},
        "best_answer": right[0],
        "correct_answers": right,
        "incorrect_answers": wrong,
    }


def _hellaswag(n: int) -> Document:
    endings = several(n, "hs", 4, 7)
    endings[1] = f"{endings[1]} [title] {endings[2]} [step]"
    return {
        "ind": n,
        "activity_label": text(n, "hsa", 2),
        "ctx_a": text(n, "hsb") + ".",
        "ctx_b": text(n, "hsc", 2).lower(),
        "ctx": "",
        "endings": endings,
        "label": str(pick(n, "hs", 4)),
    }


def _winogrande(n: int) -> Document:
    return {
        "sentence": f"{text(n, 'wg')} because the _ was {text(n, 'wgb', 3).lower()}.",
        "option1": text(n, "wg1", 1).lower(),
        "option2": text(n, "wg2", 1).lower(),
        "answer": str(1 + pick(n, "wg", 2)),
    }


def _wic(n: int) -> Document:
    sentence = text(n, "wic1")
    return {
        "sentence1": sentence,
        "sentence2": text(n, "wic2"),
        "start1": 0,
        "end1": len(sentence.split()[0]),
        "label": pick(n, "wic", 2),
    }


def _math(n: int) -> Document:
    return {
        "problem": f"What is ${n} + 1$?",
        "solution": f"It is $\\boxed{{{n + 1}}}$.",
        "level": "1",
        "type": "Algebra",
    }


def _math_qa(n: int) -> Document:
    options = "a ) 1 , b ) 2 , c ) 3 , d ) 4 , e ) none of these"
    return {"Problem": text(n, "mq"), "options": options, "correct": "abcde"[pick(n, "mq", 5)]}


def _mmlu_pro(n: int) -> Document:
    return {
        "question": text(n, "mp") + "?",
        "options": several(n, "mp", 10, 3),
        "answer": "ABCDEFGHIJ"[pick(n, "mp", 10)],
        "cot_content": f"A: Let's think step by step. {text(n, 'mpc')}. The answer is (B).",
        "category": "math" if n % 4 else "law",
    }


def _gpqa(n: int) -> Document:
    right, *wrong = several(n, "gp")
    named = {f"Incorrect Answer {place}": each for place, each in enumerate(wrong, 1)}
    return {"Question": text(n, "gpq"), "Correct Answer": right, **named}


def _race(n: int) -> Document:
    problems = [
        {
            "question": text(n, f"raq{k}") + ("  _  ." if k else "?"),
            "answer": "ABCD"[k],
            "options": several(n, f"ra{k}"),
        }
        for k in range(3)
    ]
    return {"article": text(n, "race", 40), "problems": str(problems)}


def _drop(n: int) -> Document:
    date = {"day": "", "month": "", "year": str(1900 + n)}
    by_kind = [
        {"number": str(n), "date": {"day": "", "month": "", "year": ""}, "spans": []},
        {"number": "", "date": {"day": "", "month": "", "year": ""}, "spans": [text(n, "dr", 2), "silver"]},
        {"number": "", "date": date, "spans": []},
    ]
    empty = {"day": "", "month": "", "year": ""}
    return {
        "query_id": str(n),
        "passage": text(n, "drp", 30),
        "question": text(n, "drq") + "?",
        "answer": by_kind[n % 3],
        "validated_answers": {"number": [str(n), ""], "date": [empty, empty], "spans": [[], ["copper"]]},
    }


def _eq(n: int) -> Document:
    reference = {f"emotion{k}": name for k, name in enumerate(("Calm", "Fear", "Hope", "Pride"), 1)}
    scores = {f"emotion{k}_score": pick(n, f"eq{k}", 11) for k in range(1, 5)}
    return {"prompt": text(n, "eq", 20), "reference_answer_fullscale": str({**reference, **scores})}


def _coqa(n: int) -> Document:
    return {
        "story": text(n, "co", 40),
        "questions": {"input_text": several(n, "coq", 3)},
        "answers": {"input_text": several(n, "coa", 3, 2)},
        "additional_answers": {key: {"input_text": several(n, f"cob{key}", 3, 2)} for key in "012"},
    }


def _squad(n: int) -> Document:
    return {"text": text(n, "sq", 30), "value": text(n, "sqv", 1), "title": "", "doc_id": str(n)}


def _letters(n: int) -> Document:
    return dict(zip("ABCD", several(n, "let"), strict=True))


MADE_UP: dict[str, tuple[tuple[str, ...], Callable[[int], Document]]] = {
    "boolq": (("train", "validation"), _pair("bq", "passage", "question")),
    "truthfulqa_mc1": (("validation",), _truthful),
    "truthfulqa_mc2": (("validation",), _truthful),
    "truthfulqa_gen": (("validation",), _truthful),
    "commonsense_qa": (
        ("train", "validation"),
        lambda n: {
            "question": text(n, "csq"),
            "choices": {"text": several(n, "cs", 5), "label": [*"ABCDE"]},
            "answerKey": "ABCDE"[pick(n, "cs", 5)],
        },
    ),
    "social_iqa": (
        ("train", "validation"),
        lambda n: {
            "context": text(n, "si"),
            "question": text(n, "siq") + "?",
            **dict(zip(("answerA", "answerB", "answerC"), several(n, "sia", 3), strict=True)),
            "label": str(1 + pick(n, "si", 3)),
        },
    ),
    "sciq": (
        ("train", "validation", "test"),
        lambda n: {
            "question": text(n, "sc"),
            "support": text(n, "scs", 20),
            "correct_answer": text(n, "scc", 2),
            **{f"distractor{k}": text(n, f"scd{k}", 2) for k in (1, 2, 3)},
        },
    ),
    "xnli_en": (("train", "validation"), _pair("xn", "premise", "hypothesis", labels=3)),
    "anli_r1": (("train_r1", "dev_r1", "test_r1"), _pair("an", "premise", "hypothesis", labels=3)),
    "rte": (("train", "validation"), _pair("rt", "sentence1", "sentence2")),
    "sst2": (("train", "validation"), _pair("ss", "sentence")),
    "qnli": (("train", "validation"), _pair("qn", "question", "sentence")),
    "wic": (("train", "validation"), _wic),
    "mrpc": (("train", "validation"), _pair("mr", "sentence1", "sentence2")),
    "cola": (("train", "validation"), _pair("cl", "sentence")),
    "cb": (("train", "validation"), _pair("cb", "premise", "hypothesis", labels=3)),
    "belebele_eng_Latn": (
        ("test",),
        lambda n: {
            "flores_passage": text(n, "be", 30),
            "question": text(n, "beq"),
            **{f"mc_answer{k}": text(n, f"be{k}", 3) for k in (1, 2, 3, 4)},
            "correct_answer_num": str(1 + pick(n, "be", 4)),
        },
    ),
    "headqa_en": (
        ("train", "validation", "test"),
        lambda n: {
            "qtext": text(n, "hq"),
            "ra": 1 + pick(n, "hq", 4),
            "answers": [{"aid": k, "atext": each} for k, each in enumerate(several(n, "hqa"), 1)],
        },
    ),
    "swag": (
        ("train", "validation"),
        lambda n: {
            "startphrase": text(n, "sw"),
            **{f"ending{k}": each for k, each in enumerate(several(n, "swe"))},
            "label": pick(n, "sw", 4),
        },
    ),
    "storycloze_2016": (
        ("validation", "test"),
        lambda n: {
            **{f"input_sentence_{k}": text(n, f"st{k}") + "." for k in (1, 2, 3, 4)},
            "sentence_quiz1": text(n, "stq"),
            "sentence_quiz2": text(n, "stw"),
            "answer_right_ending": 1 + pick(n, "st", 2),
        },
    ),
    "prost": (
        ("test",),
        lambda n: {"context": text(n, "pr"), "ex_question": text(n, "prq"), "label": pick(n, "pr", 4), **_letters(n)},
    ),
    "cmmlu_anatomy": (
        ("dev", "test"),
        lambda n: {"Question": f"下列{text(n, 'cm')}？", "Answer": "ABCD"[pick(n, "cm", 4)], **_letters(n)},
    ),
    "kmmlu_accounting": (
        ("dev", "test"),
        lambda n: {"question": f"다음 {text(n, 'km')}", "answer": 1 + pick(n, "km", 4), **_letters(n)},
    ),
    "mgsm_direct_en": (
        ("train", "test"),
        lambda n: {
            "question": f"Question: what is {n} + 1?" if n % 2 else f"what is {n} + 1?",
            "answer": f"Step-by-Step Answer: it is {n + 1}." if n % 2 else None,
            "answer_number": n + 1,
        },
    ),
    "triviaqa": (
        ("train", "validation"),
        lambda n: {"question": text(n, "tr"), "answer": {"aliases": [text(n, "tra", 1), "5"], "value": "5"}},
    ),
    "arc_easy": (("train", "validation", "test"), _arc),
    "arc_challenge": (("train", "validation", "test"), _arc),
    "arc_challenge_chat": (("train", "validation", "test"), _arc),
    "piqa": (
        ("train", "validation"),
        lambda n: {"goal": text(n, "pi"), "sol1": text(n, "pi1"), "sol2": text(n, "pi2"), "label": pick(n, "pi", 2)},
    ),
    "openbookqa": (("train", "validation", "test"), _openbook),
    "drop": (("train", "validation"), _drop),
    "aime24": (("train",), lambda n: {"ID": str(n), "Problem": text(n, "ai"), "Answer": n % 10, "Solution": ""}),
    "wmt16-en-de": (
        ("train", "validation", "test"),
        lambda n: {"translation": {"en": text(n, "en", 12) + ".", "de": text(n, "de", 12) + "."}},
    ),
    "eq_bench": (("validation",), _eq),
    "hellaswag": (("train", "validation"), _hellaswag),
    "winogrande": (("train", "validation"), _winogrande),
    "copa": (
        ("train", "validation"),
        lambda n: {
            "premise": text(n, "cp") + ".",
            "choice1": text(n, "cp1") + ".",
            "choice2": text(n, "cp2") + ".",
            "question": ("cause", "effect")[n % 2],
            "label": pick(n, "cp", 2),
        },
    ),
    "mmlu_pro_math": (("validation", "test"), _mmlu_pro),
    "hendrycks_math_algebra": (("train", "test"), _math),
    "minerva_math_algebra": (("train", "test"), _math),
    "lambada_openai": (("test",), lambda n: {"text": text(n, "la", 20)}),
    "wikitext": (
        ("train", "validation", "test"),
        lambda n: {"page": f" = Page {n} = \n {text(n, 'wi', 60 + 40 * (n % 4))} . "},
    ),
    "gpqa_main_zeroshot": (("train",), _gpqa),
    "gpqa_main_n_shot": (("train",), _gpqa),
    "logiqa": (
        ("train", "validation", "test"),
        lambda n: {
            "context": text(n, "lo", 20),
            "question": text(n, "loq"),
            "options": several(n, "loo"),
            "label": "abcd"[pick(n, "lo", 4)],
        },
    ),
    "race": (("test",), _race),
    "medqa_4options": (
        ("train", "validation", "test"),
        lambda n: {
            "sent1": text(n, "md", 20),
            **{f"ending{k}": each for k, each in enumerate(several(n, "mde"))},
            "label": pick(n, "md", 4),
        },
    ),
    "medmcqa": (
        ("train", "validation"),
        lambda n: {
            "question": text(n, "mm"),
            **dict(zip(("opa", "opb", "opc", "opd"), several(n, "mma"), strict=True)),
            "cop": pick(n, "mm", 4),
        },
    ),
    "pubmedqa": (
        ("train", "validation", "test"),
        lambda n: {
            "CONTEXTS": several(n, "pm", 3, 10),
            "QUESTION": text(n, "pmq"),
            "final_decision": ("yes", "no", "maybe")[pick(n, "pm", 3)],
        },
    ),
    "coqa": (("train", "validation"), _coqa),
    "asdiv": (
        ("validation",),
        lambda n: {"body": text(n, "as"), "question": text(n, "asq", 4), "answer": f"{n} (apples)"},
    ),
    "mathqa": (("train", "validation", "test"), _math_qa),
    "crows_pairs_english": (
        ("test",),
        lambda n: {"sent_more": text(n, "cr1"), "sent_less": text(n, "cr2"), "bias_type": "age"},
    ),
    "squad_completion": (("validation",), _squad),
}


def _json_lines(path: Path) -> list[Document]:
    with path.open() as lines:
        return [json.loads(line) for line, _ in zip(lines, range(4 * COUNT), strict=False)]


def _mmlu(subject: str) -> dict[str, list[Document]]:
    found: dict[str, list[Document]] = {}
    for split in ("dev", "test"):
        with (SHARED / "mmlu" / split / f"{subject}_{split}.csv").open(newline="") as file:
            rows = list(csv.reader(file))[: COUNT if split == "test" else 5]
        found[split] = [
            {"question": q, "choices": choices, "answer": "ABCD".index(answer), "subject": subject}
            for q, *choices, answer in rows
        ]
    return {**found, "validation": found["dev"]}


def mmlu_subjects() -> list[str]:
    """What the group `mmlu` consists of, as the installed package has it."""
    found = importlib.util.find_spec("lm_eval")
    assert found is not None
    assert found.origin is not None
    return sorted(path.stem for path in (Path(found.origin).parent / "tasks/mmlu/default").glob("mmlu_*.yaml"))


def _mmlu_or_made_up(task: str) -> Iterator[tuple[str, list[Document]]]:
    subject = task.removeprefix("mmlu_")
    if (SHARED / "mmlu" / "dev" / f"{subject}_dev.csv").exists():
        yield from _mmlu(subject).items()
        return
    for split, count in (("dev", 5), ("test", 2 + len(subject) % 5)):
        yield (
            split,
            [
                {"question": text(n, subject + split), "choices": several(n, subject), "answer": pick(n, subject, 4)}
                for n in range(count)
            ],
        )


def _bbh(name: str) -> dict[str, list[Document]]:
    return {"test": json.loads((SHARED / "bbh" / f"{name}.json").read_text())["examples"][:COUNT]}


def _ifeval() -> dict[str, list[Document]]:
    # sentences are counted with a download of nltk's, which need not be there
    rows = [
        each
        for each in _json_lines(SHARED / "ifeval" / "input_data.jsonl")
        if not any("sentence" in name or "capital_word" in name for name in each["instruction_id_list"])
    ]
    names = sorted({key for row in rows for each in row["kwargs"] for key in each})
    filled = [{**row, "kwargs": [{key: each.get(key) for key in names} for each in row["kwargs"]]} for row in rows]
    return {"train": filled[:COUNT]}


def _gsm8k() -> dict[str, list[Document]]:
    folder = SHARED / "gsm8k"
    return {
        "train": _json_lines(folder / "train-first-200.jsonl")[:COUNT],
        "test": _json_lines(folder / "test.jsonl")[:COUNT],
    }


def _nq_open() -> dict[str, list[Document]]:
    rows = _json_lines(SHARED / "nq-open" / "NQ-open.dev.jsonl")
    return {"train": rows[COUNT : 2 * COUNT], "validation": rows[:COUNT]}


REAL: dict[str, Callable[[], dict[str, list[Document]]]] = {
    "mmlu_astronomy": lambda: _mmlu("astronomy"),
    "mmlu_astronomy_generative": lambda: _mmlu("astronomy"),
    "mmlu_flan_cot_fewshot_astronomy": lambda: _mmlu("astronomy"),
    "mmlu_computer_security": lambda: _mmlu("computer_security"),
    "mmlu_elementary_mathematics_continuation": lambda: _mmlu("elementary_mathematics"),
    "bbh_cot_fewshot_boolean_expressions": lambda: _bbh("boolean_expressions"),
    "bbh_zeroshot_boolean_expressions": lambda: _bbh("boolean_expressions"),
    "bbh_zeroshot_word_sorting": lambda: _bbh("word_sorting"),
    "leaderboard_bbh_boolean_expressions": lambda: _bbh("boolean_expressions"),
    "leaderboard_bbh_date_understanding": lambda: _bbh("date_understanding"),
    "gsm8k": _gsm8k,
    "gsm8k_cot": _gsm8k,
    "gsm8k_cot_llama": _gsm8k,
    "gsm8k_cot_self_consistency": lambda: {split: rows[:4] for split, rows in _gsm8k().items()},
    "nq_open": _nq_open,
    "ifeval": _ifeval,
}


def tasks() -> list[str]:
    """Every task that there are documents for here."""
    return [*(REAL if SHARED.is_dir() else ()), *MADE_UP]


def documents(task: str) -> Iterator[tuple[str, list[Document]]]:
    """The documents of each split."""
    if task in REAL:
        yield from REAL[task]().items()
        return
    if task not in MADE_UP:
        yield from _mmlu_or_made_up(task)
        return
    splits, make = MADE_UP[task]
    for place, split in enumerate(splits):
        yield split, [make(1000 * place + number) for number in range(COUNT)]


def write_documents(folder: Path, names: list[str], most: int = COUNT) -> None:
    for task in names:
        (folder / task).mkdir(parents=True, exist_ok=True)
        for split, rows in documents(task):
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows[:most])
            (folder / task / f"{split}.jsonl").write_text(lines)
