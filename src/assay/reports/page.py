"""Parts common to all report pages: escaping templates, the security policy, swatches."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from assay.model.languages import COMMON
from assay.page.wording import NOTHING, visible
from assay.reports.svg import el, marker, meter
from assay.reports.text import pieces


@cache
def environment() -> Environment:
    """The report's templates, which escape every value."""
    made = Environment(
        loader=PackageLoader("assay.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.globals["swatch"] = swatch
    made.globals["meter"] = meter
    made.filters["breakable"] = breakable
    made.filters["isolated"] = isolated
    return made


def macro(template: str, name: str, *arguments: object) -> Markup:
    """The result of a template's macro."""
    module = environment().get_template(f"{template}.html.j2").module
    return Markup(getattr(module, name)(*arguments))  # noqa: S704 (made by an escaping template)


def _shown(value: object) -> object:
    """A value as templates print it: no hidden characters, no None, no NaN."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, str):
        return visible(value)
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return NOTHING
    return value


def source(name: str) -> str:
    """The source of a file among the package's templates."""
    return (files("assay.reports") / "templates" / name).read_text(encoding="utf-8")


@cache
def languages_script() -> str:
    """The script that marks the languages of a page's texts."""
    return f"const WORDS={json.dumps(dict(COMMON), ensure_ascii=False)};\n{source('languages.js')}"


def content_policy(css: str, js: str) -> str:
    """The Content-Security-Policy that allows only the page's own style sheet and script."""

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")

    return (
        f"default-src 'none'; style-src 'sha256-{digest(css)}'; script-src 'sha256-{digest(js)}';"
        " base-uri 'none'; form-action 'none'"
    )


@cache
def swatch(kind: int | None) -> Markup:
    """A run's colour and shape, to stand before its name."""
    if kind is None:
        return Markup("")
    return el(
        "svg",
        marker(7, 7, kind, size=4.5),
        viewBox="0 0 14 14",
        width=14,
        height=14,
        class_="swatch",
        aria_hidden="true",
    )


def breakable(name: str) -> Markup:
    """A name in which a line may break, but not within a word."""
    return Markup("<wbr>").join(pieces(visible(name)))


_LEFTWARDS = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"
_LEFTWARDS_NAME = re.compile(rf"{_LEFTWARDS}(?:[^:;,&()“”]*{_LEFTWARDS})?")


def isolated(text: str) -> Markup:
    """A sentence in which names in Hebrew or Arabic letters do not reorder what is beside them:
    otherwise one run's number would seem to be its neighbour's."""
    sentence = str(escape(visible(text)))
    found = _LEFTWARDS_NAME.sub(lambda name: f"<bdi>{name[0]}</bdi>", sentence)
    return Markup(found)  # noqa: S704 (escaped)


def setting(value: object) -> str:
    """A setting's value in words."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        value = [f"{name} {setting(one)}" for name, one in value.items()]
    if isinstance(value, list | tuple):
        return ", ".join(map(setting, value)) or "none given"
    return str(value)
