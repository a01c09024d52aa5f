"""Starts the zygote: `python -s -S -B -P <this file> <control descriptor>`, with a clean environment."""

import importlib.util
import os
import sys


def load_package() -> None:
    """Load this folder as `_assay_inside`: neither assay nor its folder is ever on the path."""
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location(
        "_assay_inside", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None:
        raise ImportError(folder)
    package = importlib.util.module_from_spec(spec)
    sys.modules["_assay_inside"] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":
    load_package()
    importlib.import_module("_assay_inside.zygote").main(int(sys.argv[1]))
