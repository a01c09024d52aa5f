"""assay's own sandbox is one of the kind that a stranger's is."""

from __future__ import annotations

from inspect import signature

from assay import catalog
from assay.sandbox.seam import RunsPrograms


def test_every_sandbox_of_the_catalog_has_the_methods_of_the_seam() -> None:
    methods = [name for name in vars(RunsPrograms) if not name.startswith("_")]
    assert methods == ["start_here", "report", "run", "rehearse", "aclose"]
    for name in catalog.CATALOG["sandbox"]:
        make = catalog.resolve("sandbox", name)
        assert not [method for method in methods if not hasattr(make, method)]
        assert "min_tier" in signature(make).parameters
