"""Local vocabularies: GGUF and tokenizer.json give the same tokens; what cannot be used is said in one sentence."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.errors import ReplayerError
from replayer.prefix.tokenizers import Characters, load_tokenizer
from replayer.prefix.vocabulary import read_metadata

PART = Path(__file__).parents[1] / "signals" / "prefix_reuse" / "smollm2_part.tokenizer.json"
TEXT = "def f0_12(x):\n    return x+12  # <|im_end|> and  two   spaces"


def string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def value(item: Any) -> bytes:
    """A GGUF value with its type: bool, integer, text, or a list of texts or integers."""
    if isinstance(item, bool):
        return struct.pack("<I?", 7, item)
    if isinstance(item, int):
        return struct.pack("<II", 4, item)
    if isinstance(item, str):
        return struct.pack("<I", 8) + string(item)
    texts = bool(item) and isinstance(item[0], str)
    head = struct.pack("<IIQ", 9, 8 if texts else 5, len(item))
    return head + b"".join(string(x) if texts else struct.pack("<i", x) for x in item)


def gguf(path: Path, **metadata: Any) -> Path:
    pairs = b"".join(string(key.replace("__", ".")) + value(item) for key, item in metadata.items())
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(metadata)) + pairs + b"\0" * 64)
    return path


@pytest.fixture
def vocabulary(tmp_path: Path) -> Callable[..., Path]:
    """The shipped part of SmolLM2's vocabulary as a GGUF file; ids without a token are filled up."""
    part = orjson.loads(PART.read_bytes())
    ids = part["model"]["vocab"] | {token["content"]: token["id"] for token in part["added_tokens"]}
    tokens = [f"<unused {n}>" for n in range(max(ids.values()) + 1)]
    for text, number in ids.items():
        tokens[number] = text
    special = {token["id"] for token in part["added_tokens"]}
    kinds = [3 if n in special else 1 for n in range(len(tokens))]

    def make(**changed: Any) -> Path:
        metadata: dict[str, Any] = {
            "general__architecture": "llama",
            "tokenizer__ggml__add_bos_token": False,
            "tokenizer__ggml__model": "gpt2",
            "tokenizer__ggml__pre": "smollm",
            "tokenizer__ggml__tokens": tokens,
            "tokenizer__ggml__token_type": kinds,
            "tokenizer__ggml__merges": part["model"]["merges"],
        }
        return gguf(tmp_path / "model.gguf", **(metadata | changed))

    return make


def test_both_files_give_the_same_tokens(vocabulary: Callable[..., Path]) -> None:
    one = load_tokenizer(str(vocabulary()), pytest.fail)
    other = load_tokenizer(str(PART), pytest.fail)
    assert one.encode(TEXT) == other.encode(TEXT)
    assert one.decode(one.encode(TEXT)) == TEXT
    assert one.name == "model.gguf"


@settings(max_examples=60, deadline=None)
@given(text=st.text(alphabet=st.characters(codec="ascii"), max_size=60))
def test_every_text_comes_back(text: str) -> None:
    tokenizer = load_tokenizer(str(PART), pytest.fail)
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_metadata_is_read(vocabulary: Callable[..., Path]) -> None:
    data = read_metadata(vocabulary(some__number=7))
    assert (data["general.architecture"], data["some.number"]) == ("llama", 7)
    assert data["tokenizer.ggml.add_bos_token"] is False


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"tokenizer__ggml__model": "llama"}, "only byte-level BPE"),
        ({"tokenizer__ggml__pre": "martian"}, "pre-tokenizer 'martian' is not known"),
    ],
)
def test_other_vocabularies_are_refused(
    vocabulary: Callable[..., Path], changed: dict[str, Any], words: str
) -> None:
    with pytest.raises(ReplayerError, match=words):
        load_tokenizer(str(vocabulary(**changed)), pytest.fail)


@pytest.mark.parametrize("size", [0, 3, 20, 200, 4000])
def test_a_file_that_is_cut_is_refused(vocabulary: Callable[..., Path], size: int) -> None:
    path = vocabulary()
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ReplayerError, match="not a readable GGUF file"):
        load_tokenizer(str(path), pytest.fail)


def test_characters_count_characters() -> None:
    assert len(Characters().encode("aé🙂\ud800")) == 4 * 4
    assert Characters().decode(Characters().encode("aé🙂")) == "aé🙂"


def test_without_a_network_another_source_is_used_and_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def unreachable(name: str) -> tiktoken.Encoding:
        raise OSError("no route to host")

    monkeypatch.setattr(tiktoken, "get_encoding", unreachable)
    said: list[str] = []
    tokenizer = load_tokenizer("o200k_base", said.append)
    assert said == [f"the encoding o200k_base could not be fetched; counting with {tokenizer.name} instead"]
    assert tokenizer.encode("abc")
