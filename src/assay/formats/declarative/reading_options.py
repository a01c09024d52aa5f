"""The caller's options for reading YAML files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.costs.budget import SpendingLimits
from assay.formats.declarative.mending import Mending
from assay.formats.declarative.yaml_reader import Plain
from assay.formats.shots import Shots

if TYPE_CHECKING:
    from assay.formats.declarative.prompt_texts import PromptText  # reads files with these options


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingOptions:
    """What is filled in, allowed and needed."""

    config: Mapping[str, Plain] = field(default_factory=dict)
    usual_config: Mapping[str, Plain] = field(default_factory=dict)
    """Values from the project, for those parameters that a task has and `config` does not give."""
    judge: str | None = None
    """The model behind judge keys that nothing else describes."""
    judge_from: str = "from --judge"
    """Who chose it."""
    trust: bool = False
    models: Mapping[str, str] = field(default_factory=dict)
    """The models behind keys, named on the command line: no file chose those."""
    evaluated: Sequence[str] = ()
    """The evaluated models, which may be keys of model files."""
    dataset: str | None = None
    """The dataset that a dataset task evaluates."""
    prompt: PromptText | None = None
    """The prompt of the cell of a matrix."""
    replaces_dataset: bool = True
    """Whether it replaces the dataset that a task names; else it is for tasks that name none."""
    allow_outside: bool = False
    models_needed: bool = True
    """False where no model is going to be called: a model key without a model is then not an error."""
    only_reads: bool = False
    """No server is called either, so a dataset of the hub has no size."""
    may_call_models: bool = True
    """Whether models may be called to write datasets."""
    limits: SpendingLimits = field(default_factory=SpendingLimits)
    """What they may be paid for it."""
    mending: Mending | None = None
    """Removes faults from the files, so that the rest can be read."""
    shots: Shots = field(default_factory=Shots)
