"""``assay labels verify``: whether the ledger is as it was written, and whose results are of it."""

from __future__ import annotations

import typer

from assay.api.labels import verified
from assay.cli.common import FolderArgument, JsonOption, out, print_json, safe


def verify_command(folder: FolderArgument, as_json: JsonOption = False) -> None:
    """Check that every label is as it was written, and none is gone. Exit status 1 where not.

    Looks at the file's structure, the texts that labels are about, each label's id (a hash of what
    it says), the running digest over all labels, and whether the digest that each manifest.json in
    out/ names was once the ledger's.
    """
    found = verified(folder)
    if as_json:
        faults = [{"label": one.uid, "why": one.why} for one in found.faults]
        print_json({**found.head.in_manifest(), "manifests": found.manifests, "faults": faults})
    else:
        for fault in found.faults:
            out().print(safe(fault), soft_wrap=True)
        head, many = found.head, len(found.faults)
        what = f"{head.labels:,} labels, head {head.digest.hex()}, {found.manifests} manifests"
        out().print(f"{what}: {f'{many:,} faults' if many else 'all as written'}.")
    raise typer.Exit(1 if found.faults else 0)
