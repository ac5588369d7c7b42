"""Labeller SPECs, as written in ``assay.toml`` and on the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from assay.labellers.base import Labeller
from assay.labellers.custom import custom_labeller
from assay.labellers.embedded import EmbeddedLabeller
from assay.labellers.judge import labeller as judge
from assay.labellers.judge.labeller import JudgeLabeller
from assay.labellers.openai import DEFAULT_BASE_URL, OpenAILabeller, OpenAISettings
from assay.labellers.pace import Limits
from assay.labellers.prices import Price, list_price
from assay.labellers.recorded import RecordedLabeller
from assay.labellers.rules import RulesLabeller
from assay.model.errors import SettingsError
from assay.tasks.rendering import Renderer

SPEC_HELP = (
    "embedded[:MODEL or GGUF path], openai:MODEL[@BASE_URL], recorded:FILE.jsonl, rules, "
    "human:NAME, ensemble:NAME, MODULE:ATTRIBUTE"
)


@dataclass(frozen=True, slots=True)
class LabellerOptions:
    """What ``[judging]`` and ``[prices]`` of ``assay.toml`` say about labellers."""

    limits: Limits = field(default_factory=Limits)
    timeout: float = 120.0
    temperature: float | None = 0.0
    reasons: bool = True
    prices: Mapping[str, Price] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    # Told of a model being fetched: what, bytes done, bytes in all.
    fetching: Callable[[str, int, int], None] | None = None


def make_labeller(
    spec: str, *, folder: Path, renderer: Renderer, options: LabellerOptions
) -> Labeller:
    """The labeller that ``spec`` names; file names are relative to ``folder``.

    Nothing is loaded or connected; what is no SPEC of Assay's is looked up among entry points and
    as ``module:attribute``. Raises SettingsError for a SPEC that cannot be understood.
    """
    kind, _, rest = spec.strip().partition(":")
    if kind == "embedded" and rest in ("", judge.NAME):
        return JudgeLabeller()
    if kind == "embedded":
        model = rest
        if (model.endswith(".gguf") or "/" in model) and not Path(model).is_absolute():
            model = str(folder / model)
        return EmbeddedLabeller(model, renderer, reasons=options.reasons, progress=options.fetching)
    if kind == "openai" and rest:
        return OpenAILabeller(openai_settings(rest, options), renderer)
    if kind == "recorded" and rest:
        return RecordedLabeller(folder / rest, name=rest)
    if spec.strip() == "rules":
        return RulesLabeller()
    if kind == "human" and rest:
        raise SettingsError(
            f"'{spec}': a person's labels come in through 'assay labels import', not by judging. "
            "They already count before any machine's."
        )
    custom = custom_labeller(spec.strip())
    if custom is not None:
        return custom
    raise SettingsError(f"'{spec}' is no labeller. Use one of: {SPEC_HELP}.")


def openai_settings(rest: str, options: LabellerOptions) -> OpenAISettings:
    """Settings of ``openai:`` from ``MODEL[@BASE_URL[@BASE_URL…]]``; several addresses of one
    model share the load. The key comes from the environment: ``ASSAY_<HOST>_API_KEY``,
    ``ASSAY_<MODEL>_API_KEY`` or ``OPENAI_API_KEY``, the first set."""
    default = os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL
    model, *urls = re.split(r"@(?=https?://)", rest)
    urls = urls or [default]
    if not model:
        raise SettingsError(f"'openai:{rest}' names no model. Write openai:MODEL[@BASE_URL].")
    for url in urls:
        parts = urlsplit(url)
        if parts.username or parts.password:
            raise SettingsError(
                "The address of an endpoint must not hold a password: it would stand in files "
                "and logs. Put the key into OPENAI_API_KEY or ASSAY_<NAME>_API_KEY."
            )
    hosts = [urlsplit(url).hostname or "" for url in urls]
    names = [f"ASSAY_{_env_name(name)}_API_KEY" for name in (*hosts, model)]
    key = next((os.environ[n] for n in [*names, "OPENAI_API_KEY"] if os.environ.get(n)), None)
    return OpenAISettings(
        model=model,
        base_urls=tuple(urls),
        api_key=key,
        temperature=options.temperature,
        limits=options.limits,
        timeout=options.timeout,
        price=options.prices.get(model) or list_price(model, tuple(urls)),
        extra=options.extra,
    )


def _env_name(name: str) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")
