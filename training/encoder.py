"""The judge as a torch module: MiniLM-L6 (a BERT of 6 layers) over two texts, and for each of the
three abilities three levels (no, partly, yes)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

LAYERS, WIDTH, HEADS, INNER = 6, 384, 12, 1536
ABILITIES, LEVELS = 3, 3
CLS, SEP, PAD = 101, 102, 0
HIDDEN = -1e4
"""Added to what attention says of padding."""


class Layer(nn.Module):
    """A layer of a BERT; ``width``, ``heads`` and ``inner`` are its sizes."""

    def __init__(self, width: int, heads: int, inner: int, eps: float) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm1 = nn.LayerNorm(width, eps=eps)
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)
        self.norm2 = nn.LayerNorm(width, eps=eps)

    def forward(self, x: Tensor, bias: Tensor, dropout: float) -> Tensor:
        """``x`` of shape (pairs, tokens, width); ``bias`` is added to what attention says, of
        shape (pairs, heads or 1, tokens or 1, tokens)."""
        size, length, width = x.shape
        parts = self.qkv(x).view(size, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        mask = bias.to(query.dtype)
        if x.is_cuda:
            mask = mask.expand(size, self.heads, length, length)
            seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        else:  # twice as fast as PyTorch's own on a processor
            scores = query * (width // self.heads) ** -0.5 @ key.transpose(-1, -2) + mask
            seen = scores.softmax(-1, dtype=torch.float32).to(value.dtype) @ value
        seen = self.out(seen.transpose(1, 2).reshape(size, length, width))
        x = self.norm1(x + functional.dropout(seen, dropout, self.training))
        made = self.down(functional.gelu(self.up(x)))
        return self.norm2(x + functional.dropout(made, dropout, self.training))


class Head(nn.Linear):
    """Logits of shape (pairs, abilities, levels) of the first vector and the mean of all."""

    def __init__(self, width: int) -> None:
        super().__init__(2 * width, ABILITIES * LEVELS)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        weight = mask.to(x.dtype)[:, :, None]
        mean = (x * weight).sum(1) / weight.sum(1)
        return super().forward(torch.cat([x[:, 0], mean], dim=-1)).view(-1, ABILITIES, LEVELS)

    def begin(self) -> None:
        nn.init.normal_(self.weight, std=0.02)
        nn.init.zeros_(self.bias)


class Judge(nn.Module):
    """Token ids, which of the two texts each is of, and the mask (1 for tokens), all of shape
    (pairs, tokens) → logits of shape (pairs, abilities, levels)."""

    def __init__(self, vocabulary: int = 30522, positions: int = 512) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, WIDTH)
        self.places = nn.Embedding(positions, WIDTH)
        self.kinds = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer(WIDTH, HEADS, INNER, 1e-12) for _ in range(LAYERS))
        self.head = Head(WIDTH)

    def forward(self, ids: Tensor, kinds: Tensor, mask: Tensor, dropout: float = 0.0) -> Tensor:
        place = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.places(place) + self.kinds(kinds))
        x = functional.dropout(x, dropout, self.training)
        bias = (1.0 - mask.to(x.dtype))[:, None, None, :] * HIDDEN
        for layer in self.layers:
            x = layer(x, bias, dropout)
        return self.head(x, mask)


def started(path: Path) -> Judge:
    """A judge with the published encoder's weights and a new head."""
    judge = Judge()
    judge.load_state_dict(_renamed(load_file(path)), strict=False)
    judge.head.begin()
    return judge


def layer_state(
    found: Mapping[str, Tensor], own: str, base: str, parts: list[str], names: Mapping[str, str]
) -> dict[str, Tensor]:
    """The weights of layer ``own``: query, key and value are ``parts`` of ``base``, the others
    are called as ``names`` says."""
    state = {}
    for kind in ("weight", "bias"):
        state[f"{own}.qkv.{kind}"] = torch.cat([found[f"{base}.{part}.{kind}"] for part in parts])
        for mine, name in names.items():
            state[f"{own}.{mine}.{kind}"] = found[f"{base}.{name}.{kind}"]
    return state


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
        state |= layer_state(
            found, f"layers.{number}", f"encoder.layer.{number}",
            [f"attention.self.{part}" for part in ("query", "key", "value")],
            {
                "out": "attention.output.dense", "norm1": "attention.output.LayerNorm",
                "up": "intermediate.dense", "down": "output.dense", "norm2": "output.LayerNorm",
            },
        )  # fmt: skip
    return state
