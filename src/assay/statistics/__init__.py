"""What the numbers mean: agreement, correlation, significance, sample size, corrected scores.

Pure functions on arrays, imported by module name: :mod:`~assay.statistics.agreement`,
:mod:`~assay.statistics.correlation`, :mod:`~assay.statistics.significance`,
:mod:`~assay.statistics.comparison`, :mod:`~assay.statistics.samplesize`,
:mod:`~assay.statistics.confidence` and :mod:`~assay.statistics.corrected`.

Score matrices are topics × runs, but for ``corrected``: runs × topics or items. Undefined is
``None``, never NaN; bad input is a ``ValueError`` that says what and where; whatever is random
takes a seed and gives the same numbers for the same seed.
"""
