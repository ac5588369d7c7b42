"""Fit the thresholds of an embedded model on human labels, and report on the other half.

    python calibration/fit_embedded.py --shared ../shared/data --model qwen2.5-1.5b

Margins are kept as they come in a JSONL file, so a run that was cut off goes on where it stopped.
For a known model the thresholds go into src/assay/labellers/thresholds.json, for a GGUF file of
one's own beside it. See README.md in this folder.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pairs import Pair, all_pairs
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from trec_rag_pairs import trec_rag_pairs

from assay.labellers.embedded import probe_hash
from assay.labellers.gguf import EngineFailure, GgufEngine
from assay.labellers.known_models import MODELS
from assay.labellers.models import cache_folder, fetch_model
from assay.labellers.thresholds import thresholds_file
from assay.tasks.base import canonical, content_hash
from assay.tasks.registry import REGISTRY
from assay.tasks.rendering import Messages, Renderer

PACKAGED = Path(__file__).parents[1] / "src/assay/labellers/thresholds.json"
USABLE_AUC = 0.65
"""Below this on the reporting half the model is as good as guessing: no threshold is given."""
Scored = list[tuple[Pair, float]]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--shared", type=Path, required=True, help="folder with judge/, wice/, openqa/"
    )
    parser.add_argument("--model", default="qwen2.5-1.5b", help="a known name or a GGUF file")
    parser.add_argument("--cache", type=Path, help="JSONL of margins (default: in the cache)")
    parser.add_argument("--output", type=Path, help="where the thresholds go")
    parser.add_argument("--only", default="", help="fit the thresholds that begin so: trec_rag.")
    parser.add_argument("--report-only", action="store_true", help="write no thresholds")
    options = parser.parse_args()
    model = fetch_model(options.model, lambda what, done, size: print(what, done, size))
    cache = options.cache or cache_folder() / "calibration" / f"{model.sha256[:12]}.jsonl"
    cache.parent.mkdir(parents=True, exist_ok=True)
    renderer = Renderer()
    engine = GgufEngine(model.path)
    try:
        pairs = [*all_pairs(options.shared), *trec_rag_pairs(options.shared)]
        wanted = [pair for pair in pairs if pair.key.startswith(options.only)]
        scored = collect(wanted, renderer, engine, cache)
    finally:
        engine.close()
    by_key: dict[str, Scored] = defaultdict(list)
    for pair, margin in scored:
        by_key[pair.key].append((pair, margin))
    probes = {key: fit(rows) for key, rows in sorted(by_key.items())}
    show(probes, by_key)
    if not options.report_only:
        target = options.output or (
            PACKAGED if options.model in MODELS else thresholds_file(model.path)
        )
        store(target, model.sha256, model.name, probes, renderer)
        print(f"Thresholds of {model.name} are in {target}.")
    return 0


def collect(pairs: Iterable[Pair], renderer: Renderer, engine: GgufEngine, cache: Path) -> Scored:
    """The margin of every pair, from the cache where the same was asked before."""
    known: dict[str, float | None] = {}
    if cache.exists():
        for line in cache.read_text(encoding="utf-8").splitlines():
            if line.endswith("}"):  # a line cut off by a kill is asked again
                row = json.loads(line)
                known[row["key"]] = row["margin"]
    todo = list(pairs)
    scored: Scored = []
    start = time.monotonic()
    asked = 0
    with cache.open("a", encoding="utf-8") as stream:
        for number, pair in enumerate(todo, 1):
            messages = prompt(pair, renderer)
            key = content_hash(canonical(list(messages)))
            if key not in known:
                known[key] = ask(engine, messages)
                asked += 1
                stream.write(json.dumps({"key": key, "margin": known[key]}) + "\n")
                stream.flush()
                if asked % 50 == 0:
                    pace = (time.monotonic() - start) / asked
                    print(f"{number}/{len(todo)}, {pace:.2f} s a pair", file=sys.stderr)
            margin = known[key]
            if margin is not None:
                scored.append((pair, margin))
    return scored


def prompt(pair: Pair, renderer: Renderer) -> Messages:
    task = REGISTRY[pair.task]
    return renderer.probe(task, task.unit.model_validate(pair.unit), pair.probe, pair.context)


def ask(engine: GgufEngine, messages: Messages) -> float | None:
    """The margin, None where the model answers neither yes nor no."""
    try:
        return engine.margin(messages).margin
    except EngineFailure as failure:
        print(f"left out: {failure}", file=sys.stderr)
        return None


def fit(rows: Scored) -> dict[str, Any]:
    """Threshold of greatest balanced accuracy on the fitting half; figures of the other half."""
    halves = [[row for row in rows if row[0].half == half] for half in (0, 1)]
    (fit_margins, fit_labels), (margins, labels) = map(arrays, halves)
    threshold = best_threshold(fit_margins, fit_labels)
    slope = LogisticRegression(C=1e6).fit(fit_margins[:, None], fit_labels)
    chance = slope.predict_proba(margins[:, None])[:, 1]
    said = margins > threshold
    auc = float(roc_auc_score(labels, margins))
    return {
        "threshold": round(threshold, 3) if auc >= USABLE_AUC else None,
        "sources": sorted({pair.source for pair, _ in rows}),
        "n_fit": len(fit_labels),
        "n_report": len(labels),
        "auc": round(auc, 4),
        "accuracy": round(float((said == labels).mean()), 4),
        "balanced_accuracy": round(balanced_accuracy(said, labels), 4),
        "brier": round(float(((chance - labels) ** 2).mean()), 4),
        "yes_at_zero": round(float((margins > 0).mean()), 4),
        "auc_fit": round(float(roc_auc_score(fit_labels, fit_margins)), 4),
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
    }


def arrays(rows: Scored) -> tuple[np.ndarray, np.ndarray]:
    return np.array([margin for _, margin in rows]), np.array([pair.label for pair, _ in rows])


def balanced_accuracy(said: np.ndarray, labels: np.ndarray) -> float:
    return float((said[labels].mean() + (~said[~labels]).mean()) / 2)


def best_threshold(margins: np.ndarray, labels: np.ndarray) -> float:
    """Middle of the thresholds whose balanced accuracy is within .005 of the best and that lie
    next to the best: a plateau's middle moves less with the sample than its edge."""
    values = np.unique(margins)
    cuts = (values[1:] + values[:-1]) / 2
    quality = np.array([balanced_accuracy(margins > cut, labels) for cut in cuts])
    low = high = int(quality.argmax())
    floor = quality[low] - 0.005
    while low > 0 and quality[low - 1] >= floor:
        low -= 1
    while high < len(cuts) - 1 and quality[high + 1] >= floor:
        high += 1
    return float((cuts[low] + cuts[high]) / 2)


