"""Makes `smollm2_part.tokenizer.json`: the part of SmolLM2's vocabulary (Apache-2.0) that the captured runs need.

A text tokenizes with the part exactly as with the whole, because every merge that the whole makes on it is kept.
Run it again when captures are added: python tests/signals/prefix_reuse/reduce_vocabulary.py MODEL.gguf
"""

import importlib.util
import json
import sys
from itertools import pairwise
from pathlib import Path

import orjson
import regex  # comes with tiktoken

from replayer.prefix import vocabulary
from replayer.prefix.vocabulary import read_metadata


def reduce(gguf: Path, texts: list[str]) -> dict[str, object]:
    data = read_metadata(gguf)
    tokens, kinds = data["tokenizer.ggml.tokens"], data["tokenizer.ggml.token_type"]
    ids = {text: number for number, text in enumerate(tokens)}
    ranks = {tuple(merge.split(" ", 1)): n for n, merge in enumerate(data["tokenizer.ggml.merges"])}
    special = {text: ids[text] for text, kind in zip(tokens, kinds, strict=True) if kind == 3}
    letters = {value: letter for letter, value in vocabulary._byte_table().items()}
    cut = regex.compile(vocabulary._SINGLE_DIGITS)
    split = regex.compile("|".join(map(regex.escape, special)))
    words = {word for text in texts for part in split.split(text) for word in cut.findall(part)}
    merges: set[tuple[str, str]] = set()
    used = {letter for letter in letters.values() if letter in ids}
    for word in words:
        pieces = [letters[byte] for byte in word.encode()]
        while pairs := [(ranks[p], p) for p in pairwise(pieces) if p in ranks]:
            best = min(pairs)[1]
            merges.add(best)
            used.add("".join(best))
            merged: list[str] = []
            for piece in pieces:
                if merged and (merged[-1], piece) == best:
                    merged[-1] += piece
                else:
                    merged.append(piece)
            pieces = merged
    return {
        "added_tokens": [
            {"id": number, "content": text, "special": True} for text, number in special.items()
        ],
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Digits", "individual_digits": True},
                {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
            ],
        },
        "model": {
            "type": "BPE",
            "vocab": {text: ids[text] for text in sorted(used, key=lambda text: ids[text])},
            "merges": [" ".join(merge) for merge in sorted(merges, key=lambda merge: ranks[merge])],
        },
    }


def captured_texts() -> list[str]:
    """Every prompt and reply of `test_captures.py`, rendered as there."""
    spec = importlib.util.spec_from_file_location(
        "test_captures", Path(__file__).with_name("test_captures.py")
    )
    assert spec and spec.loader
    captured = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(captured)
    texts = []
    for run, (_, names, _) in captured.RUNS.items():
        for name in names:
            sent = json.loads((captured.CAPTURES / run / f"{name}.request.json").read_bytes())
            texts.append(captured.rendered(run, sent))
            texts.append(captured.reply(captured.CAPTURES / run / f"{name}.response.sse")[0])
    return texts


if __name__ == "__main__":
    out = Path(__file__).with_name("smollm2_part.tokenizer.json")
    out.write_bytes(
        orjson.dumps(reduce(Path(sys.argv[1]), captured_texts()), option=orjson.OPT_INDENT_2) + b"\n"
    )
