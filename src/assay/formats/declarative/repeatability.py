"""Task specifications that run others again, to see how steady their numbers are: `type: repeatability`.

They name specifications of an evaluation: of their own file, or of a run file next to it. Each becomes a task with as
many attempts at every sample as there are to be runs, whose leaderboard has the consistency of its answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from assay.core.errors import UsageError
from assay.formats.declarative.run_records import RepeatabilitySpecification
from assay.formats.declarative.yaml_reader import Document, FieldPath, Plain, hint_here

SPECIFICATIONS: FieldPath = ("evaluation", "task_specifications")


def has_repeatability(value: Plain) -> bool:
    """Whether a run file has others run again."""
    return not all(_is_standard(each) for each in _specifications(value))


def run_again(
    document: Document, where: FieldPath, spec: RepeatabilitySpecification, nearby: Mapping[str, Document]
) -> Iterator[Document]:
    """The run files with what a specification names in them; `nearby` are those by the keys of their evaluations."""
    for at, given in enumerate(spec.inputs):
        place = (*where, "inputs", at)
        file = nearby.get(given.evaluation_key)
        if file is None:
            message = (
                f"there is no evaluation `{given.evaluation_key}` in this file or in a run file next to it. "
                f"{hint_here(given.evaluation_key, nearby)}"
            )
            raise document.error((*place, "evaluation_key"), message)
        wanted = given.task_specification_key
        whole = _specifications(file.value)
        chosen = [number for number, each in enumerate(whole) if wanted in (None, name_of(each)) and _is_standard(each)]
        if not chosen:
            known = [name_of(each) for each in whole if _is_standard(each)]
            message = f"`{given.evaluation_key}` has no task specification `{wanted}`. {hint_here(str(wanted), known)}"
            raise document.error((*place, "task_specification_key"), message)
        for number in chosen:
            if "trials" in whole[number] or "repeatability" in whole[number]:
                message = f"`{name_of(whole[number])}` is repeated already, by `trials` or `repeatability` of its own"
                raise document.error(place, message)
        own = spec.key or "repeatability"
        several = len(spec.inputs) > 1 or len(chosen) > 1
        names = [f"{own}-{name_of(whole[number])}" if several else own for number in chosen]
        how: dict[str, Plain] = {"repeatability": {"num_runs": spec.repeatability_config.num_runs}}
        settings: dict[str, Plain] = {"num_samples": spec.num_samples, "subsampling": spec.subsampling}
        how |= {field: value for field, value in settings.items() if value is not None}
        yield only(file, chosen, {at: {**how, "key": name} for at, name in zip(chosen, names, strict=True)})


def evaluations_near(document: Document, siblings: Sequence[Document]) -> dict[str, Document]:
    """This run file and those next to it, by the keys of their evaluations."""
    found: dict[str, Document] = {}
    for file in (document, *siblings):
        evaluation = file.value.get("evaluation") if isinstance(file.value, dict) else None
        if isinstance(evaluation, dict) and isinstance(key := evaluation.get("key"), str):
            if key in found:
                raise UsageError(f"the evaluation `{key}` is given twice: in {found[key].path} and in {file.path}")
            found[key] = file
    return found


def siblings_of(path: Path) -> list[Path]:
    """The YAML files next to a run file."""
    return sorted(each for each in path.parent.glob("*.yaml") if each.is_file() and each.resolve() != path.resolve())


def name_of(specification: Mapping[str, Plain]) -> str:
    return str(specification.get("key") or specification.get("task_key"))


def _specifications(value: Plain) -> list[dict[str, Plain]]:
    evaluation = value.get("evaluation") if isinstance(value, dict) else None
    given = evaluation.get("task_specifications") if isinstance(evaluation, dict) else None
    return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []


def _is_standard(specification: Mapping[str, Plain]) -> bool:
    return specification.get("type", "standard") == "standard"


def only(file: Document, chosen: list[int], changed: Mapping[int, Mapping[str, Plain]]) -> Document:
    """The run file with the chosen specifications alone, some of them changed."""
    value, whole = file.value, _specifications(file.value)
    assert isinstance(value, dict)  # noqa: S101 - it has an evaluation
    evaluation = value["evaluation"]
    assert isinstance(evaluation, dict)  # noqa: S101 - it has specifications
    left: list[Plain] = [{**whole[at], **changed.get(at, {})} for at in chosen]
    cut: Plain = {**value, "evaluation": {**evaluation, "task_specifications": left}}
    return replace(file, value=cut, kept={**file.kept, SPECIFICATIONS: chosen})
