"""Assay's own judges: the small one in this package, and a larger one in a package of its own."""

NAME = "judge"
LARGE = "large"
