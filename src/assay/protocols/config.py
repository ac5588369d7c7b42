"""The contents of ``assay.toml``, section by section."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from assay.labellers.transport import MAX_REPLY
from assay.model.secrets import secret_in, secret_message
from assay.model.wording import and_list
from assay.tasks.voting import Rule

COMMANDS: Mapping[str, str] = {
    "submit": "Enter",
    "undo": "Backspace",
    "skip": "s",
    "flag": "f",
    "note": "n",
    "evidence": "e",
    "guideline": "g",
    "back": "[",
    "forward": "]",
    "help": "?",
}
"""The commands of the workbench with their keys, which ``[ui.keys]`` may change."""


_NAMED_KEY = re.compile("[A-Z][A-Za-z0-9]+")
_ENGINE_WORDS = ["dtype", "kv_cache_dtype", "quantization", "revision"]
_OTHERS = ("Tab", "Escape", "Shift", "Control", "Alt", "Meta")


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EvaluationSection(_Section):
    """``[evaluation]``."""

    protocol: str | list[str]
    title: str | None = None


class JudgingSection(_Section):
    """``[judging]``: how labellers are called."""

    concurrency: int = Field(64, ge=1, le=4096)
    requests_per_minute: float | None = Field(None, gt=0)
    tokens_per_minute: float | None = Field(None, gt=0)
    timeout: float = Field(120.0, gt=0)
    max_reply_mb: float = Field(MAX_REPLY / 1e6, gt=0, le=1e6)
    temperature: float | None = 0.0
    reasons: bool = True
    abstain: bool = False
    budget: float | None = Field(None, gt=0)
    give_up_after: int = Field(20, ge=0)
    extra: dict[str, Any] = Field(default_factory=dict)
    engine: dict[str, Any] = Field(default_factory=dict)

    @field_validator("extra", "engine")
    @classmethod
    def _no_secrets(cls, extra: dict[str, Any]) -> dict[str, Any]:
        """Refuse secrets: these settings are written to ledger, manifest and report."""
        name = secret_in(extra)
        if name is not None:
            raise ValueError(secret_message(name))
        return extra

    @field_validator("engine")
    @classmethod
    def _no_code(cls, engine: dict[str, Any]) -> dict[str, Any]:
        """Refuse arguments of vLLM that may name code: a folder from someone else must bring
        none."""
        for name, value in engine.items():
            plain = isinstance(value, int | float) and name != "trust_remote_code"
            if not plain and not (isinstance(value, str) and name in _ENGINE_WORDS):
                raise ValueError(
                    f"'{name}' could run code. Only numbers, yes or no, and "
                    f"{and_list(_ENGINE_WORDS)} are allowed here. For anything else, start vLLM's "
                    "server with it, and name the server: openai:MODEL@http://HOST:8000/v1."
                )
        return engine


class PriceSection(_Section):
    """``[prices."MODEL"]``: US dollars per million tokens. ``cached`` are tokens that the server
    had read before, ``cache_write`` those that it puts into its cache (``input`` if left out)."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(None, ge=0)
    cache_write: float | None = Field(None, ge=0)


class EnsembleSection(_Section):
    """``[ensembles.NAME]``: labellers that vote, each asked ``samples`` times at ``temperature``
    (that of ``[judging]`` if left out)."""

    members: list[str] = Field(min_length=1)
    rule: Rule = Rule.MAJORITY
    weights: list[float] | None = None
    samples: int = Field(1, ge=1, le=1000)
    temperature: float | None = Field(None, ge=0)


class LedgerSection(_Section):
    """``[ledger]``."""

    path: str = "labels.sqlite"
    url: str | None = None


