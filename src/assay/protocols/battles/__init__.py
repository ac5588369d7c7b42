"""Battles between the answers of runs, under any protocol or none."""
