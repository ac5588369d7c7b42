"""Output for people: the HTML report, tables for the terminal, plots for papers.

This package renders the plain values of ``assay.page`` and knows no protocol. It imports nothing
here, so that ``import assay.reports`` costs nothing:

* :mod:`assay.reports.general`: ``render_report``, a page as HTML.
* :mod:`assay.reports.terminal`: ``board_tables``, a page's leaderboards for the terminal.
* :mod:`assay.reports.statistics_plots`: ``save_confidence_plot`` (matplotlib).
"""
