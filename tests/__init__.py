"""What holds for all tests, before anything is imported."""

import os

# Products in tests are small: threads that wait for each other only take time from other tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
