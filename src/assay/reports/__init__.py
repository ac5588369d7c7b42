"""What people look at: the HTML report, tables for the terminal, plots for papers.

It draws the plain values of ``assay.page`` and knows no protocol. Nothing is imported here, so that
``import assay.reports`` costs nothing:

* :mod:`assay.reports.general`: ``render_report``, a page as HTML.
* :mod:`assay.reports.terminal`: ``board_tables``, its leaderboards for the terminal.
* :mod:`assay.reports.statistics_plots`: ``save_confidence_plot`` (matplotlib).
"""
