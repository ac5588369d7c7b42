"""What the judges are worth on sources that they never read: left out a fold of them at a time.

    python training/transfer.py --shared ../shared/data --work .judge --folds all

Sources that share texts are one family, and a family is in one fold; ``--folds all`` leaves out one
family at a time, ``--folds 3`` a third of all pairs. For every fold two networks are trained from
the published encoders on the pairs of all other sources, the larger one and beside what it says the
small one (the shipped ones longer, and on more pairs), their probabilities and thresholds are
fitted on these sources' calibration groups, and the test groups of the sources left out are read.
What is done stands in ``WORK/transfer``: the same command goes on where it was stopped.

``--package FOLDER --unread SOURCE…`` measures a judge that is there already on sources that neither
its training nor its calibration read, and trains nothing.

Intervals are 95 % bootstrap intervals over groups of pairs that share a premise or question. ECE is
told at the source's own share of yes, and with yes and no weighing the same.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from calibrate import FAMILIES, balanced, check_labels, fitted
from evaluate import DRAWS, Embedder, interval, judged, overlap, unit_range
from pool import pool, store, texts, whole_texts
from prepare import UNSEEN, assign, framed_ones, grouped, load, made_ones
from readings import Reader
from rows import Row, as_question, sampled

from assay.labellers.judge.model import empty, tokenising, verbatim
from assay.labellers.judge.texts import ABILITIES, TEXTS_VERSION
from assay.measures.confidence import auroc

TOGETHER = {**FAMILIES, "open questions": ("evouna", "openqa_eval")}
"""Both ask questions of Natural Questions."""
PART, FILLS = 0.4, 6
"""Of the shipped judge's pool, how large a fold's is; how often a text around a claim or an answer
is filled."""
SMALL, LARGE = "judge", "large"
"""The networks of a fold."""
BINS = 10
NAMES = ("judge", "overlap", "cosine")


@dataclass(frozen=True)
class Pair:
    """A pair that was read by a judge that knows nothing of its source; ``said``: above the
    threshold."""

    source: str
    ability: str
    group: str
    truth: bool
    judge: float
    said: bool
    overlap: float
    cosine: float | None = None


def folds_of(
    abilities: Mapping[str, str], wanted: str, sizes: Mapping[str, int]
) -> list[list[str]]:
    """The sources left out together, families whole: every fold has about as many families of each
    ability, and as many pairs, as the others. ``abilities`` and ``sizes`` (training pairs) are by
    source.

    Raises SystemExit where ``wanted`` is no possible number, or a fold would leave fewer than two
    families that the probabilities of an ability can be fitted on."""
    families: dict[str, list[str]] = defaultdict(list)
    for source in sorted(abilities):
        name = next((name for name, own in TOGETHER.items() if source in own), source)
        families[name].append(source)
    if wanted == "all":
        return [families[name] for name in sorted(families)]
    if not wanted.isdigit() or not 2 <= int(wanted) <= len(families):
        raise SystemExit(f"--folds {wanted}: a number from 2 to {len(families)}, or all")
    folds: list[list[str]] = [[] for _ in range(int(wanted))]
    weight = {name: sum(sizes[one] for one in own) for name, own in families.items()}
    for name in sorted(families, key=lambda name: (-weight[name], name)):
        ability = abilities[families[name][0]]
        least = min(
            folds,
            key=lambda fold: (
                sum(abilities[one] == ability for one in fold), sum(sizes[one] for one in fold),
            ),
        )  # fmt: skip
        least.extend(families[name])
    fitted_on = {
        (abilities[own[0]], name): own
        for name, own in families.items()
        if any(one not in UNSEEN for one in own)
    }
    for ability in sorted(set(abilities.values())):
        for fold in folds:
            rest = [own for (of, _), own in fitted_on.items() if of == ability]
            if sum(own[0] not in fold for own in rest) < 2:
                raise SystemExit(
                    f"--folds {wanted}: without {', '.join(fold)} fewer than two families of "
                    f"ability {ability} are left to fit probabilities on; take more folds"
                )
    return folds


class Study:
    """The labelled pairs, their splits, and how a fold of them is trained on and read."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.rows = [row for row in load(options.shared) if row.claim.strip()]
        self.split = assign(self.rows, options.shared)
        self.group = grouped(self.rows)
        self.start: Path = options.work / "start"
        self.folder: Path = options.work / "transfer"
        self.folder.mkdir(parents=True, exist_ok=True)

    def part(self, split: str, left: Sequence[str]) -> list[Row]:
        return [r for r in self.rows if self.split[r.id] == split and r.source not in left]

    def trained(self, folder: Path, left: Sequence[str]) -> dict[str, Path]:
        """The ONNX files of the networks that read all sources but ``left``."""
        options = self.options
        folder.mkdir(parents=True, exist_ok=True)
        found = {name: folder / f"{name}.onnx" for name in (LARGE, SMALL)}
        if all(path.exists() for path in found.values()):
            return found
        data, said = folder / "pool.npz", folder / "said.npy"
        if not data.exists():
            tokenizer = whole_texts(self.start)
            rows = self.part("train", left)
            made = pool(rows, *texts(), tokenizer, f"without {left}", PART, FILLS)
            fresh = folder / "new.npz"
            store(made, tokenizer, fresh)
            fresh.replace(data)
        train = Path(__file__).parent / "train.py"
        if not said.exists():
            fresh = folder / "new.npy"
            run(
                train, "--large", pool=data, start=options.work / "large/model.safetensors",
                out=folder / LARGE, pairs=options.taught_by, batch=256, micro=20_000, rate=6e-5,
                read=fresh,
            )  # fmt: skip
            fresh.replace(said)
        run(
            train, pool=data, start=self.start / "model.safetensors", out=folder / SMALL,
            pairs=options.pairs, batch=512, micro=32_000, rate=3e-4, written=0.2, teacher=said,
        )  # fmt: skip
        for name, path in found.items():
            fresh = folder / "new.onnx"
            run(train.with_name("export.py"), weights=folder / name / "judge.pt", out=fresh)
            fresh.replace(path)
        return found

    def calibration(self, reader: Reader, left: Sequence[str]) -> dict[str, dict[str, object]]:
        """As judge.json has it, from the calibration groups of all sources but ``left``."""
        own = self.part("calib", left)
        people = list(own)
        own += made_ones(people, random.Random("5 calib"))
        own += framed_ones(people, random.Random("5 framed"))
        rows = [
            row
            for row in sampled(own, self.options.calibrate, "calib")
            if not empty(as_question(row)) and not verbatim(as_question(row))
        ]
        check_labels(rows, ABILITIES, "raise --calibrate, or take more folds")
        features = reader.features([as_question(row) for row in rows])
        return {
            ability.value: fitted(
                [row for row in rows if row.ability == ability],
                features[[row.ability == ability for row in rows]],
            )
            for ability in ABILITIES
        }

    def tests(self, sources: Sequence[str]) -> list[Row]:
        rows = [row for row in self.part("test", ()) if row.source in sources]
        return sampled(rows, self.options.most, "test")

    def read(
        self, reader: Reader, calibration: dict[str, dict[str, object]], sources: Sequence[str]
    ) -> list[Pair]:
        rows = self.tests(sources)
        questions = [as_question(row) for row in rows]
        yes = judged(reader, calibration, questions)[:, 2]
        return [
            Pair(
                row.source, row.ability, self.group[row.id], row.label == 1.0, float(p),
                bool(p > float(str(calibration[row.ability]["threshold"]))), overlap(question),
            )
            for row, question, p in zip(rows, questions, yes, strict=True)
        ]  # fmt: skip

    def with_cosine(self, pairs: Sequence[Pair], sources: Sequence[str]) -> list[Pair]:
        """``pairs`` of :meth:`read` with the cosine of their texts, where it is asked for."""
        if self.options.cosine is None:
            return list(pairs)
        tokenise = tokenising((self.start / "tokenizer.json").read_bytes())
        rows = self.tests(sources)
        if [(r.source, self.group[r.id]) for r in rows] != [(p.source, p.group) for p in pairs]:
            raise SystemExit("what was read are other pairs than these data give; remove them")
        near = Embedder(self.options.cosine, tokenise)([as_question(row) for row in rows])
        return [replace(p, cosine=float(c)) for p, c in zip(pairs, near, strict=True)]


