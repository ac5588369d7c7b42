"""``assay init``: create a folder that can be evaluated at once, with its options documented."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.model.errors import SettingsError
from assay.protocols import registry
from assay.protocols.output import write_bytes

_STARTS = Path(__file__).with_name("starts")
"""Of each protocol its inputs, the settings that the example needs with the embedded judge, and a
small example of each file, to be replaced by one's own."""


def start(folder: Path, protocol: str, labeller: str = "embedded") -> list[Path]:
    """Write ``assay.toml`` with every setting of a protocol, and a small example of each missing
    input. Returns the files written; overwrites nothing. Raises SettingsError."""
    if (folder / "assay.toml").exists():
        raise SettingsError(
            f"{folder / 'assay.toml'} already exists. 'assay status {folder}' says what to do next."
        )
    found = registry.find_protocol(protocol)
    written = []
    example = _STARTS / protocol / "files"
    for source in sorted(path for path in example.rglob("*") if path.is_file()):
        path = folder / source.relative_to(example)
        if not path.exists():
            write_bytes(path, source.read_bytes())
            written.append(path)
    write_bytes(folder / "assay.toml", _toml(found, protocol, labeller).encode())
    return [folder / "assay.toml", *written]


def _toml(protocol: Any, name: str, labeller: str) -> str:
    inputs, settings = (_lines(name, table) for table in ("inputs", "settings"))
    return f"""\
# Evaluation by {protocol.title}
# assay evaluate FOLDER     judge what is missing, score, write out/ and its report
# assay status FOLDER       show what is there and what to do next

[evaluation]
protocol = {json.dumps(name)}
# title = "…"                # title of the report

[inputs]                     # files and patterns, relative to this folder
{inputs}
[labellers]
default = {json.dumps(labeller)}         # openai:MODEL[@URL], embedded[:large], recorded:FILE …
# {protocol.tasks(protocol.settings())[0].name} = "…"   # another labeller for one task

# [judging]
# budget = 5.0               # US dollars per run; needs input and output in [prices."MODEL"]
# concurrency = 32

[settings]                   # commented lines show the defaults
{settings}{"".join(_settings(protocol.settings, settings))}
# [gate]                     # what assay gate checks in CI
# baseline = "baseline.json"
# measures = {{ MEASURE = {{ loss = 0.0, min = 0.5 }} }}
"""


def _lines(protocol: str, table: str) -> str:
    """The lines of a table in the example."""
    path = _STARTS / protocol / f"{table}.toml"
    if path.exists():
        return path.read_text("utf-8")
    return '# what the protocol reads: NAME = "FILE"\n' if table == "inputs" else ""


def _settings(model: Any, given: str) -> Iterator[str]:
    """The settings with their defaults, commented out, below the model's description of them."""
    set_ = {line.partition(" =")[0] for line in given.splitlines()}
    about = inspect.getdoc(model) or ""
    lines = about.replace("``", "").splitlines()[1:]
    yield from (f"# {line}\n" for line in lines if line.strip())
    for name, field in model.model_fields.items():
        if name not in set_:
            default = field.get_default(call_default_factory=True)
            yield f"# {name} = …\n" if default is None else f"# {name} = {_value(default)}\n"


def _value(value: Any) -> str:
    """A value in TOML syntax."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_value(one)}' for key, one in value.items())} }}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)
