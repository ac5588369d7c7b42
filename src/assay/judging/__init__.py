"""Judging: look up which labels are known, ask for the others, store each answer as it arrives."""
