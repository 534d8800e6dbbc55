"""Vocabularies of byte-level BPE models (GGUF, tokenizer.json) as tiktoken encodings."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import tiktoken

from replayer.errors import ReplayerError
from replayer.lazy import dataclass
from replayer.wire.types import Json, JsonObject

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# Digits are split off one by one before GPT-2's rule sees the rest: it then finds an end wherever a digit stood.
_SINGLE_DIGITS = r"'s|'t|'re|'ve|'m|'ll|'d|\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+"
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN2 = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
_GPT4O = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_PRE_TOKENIZERS = {
    "gpt-2": _GPT2,
    "smollm": _SINGLE_DIGITS,
    "starcoder": _SINGLE_DIGITS,
    "refact": _SINGLE_DIGITS,
    "command-r": _SINGLE_DIGITS,
    "llama-bpe": _LLAMA3,
    "llama3": _LLAMA3,
    "llama-v3": _LLAMA3,
    "qwen2": _QWEN2,
    "deepseek-r1-qwen": _QWEN2,
    "gpt-4o": _GPT4O,
}
"""GGUF `tokenizer.ggml.pre` -> how text is cut before BPE, as in llama.cpp's table of the same names."""

_CONTROL, _USER_DEFINED = 3, 4
"""GGUF token types that are matched whole."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """An encoding whose ranks are the model's token ids."""

    encoding: tiktoken.Encoding
    nfc: bool = False


def from_gguf(path: Path) -> Vocabulary:
    """Raises ReplayerError for a vocabulary that is not a byte-level BPE or is cut in an unknown way."""
    data = read_metadata(path)
    if data.get("tokenizer.ggml.model") != "gpt2":
        kind = data.get("tokenizer.ggml.model")
        raise ReplayerError(f"{path}: its vocabulary is {kind!r}, only byte-level BPE ('gpt2') can be read")
    name = str(data.get("tokenizer.ggml.pre", "gpt-2"))
    if name not in _PRE_TOKENIZERS:
        known = ", ".join(sorted(_PRE_TOKENIZERS))
        raise ReplayerError(f"{path}: its pre-tokenizer {name!r} is not known (known: {known})")
    tokens: list[str] = data["tokenizer.ggml.tokens"]
    kinds: list[int] = data.get("tokenizer.ggml.token_type") or [1] * len(tokens)
    special = {text: n for n, text in enumerate(tokens) if kinds[n] in (_CONTROL, _USER_DEFINED)}
    plain = {text: n for n, text in enumerate(tokens) if kinds[n] not in (_CONTROL, _USER_DEFINED)}
    encoding = _encoding(
        str(path), plain, data.get("tokenizer.ggml.merges", []), _PRE_TOKENIZERS[name], special
    )
    return Vocabulary(encoding)


def from_tokenizer_json(path: Path) -> Vocabulary:
    """Raises ReplayerError for a missing file, and as `from_gguf` does; LookupError, TypeError and the like for a damaged one."""
    try:
        data = orjson.loads(path.read_bytes())
        model, added = data["model"], data.get("added_tokens") or []
        if model.get("type", "BPE") != "BPE" or not isinstance(model["vocab"], dict):
            raise ReplayerError(
                f"{path}: only byte-level BPE vocabularies can be read, not {model.get('type')}"
            )
        special = {token["content"]: token["id"] for token in added}
        merges, plain = model["merges"], {t: n for t, n in model["vocab"].items() if t not in special}
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise ReplayerError(f"{path}: not a readable tokenizer.json ({error})") from None
    pattern = _pattern(path, data.get("pre_tokenizer"))
    encoding = _encoding(str(path), plain, merges, pattern, special)
    nfc = "NFC" in orjson.dumps(data.get("normalizer")).decode()
    return Vocabulary(encoding, nfc=nfc)


