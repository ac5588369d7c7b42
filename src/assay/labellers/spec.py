"""Make labellers from SPECs, as written in ``assay.toml`` and on the command line."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.labellers.base import Labeller
from assay.labellers.judge import LARGE as LARGE_JUDGE
from assay.labellers.judge import NAME as JUDGE
from assay.labellers.keys import (
    ANTHROPIC,
    KEYS,
    OPENAI,
    USER_AND_PASSWORD,
    Provider,
    host_of,
    key_for,
)
from assay.labellers.pace import Limits
from assay.labellers.prices import Price, list_price
from assay.labellers.transport import MAX_REPLY
from assay.model.errors import PrerequisiteError, SettingsError
from assay.model.paths import path_inside
from assay.model.secrets import looks_secret
from assay.tasks.rendering import Renderer

if TYPE_CHECKING:
    from assay.labellers.openai import OpenAISettings

SPEC_HELP = (
    "embedded[:large, MODEL or GGUF path], openai:MODEL[@BASE_URL], anthropic:MODEL, vllm:MODEL, "
    "recorded:FILE.jsonl, rules, human:NAME, ensemble:NAME, MODULE:ATTRIBUTE"
)


@dataclass(frozen=True, slots=True)
class LabellerOptions:
    """Settings of labellers, from ``[judging]`` and ``[prices]`` of ``assay.toml``. ``named`` means
    that the user gave the SPEC, not a file: its addresses may get keys, and its files may be
    anywhere."""

    limits: Limits = field(default_factory=Limits)
    timeout: float = 120.0
    max_reply: int = MAX_REPLY
    temperature: float | None = 0.0
    reasons: bool = True
    prices: Mapping[str, Price] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    # Progress of downloading a model: what, bytes done, bytes in all.
    fetching: Callable[[str, int, int], None] | None = None
    named: bool = True
    # Whether an embedded judge uses what it has learnt from the folder's people.
    local: bool = False
    # Whether a label fails if the judge knows too little.
    abstains: bool = False
    # Processor threads of a model in this process; all by default.
    threads: int | None = None
    # Arguments of vLLM's engine.
    engine: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gpus(self) -> int:
        """The number of GPUs that an engine needs."""
        parallel = ("tensor_parallel_size", "pipeline_parallel_size")
        return math.prod(int(self.engine.get(name, 1)) for name in parallel)


def make_labeller(
    spec: str, *, folder: Path, renderer: Renderer, options: LabellerOptions
) -> Labeller:
    """The labeller that ``spec`` names; file names are relative to ``folder``. Nothing is loaded or
    connected. A SPEC that is not Assay's own is looked up among entry points and as
    ``module:attribute``. Raises SettingsError for a SPEC that cannot be understood, and
    PrerequisiteError for a judge that is not installed."""
    kind, _, rest = spec.strip().partition(":")
    if kind not in ("openai", "anthropic"):  # for these, openai_settings checks
        reject_keys("The name of a labeller", kind, rest)
    made: Labeller | None
    # Imported only when needed, as some are slow to load.
    if kind == "embedded" and rest in ("", JUDGE, LARGE_JUDGE):
        from assay.labellers.judge.labeller import JudgeLabeller  # noqa: PLC0415
        from assay.labellers.judge.local import read_local  # noqa: PLC0415
        from assay.labellers.judge.packages import JUDGES  # noqa: PLC0415

        judge = JUDGES[rest or JUDGE]
        if absent := judge.missing():
            raise PrerequisiteError(absent)
        taught = path_inside(folder, judge.taught, "The judge") if options.local else None
        made = JudgeLabeller(
            judge,
            local=None if taught is None else read_local(taught, judge),
            threads=options.threads,
            abstains=options.abstains,
        )
    elif kind == "embedded":
        model = rest
        if model.endswith(".gguf") or "/" in model:
            model = str(
                folder / model if options.named else path_inside(folder, model, "A labeller")
            )
        from assay.labellers.embedded import EmbeddedLabeller  # noqa: PLC0415

        made = EmbeddedLabeller(
            model,
            renderer,
            reasons=options.reasons,
            threads=options.threads,
            progress=options.fetching,
        )
    elif kind == "openai" and rest:
        from assay.labellers.openai import OpenAILabeller  # noqa: PLC0415

        made = OpenAILabeller(openai_settings(rest, options), renderer)
    elif kind == "anthropic" and rest:
        from assay.labellers.anthropic import AnthropicLabeller  # noqa: PLC0415

        made = AnthropicLabeller(openai_settings(rest, options, ANTHROPIC), renderer)
    elif kind == "vllm" and rest:
        from assay.labellers.vllm import VllmLabeller, vllm_settings  # noqa: PLC0415

        made = VllmLabeller(vllm_settings(rest, options), renderer, engine=options.engine)
    elif kind == "recorded" and rest:
        path = folder / rest if options.named else path_inside(folder, rest, "A labeller")
        from assay.labellers.recorded import RecordedLabeller  # noqa: PLC0415

        made = RecordedLabeller(path, name=rest)
    elif spec.strip() == "rules":
        from assay.labellers.rules import RulesLabeller  # noqa: PLC0415

        made = RulesLabeller()
    elif kind == "human" and rest:
        raise SettingsError(
            f"'{spec}': people label in 'assay ui', or their labels are imported with 'assay "
            "labels import'; they override any machine's. If no machine should be asked, name an "
            "empty file: recorded:none.jsonl."
        )
    else:
        from assay.labellers.custom import custom_labeller  # noqa: PLC0415

        made = custom_labeller(spec.strip(), named=options.named)
    if made is None:
        raise SettingsError(f"'{spec}' is not a labeller. Use one of: {SPEC_HELP}.")
    return made


def is_shadowed(name: str) -> bool:
    """Whether an entry point of this name is unreachable, as the SPEC is one of Assay's own."""
    kind, colon, _ = name.partition(":")
    own = ("embedded", "openai", "anthropic", "vllm", "recorded", "human", "ensemble")
    return name in ("embedded", "rules") or bool(colon and kind in own)


