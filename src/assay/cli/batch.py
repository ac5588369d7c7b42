"""``assay judge`` with batch files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from assay.api.opened import Opened
from assay.cli.common import out, print_json, safe
from assay.cli.judging import JudgingBar
from assay.model.wording import counted

_SHOWN = 10  # reasons for missing answers


def run(
    opened: Opened,
    batch_out: Path | None,
    batch_in: Path | None,
    *,
    retry_failed: bool,
    as_json: bool,
) -> None:
    """Import results if there are any, then export what can be asked now."""
    document: dict[str, Any] = {}
    with opened.ledger() as ledger:
        if batch_in is not None:
            taken = opened.import_batch(ledger, batch_in, retry_failed=retry_failed)
            document["imported"] = asdict(taken)
            if not as_json:
                out().print(
                    f"{taken.added} labels added, {taken.failed} of them unusable; {taken.known} "
                    f"were known, {taken.unanswered} not answered, {taken.unasked} not asked for."
                )
                for why, count in sorted(taken.errors.items(), key=lambda one: -one[1])[:_SHOWN]:
                    out().print(f"  {count} × {safe(why)}", soft_wrap=True)
        if batch_out is not None:
            made = opened.export_batch(
                ledger, batch_out, progress=JudgingBar(quiet=as_json), retry_failed=retry_failed
            )
            document |= {"exported": made.count, "left_out": dict(made.left_out)}
            if not as_json:
                out().print(
                    f"{counted(made.count, 'question')} written to {safe(batch_out)}",
                    soft_wrap=True,
                )
                for name, count in made.left_out.items():
                    out().print(
                        f"  {count} to {safe(name)} are not among them: batch files are for "
                        "endpoints; 'assay judge' without one asks them.",
                        soft_wrap=True,
                    )
    if as_json:
        print_json(document)
