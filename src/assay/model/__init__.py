"""Data types of an evaluation (questions, runs, labels …), and helpers that every room uses."""
