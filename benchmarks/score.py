"""``assay score`` over a made evaluation with 200,000 labels, as a whole process.

Run: ``python benchmarks/score.py [--protocol P] [--labels N] [--labellers L] [--runs R]
[--repeat K]``. N labels by L labellers, of whom one is the evaluation's own, to the answers of R
runs. Prints the times of each run, the median and the peak memory. The evaluations of protocols
other than R2C2 are those of ``tests/golden/large.py``, with one labeller and a number of runs of
their own; ``--folder`` keeps one, so that it is made once (``assay judge``: minutes).
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sized
from contextlib import suppress
from importlib import import_module
from itertools import islice
from pathlib import Path

import orjson

from assay.api.labels_parquet import write_head, write_part
from assay.labellers.base import Request
from assay.ledger import Ledger, NewLabel, QuestionKey
from assay.ledger.chain import Head, chained
from assay.ledger.hashes import packed
from assay.ledger.parquet import ParquetLedger
from assay.model.labels import LabellerId, Status
from assay.protocols.evaluation import Evaluation
from assay.protocols.folder import Folder
from assay.protocols.registry import find_protocol
from assay.tasks.base import canonical, content_hash
from assay.tasks.exam import SELF_RATING
from assay.tasks.r2c2 import ANSWER, ENTAILMENT

ROOT = Path(__file__).parents[1]
NUGGETS = 8
CREATED = "2026-01-01T00:00:00.000000+00:00"
_AT_ONCE, _LOOKED_UP = 20_000, 1_000_000
WORDS = "film actor director year city star role scene music award story sequel studio".split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--protocol", choices=("r2c2", "trec-rag", "exam", "sgss"), default="r2c2")
    parser.add_argument("--folder", type=Path, help="keep the evaluation here; not for r2c2")
    parser.add_argument("--labels", type=int, default=200_000)
    parser.add_argument("--labellers", type=int, default=1)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.protocol == "r2c2":
            each = options.labels // options.labellers
            count = make(folder, each, options.labellers, options.runs)
        else:
            folder = (options.folder or folder) / f"{options.protocol}-{options.labels}"
            count = made_by_judging(folder, options.protocol, options.labels)
        size = (folder / "labels.sqlite").stat().st_size / 1e6
        print(f"{count:,} labels, ledger of {size:.0f} MB", flush=True)
        times: list[float] = []
        peak = 0.0
        for _ in range(options.repeat):
            started = time.perf_counter()
            command = [sys.executable, "-m", "assay.cli.main", "score", str(folder), "--csv"]
            peak = max(peak, run(command))
            times.append(time.perf_counter() - started)
            print(f"  {times[-1]:.2f} s", flush=True)
        print(f"median {statistics.median(times):.2f} s, peak memory {peak:.0f} MB")


def made_by_judging(folder: Path, protocol: str, labels: int) -> int:
    """Have an evaluation of another protocol made and judged; returns the count of labels."""
    sys.path.insert(0, str(ROOT))
    large = import_module("tests.golden.large")  # late: R2C2 needs nothing of the tests
    large.prepare(folder, protocol, labels)
    with Folder.open(folder).open_ledger() as ledger:
        return ledger.size()


def run(command: list[str], **more: str) -> float:
    """Run a command, with ``more`` in its environment, and return its peak memory in MB. (What
    getrusage says of a child can be the memory of this process, which it begins as a copy of.)"""
    peak = 0
    path = f"{ROOT / 'src'}:{ROOT}"  # where the tests' labellers are
    env = {**os.environ, "PYTHONPATH": path, **more}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=env) as process:
        while process.poll() is None:
            time.sleep(0.02)
            with suppress(OSError, StopIteration):  # it has just ended
                lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
                line = next(one for one in lines if one.startswith("VmHWM"))
                peak = max(peak, int(line.split()[1]))
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return peak / 1e3


class Exported:
    """Labels as the Parquet files of a ledger that is not made: indexes take most of its time."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._part, self._head = folder, 0, Head()

    def add(self, labels: Iterable[NewLabel]) -> Sized:
        """As :meth:`assay.ledger.Ledger.add`, but for what it returns."""
        rows = list[tuple[object, ...]]()
        for label in labels:
            number, before, uid = self._head.labels + 1, self._head.digest, label.uid(CREATED)
            key = packed(label.key)
            about = (number, packed(uid), key, *[None] * 5, "{}")
            self._head = Head(number, chained(before, *zip(about))[0])
            rows.append((
                number, packed(uid), key, label.task, label.version, packed(label.unit),
                canonical(label.content).decode(), label.labeller.name, label.labeller.kind,
                canonical(dict(label.labeller.params)).decode(), 0, "ok",
                orjson.dumps(label.verdict).decode(), label.reason, *[None] * 6, CREATED, "{}",
            ))  # fmt: skip
        write_part(rows, self._folder, self._part)
        self._part += 1
        return range(len(rows))

    def done(self) -> None:
        write_head(self._head, self._folder)


