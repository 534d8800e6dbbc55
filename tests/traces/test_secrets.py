"""What looks like a secret, in text, in JSON and in JSON within JSON; and what only looks a little like one."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest

from replayer.traces.cleaning import Cleaner
from replayer.traces.passing import Passed
from replayer.traces.recording import Recording
from replayer.traces.schema import Fidelity, Header, OpaqueItem, Source, ToolCallItem, UserItem
from replayer.traces.secrets import found_in, redactor
from replayer.traces.summary import check
from replayer.traces.writer import TraceWriter

R = "aB3dE5fG7h"  # put together here, so that no scanner takes this file for a leak
SECRETS = {
    "sk-" + R * 4: R,
    "sk-proj-" + (R + "_-") * 4: R,
    "sk-ant-api03-" + (R + "-_") * 7: R,
    "sk-or-v1-" + "0123456789abcdef" * 4: "89abcdef",
    "sk_live_" + R * 2: R,
    "ghp_" + "a1B2" * 9: "a1B2",
    "github_pat_11ABCDEFG0" + R * 6: R,
    "glpat-" + R * 2: R,
    "hf_" + "aBcDe" * 7: "aBcDe",
    "AKIA" + "IOSFODNN7EXAMPLE": "IOSFODNN7",
    "AIza" + "SyD-" + R * 3 + "x": R,
    "xoxb-123456789012-" + R: R,
    "gsk_" + R * 5: R,
    "npm_" + R * 3 + "aB3dE5": R,
    ".".join(("eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVmN")): "dozjg",
    "-----BEGIN RSA PRIVATE "
    + "KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEow\nIB==\n-----END RSA PRIVATE KEY-----": "MIIE",
    "-----BEGIN OPENSSH PRIVATE " + "KEY-----\n" + "b3BlbnNzaC1rZXktdjEAAAAA\n" * 3: "b3Bl",
    "postgres://bob:hunter22@db.example.com/x": "hunter22",
    "redis://:s3cretpw@cache:6379/0": "s3cretpw",
    "https://h/v1?api_key=abc123def456&x=1": "abc123",
    "DB_PASSWORD=hunter2!": "hunter2",
    "export API_TOKEN='abc-123-def'": "abc-123",
    "SECRET_KEY=correcthorsebattery": "correcthorse",
    '{"password": "hunter2secret"}': "hunter2",
    "api_key: abcdef123456": "abcdef",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfi": "wJalr",
    "Authorization: Bearer abcdef1234567890abcdef": "abcdef",
    "Authorization: Basic dXNlcjpwYXNzd29yZA==": "dXNlc",
    "curl -u bob:hunter22 https://x": "hunter22",
}
HOMES = ["/home/mary/x", "/Users/mary", "C:\\Users\\mary\\x", "/mnt/c/Users/mary/x", "file:///home/mary/x"]
HOMES += [
    "c:/users/mary x/y",
    "\\\\wsl$\\Ubuntu\\home\\mary",
    "/p/.claude/projects/-home-mary-p",
    "%2Fhome%2Fmary",
]
SOUND = [
    "d41d8cd98f00b204e9800998ecf8427e",
    "550e8400-e29b-41d4-a716-446655440000",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "chatcmpl-9f8e7d6c5b4a39281706f5e4d3c2b1a0 call_00_aB3dE5fG7hJ9kL1mN3pQ5rS7",
    "disk-usage-analyzer-for-linux-systems sk-something-very-long-name-of-a-class",
    "password = os.environ['PASSWORD2']; token = get_token2()",
    "API_KEY=your-api-key-1 PASSWORD=$DB_PASSWORD2 TOKEN=<token1234>",
    "max_tokens=4096 total_tokens: 123456 eos_token: <|im_end|>",
    "http://localhost:8000/v1 ssh://git@github.com:22/x docker run -u 1000:1000",
    "src/home/components /home/user/x",
]
WRITTEN = [lambda text: text, json.dumps, lambda text: json.dumps(json.dumps(text))]


@pytest.mark.parametrize("secret", SECRETS, ids=range(len(SECRETS)))
def test_secrets_are_found_and_removed_at_any_depth_of_json(secret: str) -> None:
    redact = redactor()
    for write in WRITTEN:
        for before in ("", "a line\n", "x = '", "\t"):
            text = write(f"{before}{secret} and\nmore")
            assert list(found_in(text)), text
            clean = redact(text)
            assert SECRETS[secret] not in clean and clean.rstrip('\\"').endswith("more")
            if write is not WRITTEN[0]:
                json.loads(clean)


@pytest.mark.parametrize("path", HOMES)
def test_home_paths_lose_their_name(path: str) -> None:
    redact = redactor()
    for write in WRITTEN:
        clean = redact(write(f"in\n{path} of"))
        assert "mary" not in clean and "user" in clean


@pytest.mark.parametrize("text", SOUND)
def test_hashes_ids_and_code_are_no_secrets(text: str) -> None:
    assert redactor()(text) == text and not list(found_in(text))


def _event(**fields: object) -> str:
    return f"event: x\ndata: {orjson.dumps(fields).decode()}\n\n"


def test_a_secret_that_a_stream_cuts_in_pieces_is_removed(tmp_path: Path) -> None:
    key = next(iter(SECRETS))
    pieces = ["my key is ", key[:7], key[7:20], key[20:], ", and the other: s3same-pass", "word9 ", "ok"]
    claude = [
        _event(type="content_block_delta", index=0, delta={"type": "text_delta", "text": p}) for p in pieces
    ]
    answers = [
        _event(type="response.output_text.delta", item_id="i", output_index=0, delta=p) for p in pieces
    ]
    stream = "".join(a + b for a, b in zip(claude, answers, strict=True))
    recording = Recording(tmp_path, redactor())
    recording.add(
        Passed(
            path="/v1/messages",
            request=b'{"model":"m"}',
            status=200,
            wall=1.0,
            raw=stream.encode(),
            credentials=(b"s3same-password9",),
        )
    )
    recording.close()
    [line] = [line for line in recording.paths[0].read_text().splitlines() if '"item"' in line]
    response = json.loads(line)["record"]["response"]
    events = [json.loads(row[6:]) for row in response.splitlines() if row.startswith("data:")]
    for said in ([e["delta"]["text"] for e in events[::2]], [e["delta"] for e in events[1::2]]):
        assert "".join(said) == "my key is [redacted API key], and the other: [redacted credential] ok"


def test_short_credentials_are_removed_from_complaints_only() -> None:
    cleaner = Cleaner((b"swordfish",), None)
    assert cleaner.error("no such key: swordfish") == "no such key: [redacted credential]"
    assert cleaner.text("a swordfish swims") == "a swordfish swims"


def test_the_beginning_of_a_credential_that_a_cut_answer_ends_with_is_removed() -> None:
    cleaner = Cleaner((b"correct-horse-battery-9",), None)
    assert cleaner.text("the key is correct-horse-ba") == "the key is [redacted credential]"
    for sound in ("correct-horse races", "the key is correct"):
        assert cleaner.text(sound) == sound


def test_a_field_named_like_a_credential_is_never_written() -> None:
    body = b'{"model":"m","api_key":"sword\\"fish","messages":[{"role":"user","content":"my \\"password\\": \\"x\\""}]}'
    value, raw = Cleaner((), None).body(body)
    assert value["api_key"] == "[redacted credential]" and b"fish" not in raw
    assert value["messages"][0]["content"] == 'my "password": "x"'


def test_the_scan_looks_everywhere_a_secret_can_be(tmp_path: Path) -> None:
    path = tmp_path / "t.trace.jsonl"
    key = "ghp_" + "a1B2" * 9
    with TraceWriter(path, Header(trace_id="t", source=Source(format="x"), fidelity=Fidelity())) as writer:
        ask = writer.add_item(
            UserItem(id=0, content=({"type": "text", "text": f"use {R} or hf_{'aB' * 17}"},))
        )
        call = writer.add_item(
            ToolCallItem(id=0, call_id="c", name="write", arguments=json.dumps({"text": f"a\n{key}"}))
        )
        writer.add_item(OpaqueItem(id=0, record={"response": f"data: {{'sk-{R * 4}'}}"}))
        writer.add_turn(context=(ask,), produced=(call,), params={"extra": "redis://:s3cretpw@h/0"})
    found = [warning.split(" holds")[0] for warning in check(path).warnings if "looks like" in warning]
    assert found == ["item 0", "item 1", "item 2", "turn 0"]
