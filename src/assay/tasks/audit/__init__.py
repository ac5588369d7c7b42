"""How judges are probed: verdicts as numbers, and units changed to see whether it matters."""