def run(program: Path, *flags: str, **options: object) -> None:
    words = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
    words += flags
    done = subprocess.run([sys.executable, str(program), *words], check=False)
    if done.returncode:
        raise SystemExit(f"{program.name} ended with status {done.returncode}")


def calibration_error(score: np.ndarray, truth: np.ndarray, even: bool) -> float:
    """Expected calibration error over bins of equal width; ``even``: yes and no weigh the same."""
    weight = np.ones(len(truth))
    if even:
        weight = np.where(truth, 1 / max(1, truth.sum()), 1 / max(1, (~truth).sum()))
    bins = np.minimum((score * BINS).astype(int), BINS - 1)
    off = np.bincount(bins, weight * (score - truth), BINS)
    return float(np.abs(off).sum() / weight.sum())


def mean_interval(parts: Sequence[tuple[np.ndarray, np.ndarray, list[str]]]) -> list[float]:
    """Mean of the sources' AUC, and its interval where groups are drawn within each source."""
    chance = np.random.default_rng(7)
    values, drawn = [], []
    for score, truth, group in parts:
        value = auroc(unit_range(score), truth)
        _, of = np.unique(group, return_inverse=True)
        members = [np.flatnonzero(of == number) for number in range(of.max() + 1)]
        draws = []
        for _ in range(DRAWS):
            at = np.concatenate(
                [members[n] for n in chance.integers(len(members), size=len(members))]
            )
            one = auroc(unit_range(score[at]), truth[at])
            draws.append(np.nan if one is None else one)
        values.append(value)
        drawn.append(draws)
    whole = np.array(drawn)[:, ~np.isnan(drawn).all(axis=0)]  # of few groups all may say the same
    low, high = np.percentile(np.nanmean(whole, axis=0), [2.5, 97.5])
    return [float(np.mean(values)), float(low), float(high)]


