"""Documents in the hub's shapes for families of tasks whose code gives too little of them away, by how names begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench._lm_eval_documents import MADE_UP, pick, several, text

Document = Callable[[int], dict[str, Any]]
DIRECTIONS = ("dr_fr", "dr_en", "dr_msa", "fr_dr", "en_dr", "msa_dr")
LETTERS = [*"ABCD"]
TYDIQA = ("arabic", "bengali", "english", "finnish", "indonesian", "korean", "russian", "swahili", "telugu")
PDDL_DOMAIN = """(define (domain lamps) (:requirements :strips :typing) (:types lamp)
 (:predicates (on ?x - lamp) (off ?x - lamp))
 (:action switch-on :parameters (?x - lamp) :precondition (off ?x) :effect (and (on ?x) (not (off ?x)))))"""
PDDL_PROBLEM = """(define (problem one) (:domain lamps) (:objects lamp1 - lamp)
 (:init (off lamp1)) (:goal (and (on lamp1))))"""


def _bbq(n: int) -> dict[str, Any]:
    return {
        "context": text(n, "bbq", 12),
        "question": text(n, "bbqq"),
        "ans0": "the first",
        "ans1": "the second",
        "ans2": "unknown",
        "label": pick(n, "bbq", 3),
        "context_condition": ("ambig", "disambig")[n % 2],
        "question_type": ("pro-stereo", "anti-stereo")[n // 2 % 2],
        "question_polarity": ("neg", "nonneg")[n % 2],
        "answer_info": {name: ["person", f"group {k}"] for k, name in enumerate(("ans0", "ans1", "ans2"))},
        "stereotyped_groups": ["group 0"],
        "additional_metadata": {"stereotyped_groups": ["group 0"], "subcategory": "none", "source": "x"},
    }


def _darija(n: int) -> dict[str, Any]:
    turns = [{"role": "user", "content": text(n, "da")}, {"role": "assistant", "content": text(n, "db")}]
    return {"direction": DIRECTIONS[n % 6], "dataset": "seed", "source": "seed", "messages": turns}


def _arabic(n: int) -> dict[str, Any]:
    return {"query": text(n, "ar"), **{f"sol{k}": text(n, f"ars{k}") for k in range(1, 5)}, "label": str(n % 4)}


def _agieval(n: int) -> dict[str, Any]:
    choices = [f"({letter}){each}" for letter, each in zip(LETTERS, several(n, "age"), strict=True)]
    shown = " ".join(choices)
    return {"query": f"Q: {text(n, 'ag')} Answer Choices: {shown}", "choices": choices, "gold": [pick(n, "ag", 4)]}


def _word_sorting(n: int) -> dict[str, Any]:
    return {"input": f"Sort the following words alphabetically: List: {text(n, 'ws', 5)}", "target": text(n, "wst", 5)}


def _shots(family: str, count: int, **fields: Callable[[int, int], Any]) -> dict[int, dict[str, Any]]:
    return {
        n: {
            f"{family}_{name}_shot_{shot}": make(n, shot)
            for shot in range(1, count + 1)
            for name, make in {**fields, "idx": lambda n, shot: n + shot}.items()
        }
        for n in range(8)
    }


def _metabench_winogrande(n: int) -> dict[str, Any]:
    shots = _shots(
        "winogrande",
        5,
        prompt=lambda n, shot: f"{text(n + shot, 'wp')} _ {text(n, 'wq')}",
        answer=lambda n, shot: "12"[(n + shot) % 2],
        option1=lambda n, shot: text(n + shot, "wo", 1),
        option2=lambda n, shot: text(n + shot, "wi", 1),
    )
    asked = {
        "sentence": f"{text(n, 'ws')} _ {text(n, 'we')}",
        "option1": "one",
        "option2": "two",
        "answer": "12"[n % 2],
    }
    return {**shots[n % 8], **asked, "allfiveshot_longprompt": ""}


def _metabench_hellaswag(n: int) -> dict[str, Any]:
    parts = ("ctx_a", "ctx_b", "ctx", "activity_labels", "source_id", "split", "split_type")
    shots = _shots(
        "hellaswag",
        10,
        **{name: lambda n, shot: text(n + shot, "hs") for name in parts},
        endings=lambda n, shot: several(n + shot, "he"),
        label=lambda n, shot: str((n + shot) % 4),
        ind=lambda n, shot: n + shot,
    )
    asked = {name: text(n, name) for name in ("ctx_a", "ctx_b", "ctx", "activity_label", "source_id", "split")}
    return {**shots[n % 8], **asked, "endings": several(n, "hx"), "label": str(n % 4), "alltenshot_longprompt": ""}


def _metabench_mmlu(n: int) -> dict[str, Any]:
    shots = _shots(
        "mmlu",
        5,
        question=lambda n, shot: text(n + shot, "mq"),
        answers=lambda n, shot: (n + shot) % 4,
        choices=lambda n, shot: several(n + shot, "mc"),
        ind=lambda n, shot: n + shot,
    )
    asked = {"question": text(n, "mq"), "subject": "high_school_biology", "choices": several(n, "mx"), "answer": n % 4}
    return {**shots[n % 8], **asked, "allfiveshot_longprompt": ""}


def _tydiqa(n: int) -> dict[str, Any]:
    context = text(n, "ty", 20)
    answers = {"text": [context[:9]], "answer_start": [0]}
    language = TYDIQA[n % len(TYDIQA)]
    return {"id": f"{language}-{n}", "title": "t", "context": context, "question": text(n, "tq"), "answers": answers}


def _instructions(n: int) -> dict[str, Any]:
    asked = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{"num_words": None}]}
    return {"key": n, "prompt": f"{text(n, 'if')}. Use no commas.", **asked}


def _planning(group: str, answer: Any) -> Document:
    """ACPBench's: a lamp that can be switched on, in PDDL and in words."""
    question = f"{'What of the plan [(switch-on lamp)] ':<60}{'can be left out?':>140}"
    document = {"group": f"{group}_gen", "question": question, "answer": answer, "context": "There is a lamp."}
    return lambda n: {"id": n, **document, "PDDL_domain": PDDL_DOMAIN, "PDDL_problem": PDDL_PROBLEM}


