"""A registry folder: evals and model-graded templates by name, and where their data is."""

from __future__ import annotations

import ast
import importlib.util
import string
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.catalog import unknown_name
from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.reading.bounded_yaml import load_yaml
from assay.text.wording import nearest
from assay.trust.project import out_of_bounds, root_of

MAX_YAML_BYTES = 16 << 20
MOST_ALIASES = 20
_ANSWERS = Path("elsuite/modelgraded/classify_utils.py")


class Registry:
    """The folder with `evals/`, `modelgraded/` and `data/`."""

    def __init__(self, folder: Path) -> None:
        if not (folder / "evals").is_dir():
            raise UsageError(f"--registry {folder}: has no folder `evals`; name the folder `registry` of OpenAI evals")
        self.folder = folder

    def eval(self, name: str) -> tuple[str, dict[str, Any], Path]:
        """The full name, the specification behind it, and its file; an `id` refers to another name."""
        return self._behind(name, self._evals, "eval")

    def template(self, name: str) -> dict[str, Any]:
        """A model-graded template."""
        return self._behind(name, self._templates, "model-graded template")[1]

    def data(self, named: str, where: Path) -> Path:
        """A data file that an eval names."""
        path = next((item for item in (self.folder / "data" / named, Path(named)) if item.is_file()), None)
        if path is None or Path(named).is_absolute() or ".." in Path(named).parts:
            raise UsageError(f"{where}: `{named}`: there is no such file in {self.folder / 'data'}")
        if reason := out_of_bounds(path, root_of(self.folder)):
            raise UsageError(f"{where}: `{named}` {reason}; copy it there")
        return path

    def names(self) -> list[str]:
        return sorted(name for name in self._evals if "." not in name)

    @cached_property
    def answer_prompts(self) -> dict[str, str]:
        """The instruction on how a grader answers, by `eval_type`: from the package around the registry, an installed
        one, or else our own.
        """
        packages = [self.folder.parent, *([installed] if (installed := _package()) else [])]
        return next((prompts for package in packages if (prompts := _answers_of(package / _ANSWERS))), ANSWER_PROMPTS)

    def _behind(self, name: str, known: Mapping[str, tuple[Any, Path]], shown: str) -> tuple[str, dict[str, Any], Path]:
        for _ in range(MOST_ALIASES):
            if name not in known:
                near = nearest(name, list(known))
                hint = f" Did you mean `{near}`?" if near else ""
                raise UsageError(f"{self.folder}: unknown {shown} `{name}`.{hint}")
            spec, path = known[name]
            alias = spec if isinstance(spec, str) else spec.get("id") if isinstance(spec, dict) else None
            if alias is None or (isinstance(spec, dict) and "class" in spec):
                break
            name = str(alias)
        if not isinstance(spec, dict):
            raise UsageError(f"{path}: `{name}` is not a valid {shown}: a mapping is expected")
        return name, spec, path

    @cached_property
    def _evals(self) -> dict[str, tuple[Any, Path]]:
        return _entries(self.folder / "evals")

    @cached_property
    def _templates(self) -> dict[str, tuple[Any, Path]]:
        return _entries(self.folder / "modelgraded")


def _entries(folder: Path) -> dict[str, tuple[Any, Path]]:
    entries: dict[str, tuple[Any, Path]] = {}
    for path in sorted(folder.glob("*.yaml")):
        value = load_yaml(read_regular(path, MAX_YAML_BYTES).decode("utf-8-sig"), str(path))
        entries |= {str(name): (spec, path) for name, spec in value.items()} if isinstance(value, dict) else {}
    return entries


def registry_at(folder: str | None) -> Registry:
    """The registry in this folder, or that of an installed `evals` package, which is not imported."""
    if folder is not None:
        return Registry(Path(folder))
    package = _package()
    if package is None or not (package / "registry").is_dir():
        raise UsageError("openai-evals: name the registry with --registry FOLDER: no `evals` package is installed here")
    return Registry(package / "registry")


def _package() -> Path | None:
    spec = importlib.util.find_spec("evals")
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _answers_of(path: Path) -> dict[str, str]:
    """The texts of `ANSWER_PROMPTS` in a Python file, which is parsed and not run."""
    if not path.is_file():
        return {}
    try:
        tree = ast.parse(read_regular(path, MAX_YAML_BYTES).decode())
    except (SyntaxError, ValueError, OSError):
        return {}
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Dict):
            continue
        if [target.id for target in node.targets if isinstance(target, ast.Name)] == ["ANSWER_PROMPTS"]:
            pairs = zip(node.value.keys, node.value.values, strict=True)
            return {str(key.value): _text(value) for key, value in pairs if isinstance(key, ast.Constant)}
    return {}


def _text(node: ast.expr) -> str:
    inner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else node
    return str(inner.value).strip() if isinstance(inner, ast.Constant) else ""


ANSWER_PROMPTS = {
    "classify": "Reply with one of {choices} and nothing else.",
    "classify_cot": "Reply with one of {choices} on a line of its own, and explain why from the next line on.",
    "cot_classify": "Think step by step first. Then write one of {choices} on a line of its own.\n\nReasoning:",
}
"""For a registry without its package."""


def fields_of(template: str, where: str) -> list[str]:
    """The names in braces of a template; anything but a name is refused, as `format` would evaluate it."""
    try:
        names = [name for _, name, form, _ in string.Formatter().parse(template) if name is not None]
    except ValueError as error:
        raise UsageError(f"{where}: its prompt is not a valid template: {error}") from error
    for name in names:
        if not name.isidentifier():
            raise UsageError(f"{where}: its prompt has `{{{name}}}`; only names are allowed in braces")
    return names


def known_class(name: str, known: Mapping[str, Any], where: str) -> Any:
    """The counterpart of a class of the `evals` package."""
    short = name.rpartition(":")[2]
    if short not in known:
        raise UsageError(f"{where}: the class `{name}` is not supported. {unknown_name('class', short, known)}")
    return known[short]
