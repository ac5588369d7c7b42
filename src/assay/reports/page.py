"""What every report page shares: templates that escape, the page's policy, swatches."""

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
    """The report's templates: everything that goes in is escaped."""
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
    """What a macro of a template makes of its arguments."""
    module = environment().get_template(f"{template}.html.j2").module
    return Markup(getattr(module, name)(*arguments))  # noqa: S704 (made by an escaping template)


def _shown(value: object) -> object:
    """What a template prints for a value: no hidden characters, no None, no NaN."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, str):
        return visible(value)
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return NOTHING
    return value


def source(name: str) -> str:
    """A file of the package's templates as it is."""
    return (files("assay.reports") / "templates" / name).read_text(encoding="utf-8")


@cache
def languages_script() -> str:
    """The script by which a page says its texts' languages."""
    return f"const WORDS={json.dumps(dict(COMMON), ensure_ascii=False)};\n{source('languages.js')}"


def content_policy(css: str, js: str) -> str:
    """The Content-Security-Policy that lets only the page's own style sheet and script work."""

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
    """A name that a line may break within, but in no word of it."""
    return Markup("<wbr>").join(pieces(visible(name)))


_LEFTWARDS = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"
_LEFTWARDS_NAME = re.compile(rf"{_LEFTWARDS}(?:[^:;,&()“”]*{_LEFTWARDS})?")


def isolated(text: str) -> Markup:
    """A sentence in which names in Hebrew or Arabic letters leave in order what is beside them:
    else the number of a run would be read as that of its neighbour."""
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
