"""Pure functions from numbers to numbers; nothing here reads a file or knows a protocol.

Ranking measures are exported here. ``assay.measures.confidence`` (calibration and modesty) and
``assay.measures.bootstrap`` (intervals) need numpy and are imported by name.
"""

from assay.measures.evaluation import Evaluation, evaluate
from assay.measures.names import describe_measures, parse_measure
from assay.measures.ranking import MEASURES, Gain, Measure

__all__ = [
    "MEASURES",
    "Evaluation",
    "Gain",
    "Measure",
    "describe_measures",
    "evaluate",
    "parse_measure",
]
