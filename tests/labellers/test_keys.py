"""Keys go where they belong, are never looked for in what a model says, and stand in no file."""

import asyncio
import json
import re
import shutil
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.labellers.http import HttpTransport
from assay.labellers.keys import key_for
from assay.labellers.transport import PostRequest, TransportError
from assay.model.errors import SettingsError
from assay.model.secrets import redact_keys
from tests.engine.server import completion, serve

HTTPS = "https://judge.example/v1"


@pytest.fixture
def env(monkeypatch):
    """Sets environment variables, after removing all that hold keys or name hosts."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ASSAY_TRUSTED_HOSTS"):
        monkeypatch.delenv(name, raising=False)
    return lambda **values: [monkeypatch.setenv(*each) for each in values.items()]


def test_the_key_of_a_host_is_sent_only_to_that_host(env):
    env(ASSAY_JUDGE_EXAMPLE_API_KEY="own-key-1", OPENAI_API_KEY="general-1")
    assert key_for(HTTPS, "m", named=False) == "own-key-1"
    assert key_for("https://other.example/v1", "m", named=True) == "general-1"
    # Its variable is the same, but the host is somebody else's.
    with pytest.raises(SettingsError, match="judge-example"):
        key_for("https://judge-example/v1", "m", named=False)


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "ASSAY_M_API_KEY"])
def test_a_general_key_is_sent_to_trusted_hosts(env, variable):
    env(**{variable: "general-1"})
    assert key_for("https://api.openai.com/v1", "m", named=False) == "general-1"
    for host in ("127.0.0.1", "localhost", "[::1]"):  # whose port it is, who knows
        assert key_for(f"http://{host}:8000/v1", "m", named=False) is None
        assert key_for(f"http://{host}:8000/v1", "m", named=True) == "general-1"
    for host in ("judge.example", "api.openai.com.evil.example", "evil-api.openai.com"):
        with pytest.raises(SettingsError) as caught:
            key_for(f"https://{host}/v1", "m", named=False)
        assert host in str(caught.value)
        assert variable in str(caught.value)
        assert "general-1" not in str(caught.value)
        assert key_for(f"https://{host}/v1", "m", named=True) == "general-1"
        own = re.search(f"call {host} without a key, set (\\w+) to an empty", str(caught.value))[1]
        trusted = re.findall(f"value and add ({host}) to (\\w+)", str(caught.value))
        env(**{own: ""}, **{variable: host for host, variable in trusted})
        assert key_for(f"https://{host}/v1", "m", named=False) is None


@pytest.mark.parametrize(
    ("entry", "host"),
    [
        ("https://judge.example", "judge.example"),
        ("https://judge.example:8000/v1", "judge.example"),
        ("JUDGE.Example:8000", "judge.example."),
        ("judge.example.", "judge.example"),
        ("  judge.example , other.example ", "JUDGE.EXAMPLE"),
        ("[fd00::1]", "[fd00::1]:8000"),
        ("fd00::1", "[fd00:0:0::1]"),
        ("[fd00:0::1]:8000", "[fd00::1]"),
        ("http://[fd00::1]:8000/v1", "[FD00::1]"),
        ("10.0.0.7", "10.0.0.7:443"),
    ],
)
def test_trusted_hosts_can_be_written_in_several_ways(env, entry, host):
    env(OPENAI_API_KEY="general-1", ASSAY_TRUSTED_HOSTS=entry)
    assert key_for(f"https://{host}/v1", "m", named=False) == "general-1"
    with pytest.raises(SettingsError, match="named only in a file"):
        key_for("https://evil.example/v1", "m", named=False)


@pytest.mark.parametrize(
    "entry",
    ["*", "*.example", "judge example", "judge..example", "me:hunter2@judge.example", "[::1"],
)
def test_a_malformed_trusted_host_is_reported_without_being_shown(env, entry):
    env(OPENAI_API_KEY="general-1", ASSAY_TRUSTED_HOSTS=f"judge.example, {entry}")
    with pytest.raises(
        SettingsError, match=r"entry 2 is not a host. .*judge\.example, 10"
    ) as caught:
        key_for("https://evil.example/v1", "m", named=False)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "place",
    [
        *("a..b", ".a", "[::1]x", "[::1", "", "a b", "a%zz.example", "%31%32", "bücher.example"),
        *("☃", "\ud800", "a\tb", "a\x00b", "127.1", "256.1.1.1", "h:99999", "h:-1", "h:x"),
        *("x" * 64, "a。b", "[]"),
    ],
)
def test_an_address_that_cannot_be_one_is_told(place):
    with pytest.raises(SettingsError, match="is not valid"):
        key_for(f"http://{place}/v1", "m", named=True)


def test_addresses_that_yarl_refuses_cause_no_traceback():
    async def post(url):
        transport = HttpTransport()
        try:
            await transport.post(PostRequest(url, {}, b"{}", 1.0))
        finally:
            await transport.close()

    with pytest.raises(TransportError):
        asyncio.run(post("http://a..b/v1"))


def test_what_makes_a_host_trusted(env):
    env(OPENAI_API_KEY="general-1", ASSAY_TRUSTED_HOSTS="other.example, judge.example:8000")
    assert key_for(HTTPS, "m", named=False) == "general-1"
    env(ASSAY_TRUSTED_HOSTS="", OPENAI_BASE_URL=HTTPS)
    assert key_for(HTTPS, "m", named=False) == "general-1"


def test_no_key_is_sent_over_plain_http_to_another_machine(env):
    env(OPENAI_API_KEY="general-1")
    assert key_for("http://judge.example/v1", "m", named=True) is None
    env(ASSAY_JUDGE_EXAMPLE_API_KEY="own-key-1")
    with pytest.raises(SettingsError, match="plain http"):
        key_for("http://judge.example/v1", "m", named=True)
    env(ASSAY_JUDGE_EXAMPLE_API_KEY="")  # none is wanted, whoever names the host
    assert key_for("http://judge.example/v1", "m", named=False) is None


def test_hosts_are_called_without_a_key_if_there_is_none(env):
    assert key_for(HTTPS, "m", named=False) is None


def judged_by(folder, spec, more=""):
    path = folder / "assay.toml"
    lines = path.read_text().splitlines()
    at = lines.index("[labellers]") if "[labellers]" in lines else None
    if at is not None:
        end = next((n for n in range(at + 1, len(lines)) if lines[n].startswith("[")), len(lines))
        del lines[at:end]
    labellers = [f"[labellers]\ndefault = {json.dumps(spec)}", more]
    path.write_text("\n".join([*lines, *labellers]) + "\n")


def test_a_host_that_only_the_folder_names_gets_no_key(assay, slide):
    judged_by(slide, "openai:m@https://judge.example/v1")
    done = assay("judge", slide, env={"OPENAI_API_KEY": "sk-general-1"})
    assert done.returncode == 2
    assert "judge.example" in done.stderr
    assert "OPENAI_API_KEY" in done.stderr
    assert "sk-general-1" not in done.stderr


def test_each_address_of_a_model_gets_its_own_key(assay, slide):
    with serve(lambda body, number: completion("no verdict")) as server:
        port = server.url.partition("127.0.0.1:")[2]
        judged_by(slide, f"openai:m@{server.url}@http://localhost:{port}")
        assay("judge", slide, env={"ASSAY_127_0_0_1_API_KEY": "own-key-1"})
    sent = {(each["Host"].split(":")[0], each.get("Authorization")) for each in server.headers}
    assert sent == {("127.0.0.1", "Bearer own-key-1"), ("localhost", None)}


@pytest.mark.parametrize("key", ["none", "treaty policy"])
def test_replies_of_models_are_not_redacted(assay, slide, key):
    def script(body, number):
        schema = body["response_format"]["json_schema"]["schema"]
        said = {name: sample(one, schema) for name, one in schema["properties"].items()}
        return completion(json.dumps(said))

    def sample(one, schema):
        one = schema.get("$defs", {}).get(one.get("$ref", "").rpartition("/")[2], one)
        if "enum" in one:
            return one["enum"][-1]
        if one.get("type") == "array":
            return []
        if one.get("type") == "integer":
            return one.get("minimum", 0)
        return "A treaty policy of none, x: yes, entailed."

    with serve(script) as server:
        labels = []
        for number, given in enumerate((key, "another-key")):
            folder = shutil.copytree(slide, slide.with_name(f"slide{number}"))
            judged_by(folder, f"openai:m@{server.url}")
            assay("judge", folder, env={"OPENAI_API_KEY": given})
            exported = folder / "labels.jsonl"
            assay("labels", "export", folder, "-o", exported)
            rows = map(json.loads, exported.read_text().splitlines())
            told = ("task", "unit", "status", "verdict", "reason")
            labels.append({json.dumps([row.get(name) for name in told]) for row in rows})
    assert labels[0] == labels[1]
    assert labels[0]


def test_a_key_that_a_server_repeats_is_in_no_message_and_no_report(assay, slide):
    key = "sk-live-0123456789"
    with serve(lambda body, number: completion(f"Your key is {key}")) as server:
        judged_by(slide, f"openai:m@{server.url}")
        done = assay("evaluate", slide, env={"OPENAI_API_KEY": key})
    assert key not in done.stdout + done.stderr
    for path in slide.rglob("*"):
        if path.is_file():
            assert key.encode() not in path.read_bytes(), path


def test_the_password_of_a_proxy_is_in_no_message(assay, slide):
    judged_by(slide, "openai:m@http://judge.example/v1")
    heard = b64encode(b"kim:hush-hush-1").decode()
    with serve(lambda body, number: (401, {"error": f"no {heard}"})) as server:
        place = server.url.removeprefix("http://").removesuffix("/v1")
        done = assay("judge", slide, env={"http_proxy": f"http://kim:hush%2Dhush-1@{place}"})
    assert server.headers[0]["Proxy-Authorization"] == f"Basic {heard}"
    assert "HTTP 401: no [key]" in done.stderr
    for wrong in ("http://kim:hush#hush@127.0.0.1:9", "kim:hush/hush@127.0.0.1:9"):
        done = assay("doctor", slide, env={"http_proxy": wrong})
        assert "does not answer" in done.stdout
        assert "hush" not in done.stdout + done.stderr


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ASSAY_MINE_API_KEY"])
def test_every_key_in_the_environment_is_redacted(monkeypatch, assay, name):
    monkeypatch.setenv(name, "k0123456789abcdef")
    assert redact_keys("said k0123456789abcdef") == "said [key]"
    said = assay("doctor", env={name: "k0123456789abcdef"}).stdout
    assert name in said
    assert "k0123456789abcdef" not in said


@given(st.text(min_size=1, max_size=7), st.text(max_size=200))
def test_short_keys_are_not_redacted(key, text):
    assert redact_keys(text, [key]) == text


@pytest.mark.parametrize("value", ['{ note = "sk-abcdefghijklmnop1234" }', '{ hf_token = "a" }'])
def test_secrets_in_the_settings_are_refused_before_anything_is_written(assay, slide, value):
    judged_by(slide, "rules", f"[judging]\nextra = {value}")
    done = assay("evaluate", slide)
    assert done.returncode == 2
    assert "abcdefghijklmnop" not in done.stderr
    assert not (slide / "labels.sqlite").exists()


@pytest.mark.parametrize(
    "spec",
    [
        "openai:sk-abcdefghijklmnop1234@https://judge.example/v1",
        "openai:m@https://judge.example/hf_AbCdEfGhIjKlMnOpQrSt/v1",
        "openai:m@https://me:hunter2@judge.example/v1",
    ],
)
def test_a_secret_in_a_spec_is_refused_and_not_repeated(assay, slide, spec):
    done = assay("judge", slide, "--labeller", spec)
    assert done.returncode == 2
    assert not any(part in done.stderr for part in ("abcdefghijkl", "AbCdEfGh", "hunter2"))
    assert not (slide / "labels.sqlite").exists()
