"""``assay labels merge`` and ``assay labels copy``: ledgers that are in several places."""

from __future__ import annotations

from typing import Annotated

from assay.api.ledgers_joined import Merged, copy_ledger, merge_ledgers
from assay.cli.common import FolderArgument, forms, present
from assay.cli.judging import going
from assay.model.options import Argument
from assay.model.wording import counted


@forms("json")
def merge_command(
    folder: FolderArgument,
    others: Annotated[
        list[str], Argument("OTHER...", "Folders, files of ledgers, or postgresql:// URLs.")
    ],
) -> None:
    """Add labels and draws of other ledgers to the folder's, with their ids and times.

    All ledgers are checked first; what the folder's has already is not added again. So do shards
    meet that were judged on machines that share nothing.
    """
    with going() as shown:
        done = merge_ledgers(folder, others, shown.at)
    present(lambda: [{"ledger": name, **one._asdict()} for name, one in done], map(_merged, done))


def _merged(done: tuple[str, Merged]) -> str:
    name, one = done
    draws = f" and {counted(one.draws, 'draw')}" if one.draws else ""
    told = f"{name}: {counted(one.added, 'label')}{draws} added, {one.known:,} known."
    if one.later:
        told += (
            f" {one.later:,} of them count from now on although the same person has said otherwise "
            "later: what was added last counts."
        )
    return told


@forms("json")
def copy_command(
    source: Annotated[str, Argument("FROM", "A ledger: folder, file or URL.")],
    target: Annotated[str, Argument("TO", "Where it is to be, too.")],
) -> None:
    """Copy a ledger from a file to PostgreSQL, or back: every label with its id, number and digest.

    Exports of both are the same to the byte, and manifests made from one hold for the other. To an
    earlier copy only what came since is written; anything else is left as it is.
    """
    with going() as shown:
        added, head = copy_ledger(source, target, shown.at)
    told = f"{counted(added, 'label')} copied; {head.labels:,} in both, head {head.digest.hex()}."
    present(lambda: {"copied": added, **head.in_manifest()}, [told])
