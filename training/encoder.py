"""The judge as a torch module: MiniLM-L6 (a BERT of 6 layers) over two texts, and for each of the
three abilities three levels (no, partly, yes)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

LAYERS, WIDTH, HEADS, INNER = 6, 384, 12, 1536
ABILITIES, LEVELS = 3, 3
CLS, SEP, PAD = 101, 102, 0


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm1 = nn.LayerNorm(WIDTH, eps=1e-12)
        self.up = nn.Linear(WIDTH, INNER)
        self.down = nn.Linear(INNER, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x: Tensor, spots: Tensor, mask: Tensor) -> Tensor:
        """``x`` holds the tokens of all pairs one after the other, without padding; only attention
        sees them padded, as rows ``spots`` of a table of (pairs × tokens) rows."""
        size, length = mask.shape[0], mask.shape[-1]
        qkv = self.qkv(x)
        padded = qkv.new_zeros(size * length, 3 * WIDTH).index_copy(0, spots, qkv)
        parts = padded.view(size, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        # Written out: torch's fused kernel for the CPU is slower on sequences this short.
        scores = query @ key.transpose(-1, -2) * (WIDTH // HEADS) ** -0.5 + mask
        weights = scores.float().softmax(-1).to(value.dtype)
        seen = (weights @ value).transpose(1, 2).reshape(size * length, WIDTH)
        x = self.norm1(x + self.out(seen.index_select(0, spots)))
        return self.norm2(x + self.down(functional.gelu(self.up(x))))


class Judge(nn.Module):
    """Token ids, which of the two texts each is of, and the mask (1 for tokens), all of shape
    (pairs, tokens) → logits of shape (pairs, abilities, levels)."""

    def __init__(self, vocabulary: int = 30522, positions: int = 512) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, WIDTH)
        self.places = nn.Embedding(positions, WIDTH)
        self.kinds = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(2 * WIDTH, ABILITIES * LEVELS)

    def forward(self, ids: Tensor, kinds: Tensor, mask: Tensor) -> Tensor:
        size, length = ids.shape
        spots = mask.flatten().nonzero()[:, 0]
        pair, place = spots // length, spots % length
        x = (
            self.words(ids.flatten()[spots])
            + self.places(place)
            + self.kinds(kinds.flatten()[spots])
        )
        x = self.norm(x)
        hidden = (1.0 - mask.to(x.dtype))[:, None, None, :] * -1e4
        for layer in self.layers:
            x = layer(x, spots, hidden)
        sums = x.new_zeros(size, WIDTH).index_add(0, pair, x)
        mean = sums / mask.sum(1, keepdim=True)
        both = torch.cat([x[place == 0], mean], dim=-1)
        return self.head(both).view(-1, ABILITIES, LEVELS)


def started(path: Path) -> Judge:
    """A judge with the published encoder's weights and a new head."""
    found = load_file(path)
    judge = Judge()
    judge.load_state_dict(_renamed(found), strict=False)
    nn.init.normal_(judge.head.weight, std=0.02)
    nn.init.zeros_(judge.head.bias)
    return judge


def shipped(path: Path) -> Judge:
    """The judge of an ONNX file that export.py wrote, its 8-bit weights made whole again."""
    graph = onnx.load(path).graph
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    matrices, norms, biases = [], [], []
    for node in graph.node:
        if node.op_type == "MatMulNBits":
            packed, scale = stored[node.input[1]], stored[node.input[2]]
            outs, blocks, block = packed.shape
            whole = (packed.astype(np.float32) - 128) * scale.reshape(outs, blocks, 1)
            matrices.append(whole.reshape(outs, blocks * block))
        elif node.op_type == "LayerNormalization":
            norms.append((stored[node.input[1]], stored[node.input[2]]))
        elif node.op_type == "Add" and node.input[1] in stored:
            biases.append(stored[node.input[1]])
    by_shape = {value.shape: value for value in stored.values()}
    table = by_shape[30522, WIDTH].astype(np.float32) * by_shape[30522, 1]
    state = {
        "words.weight": table, "places.weight": by_shape[512, WIDTH],
        "kinds.weight": by_shape[2, WIDTH], "norm.weight": norms[0][0], "norm.bias": norms[0][1],
        "head.weight": by_shape[2 * WIDTH, ABILITIES * LEVELS].T, "head.bias": biases[-1],
    }  # fmt: skip
    for number in range(LAYERS):
        name = f"layers.{number}"
        own, bias = matrices[6 * number : 6 * number + 6], biases[6 * number : 6 * number + 6]
        state[f"{name}.qkv.weight"] = np.concatenate(own[:3])
        state[f"{name}.qkv.bias"] = np.concatenate(bias[:3])
        for place, part in enumerate(("out", "up", "down"), start=3):
            state[f"{name}.{part}.weight"], state[f"{name}.{part}.bias"] = own[place], bias[place]
        for place, part in enumerate(("norm1", "norm2")):
            weight, shift = norms[1 + 2 * number + place]
            state[f"{name}.{part}.weight"], state[f"{name}.{part}.bias"] = weight, shift
    judge = Judge()
    judge.load_state_dict({key: torch.tensor(value) for key, value in state.items()})
    return judge


def _renamed(found: Mapping[str, Tensor]) -> dict[str, Tensor]:
    names = {
        "words.weight": "embeddings.word_embeddings.weight",
        "places.weight": "embeddings.position_embeddings.weight",
        "kinds.weight": "embeddings.token_type_embeddings.weight",
        "norm.weight": "embeddings.LayerNorm.weight",
        "norm.bias": "embeddings.LayerNorm.bias",
    }
    state = {own: found[name] for own, name in names.items()}
    for number in range(LAYERS):
        own, base = f"layers.{number}", f"encoder.layer.{number}"
        for kind in ("weight", "bias"):
            qkv = [
                found[f"{base}.attention.self.{part}.{kind}"] for part in ("query", "key", "value")
            ]
            state[f"{own}.qkv.{kind}"] = torch.cat(qkv)
            for mine, name in (
                ("out", "attention.output.dense"),
                ("norm1", "attention.output.LayerNorm"),
                ("up", "intermediate.dense"),
                ("down", "output.dense"),
                ("norm2", "output.LayerNorm"),
            ):
                state[f"{own}.{mine}.{kind}"] = found[f"{base}.{name}.{kind}"]
    return state


def batch(pairs: list[tuple[list[int], list[int]]]) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, kinds and mask of pairs of token lists, padded to the longest."""
    length = max(len(a) + len(b) for a, b in pairs) + 3
    ids = torch.zeros(len(pairs), length, dtype=torch.long)
    kinds, mask = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, (a, b) in enumerate(pairs):
        whole = [CLS, *a, SEP, *b, SEP]
        ids[row, : len(whole)] = torch.tensor(whole)
        kinds[row, len(a) + 2 : len(whole)] = 1
        mask[row, : len(whole)] = 1
    return ids, kinds, mask
