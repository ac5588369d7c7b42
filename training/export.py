"""Write a trained network, the judge or the one that teaches it, as an ONNX file.

    python training/export.py --weights judge.pt --out judge.onnx
    python training/export.py --weights former.pt further.pt --shares .35 .65 --out judge.onnx
    python training/export.py --weights judge.onnx --out judge.pt

Of several networks it writes the mean of their weights by ``--shares``: that of a judge and of the
same trained further knows nearly all of both. From an ONNX file it takes the weights back, to train
it further.

Matrices are stored as 8-bit integers with a scale for every 128 weights of a column, the word
vectors with a scale for every word. While it runs, every row of activations is brought to 8 bits by
itself, so that a verdict does not depend on which pairs share a batch.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import torch
from encoder import ABILITIES, CLS, HEADS, LAYERS, LEVELS, SEP, started
from large import END, EPS, FIRST_PLACE, POSITIONS, SHIFT, START, buckets
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor

BLOCK = 128
"""Weights that share a scale."""
Array = np.ndarray


class Graph:
    """An ONNX graph as it grows."""

    def __init__(self, *, bits: int, eps: float) -> None:
        self.bits, self.eps = bits, eps
        self.nodes: list[onnx.NodeProto] = []
        self.stored: list[onnx.TensorProto] = []
        self.count = 0

    def put(self, value: Array, name: str | None = None) -> str:
        self.count += 1
        name = name or f"c{self.count}"
        self.stored.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: object) -> str:
        self.count += 1
        out = f"t{self.count}"
        node = helper.make_node(kind, list(inputs), [out], domain=domain, **attributes)
        self.nodes.append(node)
        return out

    def integers(self, *values: int) -> str:
        return self.put(np.array(values, np.int64))

    def number(self, value: float) -> str:
        return self.put(np.array(value, np.float32))

    def linear(self, x: str, weight: Array, bias: Array) -> str:
        """``x`` times the transpose of ``weight`` (out, in), plus ``bias``."""
        if self.bits == 32:
            return self.op("Add", self.op("MatMul", x, self.put(weight.T)), self.put(bias))
        outs, ins = weight.shape
        blocks = weight.reshape(outs, ins // BLOCK, BLOCK)
        scale = np.abs(blocks).max(axis=2, keepdims=True) / 127
        scale[scale == 0] = 1
        packed = (np.round(blocks / scale) + 128).astype(np.uint8)
        product = self.op(
            "MatMulNBits", x, self.put(packed), self.put(scale.reshape(-1).astype(np.float32)),
            domain="com.microsoft", K=ins, N=outs, bits=8, block_size=BLOCK, accuracy_level=4,
        )  # fmt: skip
        return self.op("Add", product, self.put(bias))

    def norm(self, x: str, weight: Array, bias: Array) -> str:
        scale, shift = self.put(weight), self.put(bias)
        return self.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=self.eps)

    def words(self, ids: str, table: Array) -> str:
        if self.bits == 32:
            return self.op("Gather", self.put(table), ids)
        scale = np.abs(table).max(axis=1, keepdims=True) / 127
        scale[scale == 0] = 1
        small = self.put(np.round(table / scale).astype(np.int8))
        whole = self.op("Cast", self.op("Gather", small, ids), to=TensorProto.FLOAT)
        return self.op("Mul", whole, self.op("Gather", self.put(scale.astype(np.float32)), ids))


def build(state: dict[str, Array], *, bits: int = 8) -> onnx.ModelProto:
    """The network of ``encoder.Judge`` or ``large.Teacher`` with weights ``state``: inputs ``ids``
    (of the judge's vocabulary), ``kinds``, ``mask`` of shape (pairs, tokens), int64; outputs
    ``logits`` (pairs, abilities, levels) and ``mean``, the mean vector of a pair's tokens."""
    is_large = "near.weight" in state
    layers = sum(name.endswith("qkv.weight") for name in state)
    width = state["words.weight"].shape[1]
    g = Graph(bits=bits, eps=EPS if is_large else 1e-12)
    length = g.op("Slice", g.op("Shape", "ids"), g.integers(1), g.integers(2))
    tokens = g.op("Cast", "mask", to=TensorProto.FLOAT)
    hidden = g.op("Mul", g.op("Sub", g.number(1.0), tokens), g.number(-1e4))
    hidden = g.op("Unsqueeze", hidden, g.integers(1, 2))
    table = state["places.weight"][FIRST_PLACE if is_large else 0 :]
    places = g.op("Slice", g.put(table), g.integers(0), length, g.integers(0))
    if is_large:
        x = g.op("Add", g.words(translated(g), state["words.weight"]), places)
        hidden = g.op("Add", hidden, nearness(g, length, state["near.weight"]))
    else:
        x = g.op("Add", g.words("ids", state["words.weight"]), places)
        x = g.op("Add", x, g.op("Gather", g.put(state["kinds.weight"]), "kinds"))
    x = g.norm(x, state["norm.weight"], state["norm.bias"])
    for number in range(layers):
        x = layer(g, x, hidden, state, f"layers.{number}")
    wide = g.op("Unsqueeze", tokens, g.integers(2))
    total = g.op("ReduceSum", g.op("Mul", x, wide), g.integers(1), keepdims=0)
    mean = g.op("Div", total, g.op("ReduceSum", tokens, g.integers(1), keepdims=1))
    first = g.op("Gather", x, g.put(np.array(0, np.int64)), axis=1)
    both = g.op("Concat", first, mean, axis=-1)
    head = g.op("MatMul", both, g.put(state["head.weight"].T))
    head = g.op("Add", head, g.put(state["head.bias"]))
    shape = g.integers(-1, ABILITIES, LEVELS)
    g.nodes.append(helper.make_node("Reshape", [head, shape], ["logits"]))
    g.nodes.append(helper.make_node("Identity", [mean], ["mean"]))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["pairs", "tokens"])
        for name in ("ids", "kinds", "mask")
    ]
    outputs = [
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["pairs", ABILITIES, LEVELS]),
        helper.make_tensor_value_info("mean", TensorProto.FLOAT, ["pairs", width]),
    ]
    graph = helper.make_graph(g.nodes, "judge", inputs, outputs, g.stored)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, producer_name="assay", ir_version=9)
    onnx.checker.check_model(model)
    return model


