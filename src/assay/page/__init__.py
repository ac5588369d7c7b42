"""What people are shown, as plain values: numbers, names and texts. ``assay.reports`` draws it.

* :mod:`assay.page.page`: a whole page, with its leaderboards and what is missing.
* :mod:`assay.page.parts`: its sections (tables, grids, plots, texts).
* :mod:`assay.page.cards`: a matrix of topics by runs whose rows open.
"""
