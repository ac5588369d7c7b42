"""The larger network that teaches the judge: MPNet (12 layers, with relative positions) over two
texts, with the judge's head. Its vocabulary is the judge's, four places further on."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from encoder import CLS, HIDDEN, SEP, Head, Layer, layer_state
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

LAYERS, WIDTH, HEADS, INNER, BUCKETS = 12, 768, 12, 3072, 32
VOCABULARY, POSITIONS, EPS = 30527, 514, 1e-5
SHIFT = 4
"""Added to an id of the judge's vocabulary."""
START, PADDING, END = 0, 1, 2
FIRST_PLACE = 2


class Teacher(nn.Module):
    """Ids of the judge's vocabulary, which text each is of (not used) and the mask, of shape
    (pairs, tokens) → logits of shape (pairs, abilities, levels)."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(POSITIONS, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=EPS)
        self.near = nn.Embedding(BUCKETS, HEADS)
        self.layers = nn.ModuleList(Layer(WIDTH, HEADS, INNER, EPS) for _ in range(LAYERS))
        self.head = Head(WIDTH)

    def forward(self, ids: Tensor, kinds: Tensor, mask: Tensor, dropout: float = 0.0) -> Tensor:
        del kinds
        place = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(translated(ids, mask)) + self.places(place + FIRST_PLACE))
        x = functional.dropout(x, dropout, self.training)
        near = self.near(buckets(place)).permute(2, 0, 1)[None]
        bias = near + (1.0 - mask.to(near.dtype))[:, None, None, :] * HIDDEN
        for layer in self.layers:
            x = layer(x, bias, dropout)
        return self.head(x, mask)


def translated(ids: Tensor, mask: Tensor) -> Tensor:
    """Ids in the teacher's vocabulary: its own start, end and padding."""
    found = torch.where(ids == CLS, START, ids + SHIFT)
    found = torch.where(ids == SEP, END, found)
    return torch.where(mask == 0, PADDING, found)


def buckets(place: Tensor) -> Tensor:
    """The bucket of every distance between two places, of shape (places, places): 16 for either
    side, of which 8 are exact and 8 grow with the logarithm up to 128 (Raffel et al., 2020,
    section 2.1)."""
    away = place[None, :] - place[:, None]
    far = away.abs()
    half, exact = BUCKETS // 2, BUCKETS // 4
    ratio = torch.log(far.clamp(min=1).float() / exact) / math.log(128 / exact)
    grown = (exact + (ratio * (half - exact)).long()).clamp(max=half - 1)
    return (away > 0) * half + torch.where(far < exact, far, grown)


def started(path: Path) -> Teacher:
    """The published encoder's weights and a new head."""
    found = load_file(path)
    state = {
        "words.weight": found["embeddings.word_embeddings.weight"],
        "places.weight": found["embeddings.position_embeddings.weight"],
        "norm.weight": found["embeddings.LayerNorm.weight"],
        "norm.bias": found["embeddings.LayerNorm.bias"],
        "near.weight": found["encoder.relative_attention_bias.weight"],
    }
    for number in range(LAYERS):
        state |= layer_state(
            found, f"layers.{number}", f"encoder.layer.{number}",
            [f"attention.attn.{part}" for part in "qkv"],
            {
                "out": "attention.attn.o", "norm1": "attention.LayerNorm",
                "up": "intermediate.dense", "down": "output.dense", "norm2": "output.LayerNorm",
            },
        )  # fmt: skip
    teacher = Teacher()
    teacher.load_state_dict(state, strict=False)
    teacher.head.begin()
    return teacher
