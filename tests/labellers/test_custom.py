"""Functions and classes of one's own as labellers, through the command line and in ensembles."""

import asyncio
import contextlib
import copy
import importlib
import itertools
import json
import linecache
import os
import re
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from assay.labellers.base import BaseLabeller, Estimate, Request
from assay.labellers.custom import GROUP, custom_labeller
from assay.labellers.guarded import unwrapped
from assay.model.errors import LabellerUnreachable, SettingsError
from assay.model.labels import LabellerId, Status
from assay.tasks.r2c2 import ANSWER, ENTAILMENT, AnswerUnit, EntailmentUnit
from tests.command import run_here
from tests.films import PAIRS, two_runs

MODULE = '''
from assay.labellers.base import BaseLabeller, Outcome
from assay.model.labels import LabellerId, Status


def words(task, unit):
    """Entailed if half of the nugget's words stand in the passage; an answer if gold is in it."""
    if task == "r2c2.entailment":
        there = set(unit["passage"].lower().split())
        wanted = unit["nugget"].lower().split()
        return {"entailed": sum(word in there for word in wanted) * 2 >= len(wanted)}
    if task == "r2c2.answer":
        right = any(gold.lower() in unit["answer"].lower() for gold in unit["gold"])
        count = len(unit["nuggets"])
        helps = [{"nugget": n + 1, "helped": right} for n in range(count)]
        return {"correct": right, "nuggets": helps, "reason": "gold"}
    return None


async def later(task, unit):
    return words(task, unit)


later.concurrency = 4
later.version = "7"


def odd(task, unit):
    return {"entailed": "perhaps"}


def breaks(task, unit):
    raise RuntimeError("out of ink")


class Never(BaseLabeller):
    @property
    def id(self):
        return LabellerId("never", "custom", {})

    async def label(self, request):
        return Outcome(Status.OK, request.task.verdict(entailed=False))


class NoLabeller:
    pass
'''


@pytest.fixture
def films(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "my_judges.py").write_text(MODULE)
    return two_runs(tmp_path / "films")


def assay(films, *arguments, labellers='default = "my_judges:words"', more="", path=True):
    (films / "assay.toml").write_text(
        f'[evaluation]\nprotocol = "r2c2"\n[inputs]\nquestions = "questions.tsv"\n'
        'pr_runs = ["pr/*.txt"]\nac_runs = ["ac/*.txt"]\n[settings]\nresamples = 100\n'
        f"[labellers]\n{labellers}\n{more}"
    )
    environment = {**os.environ, "PYTHONPATH": str(films.parent / "mine")} if path else None
    return run_here(arguments[0], films, *arguments[1:], env=environment)


def test_a_function_judges_an_evaluation_once(films):
    done = assay(films, "evaluate", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["labellers"]["r2c2.answer"] == "my_judges:words"
    assert document["missing"] == 0
    assert document["judging"]["unpriced"] == 0
    again = json.loads(assay(films, "evaluate", "--json").stdout)
    assert again["judging"]["asked"] == 0
    assert again["scores"] == document["scores"]


def test_another_version_of_the_function_is_asked_again(films):
    first = json.loads(assay(films, "judge", "--json").stdout)
    module = films.parent / "mine" / "my_judges.py"
    module.write_text(MODULE.replace("* 2 >=", "* 3 >="))
    again = json.loads(assay(films, "judge", "--json").stdout)
    assert first["asked"] > again["asked"] > PAIRS  # but for dialogue acts


def test_async_functions_and_classes_serve_in_an_ensemble(films):
    done = assay(
        films,
        "evaluate",
        "--json",
        labellers='default = "ensemble:jury"\nanswer = "my_judges:later"',
        more='[ensembles.jury]\nmembers = ["my_judges:later", "my_judges:Never"]\n',
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["labellers"]["r2c2.entailment"] == "ensemble:jury"
    # Ties go to the stricter: with one that always says no, nothing is entailed.
    marks = [notes["marks"] for notes in document["runs"].values()]
    assert sum(one["R"] + one["N"] for one in marks) == 0
    assert sum(one["B"] for one in marks) > 0


def test_a_verdict_that_does_not_fit_is_a_failed_label(films):
    """The same fault twenty times in a row stops the run, unless the settings say otherwise."""
    labellers = 'default = "rules"\nentailment = "my_judges:odd"'
    done = assay(films, "evaluate", labellers=labellers)
    assert done.returncode == 3
    assert "the verdict does not fit" in done.stderr
    more = "[judging]\ngive_up_after = 0\n"
    done = assay(films, "evaluate", labellers=labellers, more=more)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "failed (--retry-failed asks again" in done.stderr


def test_an_exception_ends_the_run_with_its_text(films):
    done = assay(films, "evaluate", labellers='default = "rules"\nentailment = "my_judges:breaks"')
    assert done.returncode == 3
    assert "my_judges:breaks raised RuntimeError: out of ink" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("my_judges:nobody", "has no 'nobody'"),
        ("my_judges:NoLabeller", "neither a function nor a labeller"),
        ("no_such_module:x", "cannot be imported"),
        ("no labeller", "is not a labeller"),
    ],
)
def test_objects_that_are_not_labellers_are_refused(films, spec, why):
    done = assay(films, "evaluate", labellers=f'default = "{spec}"')
    assert done.returncode == 2
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_cannot_bring_code_along(films):
    (films / "my_judges.py").write_text(MODULE)
    done = assay(films, "evaluate", path=False)
    assert done.returncode == 2
    assert "cannot be imported" in done.stderr


