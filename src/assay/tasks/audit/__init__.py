"""How judges are probed: tasks with verdicts as numbers, and units changed to see whether it
matters."""