def translated(g: Graph) -> str:
    """``ids`` in the large network's vocabulary, as ``large.translated`` has them; what is padding
    is hidden from all others, whatever it is."""
    found = g.op("Add", "ids", g.put(np.array(SHIFT, np.int64)))
    for mark, own in ((CLS, START), (SEP, END)):
        is_mark = g.op("Equal", "ids", g.put(np.array(mark, np.int64)))
        found = g.op("Where", is_mark, g.put(np.array(own, np.int64)), found)
    return found


def nearness(g: Graph, length: str, near: Array) -> str:
    """What is added to what attention says of every two places, of shape (1, heads, tokens,
    tokens): it hangs on their distance alone."""
    apart = buckets(torch.arange(POSITIONS))
    by_distance = torch.cat([apart[-1, :-1], apart[0]]).numpy()  # from 1 - POSITIONS upwards
    zero, one = g.put(np.array(0, np.int64)), g.put(np.array(1, np.int64))
    place = g.op("Range", zero, g.op("Squeeze", length), one)
    rows, columns = g.op("Unsqueeze", place, g.integers(1)), g.op("Unsqueeze", place, g.integers(0))
    away = g.op("Add", g.op("Sub", columns, rows), g.put(np.array(POSITIONS - 1, np.int64)))
    found = g.op("Gather", g.put(near[by_distance]), away)
    return g.op("Unsqueeze", g.op("Transpose", found, perm=[2, 0, 1]), g.integers(0))


