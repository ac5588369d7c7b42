"""Prompt templates of a folder that somebody sends: whatever they do ends, with a message."""

from __future__ import annotations

import os

import pytest

from assay.model import confined
from assay.model.errors import SettingsError
from assay.tasks.registry import REGISTRY
from assay.tasks.rendering import Renderer

TASK = REGISTRY["r2c2.entailment"]
UNIT = TASK.unit(passage="A passage ☃ \ud800", nugget="a nugget")
TEMPLATE = """{{% block system %}}{{{{ passage }}}}{{% endblock %}}

{{% block user %}}
{}
{{% endblock %}}
"""


@pytest.fixture
def render(tmp_path):
    def rendered(text, name="r2c2_entailment.j2"):
        prompts = tmp_path / "prompts"
        prompts.mkdir(exist_ok=True)
        (prompts / name).write_text(TEMPLATE.format(text))
        return Renderer(prompts).chat(TASK, UNIT)

    return rendered


def test_a_template_that_does_no_harm_is_rendered(render):
    loop = "{% for n in range(3) %}{{ n }}{% endfor %}"
    system, user = render(loop + '{{ nugget | fence("N") }}{{ [passage] | numbered }}')
    assert system == {"role": "system", "content": UNIT.passage}
    assert user["content"] == "012<<<N\na nugget\nN>>>1. A passage ☃ \ud800"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{% for i in range(10**9) %}x{% endfor %}", "OverflowError"),
        ("{{ 'a' * 10**10 }}", "MemoryError"),
        ("{{ '%1000000000d' | format(1) }}", "MemoryError"),
        ("{{ '{:>10000000000}'.format('a') }}", "MemoryError"),
        ("{{ 'a' | center(10**10) }}", "MemoryError"),
        ("{% for i in range(90000) %}{{ 'a' * 1000 }}{% endfor %}", "16 million characters"),
        ("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "RecursionError"),
        ("{% include 'r2c2_entailment.j2' %}", "RecursionError"),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "RecursionError"),
        ("{{ 1 / 0 }}", "line 4, fails: ZeroDivisionError"),
        ("{{ passage + 1 }}", "line 4, fails: TypeError"),
        ("\n\n{{ nothing }}", "line 6, fails: 'nothing' is undefined"),
        ("{{ 10.0**400 }}", "line 4, fails: OverflowError"),
        ("{{ passage | no_filter }}", "line 4, fails: No filter named"),
        ("{% if %}", "line 4, fails: Expected an expression"),
        ("{{ ''.__class__.__mro__ }}", "line 4, fails: access to attribute '__class__'"),
        ("{% set x = [] %}{{ x.append(1) }}", "line 4, fails: access to attribute 'append'"),
        ("x" * 2_000_000, "larger than 1 MB"),
    ],
    ids=lambda text: text[:20],
)
def test_what_a_template_does_wrong_is_told(render, text, why):
    with pytest.raises(SettingsError) as caught:
        render(text)
    assert why in str(caught.value)
    assert "r2c2_entailment.j2" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}",
        "{% set n=namespace(x=1) %}{% for i in [1]*60 %}{% set n.x=[n.x,n.x] %}{%endfor%}{{n.x}}",
        "{{ 9 ** 9 ** 9 }}{{ lipsum(10**7) }}",
    ],
)
def test_one_that_takes_too_long_is_ended(render, monkeypatch, text):
    with monkeypatch.context() as patched:
        patched.setattr(confined.ConfinedFunction.__init__, "__defaults__", (0.4,))
        with pytest.raises(SettingsError, match=r"r2c2_entailment.j2 takes longer than 0.4 s"):
            render(text)
    assert render("fine")[1]["content"] == "fine"  # the next one has a process again


def test_on_a_mac_that_takes_no_limit_of_memory_templates_are_rendered(
    render, tmp_path, monkeypatch
):
    (tmp_path / "mac").mkdir()
    (tmp_path / "mac" / "resource.py").write_text(
        "RLIMIT_AS = 5\ndef setrlimit(*_):\n    raise ValueError('current limit exceeds maximum')\n"
    )
    monkeypatch.syspath_prepend(tmp_path / "mac")
    assert render("fine")[1]["content"] == "fine"


def test_a_template_that_is_no_file_is_not_waited_for(render, tmp_path):
    (tmp_path / "prompts").mkdir()
    os.mkfifo(tmp_path / "prompts" / "part.txt")
    with pytest.raises(SettingsError, match=r"part.txt is not a regular file"):
        render("{% include 'part.txt' %}")


def test_nor_is_one_in_a_folder(assay, slide):
    (slide / "prompts").mkdir()
    os.mkfifo(slide / "prompts" / "r2c2_entailment.j2")
    done = assay("judge", slide)
    assert done.returncode == 2
    assert "is not a regular file" in done.stderr


def test_no_input_of_a_folder_is_waited_for(assay, slide):
    (slide / "questions.tsv").unlink()
    os.mkfifo(slide / "questions.tsv")
    done = assay("score", slide)
    assert done.returncode == 2
    assert "questions.tsv" in done.stderr
