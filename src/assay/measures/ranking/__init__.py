"""Ranking measures: one score per ranked list, from the grades of its documents.

Every class derived from :class:`assay.measures.base.Measure` in a module of this package is
registered under its name when the package is imported; nothing else needs to mention it.

Conventions, from ``docs/measures.md`` (golden values are NTCIREVAL's):

* An unjudged document has gain 0. So has a document with a negative grade (TREC uses these for
  spam), but it counts as judged.
* The highest grade of the scale is a **grade**, usually of the whole qrels. Measures with a gain
  function apply it to this grade too, so a caller never converts grades to gains.
* A topic without relevant documents scores 0 by every measure except ``Judged``.
* Ranks start at 1. Without a cutoff the whole list counts. The ideal list has the same cutoff.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

# Importing every module here means that a new measure is one new file and no line elsewhere.
for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