def test_impossible_ensembles_are_refused(films):
    cases = {
        "": "[ensembles.jury] is missing",
        '[ensembles.jury]\nmembers = ["rules", "rules"]': "names a member twice",
        '[ensembles.jury]\nmembers = ["rules"]\nrule = "weighted"': "needs weights",
        '[ensembles.jury]\nmembers = ["rules"]\nweights = [1.0, 2.0]': "one weight per member",
        '[ensembles.jury]\nmembers = ["rules"]\nsamples = 3': "gives the same answer each time",
        '[ensembles.jury]\nmembers = ["ensemble:jury"]': "is an ensemble",
        '[ensembles.jury]\nmembers = ["rules"]\nrule = "loudest"': "rule",
        '[ensembles.jury]\nmembers = ["rules"]': "cannot do r2c2.entailment",
    }
    for more, why in cases.items():
        done = assay(films, "evaluate", labellers='default = "ensemble:jury"', more=more)
        assert done.returncode == 2, (more, done.stderr)
        assert why in done.stderr.replace("\n", " "), (more, done.stderr)


def test_entry_points_are_specs(monkeypatch):
    point = EntryPoint("mine", "json:loads", GROUP)
    monkeypatch.setattr("assay.labellers.custom.entry_points", lambda _: EntryPoints([point]))
    assert custom_labeller("mine").id.name == "mine"
    assert custom_labeller("other") is None
    with pytest.raises(SettingsError, match="cannot be imported"):
        custom_labeller("nowhere.at_all:x")


