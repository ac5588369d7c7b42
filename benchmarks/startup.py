"""What starting costs: processor time of whole processes less that of an empty one, medians of 20.

Run: ``python benchmarks/startup.py``. The processes take turns, so that what else the machine does
meets all of them.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys

TURNS = 20
WORDS = {
    "empty": ("-c", ""),
    "import numpy": ("-c", "import numpy"),
    "import assay": ("-c", "import assay"),
    "from assay import measure": ("-c", "from assay import measure"),
    "what assay measure loads": (
        "-c",
        "import assay.cli.commands, assay.cli.measure",
    ),
    "assay --help": ("-m", "assay", "--help"),
}


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in WORDS}
    # Modules that are installed are compiled; here the first turn, which does not count, does so.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for turn in range(TURNS + 1):
        for name, words in WORDS.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, *words]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=env)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
            if turn:
                times[name].append(user + system)
    medians = {name: statistics.median(found) for name, found in times.items()}
    empty = medians.pop("empty")
    print(f"an empty process: {empty * 1e3:.0f} ms; beyond it:")
    for name, median in medians.items():
        print(f"  {name:26} {(median - empty) * 1e3:5.0f} ms")


if __name__ == "__main__":
    main()
