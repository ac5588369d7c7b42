"""``assay init``: a folder to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from assay.api.starting import start
from assay.api.status import status
from assay.cli.common import Paragraph, forms, present, say
from assay.labellers.spec import SPEC_HELP
from assay.model.errors import SettingsError
from assay.model.options import Argument, Option
from assay.page.tables import Table
from assay.protocols import registry


@forms()
def init_command(
    folder: Annotated[Path, Argument("FOLDER", "The folder; created if it does not exist.")],
    protocol: Annotated[
        str, Option(f"{' | '.join(registry.OWN)} | module:attribute  [required]")
    ] = "",
    labeller: Annotated[str, Option(f"{SPEC_HELP}.", metavar="SPEC")] = "embedded",
) -> None:
    """Create an evaluation folder for a protocol: assay.toml with every setting, and a small
    example of each input, so that you can evaluate it at once. Existing files are not overwritten.
    """
    if not protocol:
        titles = (
            f"  --protocol {name:9} {registry.find_protocol(name).title}" for name in registry.OWN
        )
        raise SettingsError("\n".join(("Choose a protocol for the folder:", *titles)))
    for path in start(folder, protocol, labeller):
        say(path)
    found = status(folder)
    say("Replace these with your own files, or try it as it is:")
    present(dict, [*map(Paragraph, found.lacks), Table("", ("", ""), found.next)])
