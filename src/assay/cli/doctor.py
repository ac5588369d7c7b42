"""``assay doctor``: what is installed, which endpoints respond, and how to fix what is missing."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated

import typer

from assay.api.labels import faults_in_words
from assay.api.opened import Opened
from assay.cli.common import forms, present
from assay.cli.judging import open_folder
from assay.labellers.custom import known_entry_points
from assay.labellers.endpoints import headers_for
from assay.labellers.http import HttpTransport
from assay.labellers.judge.model import Network
from assay.labellers.judge.packages import JUDGES, SMALL, JudgePackage
from assay.labellers.known_models import MODELS
from assay.labellers.models import find_model
from assay.labellers.openai import OpenAISettings
from assay.labellers.spec import LabellerOptions, is_shadowed, openai_settings
from assay.labellers.transport import Reply, TransportError
from assay.model.errors import AssayError, FormatError, PrerequisiteError, SettingsError
from assay.model.options import Argument
from assay.model.secrets import is_key_variable, safe_text
from assay.model.version import __version__
from assay.model.wording import counted
from assay.page.tables import Table
from assay.protocols.folder import Folder

_SECONDS = 10.0  # timeout for a list of models
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+).*?(?:extra == '(?P<extra>[\w-]+)')?$")


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check. A ``needed`` item that is not ``ok`` is a finding."""

    what: str
    ok: bool
    says: str
    cure: str = ""
    needed: bool = True


@forms("json")
def doctor_command(
    folder: Annotated[
        Path | None, Argument("[FOLDER]", "Also check this evaluation and its labellers.")
    ] = None,
) -> None:
    """Check what is installed, which endpoints respond and what is missing, and say how to fix it.

    Exit status 1 if something required is missing.
    """
    findings = [*_installed(), *_environment()]
    if folder is not None:
        findings.extend(_folder(folder))
    cells = [
        (
            "ok" if one.ok else "missing" if one.needed else "–",
            one.what,
            one.says + (f" {one.cure}" if one.cure and not one.ok else ""),
        )
        for one in findings
    ]
    table = Table(f"Assay {__version__}", ("", "", ""), cells)
    present(lambda: findings, [table])
    if any(finding.needed and not finding.ok for finding in findings):
        raise typer.Exit(1)


def _installed() -> Iterator[Check]:
    current = platform.python_version()
    yield Check("Python", sys.version_info >= (3, 11), current, "Assay needs Python 3.11 or newer.")
    for name, extra in _packages().items():
        found = _version(name)
        cure = f"pip install 'assay-rag[{extra}]'" if extra else f"pip install {name}"
        what = f"{name} ({extra})" if extra not in ("", name) else name
        yield Check(what, found is not None, found or "not installed.", cure, not extra)
    yield from map(_judge, JUDGES.values())
    for model in MODELS.values():
        try:
            path = find_model(model.name).path
        except AssayError as error:
            yield Check(f"model {model.name}", False, str(error), needed=False)
        else:
            yield Check(f"model {model.name}", True, str(path))


def _judge(judge: JudgePackage) -> Check:
    """Whether one of Assay's own judges can be used, and which version it is."""
    what = f"judge {judge.name}"
    try:
        about = judge.settings
        what = f"judge {judge.edition} (embedded)"
        Network.of(judge, threads=1)
    except PrerequisiteError as error:
        return Check(what, False, str(error), needed=False)
    where = "in the package" if judge is SMALL else "installed"
    more = "; the default labeller" if judge is SMALL else f"; {judge.labeller}"
    return Check(what, True, f"{where}, SHA-256 {about.sha256[:12]}…{more}")


