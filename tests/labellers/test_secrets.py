"""What is a secret by its name or looks, and what is none; errors hold no key, however written."""

import html
import json
import random
import string
import time
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

import pytest

from assay.labellers.forms import error_message
from assay.labellers.transport import Reply
from assay.model.secrets import excerpt, looks_secret, redact_keys, secret_in
from tests.engine.server import serve


def _words(text):
    return text.split()


SECRET_NAMES = [
    *_words("""
api_key api-key apiKey APIKEY ApiKey API_KEY x_api_key X-Api-Key xApiKey openai_api_key apikey2
api.key hf_token hfToken token access_token accessToken accesstoken refresh_token id-token
bot_token authorization Authorization Proxy-Authorization bearer bearer_token auth authtoken
passwd password Password pwd db_pwd dbpassword pass passphrase passcode client_secret clientSecret
clientsecret secret secrets credentials credential creds session session_id sessionToken cookie
Set-Cookie private_key ssh_key signing-key encryption_key aws_secret_access_key AWS_ACCESS_KEY_ID
subscription-key github_pat jwt oauth_token sas keys azure_key connection_string dsn root_password
ＡＰＩ＿ＫＥＹ
"""),
    *("API KEY", "api key", "client secret", "access token", " password "),
]
OTHER_NAMES = _words("""
max_tokens max_completion_tokens min_tokens token_limit tokenizer tokenizer_mode eos_token
pad_token stop_token_ids skip_special_tokens tokens tokens_in total_tokens token_count top_k
prompt_cache_key sort_key primary_key foreign_key partition_key key_field keyword keywords monkey
author authors passage passages bypass compass seed logit_bias model temperature response_format
session_affinity keyboard tokenize secretary signature_size first_token cookiecutter author_id
pattern path patience user stop n best_of reasoning_effort public_key keyframes tool_choice
""")
SECRETS = r"""
sk-abcdefghijklmnop1234
sk-proj-Ab12_cd34-Ef56gh78ij90
sk-ant-api03-Ab12cd34Ef56gh78ij90-AA
sk-or-v1-0123456789abcdef0123456789abcdef
sk_live_4eC39HqLyjWDarjtT1zdp7dc
hf_AbCdEfGhIjKlMnOpQrSt
ghp_0123456789abcdefghijABCDEFGHIJ012345
gho_16C7e42F292c6912E7710c838347Ae178B4a
github_pat_11ABCDEFG0abcdefghijkl_0123456789
xoxb-123456789012-abcdefGHIJKL
xoxp-12345678901-abcdefGHIJKL
xapp-1-A012-34567-abcdef
AKIAIOSFODNN7EXAMPLE
ASIAIOSFODNN7EXAMPLE
AIzaSyA-1234567890abcdefghijklmnopqrstu
glpat-Ab12cd34Ef56gh78ij90
gsk_Ab12cd34Ef56gh78ij90
nvapi-Ab12cd34Ef56gh78ij90
ya29.a0AfB_byC1234567890abcdefg
npm_Ab12cd34Ef56gh78ij90Ab12cd34Ef56gh78
pypi-AgEIcHlwaS5vcmcCJDAx
pplx-0123456789abcdefghij
r8_Ab12cd34Ef56gh78ij90
xai-Ab12cd34Ef56gh78ij90
eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc
Bearer abcdefgh12345678
bearer  AbCdEfGhIj
Basic dXNlcjpwYXNzd29yZA==
Authorization: token-of-mine
x-api-key: abcdefgh
api_key=hunter2hunter2
"password": "hunter2"
-----BEGIN RSA PRIVATE KEY-----
-----BEGIN PRIVATE KEY-----
-----BEGIN OPENSSH PRIVATE KEY-----
-----BEGIN PGP PRIVATE KEY BLOCK-----
http://user:hunter2@judge.example/v1
http://user:hun ter2@judge.example/v1
http://user:hun@ter2@judge.example/v1
http://user:hun/ter2@judge.example/v1
https://token-alone@judge.example/v1
https://judge.example/v1 user:hunter2@judge.example
user:hunter2@judge.example
user:hunter2@localhost:8000
postgresql://me:pw@db/labels
0123456789abcdef0123456789abcdef
0123456789ABCDEF0123456789ABCDEF01234567
q8Xv2LmN5rTz9BwK3jHf7PdS
Zk3_9fQ-x7Lm2_Wd8-Rt5Yb1_Nc6Vh4-Jg0Sp
k3j9x2m7q1z8w4v6b5n0p3r9t2y7u1i8
""".strip().splitlines()
NO_SECRETS = r"""
meta-llama/Llama-3.3-70B-Instruct-Turbo-FP8
Qwen/Qwen3-235B-A22B-Instruct-2507-GPTQ-Int4-Int8Mix
Qwen3-30B-A3B-Thinking-2507-UD-Q4_K_XL.gguf
Qwen2.5-0.5B-Instruct-Q4_K_M.gguf
DeepSeek-R1-Distill-Qwen-32B-Q5_K_S-00001-of-00002.gguf
nvidia/Llama-3_3-Nemotron-Super-49B-v1_5-FP8
nvidia/Llama-3.1-Nemotron-70B-Instruct-HF
TheBloke/Mixtral-8x7B-Instruct-v0.1-GPTQ-4bit-128g-actorder_True
RedHatAI/Mistral-Small-3.2-24B-Instruct-2506-quantized.w4a16
unsloth/gpt-oss-120b-GGUF-UD-Q4_K_XL-MXFP4_MOE
accounts/fireworks/models/deepseek-v3p1-terminus
accounts/fireworks/models/qwen3-235b-a22b-instruct-2507
ft:gpt-4o-mini-2024-07-18:my-org:custom:AbC12dEf
anthropic.claude-3-5-sonnet-20241022-v2:0
arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-3
publishers/google/models/gemini-2.0-flash-001@default
claude-sonnet-4@20250514
@cf/meta/llama-3.1-8b-instruct
llama3.1:8b-instruct-q4_K_M
llama3:8b@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
models--x/snapshots/0123456789abcdef0123456789abcdef01234567/model.gguf
blobs/sha256-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
org/model@0123456789abcdef0123456789abcdef01234567
revision 0123456789abcdef0123456789abcdef01234567
550e8400-e29b-41d4-a716-446655440000
sk-learn and task-oriented dialogue
sk-learn-contrib-imbalanced-package
https://api.together.xyz/v1
http://localhost:8000/v1
http://[::1]:8000/v1
http://10.0.0.1:8000/v1 and a mail to me@judge.example
mailto:someone@judge.example
someone@judge.example
https://medium.com/@someone/a-story
hf_transfer
hf-internal-testing/tiny-random-LlamaForCausalLM
antidisestablishmentarianism
recorded/labels-2026-11-23T06-00-00.jsonl
/home/me/evaluations/2026/r2c2-slide-01/recorded.jsonl
sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2
intfloat/e5-mistral-7b-instruct
<|start_header_id|>assistant<|end_header_id|>
Answer with the key facts; a token is a word.
A password is asked for.
assay_labellers.company_judge:JudgeWithManyOptions
12345678901234567890123456789012
gpt-4.1-2025-04-14
glm-4.5-Air-106B-A12B-instruct-fp8
voyage-3.5-large-2025-06-26
o4-mini-deep-research-2025-06-26
microsoft/Phi-3.5-MoE-instruct-onnx-int4-awq-block-128
""".strip().splitlines()
KEY = "sk-Ab+/12=xyz/Q~é9"


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_entries_with_secret_names_are_refused(name):
    assert secret_in({"a": [{name: "v"}]}) == name


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_entries_with_harmless_names_are_accepted(name):
    assert secret_in({"a": [{name: "v"}]}) is None


