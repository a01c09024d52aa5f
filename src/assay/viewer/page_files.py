"""The files that the viewer's page is made of, by the names it requests."""

from __future__ import annotations

from importlib import resources

TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def page_files() -> dict[str, bytes]:
    """Read once: no path is ever built from a request. Reports share some of them, so they lie with reports."""
    rendering = resources.files("assay.pages.rendering")
    others = ("assay.pages.charts", "assay.text")
    folders = [resources.files("assay.viewer") / "static", rendering, *map(resources.files, others)]
    own = {item.name: item for folder in folders for item in folder.iterdir() if item.name.endswith(tuple(TYPES))}
    vendored = {f"vendor/{item.name}": item for item in (rendering / "vendor").iterdir()}
    return {name: item.read_bytes() for name, item in (own | vendored).items()}
