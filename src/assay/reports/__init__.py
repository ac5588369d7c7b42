"""What people look at: the HTML report, tables for the terminal, plots for papers.

Nothing is imported here, so that ``import assay.reports`` costs nothing:

* :mod:`assay.reports.general`: ``render_report``, the HTML report of any protocol.
* :mod:`assay.reports.r2c2`: the same for R2C2, which has plots and a matrix of questions besides.
* :mod:`assay.reports.tables`: ``leaderboard_tables``, the same leaderboards for the terminal.
* :mod:`assay.reports.confidence`: ``plot_confidence`` and ``save_confidence_plot`` (matplotlib).
"""
