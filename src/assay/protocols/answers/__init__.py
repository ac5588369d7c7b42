"""Answers to questions and the claims that they cite passages for: what is asked about them, what
labels say, what a person makes of their marks, and how that is shown. For any protocol."""
