"""A model file in the folder that a test works in."""

from __future__ import annotations

from pathlib import Path


def write_model_file(key: str, model: str) -> None:
    """`key` is what the file is found by, `The KEY` what tables show."""
    path = Path("models", f"{key}.yaml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"key: {key}\ndisplay_name: The {key}\nconfig: {{connection_type: assay, model: {model!r}}}\n")
