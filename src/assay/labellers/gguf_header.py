"""Read the header of a GGUF model file: vocabulary, control tokens, chat template.

Source: the GGUF specification, version 2 and 3 (little-endian), in the ggml repository's
docs/gguf.md. Only the metadata at the front is read, never the weights.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from assay.model.errors import SettingsError

_SCALARS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}  # struct codes by value type
_STRING, _ARRAY = 8, 9
_SPECIAL_TYPES = frozenset((2, 3, 4))  # unknown, control, user-defined
_MAX_STRING = 64 << 20


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """``special`` maps the text of every special token (unknown, control, user-defined) to its
    number; ``chat_template`` is Jinja source; ``bos`` and ``eos`` are token texts; ``add_bos`` says
    whether a prompt must start with ``bos``."""

    special: dict[str, int]
    chat_template: str | None
    bos: str
    eos: str
    add_bos: bool


class _HeaderBytes:
    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def raw(self, count: int) -> bytes:
        data = self.stream.read(count)
        if len(data) != count:
            raise ValueError("the file ends inside its header")
        return data

    def scalar(self, code: str) -> Any:
        return struct.unpack("<" + code, self.raw(struct.calcsize("<" + code)))[0]

    def text(self) -> str:
        length = self.scalar("Q")
        if length > _MAX_STRING:
            raise ValueError("a text in the header is implausibly long")
        return self.raw(length).decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        if kind in _SCALARS:
            return self.scalar(_SCALARS[kind])
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY:
            raise ValueError(f"unknown value type {kind}")
        inner, count = self.scalar("I"), self.scalar("Q")
        if inner in _SCALARS:
            code = f"<{count}{_SCALARS[inner]}"
            return list(struct.unpack(code, self.raw(struct.calcsize(code))))
        return [self.value(inner) for _ in range(count)]


def read_header(path: Path) -> GgufHeader:
    """The header of the GGUF file at ``path``. Raises SettingsError if the file cannot be read or
    is not GGUF."""
    try:
        with path.open("rb") as stream:
            meta = _metadata(_HeaderBytes(stream))
    except OSError as error:
        raise SettingsError(f"The model file {path} cannot be read: {error.strerror}.") from error
    except (ValueError, struct.error, MemoryError, OverflowError) as error:
        raise SettingsError(
            f"The file {path} is not a usable GGUF model file ({error})."
        ) from error
    tokens: list[str] = meta.get("tokenizer.ggml.tokens", [])
    types: list[int] = meta.get("tokenizer.ggml.token_type", [])
    special = {
        text: number
        for number, (text, kind) in enumerate(zip(tokens, types, strict=False))
        # Not single letters or white space, which would cut every text to pieces.
        if kind in _SPECIAL_TYPES and len(text) > 1 and not text.isspace()
    }
    template = meta.get("tokenizer.chat_template")
    return GgufHeader(
        special=special,
        chat_template=template if isinstance(template, str) else None,
        bos=_token(tokens, meta.get("tokenizer.ggml.bos_token_id")),
        eos=_token(tokens, meta.get("tokenizer.ggml.eos_token_id")),
        add_bos=bool(meta.get("tokenizer.ggml.add_bos_token", False)),
    )


def _metadata(reader: _HeaderBytes) -> dict[str, Any]:
    if reader.raw(4) != b"GGUF":
        raise ValueError("it does not begin with GGUF")
    version = reader.scalar("I")
    if version not in (2, 3):
        raise ValueError(f"GGUF version {version}")
    reader.scalar("Q")  # number of tensors
    count = reader.scalar("Q")
    return {reader.text(): reader.value(reader.scalar("I")) for _ in range(count)}


def _token(tokens: list[str], number: object) -> str:
    if isinstance(number, int) and 0 <= number < len(tokens):
        return tokens[number]
    return ""
