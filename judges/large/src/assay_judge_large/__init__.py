"""Files of Assay's larger embedded judge, which the labeller ``embedded:large`` reads."""