def show(probes: Mapping[str, Mapping[str, Any]], by_key: Mapping[str, Scored]) -> None:
    for key, row in probes.items():
        threshold = row["threshold"]
        print(
            f"{key}: threshold {'none' if threshold is None else threshold}; on the "
            f"{row['n_report']} pairs not fitted: AUC {row['auc']:.3f}, accuracy "
            f"{row['accuracy']:.3f}, balanced {row['balanced_accuracy']:.3f}, Brier "
            f"{row['brier']:.3f}, yes at margin 0 {row['yes_at_zero']:.2f} (fitting half: n "
            f"{row['n_fit']}, AUC {row['auc_fit']:.3f})"
        )
        for source in row["sources"]:
            margins, labels = arrays(
                [r for r in by_key[key] if r[0].source == source and r[0].half == 1]
            )
            if 0 < labels.sum() < len(labels):
                found = f"AUC {roc_auc_score(labels, margins):.3f}"
                if threshold is not None:
                    found += f", accuracy {((margins > threshold) == labels).mean():.3f}"
                print(f"    {source}: n {len(labels)}, {found}")


def store(
    target: Path, sha256: str, name: str, probes: Mapping[str, Any], renderer: Renderer
) -> None:
    document: dict[str, Any] = {"version": 1, "templates": {}, "models": {}}
    if target.exists():
        document = json.loads(target.read_text(encoding="utf-8"))
    for key in probes:
        task = REGISTRY[key.partition("/")[0]]
        document["templates"][task.template] = probe_hash(renderer.probe_source(task))
    known = document["models"].get(sha256, {}).get("probes", {})
    document["models"][sha256] = {"name": name, "probes": {**known, **probes}}
    target.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