def show(pairs: Sequence[Pair]) -> None:
    """The table of the model card."""
    by_source: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_source[pair.ability, pair.source].append(pair)
    print(
        "| source | n | yes | AUC, judge | words | cosine | balanced acc. | ECE at 50 % yes | ECE |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    means: dict[str, list[tuple[np.ndarray, np.ndarray, list[str]]]] = defaultdict(list)
    errors, best = [], 0
    for (ability, source), own in sorted(by_source.items()):
        truth = np.array([pair.truth for pair in own])
        head = f"| {source} ({ability}) | {len(own)} | {truth.mean():.2f} |"
        if truth.all() or not truth.any():
            print(f"{head} one answer alone |  |  |  |  |  |")
            continue
        group = [pair.group for pair in own]
        cells, values = [], {}
        for name in NAMES:
            given = [getattr(pair, name) for pair in own]
            if None in given:
                cells.append("–")
                continue
            score = np.array(given, float)
            found = interval(auroc, unit_range(score), truth, group)
            cells.append(spelt(found))
            values[name] = found[0] if found else 0.0
            means[name].append((score, truth, group))
        best += values["judge"] >= values["overlap"]
        said = np.array([pair.said for pair in own], float)
        right = interval(
            lambda s, t: balanced(s > 0, t) if 0 < t.sum() < len(t) else None, said, truth, group
        )
        judge = np.array([pair.judge for pair in own])
        errors.append([calibration_error(judge, truth, even) for even in (True, False)])
        ece = " | ".join(f"{value:.2f}" for value in errors[-1])
        print(f"{head} {' | '.join(cells)} | {spelt(right)} | {ece} |")
    if errors:
        cells = [spelt(mean_interval(means[name])) if means[name] else "–" for name in NAMES]
        ece = " | ".join(f"{value:.2f}" for value in np.mean(errors, axis=0))
        print(f"| mean of {len(errors)} |  |  | {' | '.join(cells)} |  | {ece} |")
        print(f"\nAt least as good as shared words on {best} of {len(errors)} sources.")


def spelt(found: Sequence[float] | None) -> str:
    return "–" if found is None else f"{found[0]:.2f} ({found[1]:.2f}–{found[2]:.2f})"


def done(path: Path) -> list[Pair]:
    return [Pair(**one) for one in json.loads(path.read_text(encoding="utf-8"))]


def same_fold(folder: Path, left: Sequence[str], sizes: Mapping[str, int]) -> None:
    """Raise SystemExit where what lies in ``folder`` is of other pairs, or of a network that may
    have read sources that are left out now: other data make other folds of the same numbers."""
    path = folder / "fold.json"
    now = {"left": sorted(left), "pairs": dict(sorted(sizes.items()))}
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(now, indent=1), encoding="utf-8")
    elif json.loads(path.read_text(encoding="utf-8")) != now:
        raise SystemExit(
            f"{folder}: was trained without other sources, or on other pairs, than this fold is "
            f"({path.name} says which). Remove the folder, or take another --work"
        )