FAMILIES: dict[str, Document] = {
    "acp_app_gen": _planning("applicable_actions", ["(switch-on lamp)"]),
    "acp_areach_gen": _planning("reachable_action", ["(switch-on table)"]),
    "acp_just_gen": _planning("action_justification", [["(switch-on lamp)", ""]]),
    "acp_land_gen": _planning("landmarks", {"yes": ["(on lamp)"], "no": ["(off lamp)"]}),
    "acp_nexta_gen": _planning("goal_closer", {"yes": ["(switch-on lamp)"], "no": ["x"], "maybe": ["y"], "opt": "1"}),
    "acp_prog_gen": _planning("progression", {"pos": ["(on lamp)"], "neg": ["(off lamp)"]}),
    "acp_reach_gen": _planning("reachable_atom", ["on table"]),
    "acp_val_gen": _planning("validation", 0),
    "argument_topic": lambda n: {"text": text(n, "argument", 9), "label": "cannabis"},
    "cabbq": _bbq,
    "esbbq": _bbq,
    "translation_": _darija,
    "arabic_mt_piqa": _arabic,
    "option_order_robustness_agieval": _agieval,
    "non_greedy_robustness_agieval": _agieval,
    "prompt_robustness_agieval": _agieval,
    "bbh_zeroshot_word_sorting": _word_sorting,
    "bbh_cot_zeroshot_word_sorting": _word_sorting,
    "metabench_winogrande": _metabench_winogrande,
    "metabench_hellaswag": _metabench_hellaswag,
    "metabench_mmlu": _metabench_mmlu,
    "bbq_": _bbq,
    "arabic_leaderboard_alghafa": _arabic,
    "tydiqa_goldp": _tydiqa,
    "ifeval": _instructions,
    "non_greedy_robustness_math": MADE_UP["hendrycks_math_algebra"][1],
    "prompt_robustness_math": MADE_UP["hendrycks_math_algebra"][1],
}


def documents_of(task: str) -> Document | None:
    """What makes the documents of a task of a known family."""
    return next((make for beginning, make in FAMILIES.items() if task.startswith(beginning)), None)
