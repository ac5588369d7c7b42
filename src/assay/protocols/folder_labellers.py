"""Making the labellers that an evaluation folder names, with its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.labellers.base import Labeller
from assay.labellers.ensemble import EnsembleLabeller
from assay.labellers.pace import Limits
from assay.labellers.prices import Price
from assay.labellers.spec import LabellerOptions, make_labeller
from assay.model.errors import SettingsError
from assay.tasks.voting import Rule

if TYPE_CHECKING:
    from assay.protocols.folder import Folder


def single(folder: Folder, spec: str, temperature: float | None) -> Labeller:
    """Make one labeller with the folder's settings."""
    judging = folder.config.judging
    options = LabellerOptions(
        limits=Limits(judging.concurrency, judging.requests_per_minute, judging.tokens_per_minute),
        timeout=judging.timeout,
        max_reply=int(judging.max_reply_mb * 1e6),
        temperature=temperature,
        reasons=judging.reasons,
        prices={name: Price(**one.model_dump()) for name, one in folder.config.prices.items()},
        extra=judging.extra,
        engine=judging.engine,
        fetching=folder.fetching,
        named=folder.labeller is not None and spec == folder.labeller.strip(),
        local=True,
        abstains=judging.abstain,
    )
    made = make_labeller(spec, folder=folder.path, renderer=folder.renderer, options=options)
    if folder.hosting is None:
        return made
    return folder.hosting.hosted(made, spec, folder.path, options)


def ensemble(folder: Folder, name: str, made: dict[str, Labeller]) -> Labeller:
    """Make the labellers of ``[ensembles.NAME]`` into one that lets them vote, reusing ``made``."""
    section = folder.config.ensembles.get(name)
    where = f"{folder.path / 'assay.toml'}: [ensembles.{name}]"
    if section is None:
        known = ", ".join(folder.config.ensembles) or "none"
        raise SettingsError(f"{where} is missing. Ensembles there are: {known}.")
    specs = [spec.strip() for spec in section.members]
    if len(set(specs)) < len(specs):
        raise SettingsError(f"{where} names a member twice. For repeats, set samples.")
    nested = [spec for spec in specs if spec.startswith("ensemble:")]
    if nested:
        raise SettingsError(f"{where}: '{nested[0]}' is an ensemble; list its members instead.")
    if section.rule is Rule.WEIGHTED and section.weights is None:
        raise SettingsError(f"{where}: rule 'weighted' needs weights, one for each member.")
    same = section.temperature is None
    members = [
        folder.make_labeller(spec, made) if same else single(folder, spec, section.temperature)
        for spec in specs
    ]
    ids = [member.id for member in members]
    for index, own in enumerate(ids):
        first = ids.index(own)
        if first < index:
            raise SettingsError(
                f"{where}: '{specs[first]}' and '{specs[index]}' are the same labeller "
                f"({own.name}), which would be asked twice and vote twice. For several "
                "addresses of one model, name one labeller, openai:MODEL@URL1@URL2; for repeats, "
                "set samples."
            )
    fixed = [own.name for own, member in zip(ids, members, strict=True) if not member.varies]
    if section.samples > 1 and fixed:
        raise SettingsError(
            f"{where}: {fixed[0]} gives the same answer each time, so samples = {section.samples} "
            "would count its vote several times. Set a temperature, or leave samples out."
        )
    try:
        return EnsembleLabeller(name, members, section.rule, section.weights, section.samples)
    except ValueError as error:
        raise SettingsError(f"{where}: {error}.") from error
