"""Measures of ranking: from the grades of ranked lists to a number a list.

Every measure is a frozen dataclass whose fields are its parameters. It has a name that is written
as people write it (``nDCG(gain=exp)@20``) and that :func:`assay.measures.names.parse_measure` reads
back to an equal object. What is defined in a module of this package is known by its name; nothing
else has to be told of it.

Conventions, from ``docs/measures.md`` (golden values are NTCIREVAL's):

* An unjudged document has gain 0. So has a document with a negative grade (TREC uses them for
  spam), which counts as judged all the same.
* The highest grade of the scale is a **grade**, usually of the whole qrels. Measures with a gain
  function apply it to that too, so a caller never converts grades to gains.
* A topic without anything to find scores 0, by every measure but ``Judged``.
* Ranks start at 1. Without a cutoff the whole list counts; the ideal list is cut like the list.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

# Not by statements, so that a new measure is one new file and no line elsewhere.
for _found in iter_modules(__path__):
    import_module(f"{__name__}.{_found.name}")