def _packages() -> Mapping[str, str]:
    """Assay's dependencies, with the extra that installs each: "" for required ones."""
    try:
        lines = requires("assay-rag") or []
    except PackageNotFoundError:  # run from source
        lines = []
    packages: dict[str, str] = {}
    for found in filter(None, map(_REQUIREMENT.match, lines)):
        if found["extra"] != "test":
            packages.setdefault(found["name"], found["extra"] or "")
    return packages


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _environment() -> Iterator[Check]:
    names = sorted(
        name
        for name in os.environ
        if is_key_variable(name) or name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL")
    )
    says = f"set: {', '.join(names)} (values are not shown)" if names else "none is set."
    cure = "Needed for 'openai:' and 'anthropic:' labellers if their server asks for a key."
    yield Check("API keys", bool(names), says, cure, needed=False)
    for name in filter(is_shadowed, known_entry_points()):
        says = "is never used, because Assay has a SPEC of that name."
        cure = "Ask the authors of that package to rename it."
        yield Check(f"entry point {name}", False, says, cure, needed=False)


def _folder(path: Path) -> Iterator[Check]:
    try:
        folder = Folder.open(path)
    except AssayError as error:
        yield Check("assay.toml", False, str(error))
        return
    yield Check("assay.toml", True, f"protocol {', '.join(folder.protocols)}")
    opened: Opened | None = None
    try:
        opened = open_folder(path)
    except FormatError as error:
        yield Check("inputs", False, f"{len(error.faults)} faults.", "Run 'assay validate'.")
    except AssayError as error:
        yield Check("inputs", False, str(error))
    else:
        yield Check("inputs", True, opened.inputs_in_words())
    yield from _ledger(folder)
    if opened is not None:
        yield from _labellers(opened)
    for spec in dict.fromkeys(folder.config.labellers.values()):
        if spec.startswith("openai:"):
            yield from _endpoints(spec)


def _labellers(opened: Opened) -> Iterator[Check]:
    try:
        labellers = opened.labellers()
    except AssayError as error:
        yield Check("labellers", False, str(error))
        return
    for task in opened.tasks():
        if task.by_people:
            continue
        labeller = labellers[task.name]
        try:
            refusal = labeller.refusal(task)
        except AssayError as error:
            refusal = str(error)
        yield Check(f"{task.name} by {labeller.id.name}", refusal is None, refusal or "can do it")


def _ledger(folder: Folder) -> Iterator[Check]:
    try:
        if not folder.has_ledger():
            yield Check("ledger", True, "none yet; 'assay judge' creates it")
            return
        with folder.open_ledger() as ledger:
            count = sum(row["labels"] for row in ledger.stats())
            says = f"{ledger.name}: {counted(count, 'label')}, version {ledger.version()}"
            yield Check("ledger", True, says)
            remark = faults_in_words(ledger)
            if remark:
                yield Check("labels", False, remark)
    except AssayError as error:
        yield Check("ledger", False, str(error))


def _endpoints(spec: str) -> Iterator[Check]:
    try:
        settings = openai_settings(spec.partition(":")[2], LabellerOptions(named=False))
    except SettingsError as error:
        yield Check("endpoint", False, str(error))
        return
    for base_url in settings.base_urls:
        yield _endpoint(settings, base_url)


def _endpoint(settings: OpenAISettings, base_url: str) -> Check:
    """Whether an endpoint responds to ``GET /models``; puts no question to a model and costs
    nothing."""
    url = base_url.rstrip("/") + "/models"
    headers = headers_for(settings.keys.get(base_url))

    async def ask() -> Reply:
        transport = HttpTransport()
        try:
            return await transport.get(url, headers, _SECONDS)
        finally:
            await transport.close()

    what = f"endpoint {base_url}"
    try:
        reply = asyncio.run(ask())
    except TransportError as error:
        says = f"does not answer: {safe_text(error)}."
        return Check(what, False, says, "Check the address and that the server runs.")
    if (status := reply.status) in (401, 403):
        return Check(what, False, f"HTTP {status}.", "Set OPENAI_API_KEY or ASSAY_<NAME>_API_KEY.")
    if status != 200:
        # Some servers have no list of models; any response will do.
        return Check(what, True, f"answers (HTTP {status} for its list of models)")
    listed = f'"{settings.model}"'.encode() in reply.body
    says = "answers" if listed else f"answers, but does not list the model '{settings.model}'"
    return Check(what, True, says)
