"""An evaluation folder: ``assay.toml`` and the files that it names."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from assay.labellers.base import Labeller, for_task
from assay.labellers.hosted import Hosting
from assay.labellers.keys import is_this_machine, is_trusted_host
from assay.ledger import Ledger
from assay.ledger.address import Address, is_url, without_password
from assay.ledger.places import exists
from assay.ledger.store import Place
from assay.model.errors import PrerequisiteError, SettingsError
from assay.model.paths import allowed_folders, matching_files, path_inside
from assay.model.wording import joined, printable
from assay.protocols import registry
from assay.protocols.config import Config
from assay.protocols.folder_labellers import ensemble, single
from assay.protocols.output import file_name
from assay.protocols.settings_file import MOST_TOLD, explain, no_entry, read_settings
from assay.tasks.base import AnyTask
from assay.tasks.rendering import Renderer, check_overrides

LEDGER_VARIABLE = "ASSAY_LEDGER"
"""The environment variable that names the ledger's URL or file."""

SettingsT = TypeVar("SettingsT", bound=BaseModel)


@dataclass(frozen=True)
class Folder:
    """An evaluation on disk.

    ``labeller`` overrides every labeller of ``assay.toml``. ``given`` are labellers that exist
    already, by SPEC. ``fetching`` receives the progress of a model's download (what, bytes done,
    bytes in all). ``part`` is the name of the folder under ``out/`` if there are several protocols,
    and ``beside`` is the folder as the others see it. ``policy`` is the one that was asked for,
    None for the folder's own. ``hosting`` is where labellers answer, None for this process.
    """

    path: Path
    config: Config
    labeller: str | None = None
    fetching: Callable[[str, int, int], None] | None = None
    given: Mapping[str, Labeller] = field(default_factory=dict)
    part: str = ""
    beside: tuple[Folder, ...] = ()
    policy: str | None = None
    hosting: Hosting | None = None

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        labeller: str | None = None,
        fetching: Callable[[str, int, int], None] | None = None,
        given: Mapping[str, Labeller] | None = None,
    ) -> Folder:
        """Read ``assay.toml``. Raises SettingsError that names each wrong entry."""
        file = path / "assay.toml" if path.is_dir() else path
        if path.is_file() and path.suffix != ".toml":
            raise SettingsError(
                f"{path} is not an evaluation: give a folder with an assay.toml, or that file."
            )
        if not file.exists():
            raise SettingsError(
                f"{file}: not found. An evaluation is a folder with an assay.toml; 'assay init "
                f"{shlex.quote(str(path))} --protocol rag' writes one "
                f"({', '.join(registry.names())})."
            )
        raw = read_settings(file)
        try:
            config = Config.model_validate(raw)
        except ValidationError as error:
            raise SettingsError(f"{file}:\n{explain(error, Config)}") from error
        folder = cls(file.parent, config, labeller, fetching, given or {})
        for name in folder.protocols:
            if not registry.known(name):
                raise SettingsError(
                    f"{file}: there is no protocol '{name}'. "
                    f"Protocols: {', '.join(registry.names())}."
                )
        if len(set(folder.protocols)) < max(1, len(folder.protocols)):
            raise SettingsError(f"{file}: [evaluation] protocol names no protocol, or one twice.")
        if len(folder.protocols) > 1:
            strangers = set(config.settings) - set(folder.protocols)
            if strangers:
                raise SettingsError(
                    f"{file}: [settings] {sorted(strangers)[0]}: with several protocols, "
                    "put the settings of each in its own table, such as [settings.exam]."
                )
        if config.ledger.url is not None:
            try:
                _check_ledger(config.ledger.url)
            except SettingsError as error:
                raise SettingsError(f"{file}: [ledger] url: {error}") from None
        return folder

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols that the folder is evaluated under, usually one."""
        named = self.config.evaluation.protocol
        return (named,) if isinstance(named, str) else tuple(named)

    @property
    def protocol(self) -> str:
        """The one protocol of this view of the folder."""
        return self.protocols[0]

    def for_protocol(self, protocol: str) -> Folder:
        """The folder as ``protocol`` sees it. If there are several, each has its settings in
        ``[settings.PROTOCOL]`` and its results in ``out/PROTOCOL``. Raises SettingsError if the
        folder is not evaluated under ``protocol``."""
        if protocol not in self.protocols:
            raise SettingsError(
                f"{self.path / 'assay.toml'}: [evaluation] protocol is "
                f"{', '.join(self.protocols)}; this command is for {protocol}."
            )
        if len(self.protocols) == 1:
            return self
        others = tuple(self._view(other) for other in self.protocols if other != protocol)
        return replace(self._view(protocol), beside=others)

    def _view(self, protocol: str) -> Folder:
        own = self.config.settings.get(protocol, {})
        if not isinstance(own, dict):
            raise SettingsError(
                f"{self.path / 'assay.toml'}: [settings] {protocol}: with several protocols, "
                f"put the settings of each in its own table, here [settings.{protocol}]."
            )
        section = self.config.evaluation.model_copy(update={"protocol": protocol})
        config = self.config.model_copy(update={"evaluation": section, "settings": own})
        return replace(self, config=config, part=re.sub(r"[^A-Za-z0-9._-]", "_", protocol))

    @property
    def _views(self) -> tuple[Folder, ...]:
        """The folder as each of its protocols sees it."""
        if len(self.protocols) > 1:
            return tuple(map(self._view, self.protocols))
        return (self, *self.beside)

    @property
    def own_policies(self) -> list[str]:
        """The folder's own policy for each of its protocols."""
        return [
            view.settings(registry.find_protocol(view.protocol).settings).policy
            for view in self._views
        ]

    @cached_property
    def _has_other_policy(self) -> bool:
        """Whether :attr:`policy` differs from the folder's own policy for any of its protocols."""
        return self.policy is not None and set(self.own_policies) != {self.policy}

    @property
    def out(self) -> Path:
        """Where results are written: ``out/``, or ``out/POLICY`` for a policy other than the
        folder's own, so that no folder mixes the results of two policies."""
        base = Path("out")
        if self._has_other_policy:
            base /= file_name(str(self.policy))
        return path_inside(self.path, base / self.part if self.part else base, f"{self.path}: out/")

    @property
    def out_in_words(self) -> str:
        """:attr:`out` relative to the folder, for messages: ``out/``."""
        return f"{self.out.relative_to(self.path).as_posix()}/"

    @property
    def title(self) -> str:
        """The title of the evaluation in reports."""
        return self.config.evaluation.title or self.path.resolve().name

    @property
    def ledger_place(self) -> Place:
        """The ledger that ASSAY_LEDGER names, else the URL of ``[ledger]``, else its file."""
        named = _ledger_from_environment()
        if named is not None:
            return named if is_url(named) else Path(named)
        file = self.config.ledger.path
        return self.config.ledger.url or path_inside(self.path, file, self._entry("[ledger] path"))

    @property
    def ledger_is_named(self) -> bool:
        """Whether ASSAY_LEDGER names the ledger, which may not be the one behind ``out/``."""
        return _ledger_from_environment() is not None

    def has_ledger(self) -> bool:
        """Whether the ledger exists yet. Raises LedgerError if its server does not answer."""
        return exists(self.ledger_place)

    def _entry(self, name: str) -> str:
        return f"{self.path / 'assay.toml'}: {name}"

    def open_ledger(self, *, create: bool = True) -> Ledger:
        """Open the folder's ledger."""
        return Ledger.open(self.ledger_place, create=create)

    def check_entries(self) -> None:
        """Raise SettingsError for entries of ``[inputs]`` that no protocol of Assay or of the
        folder reads. Any entry is allowed if a protocol of the folder declares no entries."""
        entries = [registry.find_protocol(view.protocol).entries for view in self._views]
        known = {name for names in entries for name in names}
        unknown = [name for name in self.config.inputs if name not in known]
        if unknown and all(entries):
            others = {one for name in registry.OWN for one in registry.find_protocol(name).entries}
            wrong = [one for one in unknown if one not in others]
            lines = [f"  {one}: {no_entry(one, known)}" for one in wrong[:MOST_TOLD]]
            if lines:
                raise SettingsError("\n".join((self._entry("[inputs]"), *lines)))

    def input_files(self, name: str, *, required: bool = True) -> list[Path]:
        """The files of an entry of ``[inputs]``, sorted. Raises SettingsError if a pattern has no
        match."""
        entry = self.config.inputs.get(name)
        if entry is None:
            if required:
                raise SettingsError(f"{self.path / 'assay.toml'}: [inputs] has no '{name}'.")
            return []
        files: dict[Path, None] = {}
        for pattern in [entry] if isinstance(entry, str) else entry:
            entry_name = self._entry(f"[inputs] {name}")
            # The folder before the first wildcard; its files are listed if nothing matches.
            start = re.split(r"[*?[]", pattern)[0]
            start = start[: start.rfind("/") + 1]
            place = path_inside(self.path, start, entry_name)
            matches = matching_files(self.path, pattern, entry_name)
            if not matches:
                existing = joined(sorted(one.name for one in place.glob("*") if one.is_file()), 5)
                raise SettingsError(
                    f"{entry_name} = '{pattern}' matches no file"
                    + (f"; {start} has {existing}." if start and existing else ".")
                )
            files.update(dict.fromkeys(matches))
        return list(files)

    def require_no_input(self, path: Path, read: Iterable[Path] = ()) -> None:
        """Raise SettingsError if a file that is to be written is an input of the folder: its
        assay.toml, a file that ``[inputs]`` names, or another that was ``read``."""
        found = {self.path / "assay.toml", *read}
        for name in self.config.inputs:
            with suppress(SettingsError):  # a pattern that matches nothing names no file to lose
                found.update(self.input_files(name))
        if path.resolve() in {one.resolve() for one in found}:
            why = "is an input of the evaluation, which is never overwritten"
            raise SettingsError(f"{path} {why}. Name another file.")

    @cached_property
    def renderer(self) -> Renderer:
        """Prompt templates; those in the folder's ``prompts/`` come first. Raises SettingsError for
        a file there that would not be used."""
        own = self.path / "prompts"
        if not own.is_dir():
            return Renderer(None)
        check_overrides(own, self._foreign_templates())
        return Renderer(own)

    def _foreign_templates(self) -> set[str] | None:
        """Names of template files of protocols that are not part of Assay; None without such
        protocols."""
        foreign = [view for view in self._views if not registry.is_own(view.protocol)]
        names: set[str] = set()
        for view in foreign:
            protocol = registry.find_protocol(view.protocol)
            for task in protocol.tasks(view.settings(protocol.settings)):
                names |= {f"{task.template}.j2", f"{task.template}.probes.j2"}
        return names if foreign else None

    def tasks_of_other_protocols(self) -> set[AnyTask]:
        """The tasks that the folder's other protocols may ask."""
        found: set[AnyTask] = set()
        for view in self.beside:
            protocol = registry.find_protocol(view.protocol)
            found.update(protocol.asks(view.settings(protocol.settings)))
        return found

    def labeller_spec(self, task: AnyTask) -> str:
        """SPEC of the labeller for ``task``: its entry in ``[labellers]`` under the full name
        (``r2c2.answer``) or the last part (``answer``), else the task's usual labeller or
        ``default``. Raises SettingsError if there is none."""
        if self.labeller is not None and not task.usual_labeller:
            return self.labeller
        entries = self.config.labellers
        for name in (task.name, task.name.rpartition(".")[2]):
            if name in entries:
                return entries[name]
        if task.usual_labeller or "default" in entries:
            return task.usual_labeller or entries["default"]
        raise SettingsError(
            f"{self.path / 'assay.toml'}: [labellers] has neither '{task.name}' nor 'default'."
        )

    def make_labeller(self, spec: str, made: dict[str, Labeller] | None = None) -> Labeller:
        """Make the labeller that ``spec`` names, with the folder's settings. Labellers in ``made``
        are reused and new ones added, so that a model is loaded once."""
        made = {} if made is None else made
        name = spec.strip()
        if name not in made:
            if name in self.given:
                made[name] = self.given[name]
            elif name.startswith("ensemble:"):
                made[name] = ensemble(self, name.removeprefix("ensemble:"), made)
            else:
                made[name] = single(self, name, self.config.judging.temperature)
        return made[name]

    def labellers(
        self, tasks: Iterable[AnyTask], spec: Callable[[AnyTask], str] | None = None
    ) -> dict[str, Labeller]:
        """The labeller of each task, by the task's name. Equal SPECs share one labeller, so that a
        model is loaded once. ``spec`` replaces :meth:`labeller_spec`."""
        made: dict[str, Labeller] = {}
        return {one.name: self._labeller(one, spec, made) for one in tasks if not one.by_people}

    def _labeller(
        self, task: AnyTask, spec: Callable[[AnyTask], str] | None, made: dict[str, Labeller]
    ) -> Labeller:
        return for_task(self.make_labeller((spec or self.labeller_spec)(task), made), task)

    def labellers_for_scoring(
        self, tasks: Iterable[AnyTask], spec: Callable[[AnyTask], str] | None = None
    ) -> tuple[dict[str, Labeller | None], list[str]]:
        """Like :meth:`labellers`, but a labeller that cannot be made becomes None with a warning:
        scoring needs to know who it is, not to ask it."""
        result: dict[str, Labeller | None] = {}
        made: dict[str, Labeller] = {}
        warnings: list[str] = []
        _ = self.renderer  # a misspelt template is an error of the folder, not of a labeller
        for task in (one for one in tasks if not one.by_people):
            try:
                result[task.name] = labeller = self._labeller(task, spec, made)
                _ = labeller.id
            except (SettingsError, PrerequisiteError) as error:
                result[task.name] = None
                warnings.append(f"{task.name}: {error}")
        return result, warnings

    def settings(self, kind: type[SettingsT]) -> SettingsT:
        """``[settings]`` as the protocol's own model. Raises SettingsError naming each wrong
        entry."""
        try:
            return kind.model_validate(self.config.settings)
        except ValidationError as error:
            place = f"settings.{self.protocol}" if self.part else "settings"
            raise SettingsError(
                f"{self.path / 'assay.toml'}: [{place}]\n{explain(error, kind)}"
            ) from error


def relative_to(folder: Path, path: Path) -> str:
    """A file's name for manifests: relative to the folder, or to the trusted one that it lies in
    (the ``run.txt`` of two teams are two files), else its last part."""
    real = path.resolve()
    for place in allowed_folders(folder):
        if real.is_relative_to(place):
            return real.relative_to(place).as_posix()
    return path.name


def _ledger_from_environment() -> str | None:
    return os.environ.get(LEDGER_VARIABLE, "").strip() or None


def _check_ledger(url: str) -> None:
    """Raise SettingsError if the ledger's URL in a folder contains a password, or would send the
    user's password and labels to a host that the user did not name."""
    without_password(url)
    for host in sorted(Address.of(url).hosts if _ledger_from_environment() is None else ()):
        # A port or a socket (a path) on this machine may also belong to another user.
        here = host.startswith("/") or is_this_machine(host)
        safe = here and "PGPASSWORD" not in os.environ
        if host and not (safe or is_trusted_host(host)):
            raise SettingsError(
                f"your password and the labels would go to {printable(host)}, a host that only a "
                f"file names. Put the URL into {LEDGER_VARIABLE}, or add the host to "
                "ASSAY_TRUSTED_HOSTS (separated by commas)."
            )
