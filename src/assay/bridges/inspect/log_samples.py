"""The samples of an Inspect log, each once however many epochs it had: the dataset of the run that a log becomes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from assay.bridges.inspect.log_files import LogSample, attached, input_text, log_header, log_samples
from assay.core.describe import DatasetInfo, describes
from assay.core.fingerprint import fingerprint
from assay.core.types import Sample
from assay.datasets.json_lines import existing_file


@describes(DatasetInfo())
class InspectSamples:
    """In the order of the dataset, where the log lists it."""

    def __init__(self, *, path: str) -> None:
        self._path = existing_file(path, path)

    @cached_property
    def sha256(self) -> str:
        """Hash of the inputs and targets: the same for two logs of one task, whichever model answered."""
        return fingerprint([(sample.id, sample.prompt, sample.targets, sample.extras) for sample in self._samples])

    def __len__(self) -> int:
        return len(self._samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self._samples)

    @cached_property
    def _samples(self) -> list[Sample]:
        samples: dict[str, Sample] = {}
        for log_sample in log_samples(self._path):
            if str(log_sample.id) not in samples:
                samples[str(log_sample.id)] = _sample(log_sample)
        order = {str(name): at for at, name in enumerate(log_header(self._path).eval.dataset.sample_ids or ())}
        return sorted(samples.values(), key=lambda sample: order.get(sample.id, len(order)))


def _sample(sample: LogSample) -> Sample:
    targets = [sample.target] if isinstance(sample.target, str) else sample.target
    return Sample(
        id=str(sample.id),
        prompt=input_text(sample),
        targets=tuple(attached(target, sample.attachments) for target in targets),
        extras={"choices": sample.choices} if sample.choices else {},
        metadata=sample.metadata,
    )