def make(
    folder: Path, units: int, labellers: int, runs: int, *,
    protocol: str = "r2c2", url: str | None = None, exported: Path | None = None,
) -> int:  # fmt: skip
    """Write an evaluation of so many units, and label each of them; returns the count. The labels
    go into the folder's ledger, the one at ``url``, or Parquet files in ``exported``. EXAM++ is
    that of the tests, with a number of runs of its own."""
    rng = random.Random(1)
    if protocol == "exam":
        sys.path.insert(0, str(ROOT))
        import_module("tests.golden.large").write_exam(folder, units)
    else:
        write_r2c2(folder, units, runs, rng)
    evaluation = Evaluation.open(Folder.open(folder), find_protocol(protocol), None)
    return labelled(evaluation, labellers, rng, url, exported)


def write_r2c2(folder: Path, units: int, runs: int, rng: random.Random) -> None:
    questions = units // (runs * (NUGGETS + 2))

    def text(words: int) -> str:
        return " ".join(rng.choices(WORDS, k=words))

    (folder / "pr").mkdir()
    (folder / "ac").mkdir()
    ids = [f"{n:05}" for n in range(1, questions + 1)]
    (folder / "questions.tsv").write_text(
        "".join(f"{one}\tWhich {text(8)} {one}?\tSimple\tgold {one}\n" for one in ids)
    )
    for run in range(3):
        lines = [f"{q};{rank};doc{rank};{text(25)} {q}" for q in ids for rank in range(1, 21)]
        (folder / "pr" / f"PR-{run}.txt").write_text("\n".join(lines) + "\n")
    for run in range(runs):
        blocks = []
        for q in ids:
            nuggets = "".join(
                f"{n};PR-{rng.randrange(3)};{rng.randint(1, 20)};{text(10)} {q} {run} {n}\n"
                for n in range(1, NUGGETS + 1)
            )
            blocks.append(f"<{q}>\nanswer {q} {run};{rng.randint(0, 100)}\n{nuggets}</{q}>\n")
        (folder / "ac" / f"AC-{run:02}.txt").write_text("".join(blocks))
    (folder / "assay.toml").write_text(
        '[evaluation]\nprotocol = "r2c2"\n[inputs]\nquestions = "questions.tsv"\n'
        'pr_runs = "pr/*.txt"\nac_runs = "ac/*.txt"\n[labellers]\ndefault = "openai:m"\n'
    )


def labelled(
    evaluation: Evaluation, labellers: int, rng: random.Random, url: str | None,
    exported: Path | None,
) -> int:  # fmt: skip
    own = evaluation.labellers()
    others = [LabellerId(f"openai:other-{n}", "model", {"model": n}) for n in range(labellers)]
    asked = list[QuestionKey]()

    def write(requests: Iterable[Request], add: Callable[[list[NewLabel]], Sized]) -> int:
        count, spent = 0, 0.0
        requests = iter(requests)
        while some := list(islice(requests, _AT_ONCE)):
            # (As good as the keys of what would be asked, without its prompts.)
            keys = [content_hash(one.unit_hash.encode()) for one in some]
            for other in range(labellers):
                made = [label(*pair, other) for pair in zip(some, keys, strict=True)]
                started = time.perf_counter()
                count += len(add(made))
                spent += time.perf_counter() - started
            if len(asked) < _LOOKED_UP:
                asked.extend(zip((one.unit_hash for one in some), keys, strict=True))
        if count:
            print(f"insert: {count / spent:,.0f} labels/s, {_AT_ONCE:,} at once", flush=True)
        return count

    def label(request: Request, key: str, other: int) -> NewLabel:
        who = own[request.task.name]
        return NewLabel(
            key=content_hash(f"{other} {key}".encode()) if other else key,
            task=request.task.name,
            version=request.task.version,
            unit=request.unit_hash,
            content=request.content,
            labeller=others[other] if other else who.id,
            status=Status.OK,
            verdict=verdict(request, rng),
            reason="as the passage says",
        )

    if exported is not None:
        labels, count = Exported(exported), 0
        for step in evaluation.steps:  # what is asked hangs on the labels before
            before = ParquetLedger(exported) if count else None
            count += write(step.requests(evaluation.book(before)), labels.add)
            labels.done()
        return count
    with Ledger.open(url or evaluation.folder.path / "labels.sqlite") as ledger:
        count = sum(
            write(one.requests(evaluation.book(ledger)), ledger.add) for one in evaluation.steps
        )
        rng.shuffle(asked)
        started = time.perf_counter()
        known = len(ledger.statuses(asked[:_LOOKED_UP]))
        print(f"look-up: {known:,} keys in {time.perf_counter() - started:.1f} s")
    return count


def verdict(request: Request, rng: random.Random) -> dict[str, object]:
    if request.task is ENTAILMENT:
        return {"reason": "as the passage says", "entailed": rng.random() < 0.8}
    if request.task is ANSWER:
        nuggets = [
            {"nugget": n, "reason": "a step", "helped": rng.random() < 0.5}
            for n in range(1, len(request.content["nuggets"]) + 1)
        ]
        return {"reason": "so", "correct": rng.random() < 0.6, "nuggets": nuggets}
    if request.task is SELF_RATING:
        return {"reason": "as the passage says", "rating": rng.randrange(6)}
    return {"reason": "", "act": "answer"}


if __name__ == "__main__":
    main()
