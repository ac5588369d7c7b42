"""Assay's own judges: the one that the package holds, and a larger one that is installed beside."""

NAME = "judge"
LARGE = "large"
