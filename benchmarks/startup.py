"""``assay --help`` as a whole process: median wall and CPU time of 20 runs."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time


def main() -> None:
    walls, cpus = [], []
    for _ in range(21):
        before, started = os.times(), time.perf_counter()
        command = [sys.executable, "-m", "assay", "--help"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        walls.append(time.perf_counter() - started)
        after = os.times()
        spent = after.children_user + after.children_system
        cpus.append(spent - before.children_user - before.children_system)
    # The first run also fills caches of the operating system; it is left out.
    wall, cpu = statistics.median(walls[1:]), statistics.median(cpus[1:])
    print(f"assay --help: {wall:.3f} s wall, {cpu:.3f} s CPU")


if __name__ == "__main__":
    main()