@pytest.mark.parametrize("text", SECRETS)
def test_texts_that_look_like_secrets_are_refused(text):
    assert looks_secret(text)
    assert secret_in({"note": [{"inner": f"see {text} there"}]}) == "inner"
    assert secret_in({text: 1}) == ""


@pytest.mark.parametrize("text", NO_SECRETS)
def test_texts_that_do_not_look_like_secrets_are_accepted(text):
    assert not looks_secret(text)
    assert secret_in({"model": text}) is None


@pytest.mark.parametrize(
    "value",
    [
        {"headers": [["Authorization", "me"]]},
        {"headers": [{"name": "X-Api-Key", "value": "me"}]},
        {"password": 1234},
    ],
)
def test_secrets_in_pairs_and_numbers(value):
    assert secret_in(value) is not None


@pytest.mark.parametrize(
    "value",
    [
        {"token": 5},
        {"auth": False},
        {"api_key": None},
        {"revision": "0f" * 20},
        {"sha": "0f" * 32},
    ],
)
def test_numbers_digests_and_none_are_not_secrets(value):
    assert secret_in(value) is None


def test_random_texts_of_every_alphabet_are_recognised():
    draw = random.Random(7)
    letters = string.ascii_letters + string.digits
    for alphabet, length in (
        (letters, 32), (letters, 48), (f"{letters}-_", 43), (string.hexdigits[:16], 40),
        (string.ascii_lowercase + string.digits, 40),
    ):  # fmt: skip
        made = ["".join(draw.choices(alphabet, k=length)) for _ in range(400)]
        assert sum(map(looks_secret, made)) >= 0.94 * len(made), alphabet


