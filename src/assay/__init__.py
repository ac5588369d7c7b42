"""Assay: an evaluation workbench for retrieval-augmented generation."""

__version__ = "0.1.0"
