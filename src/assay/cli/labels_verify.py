"""``assay labels verify``: whether the ledger is as it was written, and whose results are of it."""

from __future__ import annotations

import typer

from assay.cli.common import FolderArgument, JsonOption, out, print_json, safe
from assay.ledger.checking import Fault
from assay.protocols.folder import Folder, relative_to
from assay.protocols.manifest import heads


def verify_command(folder: FolderArgument, as_json: JsonOption = False) -> None:
    """Check that every label is as it was written, and none is gone. Exit status 1 where not.

    Looks at the file's structure, the texts that labels are about, each label's id (a hash of what
    it says), the running digest over all labels, and whether the digest that each manifest.json in
    out/ names was once the ledger's.
    """
    opened = Folder.open(folder)
    with opened.open_ledger(create=False) as ledger:
        found = list(ledger.faults())
        head, count = ledger.head(), 0
        for path, named in heads(opened.path / "out"):
            count += 1
            why = ledger.faulty_head(named)
            if why is not None:
                found.append(Fault(f"{relative_to(opened.path, path)}: {why}"))
    if as_json:
        faults = [{"label": one.uid, "why": one.why} for one in found]
        print_json({**head.in_manifest(), "manifests": count, "faults": faults})
    else:
        for fault in found:
            out().print(safe(fault), soft_wrap=True)
        what = f"{head.labels:,} labels, head {head.digest.hex()}, {count} manifests"
        out().print(f"{what}: {f'{len(found):,} faults' if found else 'all as written'}.")
    raise typer.Exit(1 if found else 0)
