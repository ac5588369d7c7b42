"""``assay index``: from passages to a BM25 index and vectors."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

from assay.api import index as indexes
from assay.cli.common import FORM, forms, group, present, remark, takes, tell
from assay.cli.judging import going
from assay.model.options import Argument
from assay.model.wording import counted

app = group("Build a BM25 index and vectors from passages.")


@app.command("build")
@forms("json")
@takes(indexes.build)
def build_command(
    corpus: Annotated[Path, Argument("CORPUS", "A corpus in any layout (see assay corpus).")],
    folder: Annotated[Path, Argument("INDEX", "Folder for the index.")],
    **options: Any,
) -> None:
    """Build an index of CORPUS for assay retrieve.

    An existing BM25 index is kept and vectors are added to it. If embedding is stopped, run the
    same command again to continue it. You choose k1 and b when you search.
    """
    started = time.perf_counter()
    with going() as shown:
        made = indexes.build(corpus, folder, progress=shown.at, **options)
    seconds = time.perf_counter() - started
    index = made.index
    if warning := index.warning():
        remark(warning)
    present(
        lambda: {
            "index": str(folder),
            "passages": len(made),
            "analysis": index.about["analysis"],
            "languages": index.about["languages"],
            "seconds": seconds,
        },
        [f"{counted(len(made), 'passage')} in {folder} ({index.analysis})"],
    )
    if not FORM.get():
        tell(f"{seconds:.1f} s")
