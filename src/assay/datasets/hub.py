"""Datasets of the hub, at a revision, through the optional `datasets` package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Annotated, Any

from msgspec import Meta

from assay.core.describe import DatasetInfo, describes
from assay.core.errors import UsageError
from assay.core.fingerprint import fingerprint
from assay.datasets.content import Pin
from assay.datasets.rows import Row, RowDataset
from assay.overriding import override
from assay.part_options import Doc, InFiles, Named, part


def _about(options: Mapping[str, Any], _: object) -> DatasetInfo:
    named = options.get("load_dataset_kwargs")
    given = named if isinstance(named, Mapping) else {}
    return DatasetInfo(
        elsewhere=True,
        addresses={f"the Hugging Face hub: {options.get('repository')}": ""},
        files={f"{name}={given[name]}": "load_dataset_kwargs" for name in sorted({*given} - {"name", "revision"})},
    )


@describes(_about)
@part(
    "A dataset of the hub; without a revision the score cannot be reproduced.",
    example="path: owner/quiz, split: test, revision: v1.0",
)
class Hub(RowDataset):
    """Rows of one split of a hub dataset."""

    def __init__(
        self,
        *,
        repository: Annotated[
            str, Meta(min_length=1), Named("path"), Doc("The dataset's name on the hub, `owner/name`.")
        ],
        split: Annotated[str, Meta(min_length=1), Doc("Which part of it, such as `test`.")],
        revision: Annotated[str | None, Doc("Commit or tag; also accepted in `load_dataset_kwargs`.")] = None,
        load_dataset_kwargs: Annotated[
            dict[str, Any] | None, Doc("Passed on to `datasets.load_dataset`."), InFiles({})
        ] = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name=name or repository, **options)
        self.path, self.split = repository, split
        self._kwargs = dict(load_dataset_kwargs or {})
        self._given_revision: str | None = revision or self._kwargs.pop("revision", None)
        if self._kwargs.get("trust_remote_code"):
            raise UsageError(f"dataset `{self.name}`: `trust_remote_code` would run third-party code; it is refused")

    @property
    def is_pinned(self) -> bool:
        return bool(self._given_revision)

    def pin(self) -> Pin:
        warning = (
            f"dataset `{self.name}`: {self.path} has no `revision`, so scores on it cannot be reproduced once the "
            f"repository changes; write `revision: {self.revision}` into its source"
        )
        return Pin({"revision": self.revision}, warning)

    @cached_property
    def revision(self) -> str:
        """The given revision, or the newest one on the hub."""
        if self._given_revision:
            return self._given_revision
        with self._explaining_errors():
            import huggingface_hub

            newest = huggingface_hub.HfApi().dataset_info(self.path).sha
        if not newest:
            raise UsageError(f"dataset `{self.name}`: the hub names no revision of {self.path}; give one")
        return str(newest)

    @cached_property
    def _loaded(self) -> Any:
        with self._explaining_errors():
            import datasets

            datasets.disable_progress_bars()
            return datasets.load_dataset(self.path, split=self.split, revision=self.revision, **self._kwargs)

    @contextmanager
    def _explaining_errors(self) -> Iterator[None]:
        try:
            yield
        except UsageError:
            raise
        except ImportError as error:
            raise UsageError(
                f"dataset `{self.name}` is on the hub; install the reader with: pip install 'assay-eval[hub]'"
            ) from error
        except Exception as error:  # network, permissions, an unknown name: the package has no common ancestor for them
            reason = " ".join(str(error).split())[:300]
            raise UsageError(f"dataset `{self.name}`: {self.path} could not be loaded: {reason}") from error

    @override
    def rows(self) -> Iterator[Row]:
        return (dict(row) for row in self._loaded)

    @cached_property
    @override
    def sha256(self) -> str:
        """A revision is a hash of the content already; with path and split it says which rows."""
        return fingerprint({"path": self.path, "split": self.split, "revision": self.revision, **self._kwargs})
