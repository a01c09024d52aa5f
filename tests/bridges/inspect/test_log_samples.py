"""The samples of a log are those that were asked, each once and in the order of the dataset."""

from __future__ import annotations

from pathlib import Path

from assay.bridges.inspect.log_samples import InspectSamples

LOGS = Path(__file__).parent / "logs"


def test_a_sample_of_four_epochs_is_one_sample() -> None:
    found = list(InspectSamples(path=str(LOGS / "epochs.json")))
    assert [each.id for each in found] == ["one", "two", "three"]
    assert (found[0].prompt, found[2].targets) == ("1+1?", ("Paris", "paris"))


def test_two_logs_of_the_same_questions_have_the_same_content() -> None:
    assert (
        InspectSamples(path=str(LOGS / "errors.json")).sha256 == InspectSamples(path=str(LOGS / "epochs.json")).sha256
    )
