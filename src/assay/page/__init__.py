"""The content of reports as plain values: numbers, names and texts. ``assay.reports`` renders it.

* :mod:`assay.page.page`: a whole page, with its leaderboards and gaps.
* :mod:`assay.page.parts`: its sections (tables, grids, plots, texts).
* :mod:`assay.page.cards`: a matrix of topics by runs whose rows open.
"""