def test_a_package_that_is_installed_meanwhile_is_found(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for number, name in enumerate(("early", "late")):
        assert custom_labeller(name) is None
        package = tmp_path / f"{name}-1.dist-info"
        package.mkdir()
        (package / "METADATA").write_text(f"Name: {name}\n")
        (package / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = json:loads\n")
        os.utime(tmp_path, (number, number))  # clocks of disks are coarse
        assert custom_labeller(name).id.name == name


def test_the_example_of_the_documentation(films):
    page = (Path(__file__).parents[2] / "docs" / "labellers.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (films.parent / "mine" / "my_judges.py").write_text(code)
    done = assay(
        films,
        "judge",
        "--labeller",
        "my_judges:overlap",
        labellers='default = "rules"',
    )
    assert done.returncode == 1, done.stderr  # it has no word on the answers
    stats = json.loads(run_here("labels", "stats", films, "--json").stdout)
    assert ("r2c2.entailment", "my_judges:overlap", "ok", PAIRS) in [
        (row["task"], row["labeller"], row["status"], row["labels"]) for row in stats
    ]


HEAD = """
import asyncio
import functools
import sys
from assay.labellers.base import BaseLabeller, Estimate, Outcome
from assay.model.errors import LabellerUnreachable, SettingsError
from assay.model.labels import LabellerId, Status

class Mine(BaseLabeller):
    id = LabellerId("mine", "custom", {})
    async def label(self, request):
        return Outcome(Status.OK, request.task.verdict(entailed=True))
"""
REQUEST = Request(ENTAILMENT, EntailmentUnit(passage="It rains in Kyoto.", nugget="It rains."))
_number = itertools.count()


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module with this text and return its name."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(text, name=None):
        name = name or f"judges_{next(_number)}"
        (tmp_path / f"{name}.py").write_text(HEAD + text)
        for cache in (sys.modules, linecache.cache):
            for known in [one for one in cache if one.endswith((name, f"{name}.py"))]:
                del cache[known]
        importlib.invalidate_caches()
        return name

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return write


def said(labeller, request=REQUEST):
    async def ask():
        async with labeller:
            return await labeller.label(request)

    return asyncio.run(ask())


@pytest.mark.parametrize(
    "text",
    [
        "class f:\n async def __call__(self, task, unit):\n  return {'entailed': True}\n",
        (
            "async def g(task, unit):\n await asyncio.sleep(0)\n return {'entailed': True}\n"
            "def f(task, unit):\n return g(task, unit)\n"
        ),
        "async def g(x, task, unit):\n return {'entailed': x}\nf = functools.partial(g, True)",
        "class G:\n async def judge(self, task, unit):\n  return {'entailed': True}\nf = G().judge",
        "class G:\n def __call__(self, task, unit):\n  return {'entailed': True}\nf = G()",
    ],
    ids=["async-call", "returns-awaitable", "async-partial", "async-method", "instance"],
)
@pytest.mark.filterwarnings("error")
def test_awaitable_results_of_functions_are_awaited(module, text):
    outcome = said(custom_labeller(f"{module(text)}:f"))
    assert outcome.status is Status.OK
    assert outcome.verdict.entailed is True


CALLABLES = {
    "class": "class f:\n def __call__(self, task, unit):\n  return CHANGES\n",
    "parent": "class g:\n def __call__(self, task, unit):\n  return CHANGES\nclass f(g):\n pass\n",
    "partial": "def g(mode, task, unit):\n return CHANGES\nf = functools.partial(g, 1)\n",
    "bound": "def g(mode, task, unit):\n return None\nf = functools.partial(g, 'CHANGES')\n",
    "partial-of-class": "class g:\n def __call__(self, mode, task, unit):\n  return CHANGES\n"
    "f = functools.partial(g(), 1)\n",
    "version": "class f:\n version = 'CHANGES'\n def __call__(self, task, unit):\n  pass\n",
    "wrapped-version": "def g(mode, task, unit):\n pass\ng.version = 'CHANGES'\n"
    "f = functools.partial(g, 1)\n",
    "no-source": "f = eval('lambda task, unit: None')\nf.version = 'CHANGES'\n",
}


@pytest.mark.parametrize("text", CALLABLES.values(), ids=CALLABLES)
def test_the_version_of_a_callable_is_its_attribute_or_its_source(module, text):
    def identity(change):
        name = module(text.replace("CHANGES", change), "versioned")
        return custom_labeller(f"{name}:f").id

    assert identity("11") == identity("11")
    assert identity("11") != identity("22")
    assert identity("11").params["version"] != "unknown"


def test_an_explicit_version_overrides_the_source(module):
    name = module(
        "def f(task, unit):\n return None\nf.version = '3'\n"
        "p = functools.partial(f, x=1)\np.version = '4'\n"
        "class g:\n version = '5'\n def __call__(self, task, unit):\n  return None\n"
    )
    versions = [custom_labeller(f"{name}:{each}").id.params["version"] for each in "fpg"]
    assert versions == ["3", "4", "5"]


def test_a_version_does_not_depend_on_memory_addresses(module):
    text = "def g(client, task, unit):\n pass\nf = functools.partial(g, object(), {1: object()})\n"
    one, two = (custom_labeller(f"{module(text, 'addressed')}:f").id for _ in range(2))
    assert one == two


CHANGERS = {
    "function": "def f(task, unit):\n unit['golds'].clear()\n unit['nuggets'][0] = 'x'\n"
    " unit.clear()\n",
    "async": "async def f(task, unit):\n unit['nuggets'].clear()\n unit.clear()\n",
    "class": "class f(Mine):\n async def label(self, request):\n"
    "  request.content['nuggets'].clear()\n  request.content.clear()\n",
}


@pytest.mark.parametrize("text", CHANGERS.values(), ids=CHANGERS)
def test_changes_to_the_unit_do_not_reach_the_ledger(module, text):
    unit = AnswerUnit(question="Who?", answer="Mifune.", gold=["Mifune"], nuggets=["one", "two"])
    request = Request(ANSWER, unit)
    before = copy.deepcopy(dict(request.content))
    with contextlib.suppress(LabellerUnreachable):
        said(custom_labeller(f"{module(text.replace('golds', 'gold'))}:f"), request)
    assert request.content == before
    assert request.unit_hash == Request(ANSWER, unit).unit_hash


def _class(body):
    return "class f(Mine):\n" + body


UNMADE = {
    "id is no LabellerId": (_class(" id = 'mine'\n"), "not a LabellerId"),
    "params are no JSON": (
        _class(" id = LabellerId('mine', 'custom', {'at': object()})\n"),
        "not JSON",
    ),
    "params have other keys": (_class(" id = LabellerId('mine', 'custom', {1: 2})\n"), "not JSON"),
    "params are no mapping": (_class(" id = LabellerId('mine', 'custom', [1])\n"), "params"),
    "no name": (_class(" id = LabellerId('', 'custom', {})\n"), "name or kind"),
    "id raises": (
        _class(" @property\n def id(self):\n  raise AttributeError('model')\n"),
        "its 'id' raised AttributeError: model",
    ),
    "id is a method": (_class(" def id(self):\n  pass\n"), "not a LabellerId"),
    "__init__ raises": (
        _class(" def __init__(self):\n  raise OSError('no weights')\n"),
        "raised OSError: no weights",
    ),
    "__init__ leaves": (_class(" def __init__(self):\n  sys.exit(4)\n"), "raised SystemExit: 4"),
    "__init__ needs": (_class(" def __init__(self, model):\n  pass\n"), "needs arguments"),
    "factory needs": ("def f(model):\n pass\nf.makes_labeller = True\n", "needs arguments"),
    "factory is async": ("async def f():\n pass\nf.makes_labeller = True\n", "is async"),
    "factory makes nothing": ("def f():\n pass\nf.makes_labeller = True\n", "neither a function"),
    "no id": ("class f(BaseLabeller):\n async def label(self, request):\n  pass\n", "missing: id"),
    "concurrency 0": (_class(" concurrency = 0\n"), "'concurrency' is 0"),
    "concurrency text": (_class(" concurrency = '4'\n"), "'concurrency' is '4'"),
    "concurrency True": (_class(" concurrency = True\n"), "'concurrency' is True"),
    "concurrency of a function": (
        "def f(task, unit):\n pass\nf.concurrency = -1\n",
        "'concurrency' is -1",
    ),
    "version of a function": ("def f(task, unit):\n pass\nf.version = [1]\n", "'version' is [1]"),
    "a built-in function": ("f = print\n", "Set its attribute 'version'"),
    "no source": ("f = eval('lambda task, unit: None')\n", "Set its attribute 'version'"),
    "partial without source": ("f = functools.partial(print, 1)\n", "Set its attribute 'version'"),
    "class without source": (
        "f = type('f', (), {'__call__': eval('lambda self, task, unit: None')})\n",
        "Set its attribute 'version'",
    ),
    "SyntaxError": ("def f(:\n", "SyntaxError"),
    "raises at import": ("f = 1 / 0\n", "raised ZeroDivisionError"),
    "AttributeError at import": ("f = sys.nothing\n", "raised AttributeError"),
    "leaves at import": ("sys.exit('usage: f')\n", "must not exit the program"),
}


@pytest.mark.parametrize(("text", "why"), UNMADE.values(), ids=UNMADE)
@pytest.mark.filterwarnings("error")
def test_a_labeller_that_cannot_be_made_is_named(module, text, why):
    spec = f"{module(text)}:f"
    with pytest.raises(SettingsError) as caught:
        custom_labeller(spec)
    assert spec in str(caught.value)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def f(:\n", "SyntaxError"),
        ("f = 1 / 0\n", "raised ZeroDivisionError"),
        ("sys.exit()\n", "raised SystemExit"),
        ("import nowhere.at_all\n", "cannot be loaded"),
        ("g = 1\n", "cannot be loaded"),
    ],
)
def test_an_entry_point_that_cannot_be_loaded_is_reported(module, monkeypatch, text, why):
    point = EntryPoint("mine", f"{module(text)}:f", GROUP)
    monkeypatch.setattr("assay.labellers.custom.entry_points", lambda _: EntryPoints([point]))
    with pytest.raises(SettingsError, match=f"(?s)'mine'.*{why}"):
        custom_labeller("mine")


def test_the_place_of_an_error_in_a_module_is_named(module):
    name = module("\n\nf = 1 / 0\n")
    line = (HEAD + "\n\nf").count("\n") + 1
    with pytest.raises(SettingsError, match=rf"\({name}\.py, line {line}\)"):
        custom_labeller(f"{name}:f")


def test_the_place_of_an_error_in_a_function_is_its_own_line(module):
    name = module("import json\ndef f(task, unit):\n return json.loads('{')\n")
    line = HEAD.count("\n") + 3
    with pytest.raises(LabellerUnreachable, match=rf"JSONDecodeError.*\({name}\.py, line {line}\)"):
        said(custom_labeller(f"{name}:f"))


def _returns(outcome):
    return _class(f" async def label(self, request):\n  return {outcome}\n")


OK = "Status.OK, request.task.verdict(entailed=True)"
WRONG = {
    "not async": (_class(" def label(self, request):\n  return None\n"), "Write 'async def label'"),
    "a dict": (_returns("{'entailed': True}"), "an Outcome or None"),
    "OK without a verdict": (_returns("Outcome(Status.OK)"), "no verdict"),
    "failed with a verdict": (
        _returns("Outcome(Status.FAILED, request.task.verdict(entailed=True), 'e')"),
        "failed Outcome with a verdict",
    ),
    "failed without error": (_returns("Outcome(Status.FAILED)"), "without an error"),
    "a word for a status": (_returns("Outcome('ok')"), "Status.OK or Status.FAILED"),
    "a dict for a verdict": (_returns("Outcome(Status.OK, {'entailed': 1})"), "request.task.verd"),
    "a text for a cost": (_returns(f"Outcome({OK}, cost='1')"), "cost = '1'"),
    "a cost that is no number": (_returns(f"Outcome({OK}, cost=float('nan'))"), "cost = nan"),
    "tokens below 0": (_returns(f"Outcome({OK}, tokens_in=-1)"), "tokens_in = -1"),
    "detail": (_returns(f"Outcome({OK}, detail={{'a': object()}})"), "detail that is not JSON"),
    "opening": (
        _class(" async def __aenter__(self):\n  raise OSError('no door')\n"),
        "'__aenter__' raised OSError: no door",
    ),
    "closing": (
        _class(" async def __aexit__(self, *_):\n  raise OSError('no door')\n"),
        "'__aexit__' raised OSError: no door",
    ),
}


@pytest.mark.parametrize(("text", "why"), WRONG.values(), ids=WRONG)
@pytest.mark.filterwarnings("error")
def test_a_malformed_outcome_is_reported(module, text, why):
    spec = f"{module(text)}:f"
    with pytest.raises(SettingsError) as caught:
        said(custom_labeller(spec))
    assert spec in str(caught.value)
    assert why in str(caught.value)


RAISES = {
    "class": _class(" async def label(self, request):\n  raise KeyError('x')\n"),
    "class, before it awaits": _class(" def label(self, request):\n  raise KeyError('x')\n"),
    "function": "def f(task, unit):\n raise KeyError('x')\n",
    "async": "async def f(task, unit):\n raise KeyError('x')\n",
    "awaitable": "async def g():\n raise KeyError('x')\ndef f(task, unit):\n return g()\n",
}


@pytest.mark.parametrize(
    ("raised", "why"),
    [
        ("KeyError('x')", "raised KeyError: 'x'"),
        ("SystemExit(3)", "raised SystemExit: 3"),
        ("next(iter(()))", "raised (StopIteration|RuntimeError: coroutine raised StopIteration)"),
    ],
)
@pytest.mark.parametrize("text", RAISES.values(), ids=RAISES)
def test_an_exception_while_labelling_is_unreachable(module, text, raised, why):
    name = module(text.replace("KeyError('x')", raised))
    with pytest.raises(LabellerUnreachable, match=rf"^{name}:f {why}"):
        said(custom_labeller(f"{name}:f"))


@pytest.mark.parametrize("text", RAISES.values(), ids=RAISES)
def test_assays_own_errors_pass_through(module, text):
    name = module(text.replace("KeyError('x')", "SettingsError('Put paper in.')"))
    with pytest.raises(SettingsError, match=r"^Put paper in\.$"):
        said(custom_labeller(f"{name}:f"))


@pytest.mark.parametrize(
    ("member", "body"),
    [
        ("refusal", "return 3"),
        ("rendered", "return 'text'"),
        ("preview", "return 'text'"),
        ("preview", "return ({'role': 'user'},)"),
        ("estimate", "return 0.5"),
        ("estimate", "raise KeyError('price')"),
        ("estimate", "sys.exit(1)"),
    ],
)
def test_all_of_the_protocol_is_checked(module, member, body):
    spec = f"{module(_class(f' def {member}(self, _):{chr(10)}  {body}{chr(10)}'))}:f"
    labeller = custom_labeller(spec)
    with pytest.raises(SettingsError, match=f"'{spec}': its '{member}' (returned|raised)"):
        getattr(labeller, member)(ENTAILMENT if member == "refusal" else REQUEST)


def test_a_verdict_of_a_class_that_does_not_fit_the_unit_is_a_failed_label(module):
    verdict = (
        "request.task.verdict(correct=True, reason='', nuggets=[{'nugget': 9, 'helped': True}])"
    )
    unit = AnswerUnit(question="Who?", answer="Mifune.", gold=["Mifune"], nuggets=["one"])
    labeller = custom_labeller(f"{module(_returns(f'Outcome(Status.OK, {verdict}, cost=0.5)'))}:f")
    outcome = said(labeller, Request(ANSWER, unit))
    assert (outcome.status, outcome.verdict, outcome.cost) == (Status.FAILED, None, 0.5)
    assert "does not fit" in outcome.error


def test_faults_of_a_verdict_are_listed_or_counted(module):
    nuggets = [{"nugget": "x"} for _ in range(3)]
    body = f"def f(task, unit): return {{'correct': True, 'reason': '', 'nuggets': {nuggets}}}"
    unit = AnswerUnit(question="Who?", answer="Mifune.", gold=["Mifune"], nuggets=["one"])
    outcome = said(custom_labeller(f"{module(body)}:f"), Request(ANSWER, unit))
    assert outcome.error.count("field 'nuggets.") == 3
    assert outcome.error.endswith("; and 3 more")


def test_a_guarded_labeller_answers_as_before_and_can_be_unwrapped(module):
    name = module(
        "class f(Mine):\n"
        " id = LabellerId('mine', 'custom', {'pair': (1, 2)})\n"
        " price = 3\n concurrency = 7\n varies = True\n"
        " def refusal(self, task):\n  return 'not that'\n"
        " def rendered(self, request):\n  return b'asked'\n"
        " def preview(self, request):\n  return [{'role': 'user', 'content': 'Is it?'}]\n"
        " def estimate(self, request):\n  return Estimate(2)\n"
        " async def __aexit__(self, *_):\n  return True\n"
    )
    labeller = custom_labeller(f"{name}:f")
    assert isinstance(unwrapped(labeller), BaseLabeller)
    assert (labeller.price, labeller.concurrency, labeller.varies) == (3, 7, True)
    assert getattr(labeller, "members", None) is None
    assert labeller.id == LabellerId("mine", "custom", {"pair": [1, 2]})  # as the ledger has it
    assert labeller.id is labeller.id
    assert labeller.refusal(ENTAILMENT) == "not that"
    assert labeller.rendered(REQUEST) == b"asked"
    assert labeller.preview(REQUEST) == ({"role": "user", "content": "Is it?"},)
    assert labeller.estimate(REQUEST) == Estimate(2)
    assert said(labeller).status is Status.OK

    async def leave():
        async with labeller:
            raise ValueError("heard")

    with pytest.raises(ValueError, match="heard"):  # it cannot silence what happens around it
        asyncio.run(leave())


def test_a_class_with_nothing_to_open_needs_no_context_manager(module):
    members = "concurrency = 1\n varies = False\n id = Mine.id\n"
    methods = "refusal = rendered = preview = estimate = lambda *_: None\n label = Mine.label\n"
    assert said(custom_labeller(f"{module(f'class f:{chr(10)} {members} {methods}')}:f"))


BROKEN = {
    "class_raises": (RAISES["class"], 3, "raised KeyError: 'x'"),
    "quits": ("def f(task, unit):\n sys.exit(0)\n", 3, "raised SystemExit: 0"),
    "quits_later": ("async def f(task, unit):\n sys.exit(0)\n", 3, "raised SystemExit: 0"),
    "empty_outcome": (WRONG["OK without a verdict"][0], 2, "no verdict"),
    "bad_syntax": ("def f(:\n", 2, "SyntaxError"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_ends_a_run_without_a_traceback(films, name):
    text, status, why = BROKEN[name]
    (films.parent / "mine" / f"{name}.py").write_text(HEAD + text)
    done = assay(films, "judge", labellers=f'default = "rules"\nentailment = "{name}:f"')
    assert done.returncode == status, done.stderr
    assert why in done.stderr
    assert f"{name}:f" in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