@pytest.mark.parametrize(
    "written",
    [
        KEY,
        KEY.upper(),
        KEY.lower(),
        quote(KEY, safe=""),
        quote(quote(KEY, safe=""), safe=""),
        "".join(f"%{byte:02X}" for byte in KEY.encode()),
        json.dumps(KEY)[1:-1],
        html.escape(KEY).replace("=", "&#61;"),
        KEY.encode().hex(),
    ],
)
def test_every_spelling_of_a_key_is_redacted_in_errors(written):
    assert redact_keys(f"a {written} b", [KEY]) == "a [key] b"


def test_keys_with_a_common_prefix_are_redacted_completely():
    keys = [KEY + "tail" * length for length in range(10)]
    assert redact_keys(f"a {keys[-1]} b", keys) == "a [key] b"


@pytest.mark.parametrize("before", ["", "u", "me", "user:", "Bearer "])
@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
def test_keys_in_base64_are_redacted(before, encode):
    coded = encode(f"{before}{KEY}:rest".encode()).decode()
    shown = redact_keys(f"Basic {coded}", [KEY])
    assert "[key]" in shown
    assert not any(coded[at : at + 8] in shown for at in range(8, 20))


@pytest.mark.parametrize("start", range(270, 305))
def test_a_shortened_error_does_not_end_in_half_a_key(start, monkeypatch):
    key = "sk-0123456789-abcdefghij"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    text = "x" * start + key
    for body in (text, json.dumps({"error": text})):
        assert "sk-" not in error_message(Reply(401, body.encode(), {}))
    assert "sk-" not in excerpt(text)


def test_searching_hostile_texts_for_secrets_is_fast():
    started = time.process_time()
    for part in (
        "sk-", "sk-a", "eyJ-", "eyJa.", "://", "://a:", "a:", "a:b@", "bearer ", "-----BEGIN ",
        "0f", "Ab1-", "Ab1", "password:", "password ", "sha256:", "@", "a@", "user:a ", "[", "- ",
    ):  # fmt: skip
        looks_secret(part * (100_000 // len(part)) + "!")
        excerpt(part * (100_000 // len(part)), ["sk-" + "a" * 160])
    assert time.process_time() - started < 10


LABEL = {
    "task": "r2c2.entailment",
    "unit": {"passage": "p", "nugget": "n"},
    "verdict": {"entailed": "YES", "reason": "so"},
}
WHO = [
    {"name": "openai:m", "kind": "model", "params": {"extra": {"api_key": "hunter2hunter2"}}},
    {"name": "openai:m", "kind": "model", "params": {"note": "sk-abcdefghijklmnop1234"}},
    {"name": "openai:m@https://me:hunter2hunter2@judge.example", "kind": "model"},
    "recorded:sk-abcdefghijklmnop1234",
]


@pytest.mark.parametrize("who", WHO)
def test_labels_of_a_labeller_with_a_secret_are_not_imported(assay, slide, tmp_path, who):
    path = tmp_path / "labels.jsonl"
    path.write_text(json.dumps({**LABEL, "labeller": who}))
    done = assay("labels", "import", slide, path)
    assert done.returncode == 2
    assert "labels.jsonl:1" in done.stderr.replace("\n", "")
    assert "contains a secret" in done.stderr
    written = b"".join(path.read_bytes() for path in slide.glob("labels.sqlite*")).decode("latin-1")
    for secret in ("hunter2", "abcdefghijkl"):
        assert secret not in done.stderr + written


@pytest.mark.parametrize("who", WHO)
def test_recorded_labels_of_a_labeller_with_a_secret_are_refused(assay, slide, who):
    path = slide / "recorded.jsonl"
    path.write_text(path.read_text() + json.dumps({**LABEL, "labeller": who}))
    done = assay("judge", slide)
    assert done.returncode == 2
    assert "contains a secret" in done.stderr
    assert not any(secret in done.stderr for secret in ("hunter2", "abcdefghijkl"))


@pytest.mark.parametrize("spec", ["recorded:{}.jsonl", "embedded:{}", "./{}.gguf", "{}:judge"])
def test_a_spec_with_a_secret_is_refused(assay, slide, spec):
    done = assay("judge", slide, "--labeller", spec.format("sk-abcdefghijklmnop1234"))
    assert done.returncode == 2
    assert "looks like a key" in done.stderr
    assert "abcdefghijkl" not in done.stderr
    assert not (slide / "labels.sqlite").exists()


def test_a_server_that_echoes_a_key_in_another_spelling(assay, slide):
    key = "sk-live/0123456789+abc"
    spellings = (quote(key, safe=""), b64encode(key.encode()).decode(), key.upper())
    said = {"error": {"message": " ".join(("no such key:", *spellings, "x" * 200, key))}}
    with serve(lambda body, number: (401, said)) as server:
        done = assay(
            "judge", slide, "--labeller", f"openai:m@{server.url}", env={"OPENAI_API_KEY": key}
        )
    assert done.returncode == 3
    assert "no such key: [key] [key]" in " ".join(done.stderr.split())
    assert not any(part in done.stderr for part in (*(s[:16] for s in spellings), key[:9]))
