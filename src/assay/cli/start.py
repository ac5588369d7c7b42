"""``assay init``: a folder to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.api.starting import start
from assay.api.status import status
from assay.cli.common import Paragraph, present, say
from assay.labellers.spec import SPEC_HELP
from assay.model.errors import SettingsError
from assay.page.tables import Table
from assay.protocols import registry


def init_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Made where it is not there.")],
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            help=f"{' | '.join(registry.OWN)} | module:attribute  [required]",
            show_default=False,
        ),
    ] = "",
    labeller: Annotated[
        str, typer.Option("--labeller", metavar="SPEC", help=f"{SPEC_HELP}.")
    ] = "embedded",
) -> None:
    """Write an evaluation folder for a protocol: assay.toml with every setting, and a small example
    of each input, so that it can be evaluated at once. Nothing that is there is overwritten."""
    if not protocol:
        titles = (
            f"  --protocol {name:9} {registry.find_protocol(name).title}" for name in registry.OWN
        )
        raise SettingsError("\n".join(("Say what the folder is for:", *titles)))
    for path in start(folder, protocol, labeller):
        say(path)
    found = status(folder)
    say("Put your files in the place of these, or try it as it is:")
    present(dict, [*map(Paragraph, found.lacks), Table("", ("", ""), found.next)])