def weights_of(model: onnx.ModelProto) -> dict[str, Tensor]:
    """The weights that ``build`` made ``model`` of, as near as their 8 bits tell."""
    stored = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    nodes = [(one.op_type, [stored.get(name) for name in one.input]) for one in model.graph.node]
    found: dict[str, Array] = {}

    def each(kind: str, place: int) -> Iterator[tuple[int, list[Array]]]:
        """The nodes of ``kind`` of which input ``place`` is stored."""
        return (
            (at, inputs)
            for at, (name, inputs) in enumerate(nodes)
            if name == kind and inputs[place] is not None
        )

    (_, (small, _)), (_, (scale, _)), (_, (found["kinds.weight"], _)) = each("Gather", 0)
    found["words.weight"] = small.astype(np.float32) * scale
    found["places.weight"] = next(each("Slice", 0))[1][0]
    norms = [inputs[1:] for _, inputs in each("LayerNormalization", 1)]
    linear = []
    for at, (_, packed, scale) in each("MatMulNBits", 1):
        blocks = (packed.astype(np.float32) - 128) * scale.reshape(*packed.shape[:2], 1)
        linear.append((blocks.reshape(len(blocks), -1), nodes[at + 1][1][1]))
    head, (_, weight) = next(each("MatMul", 1))
    parts = {"norm": norms[0], "head": (weight.T, nodes[head + 1][1][1])}
    for number in range(LAYERS):
        *qkv, out, up, down = linear[6 * number : 6 * number + 6]
        own = {
            "qkv": map(np.concatenate, zip(*qkv, strict=True)), "out": out, "up": up, "down": down,
            "norm1": norms[2 * number + 1], "norm2": norms[2 * number + 2],
        }  # fmt: skip
        parts |= {f"layers.{number}.{name}": pair for name, pair in own.items()}
    for name, pair in parts.items():
        found[f"{name}.weight"], found[f"{name}.bias"] = pair
    return {name: torch.from_numpy(np.array(value)) for name, value in found.items()}


def layer(g: Graph, x: str, hidden: str, state: dict[str, Array], name: str) -> str:
    def get(part: str) -> tuple[Array, Array]:
        return state[f"{name}.{part}.weight"], state[f"{name}.{part}.bias"]

    weight, bias = get("qkv")
    width = weight.shape[1]
    heads = g.integers(0, 0, HEADS, width // HEADS)
    parts = []
    for number in range(3):
        rows = slice(number * width, (number + 1) * width)
        own = g.op("Reshape", g.linear(x, weight[rows], bias[rows]), heads)
        # keys lie transposed
        parts.append(g.op("Transpose", own, perm=[0, 2, 3, 1] if number == 1 else [0, 2, 1, 3]))
    scores = g.op("Mul", g.op("MatMul", *parts[:2]), g.number((width // HEADS) ** -0.5))
    weights = g.op("Softmax", g.op("Add", scores, hidden), axis=-1)
    seen = g.op("Transpose", g.op("MatMul", weights, parts[2]), perm=[0, 2, 1, 3])
    seen = g.op("Reshape", seen, g.integers(0, 0, width))
    x = g.norm(g.op("Add", x, g.linear(seen, *get("out"))), *get("norm1"))
    inner = g.op("Gelu", g.linear(x, *get("up")))
    return g.norm(g.op("Add", x, g.linear(inner, *get("down"))), *get("norm2"))


def mean(states: list[dict[str, Tensor]], shares: list[float]) -> dict[str, Tensor]:
    pairs = list(zip(states, shares, strict=True))
    return {name: sum(share * state[name].float() for state, share in pairs) for name in states[0]}


def read(path: Path) -> dict[str, Tensor]:
    """The weights in a judge.pt, checkpoint.pt, judge.onnx or of the published encoder."""
    if path.suffix == ".safetensors":  # the start weights, for their mean vectors
        return started(path).state_dict()
    if path.suffix == ".onnx":
        return weights_of(onnx.load(path))
    state = torch.load(path, weights_only=True)
    return state.get("network", state)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--weights", type=Path, required=True, nargs="+",
        help="judge.pt, checkpoint.pt, judge.onnx or model.safetensors",
    )  # fmt: skip
    parser.add_argument("--shares", type=float, nargs="+", default=[1.0], help="of the weights")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--bits", type=int, default=8, choices=(8, 32))
    options = parser.parse_args()
    state = mean([read(path) for path in options.weights], options.shares)
    if options.out.suffix == ".pt":
        torch.save(state, options.out)
        return 0
    arrays = {name: value.numpy() for name, value in state.items()}
    options.out.write_bytes(build(arrays, bits=options.bits).SerializeToString(deterministic=True))
    print(f"{options.out}: {options.out.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
