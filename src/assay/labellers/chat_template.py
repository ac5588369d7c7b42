"""Render a model file's Jinja2 chat template; runs in a confined process."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2.sandbox import ImmutableSandboxedEnvironment


def render_chat(
    template: str, roles: Sequence[str], contents: Sequence[str], bos: str | None, eos: str | None
) -> str:
    """The prompt for messages with these roles and contents, up to the reply. Raises whatever the
    template raises."""
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
