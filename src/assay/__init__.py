"""Assay: an evaluation workbench for retrieval-augmented generation.

What is named here is loaded when it is first used: ``import assay`` itself loads nothing.
"""

from __future__ import annotations

import sys

from assay.model.version import __version__

TYPE_CHECKING = False  # true for type checkers; that of typing takes ten times as long to load

if TYPE_CHECKING:
    from assay.api import corpus, index
    from assay.api.answering import answer
    from assay.api.comparing import agree, compare, correlate
    from assay.api.evaluation import Evaluation, evaluate
    from assay.api.evaluation import open as open  # noqa: A004 (assay.open)
    from assay.api.labelling import label
    from assay.api.measuring import measure, read_qrels, read_run
    from assay.api.retrieving import retrieve
    from assay.measures import (
        AP,
        ERR,
        RBP,
        RR,
        Judged,
        P,
        Q,
        Recall,
        Rprec,
        Success,
        alpha_nDCG,
        iRBU,
        nDCG,
        nDCG_JK,
        nERR,
        niRBU,
    )

_EVALUATION = frozenset(("Evaluation", "evaluate", "open"))
_COMPARING = frozenset(("agree", "compare", "correlate"))
_MEASURING = frozenset(("measure", "read_qrels", "read_run"))

# Not open: ``from assay import *`` is not to take the place of Python's own.
__all__ = [
    "AP",
    "ERR",
    "RBP",
    "RR",
    "Evaluation",
    "Judged",
    "P",
    "Q",
    "Recall",
    "Rprec",
    "Success",
    "__version__",
    "agree",
    "alpha_nDCG",
    "answer",
    "compare",
    "corpus",
    "correlate",
    "evaluate",
    "iRBU",
    "index",
    "label",
    "measure",
    "nDCG",
    "nDCG_JK",
    "nERR",
    "niRBU",
    "read_qrels",
    "read_run",
    "retrieve",
]


if not TYPE_CHECKING:  # which see above what there is, and what is not

    def __getattr__(name: str) -> object:
        # Late, as a script needs few of these, and some of their rooms take long to load.
        if name in _MEASURING:
            from assay.api import measuring as room  # noqa: PLC0415
        elif name in _COMPARING:
            from assay.api import comparing as room  # noqa: PLC0415
        elif name in _EVALUATION:
            from assay.api import evaluation as room  # noqa: PLC0415
        elif name == "label":
            from assay.api import labelling as room  # noqa: PLC0415
        elif name == "retrieve":
            from assay.api import retrieving as room  # noqa: PLC0415
        elif name == "answer":
            from assay.api import answering as room  # noqa: PLC0415
        elif name in ("corpus", "index"):
            from assay import api as room  # noqa: PLC0415
            from assay.api import corpus, index  # noqa: F401, PLC0415 (which puts them there)
        else:  # a measure of ranking, or nothing
            import assay.measures as room  # noqa: PLC0415

            if name.startswith("_") or not isinstance(getattr(room, name, None), room.Measure):
                said = f"module 'assay' has no attribute '{name}'"
                raise AttributeError(said, name=name, obj=sys.modules[__name__])
        value = globals()[name] = getattr(room, name)
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, "open", *(name for name in globals() if name.startswith("__"))})
