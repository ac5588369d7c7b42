"""What SPECs say of endpoints: models, addresses, and secrets, which are refused and not shown."""

from __future__ import annotations

import pytest

from assay.labellers.spec import LabellerOptions, is_shadowed, openai_settings
from assay.model.errors import SettingsError


@pytest.fixture(autouse=True)
def _no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.mark.parametrize(
    "rest",
    [
        "m@http://host/v1?api-key=hush",
        "m@http://host/v1#hush",
        "m@http://host/v1@https://other/v1?key=hush",
        "m@http://me:hush@host/v1",
        "m@HTTP://me:hush@host/v1",
        "m@http://me:hu/sh@host/v1",
        "m@me:hush@host/v1",
        "m@me:hush@host:8000/v1",
        "m@ftp://me:hush@host/v1",
        "m@//me:hush@host/v1",
        "@cf/meta/llama@me:hush@host/v1",
        "m@http://host/v1@me:hush@other/v1",
        "@http://me:hush@host/v1",
    ],
)
def test_secrets_in_an_address_are_refused_and_not_shown(rest: str) -> None:
    with pytest.raises(SettingsError) as caught:
        openai_settings(rest, LabellerOptions())
    said = str(caught.value)
    assert "hu" not in said
    assert "OPENAI_API_KEY or ASSAY_<NAME>_API_KEY" in said
    assert caught.value.__cause__ is None


def test_the_address_of_the_environment_is_looked_at_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://host/v1?key=hush")
    with pytest.raises(SettingsError, match="at host must not have a query"):
        openai_settings("m", LabellerOptions())


@pytest.mark.parametrize("address", ["http://[::1/v1", "http://host:port/v1"])
def test_a_malformed_address_is_said_so(address: str) -> None:
    with pytest.raises(SettingsError, match="host or port is malformed"):
        openai_settings(f"m@{address}", LabellerOptions())


@pytest.mark.parametrize(
    "model",
    ["@cf/meta/llama", "claude@2024", "@cf/meta/llama:8b@2024", "qwen3:8b", "org/m:free", "a@b@c"],
)
@pytest.mark.parametrize("urls", [(), ("http://h:8000/v1",), ("http://[::1]:1/v1", "https://h/")])
def test_models_may_have_signs_in_their_names(model: str, urls: tuple[str, ...]) -> None:
    made = openai_settings("@".join([model, *urls]), LabellerOptions())
    assert made.model == model
    assert made.base_urls == (urls or ("https://api.openai.com/v1",))


def test_entry_points_that_no_spec_can_name() -> None:
    names = ["rules", "embedded", "embedded:x", "openai:x", "ensemble:x"]
    assert all(is_shadowed(name) for name in names)
    assert not any(is_shadowed(name) for name in ["mine", "openai", "recorded", "rules2", "a:b"])
