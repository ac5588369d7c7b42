"""Requests to labels: look up what is known, ask the rest, keep every answer as it comes."""
