"""Statistics of scores and labels: agreement, correlation, significance, sample size, correction.

Pure functions on arrays. Import the modules by name: :mod:`~assay.statistics.agreement`,
:mod:`~assay.statistics.correlation`, :mod:`~assay.statistics.significance`,
:mod:`~assay.statistics.comparison`, :mod:`~assay.statistics.samplesize`,
:mod:`~assay.statistics.confidence` and :mod:`~assay.statistics.corrected`.

Score matrices are topics × runs, except in ``corrected``, where they are runs × topics or runs ×
items. Undefined values are ``None``, never NaN. Invalid input raises a ``ValueError`` that says
what is wrong and where. Random functions take a seed, and equal seeds give equal numbers.
"""
