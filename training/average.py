"""The average of the weights of several judges, which were trained from one another.

    python training/average.py --out judge.pt .3=before.onnx .7=later/judge.pt

A judge is ``judge.pt`` of a training or the ONNX file of a package.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch
from train import begun


def part(text: str) -> tuple[float, Path]:
    share, _, path = text.partition("=")
    return float(share), Path(path)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="+", type=part, metavar="SHARE=FILE")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    total = sum(share for share, _ in options.parts)
    if abs(total - 1) > 1e-6:
        parser.error(f"the shares are {total:g} in all, not 1")
    mean: dict[str, torch.Tensor] = {}
    for share, path in options.parts:
        for name, value in begun(path).state_dict().items():
            mean[name] = mean.get(name, 0) + share * value
    torch.save(mean, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