def _pattern(path: Path, rule: Mapping[str, Json] | None) -> str:
    """One regular expression for the pre-tokenizers that byte-level BPE models use."""
    turns = (rule or {}).get("pretokenizers") or ([rule] if rule else [])
    kinds = [turn.get("type") for turn in turns]
    splits = [turn["pattern"].get("Regex") for turn in turns if turn.get("type") == "Split"]
    byte_level = next((turn for turn in turns if turn.get("type") == "ByteLevel"), None)
    if byte_level is not None:
        cuts = byte_level.get("use_regex", True)
        if kinds == ["ByteLevel"] and cuts:
            return _GPT2
        if kinds == ["Digits", "ByteLevel"] and cuts and turns[0].get("individual_digits"):
            return _SINGLE_DIGITS
        if kinds == ["Split", "ByteLevel"] and not cuts and splits[0]:
            return str(splits[0])
    raise ReplayerError(f"{path}: its pre-tokenizer {kinds} is not known; give the model's GGUF instead")


def _encoding(
    name: str, plain: Mapping[str, int], merges: Sequence[object], pattern: str, special: Mapping[str, int]
) -> tiktoken.Encoding:
    _check_order(name, plain, merges)
    table = _byte_table()
    ranks: dict[bytes, int] = {}
    for text, number in plain.items():
        if all(character in table for character in text):
            ranks[bytes(table[character] for character in text)] = number
    spare = max([*plain.values(), *special.values()]) + 1
    for value in range(256):
        ranks.setdefault(bytes([value]), spare + value)  # bytes that no valid UTF-8 has; tiktoken wants all
    return tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=dict(special))


def _check_order(name: str, plain: Mapping[str, int], merges: Sequence[Json]) -> None:
    """tiktoken merges by the rank of the result: token ids must grow with the order of the merges."""
    last = -1
    for merge in merges:
        left, right = merge.split(" ", 1) if isinstance(merge, str) else merge
        number = plain.get(left + right, last)
        if number < last and number < len(plain) - len(merges):
            raise ReplayerError(
                f"{name}: its merges are not in the order of its token ids, which is not supported"
            )
        last = max(last, number)


def _byte_table() -> dict[str, int]:
    """GPT-2's printable stand-ins for bytes, reversed."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [value for value in range(256) if value not in printable]
    table = {chr(value): value for value in printable}
    return table | {chr(256 + n): value for n, value in enumerate(hidden)}


_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


def read_metadata(path: str | Path) -> JsonObject:
    """All key-value pairs. Raises ReplayerError when the file is missing or no GGUF file."""
    try:
        with (
            open(path, "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            return _Reader(data).metadata()
    except (OSError, ValueError, struct.error, KeyError, UnicodeDecodeError) as error:
        raise ReplayerError(f"{path}: not a readable GGUF file ({error})") from None


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 0

    def metadata(self) -> JsonObject:
        if self._data[:4] != b"GGUF":
            raise ValueError("it does not start with GGUF")
        self._at = 4
        version = self._number("I")
        if version not in (2, 3):
            raise ValueError(f"version {version}, known are 2 and 3")
        self._number("Q")
        return {self._string(): self._value(self._number("I")) for _ in range(self._number("Q"))}

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array()
        return self._number(_NUMBERS[kind])

    def _array(self) -> list[Any]:
        kind, length = self._number("I"), self._number("Q")
        if kind in _NUMBERS:
            form = struct.Struct(f"<{length}{_NUMBERS[kind]}")
            values = form.unpack_from(self._data, self._at)
            self._at += form.size
            return list(values)
        return [self._value(kind) for _ in range(length)]

    def _number(self, form: str) -> Any:
        layout = struct.Struct("<" + form)
        (value,) = layout.unpack_from(self._data, self._at)
        self._at += layout.size
        return value

    def _string(self) -> str:
        length = self._number("Q")
        if length > len(self._data) - self._at:
            raise ValueError("it is cut short")
        text = self._data[self._at : self._at + length]
        self._at += length
        return text.decode("utf-8", "surrogateescape")
