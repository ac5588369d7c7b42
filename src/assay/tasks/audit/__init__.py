"""How a judge is probed: tasks as numbers, and units that are changed to see whether it notices."""
