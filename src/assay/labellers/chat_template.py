"""The chat template of a model's file, which is Jinja2: rendered in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2.sandbox import ImmutableSandboxedEnvironment


def rendered(
    template: str, roles: Sequence[str], contents: Sequence[str], bos: str | None, eos: str | None
) -> str:
    """What ``template`` writes around messages of these roles and contents, up to the reply.
    Raises whatever the template does."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = _raise
    return environment.from_string(template).render(
        messages=[
            {"role": role, "content": content}
            for role, content in zip(roles, contents, strict=True)
        ],
        add_generation_prompt=True,
        bos_token=bos,
        eos_token=eos,
        tools=None,
    )


def _raise(message: str) -> None:
    raise ValueError(message)
