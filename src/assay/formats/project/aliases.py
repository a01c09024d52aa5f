"""The named models of a project: what an alias stands for, as `--model` and its options would say it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from assay.core.errors import UsageError
from assay.core.fingerprint import fingerprint
from assay.costs.prices import Price, PriceFile
from assay.formats.declarative.model_specs import ModelSpec, keep_key_at_home, key_variable
from assay.formats.declarative.records import Options
from assay.formats.declarative.yaml_reader import VARIABLE, FieldPath
from assay.formats.project.discovery import current_project
from assay.formats.project.reader import Project
from assay.formats.project.records import ProjectModel
from assay.models.adapters.providers import NO_KEY, PROVIDERS, chosen_address
from assay.reading.env_file import variables
from assay.text.wording import nearest
from assay.trust.trusted_content import is_recorded, record


class Alias(msgspec.Struct, frozen=True, kw_only=True):
    """A model of the project."""

    spec: ModelSpec
    file: Path
    """The project file that describes it."""
    name: str
    place: str

    def refuse_without_key(self) -> None:
        """`UsageError` where the variable of its key is set nowhere: its server would be called without one."""
        variable = self.spec.options.get("api_key_env")
        if variable not in (None, NO_KEY) and str(variable) not in variables():
            why = "it is neither in the environment nor in .env"
            raise UsageError(f"{self.place}: model `{self.name}` needs ${variable}: {why}")

    def refuse_unconfirmed(self, *, trust: bool) -> None:
        """`UsageError` before a variable is sent to a host for the first time; `trust` confirms it for this user."""
        adapter, _, argument = self.spec.model.partition(":")
        variable = self.spec.options.get("api_key_env")
        if variable in (None, NO_KEY) or adapter not in PROVIDERS:
            return
        address = chosen_address(argument, self.spec.options) or PROVIDERS[adapter].address
        if (address, variable) in {(each.address, each.key) for each in PROVIDERS.values()}:
            return  # a provider's own key to the provider
        host = urlsplit(address).netloc
        pair = fingerprint(["alias", variable, host])
        if is_recorded(pair):
            return
        if not trust:
            raise UsageError(
                f"{self.place}: model `{self.name}` sends ${variable} to {host} for the first time here. If that is "
                "right, rerun with --trust once, which is remembered"
            )
        record(pair, self.file, [f"send {variable} to {host}"])


def alias_called(name: str) -> Alias | None:
    """What a name stands for in the project in force; None for names that are no aliases."""
    project = current_project()
    if project is None or name not in project.entry.models:
        return None
    return Alias(spec=spec_of(project, name), file=project.path, name=name, place=project.place(("models", name)))


def near_alias(name: str) -> str | None:
    """The alias that is spelt most like a name."""
    project = current_project()
    return None if project is None else nearest(name, project.entry.models)


def spec_of(project: Project, name: str) -> ModelSpec:
    """The model behind an alias: an alias of an alias has what both say, its own words first."""
    where: FieldPath = ("models", name)
    said = _whole(project, name)
    options: Options = dict(said.args)
    if said.api_key is not None:
        options["api_key_env"] = key_variable(project.document, (*where, "api_key"), said.api_key)
    if said.base_url is not None:
        options["base_url"] = _address(project, (*where, "base_url"), said.base_url)
    keep_key_at_home(said.model, options)
    limits = said.limits
    return ModelSpec(
        model=said.model,
        options=options,
        requests_per_minute=None if limits is None else limits.rpm,
        concurrency=None if limits is None else limits.concurrency,
        label=said.label or name,
        generation=said.settings,
    )


def _whole(project: Project, name: str) -> ProjectModel:
    models = project.models
    said = models[name]
    if said.model not in models:
        return said
    inner = _whole(project, said.model)
    return ProjectModel(
        model=inner.model,
        label=said.label,
        api_key=said.api_key or inner.api_key,
        base_url=said.base_url or inner.base_url,
        args={**inner.args, **said.args},
        settings={**inner.settings, **said.settings},
        limits=said.limits or inner.limits,
        price=said.price or inner.price,
    )


def _address(project: Project, where: FieldPath, written: str) -> str:
    match = VARIABLE.match(written)
    if match is None:
        return written
    name = match[1] or match[2]
    value = variables().get(name)
    if value is None:
        alias = where[1]
        raise project.error(where, f"model `{alias}` needs ${name}: it is neither in the environment nor in .env")
    return value


def prices_of(project: Project) -> PriceFile | None:
    """The prices that the project's models have, by the models' own names."""
    prices: dict[str, Price] = {}
    of: dict[str, str] = {}
    for alias in project.entry.models:
        said = _whole(project, alias)
        if said.price is None:
            continue
        model, price = said.model.partition("@")[0], Price(**msgspec.structs.asdict(said.price))
        if prices.setdefault(model, price) != price:
            raise project.error(
                ("models", alias), f"`{of[model]}` and `{alias}` are one model, `{model}`, and have two prices"
            )
        of.setdefault(model, alias)
    return PriceFile(models=prices) if prices else None
