"""Answers from the traces and data sets of other tools, as records of the protocol rag. Files are
read and nothing is fetched; no tool's package is needed."""
