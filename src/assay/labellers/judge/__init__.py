"""The judge that the package holds."""

NAME = "judge"
