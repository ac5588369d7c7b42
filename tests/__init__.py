"""What holds for all tests, before anything is imported."""

import gc
import os
import sys

# What is imported and collected stays to the end: to look through it for garbage time and again
# takes two fifths of the time that collecting takes.
gc.disable()

# Products in tests are small: threads that wait for each other only take time from other tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Workers, servers and commands that tests start would each compile all of Assay anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
