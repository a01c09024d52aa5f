"""What a name would run: the files behind it and the Python they name. None of it is imported here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from assay.bridges.lm_eval.worker.names import forget_manager, manager, package_folder, version
from assay.bridges.process.problem import BridgeError
from assay.trust.project import out_of_bounds, root_of


def describe(order: dict[str, Any]) -> dict[str, Any]:
    """The files behind a name and the Python they name. None of it runs."""
    try:
        return _described(order)
    except (AttributeError, KeyError, OSError, TypeError, ValueError, yaml.YAMLError) as error:
        place = order.get("file") or order.get("include_path") or order["name"]
        reason = " ".join(str(error).split())[:400]
        raise BridgeError(f"{place}: lm_eval {version()} cannot read it: {type(error).__name__}: {reason}") from error


def _described(order: dict[str, Any]) -> dict[str, Any]:
    forget_manager(order)
    if order.get("file"):  # before lm_eval reads it, which follows every include and says what it finds there
        _read_yaml(Path(order["file"]), _nothing_reached())
    index = manager(order)._index
    name = order["name"]
    if name not in index:
        from difflib import get_close_matches

        near = get_close_matches(name, index, n=3)
        meant = f"Did you mean {' or '.join(f'`lm-eval:{item}`' for item in near)}?" if near else ""
        raise BridgeError(f"lm_eval {version()} has no task, group or tag `{name}`. {meant}".strip())
    reached = _nothing_reached()
    _look_at(name, index, reached, set())
    files = sorted(map(str, reached["files"]))
    main = index[name].yaml_path
    return {
        "version": version(),
        "files": files,
        "code": sorted(reached["code"]),
        "unsafe": reached["unsafe"],
        "package": str(package_folder()),
        "main": str(Path(main).resolve()) if main else next(iter(files), ""),
    }


def _nothing_reached() -> dict[str, Any]:
    return {"files": set(), "code": set(), "unsafe": False}


def _look_at(name: str, index: Any, reached: dict[str, Any], seen: set[str]) -> None:
    if name in seen or name not in index:
        return
    seen.add(name)
    entry = index[name]
    for tag in sorted(entry.tags) if str(entry.kind.name) == "TAG" else ():
        _look_at(tag, index, reached, seen)
    if entry.yaml_path is None:
        return
    config = _read_yaml(Path(entry.yaml_path), reached)
    reached["unsafe"] |= bool(config.get("unsafe_code"))
    _members(config.get("task"), index, reached, seen)


def _members(members: Any, index: Any, reached: dict[str, Any], seen: set[str]) -> None:
    for member in members if isinstance(members, list) else ():
        if isinstance(member, dict):
            reached["unsafe"] |= bool(member.get("unsafe_code"))
            inner = member.get("group", member.get("task"))
            _members(member.get("task"), index, reached, seen)
        else:
            inner = member
        if isinstance(inner, str):
            _look_at(inner, index, reached, seen)


def _read_yaml(path: Path, reached: dict[str, Any]) -> dict[str, Any]:
    """A file merged with what it includes; every `!function` in it, and its module's files, are added to `reached`."""
    path = path.resolve()

    class Loader(yaml.CSafeLoader):
        pass

    def function(loader: Any, node: Any) -> str:
        spec = str(loader.construct_scalar(node))
        module = path.parent / f"{spec.rpartition('.')[0].replace('.', '/')}.py"
        reached["code"].add((_shown(module, spec), str(module)) if module.exists() else (spec, ""))
        if module.exists():
            reached["files"].update(module.parent.glob("*.py"))
        return spec

    Loader.add_constructor("!function", function)
    reached["files"].add(path)
    with path.open("rb") as file:
        config = yaml.load(file, Loader=Loader)  # noqa: S506 - a safe loader with one more tag
    if not isinstance(config, dict):
        raise BridgeError(f"{path}: no task of lm_eval: a mapping was expected")
    _note_code_of_the_hub(config, reached)
    includes = config.get("include") or []
    whole: dict[str, Any] = {}
    for include in includes if isinstance(includes, list) else [includes]:
        included = path.parent / str(include)
        if not path.is_relative_to(package_folder()) and (reason := out_of_bounds(included, root_of(path))):
            raise BridgeError(f"{path}: includes `{include}`, which {reason}; copy it there")
        whole.update(_read_yaml(included, reached))
    return {**whole, **config}


def _note_code_of_the_hub(config: dict[str, Any], reached: dict[str, Any]) -> None:
    for metric in config.get("metric_list") or ():
        if isinstance(metric, dict) and metric.get("hf_evaluate"):
            reached["code"].add((f"the metric `{metric.get('metric')}` of the hub", ""))
    if (config.get("dataset_kwargs") or {}).get("trust_remote_code"):
        reached["code"].add((f"the loader of {config.get('dataset_path')}", ""))


def _shown(module: Path, spec: str) -> str:
    package = package_folder().parent
    inside = module.resolve()
    shown = inside.relative_to(package) if inside.is_relative_to(package) else inside
    return f"{shown}:{spec.rpartition('.')[2]}"