class UiSection(_Section):
    """``[ui]``: the workbench. ``tasks`` are those that people are asked under, all where there are
    none. ``overlap`` is the share of units that ``passes`` people label; all
    others one labels. Units lie in an order that ``seed`` draws. ``topics`` says of people which
    topics alone they are given, and nobody of whom it says none. ``gold`` is whose labels are the
    right ones in training. ``keys`` are keys of commands by name, ``words`` what labellers read in
    the place of English: for tasks, fields, values and commands, by name."""

    tasks: list[str] = Field(default_factory=list)
    seed: int = Field(1, ge=0)
    passes: int = Field(1, ge=1, le=100)
    overlap: float = Field(1.0, ge=0, le=1)
    mode: Literal["blind", "shown", "post-edit", "training"] = "blind"
    gold: str = "human:GOLD"
    reserve_minutes: float = Field(10.0, gt=0)
    topics: dict[str, list[str]] = Field(default_factory=dict)
    keys: dict[str, str] = Field(default_factory=lambda: dict(COMMANDS))
    words: dict[str, str] = Field(default_factory=dict)

    @field_validator("topics")
    @classmethod
    def _by_name(cls, topics: dict[str, list[str]]) -> dict[str, list[str]]:
        found = {name.removeprefix("human:"): named for name, named in topics.items()}
        if len(found) < len(topics):
            raise ValueError("A person is listed twice, with and without human:.")
        return found

    @field_validator("keys")
    @classmethod
    def _one_key_each(cls, keys: dict[str, str]) -> dict[str, str]:
        """Check that each command has a key of its own that gives no verdict; return all keys."""
        unknown = sorted(keys.keys() - COMMANDS.keys())
        if unknown:
            raise ValueError(
                f"unknown commands: {and_list(unknown)}; commands are {', '.join(COMMANDS)}"
            )
        found = {**COMMANDS, **keys}
        for name, key in keys.items():
            named = _NAMED_KEY.fullmatch(key) and key not in _OTHERS
            if key.isdecimal() or not (named or len(key) == 1):
                raise ValueError(
                    f"{name} = {key!r} cannot be a command's key: give one character that is not a "
                    "digit (digits give verdicts), or a key's name such as Enter, F2 or ArrowLeft"
                )
            twice = [other for other, one in found.items() if one == key and other != name]
            if twice:
                raise ValueError(f"{name} and {twice[0]} have the same key, {key!r}")
        return found


class AuditSection(_Section):
    """``[audit]``: what ``assay audit`` cannot know. ``families`` maps names of runs or labellers,
    in which ``*`` stands for anything, to families of systems."""

    families: dict[str, str] = Field(default_factory=dict)


class ReleaseSection(_Section):
    """``[release]``: the licence, and ``teams`` by names of runs, in which ``*`` stands for
    anything."""

    licence: str = ""
    teams: dict[str, str] = Field(default_factory=dict)


class GateMeasure(_Section):
    """A measure in ``[gate]``: ``loss`` is how much worse than the baseline it may be (not tested
    if left out), ``min`` and ``max`` are bounds on its lower and upper end."""

    loss: float | None = Field(None, ge=0, allow_inf_nan=False)
    min: float | None = Field(None, allow_inf_nan=False)
    max: float | None = Field(None, allow_inf_nan=False)

    @model_validator(mode="after")
    def _asks_something(self) -> GateMeasure:
        if self.loss is None and self.min is None and self.max is None:
            raise ValueError("give loss, min or max")
        return self


class GateSection(_Section):
    """``[gate]``: what ``assay gate`` tests. ``alpha`` is the level of its tests, ``questions`` the
    share of the baseline's questions that must be present. ``baseline``, a file in the folder, and
    ``run`` replace the options with these names."""

    alpha: float = Field(0.05, gt=0, lt=1)
    questions: float = Field(0.95, gt=0, le=1)
    measures: dict[str, GateMeasure] = Field(default_factory=dict)
    baseline: str | None = None
    run: str | None = None


class Config(_Section):
    """All of ``assay.toml``. The protocol reads ``settings``."""

    evaluation: EvaluationSection
    inputs: dict[str, str | list[str]]
    labellers: dict[str, str] = Field(default_factory=lambda: {"default": "embedded"})
    judging: JudgingSection = JudgingSection()
    ensembles: dict[str, EnsembleSection] = Field(default_factory=dict)
    prices: dict[str, PriceSection] = Field(default_factory=dict)
    ledger: LedgerSection = LedgerSection()
    ui: UiSection = UiSection()
    audit: AuditSection = AuditSection()
    release: ReleaseSection = Field(default_factory=ReleaseSection)
    gate: GateSection = GateSection()
    settings: dict[str, Any] = Field(default_factory=dict)