def reject_keys(what: str, *parts: str) -> None:
    """Raise SettingsError if ``parts`` of ``what`` contain a key, without repeating it."""
    if any(map(looks_secret, parts)):
        raise SettingsError(
            f"{what} contains what looks like a key, which would appear in the ledger, in reports "
            f"and in logs. Take it out, and put it into {KEYS}."
        )


def openai_settings(
    rest: str, options: LabellerOptions, provider: Provider = OPENAI
) -> OpenAISettings:
    """Parse ``MODEL[@BASE_URL[@BASE_URL…]]`` of ``openai:`` into settings. Several addresses of one
    model share the load. Keys come from the environment (:mod:`assay.labellers.keys`). Raises
    SettingsError for a malformed address, or one that contains a secret, which is not repeated."""
    model, *urls = re.split(r"@(?=https?://)", rest, flags=re.IGNORECASE)
    if USER_AND_PASSWORD.search(model):
        raise SettingsError(
            "What follows 'openai:' looks like a user name and a password before a host, which "
            "would appear in files and logs. Write openai:MODEL@https://HOST/v1, and put the key "
            f"into {KEYS}."
        )
    named = options.named or not urls
    urls = urls or [os.environ.get(provider.base) or provider.home]
    for url in urls:
        host_of(url)
    if not model:
        raise SettingsError("'openai:' names no model. Write openai:MODEL[@BASE_URL].")
    reject_keys("What follows 'openai:'", model, *urls)
    keys = {
        url: key for url in urls if (key := key_for(url, model, named=named, provider=provider))
    }
    from assay.labellers.openai import OpenAISettings  # noqa: PLC0415 (as above)

    return OpenAISettings(
        model=model,
        base_urls=tuple(urls),
        keys=keys,
        temperature=options.temperature,
        limits=options.limits,
        timeout=options.timeout,
        max_reply=options.max_reply,
        price=options.prices.get(model) or list_price(model, tuple(urls)),
        extra=options.extra,
    )
