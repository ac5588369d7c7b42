"""Labeller SPECs, as written in ``assay.toml`` and on the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from assay.labellers.base import Labeller
from assay.labellers.judge import NAME as JUDGE
from assay.labellers.pace import Limits
from assay.labellers.prices import Price, list_price
from assay.model.errors import SettingsError
from assay.tasks.rendering import Renderer

if TYPE_CHECKING:
    from assay.labellers.openai import OpenAISettings

SPEC_HELP = (
    "embedded[:MODEL or GGUF path], openai:MODEL[@BASE_URL], recorded:FILE.jsonl, rules, "
    "human:NAME, ensemble:NAME, MODULE:ATTRIBUTE"
)

_KEYS = "OPENAI_API_KEY or ASSAY_<NAME>_API_KEY"
# "m@user:PW@host", with or without a scheme; not "@cf/meta/llama" nor "claude@2024".
_USER_AND_PASSWORD = re.compile(r"@/{0,2}[^@/]*:[^@]*@")


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
    made: Labeller | None
    if kind == "embedded" and rest in ("", JUDGE):
        made = _kind("judge.labeller").JudgeLabeller()
    elif kind == "embedded":
        model = rest
        if (model.endswith(".gguf") or "/" in model) and not Path(model).is_absolute():
            model = str(folder / model)
        made = _kind("embedded").EmbeddedLabeller(
            model, renderer, reasons=options.reasons, progress=options.fetching
        )
    elif kind == "openai" and rest:
        made = _kind("openai").OpenAILabeller(openai_settings(rest, options), renderer)
    elif kind == "recorded" and rest:
        made = _kind("recorded").RecordedLabeller(folder / rest, name=rest)
    elif spec.strip() == "rules":
        made = _kind("rules").RulesLabeller()
    elif kind == "human" and rest:
        raise SettingsError(
            f"'{spec}': a person's labels come in through 'assay labels import', not by judging. "
            "They already count before any machine's."
        )
    else:
        made = _kind("custom").custom_labeller(spec.strip())
    if made is None:
        raise SettingsError(f"'{spec}' is no labeller. Use one of: {SPEC_HELP}.")
    return made


def shadowed(name: str) -> bool:
    """Whether an entry point of this name can never be reached: as a SPEC it is one of Assay's."""
    kind, colon, _ = name.partition(":")
    own = ("embedded", "openai", "recorded", "human", "ensemble")
    return name in ("embedded", "rules") or bool(colon and kind in own)


def _kind(module: str) -> Any:
    """The module of a kind of labeller: loaded when one is named, as a command needs few."""
    return import_module(f"assay.labellers.{module}")


def openai_settings(rest: str, options: LabellerOptions) -> OpenAISettings:
    """Settings of ``openai:`` from ``MODEL[@BASE_URL[@BASE_URL…]]``; several addresses of one
    model share the load. The key comes from the environment: ``ASSAY_<HOST>_API_KEY``,
    ``ASSAY_<MODEL>_API_KEY`` or ``OPENAI_API_KEY``, the first set.

    Raises SettingsError for what is no address, or holds a secret, which is not repeated."""
    openai = _kind("openai")
    default = os.environ.get("OPENAI_BASE_URL") or openai.DEFAULT_BASE_URL
    model, *urls = re.split(r"@(?=https?://)", rest, flags=re.IGNORECASE)
    if _USER_AND_PASSWORD.search(model):
        raise SettingsError(
            "What follows 'openai:' looks like a user name and a password before a host: they "
            "would stand in files and logs. Write openai:MODEL@https://HOST/v1, and put the key "
            f"into {_KEYS}."
        )
    urls = urls or [default]
    hosts = [_host(url) for url in urls]
    if not model:
        raise SettingsError("'openai:' names no model. Write openai:MODEL[@BASE_URL].")
    names = [f"ASSAY_{_env_name(name)}_API_KEY" for name in (*hosts, model)]
    key = next((os.environ[n] for n in [*names, "OPENAI_API_KEY"] if os.environ.get(n)), None)
    settings: OpenAISettings = openai.OpenAISettings(
        model=model,
        base_urls=tuple(urls),
        api_key=key,
        temperature=options.temperature,
        limits=options.limits,
        timeout=options.timeout,
        price=options.prices.get(model) or list_price(model, tuple(urls)),
        extra=options.extra,
    )
    return settings


def _host(url: str) -> str:
    """The host of an endpoint's address. Raises SettingsError for an address that cannot be used,
    without showing it: it may hold a secret."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:  # whose text holds a piece of the address
        raise SettingsError(
            "The address of an endpoint cannot be understood: its host or port is malformed. "
            f"Write http://HOST:PORT/v1, without a password; the key goes into {_KEYS}."
        ) from None
    if parts.username or parts.password or _USER_AND_PASSWORD.search(url):
        raise SettingsError(
            "The address of an endpoint must not hold a password: it would stand in files "
            f"and logs. Put the key into {_KEYS}."
        )
    if "?" in url or "#" in url:
        raise SettingsError(
            f"The address of an endpoint at {host} must not have a query or a fragment (what "
            "follows '?' or '#'): '/chat/completions' is put after it, and a key in it would "
            f"stand in files and logs. End the address before it, and put the key into {_KEYS}."
        )
    return host


def _env_name(name: str) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")
