"""Assay's version, where every room can ask for it."""

__version__ = "0.2.0"