def measured(study: Study) -> dict[str, list[Pair]]:
    """By network the pairs of every fold, of the folds that are there as they are."""
    options = study.options
    if options.package:
        kept = study.folder / "readings.jsonl"
        reader = Reader(options.package / "judge.onnx", options.package / "tokenizer.json", kept)
        text = (options.package / "judge.json").read_text(encoding="utf-8")
        known = json.loads(text)["calibration"]
        told = {source for own in known.values() for source in own["sources"]}
        for source in sorted(told.intersection(options.unread)):
            print(f"not quite unread: this judge was calibrated on other pairs of {source}")
        pairs = study.read(reader, known, options.unread)
        return {str(options.package): study.with_cosine(pairs, options.unread)}
    sizes = Counter(row.source for row in study.rows if study.split[row.id] == "train")
    abilities = {row.source: row.ability for row in study.rows}
    folds = folds_of(abilities, options.folds, sizes)
    # Another training is another folder, another reading another file.
    training = f"{options.folds}-{options.taught_by}-{options.pairs}"
    reading = f"{TEXTS_VERSION}-{options.most}-{options.calibrate}"
    found: dict[str, list[Pair]] = defaultdict(list)
    for number, left in enumerate(folds, start=1):
        folder = study.folder / f"{training}-{number}"
        same_fold(folder, left, sizes)
        for name in (SMALL, LARGE):
            kept = folder / f"{name}-{reading}.json"
            if not kept.exists():
                print(f"fold {number} of {len(folds)}, without {', '.join(left)}", flush=True)
                network, known = study.trained(folder, left)[name], folder / f"{name}-read.jsonl"
                reader = Reader(network, study.start / "tokenizer.json", known)
                pairs = study.read(reader, study.calibration(reader, left), left)
                fresh = folder / "new.json"
                fresh.write_text(json.dumps([asdict(pair) for pair in pairs]), encoding="utf-8")
                fresh.replace(kept)
            found[name] += study.with_cosine(done(kept), left)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True, help="folder with judge/")
    parser.add_argument("--work", type=Path, required=True, help="folder of start/ and large/")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--folds", help="how many, or all: a family of sources at a time")
    which.add_argument("--package", type=Path, help="a judge that is there already")
    parser.add_argument("--unread", nargs="+", help="with --package: sources that it never read")
    parser.add_argument(
        "--taught-by", type=int, default=61_440, help="pairs that a fold's larger network reads"
    )
    parser.add_argument("--pairs", type=int, default=200_192, help="that its small one reads then")
    parser.add_argument("--most", type=int, default=130, help="test pairs of a source")
    parser.add_argument("--calibrate", type=int, default=60, help="calibration pairs of a source")
    parser.add_argument("--cosine", type=Path, help="ONNX file of the start weights (evaluate.py)")
    options = parser.parse_args()
    if bool(options.package) != bool(options.unread):
        parser.error("--package and --unread go together")
    study = Study(options)
    unknown = set(options.unread or ()) - {row.source for row in study.rows}
    if unknown:
        parser.error(f"no such source: {', '.join(sorted(unknown))}")
    for name, pairs in measured(study).items():
        print(f"\n{name}\n")
        show(pairs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
