"""Other load generators under the same load, and what they report of each request."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORDS = 40
"""Of each prompt."""


@dataclass(frozen=True)
class Observed:
    """One request as a client saw it. `text` begins with the server's number for it."""

    text: str
    ttft_ms: float | None
    itl_ms: list[float]
    marked: bool = False
    deltas: int = 0


def tokenizer(folder: Path) -> Path:
    """A tokenizer that needs no download: words. The peers want one to count with."""
    path = folder / "tokenizer"
    path.mkdir()
    vocabulary = {"[UNK]": 0, "[EOS]": 1, **{f"w{number}": number + 2 for number in range(1000)}}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
    whole = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": model,
    }
    (path / "tokenizer.json").write_text(json.dumps(whole))
    (path / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "unk_token": "[UNK]",
                "eos_token": "[EOS]",
                "model_max_length": 100000,
            }
        )
    )
    return path


def run(
    kind: str,
    command: Sequence[str],
    load: Any,
    url: str,
    folder: Path,
    whole: Callable[..., Any],
) -> tuple[Any, list[Observed]]:
    """Raises KeyError for a kind that is not known."""
    build, read, offline = {
        "vllm": (
            _vllm,
            _of_vllm,
            {"HF_HUB_OFFLINE": "1", "VLLM_TARGET_DEVICE": "empty", "HOME": str(folder)},
        ),
        "aiperf": (_aiperf, _of_aiperf, {}),  # offline it does not take a tokenizer's folder
    }[kind]
    ran = whole([*command, *build(load, url, folder)], offline)
    return ran, list(read(folder))


def _vllm(load: Any, url: str, folder: Path) -> list[str]:
    words = tokenizer(folder)
    model = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}
    (words / "config.json").write_text(json.dumps(model))
    prompts = folder / "prompts.jsonl"
    line = {"prompt": " ".join(f"w{n}" for n in range(WORDS)), "output_tokens": load.deltas}
    prompts.write_text("".join(json.dumps(line) + "\n" for _ in range(load.turns)))
    return (
        f"bench serve --backend openai-chat --base-url {url.removesuffix('/v1')} --endpoint /v1/chat/completions "
        f"--model m --tokenizer {words} --dataset-name custom --dataset-path {prompts} "
        f"--custom-output-len {load.deltas} --skip-chat-template --num-prompts {load.turns} "
        f"--max-concurrency {load.streams} --disable-tqdm --ready-check-timeout-sec 0 "
        f"--save-result --save-detailed --result-dir {folder} --result-filename vllm.json"
    ).split()


def _of_vllm(folder: Path) -> Iterator[Observed]:
    path = folder / "vllm.json"
    if path.exists():
        found = json.loads(path.read_text())
        rows = zip(found["generated_texts"], found["ttfts"], found["itls"], strict=True)
        for text, ttft, itls in rows:
            yield Observed(text, ttft * 1e3, [gap * 1e3 for gap in itls])


def _aiperf(load: Any, url: str, folder: Path) -> list[str]:
    return (
        f"profile --model m --url {url.removesuffix('/v1')} --endpoint-type chat --streaming --concurrency {load.streams} "
        f"--request-count {load.turns} --tokenizer {tokenizer(folder)} --synthetic-input-tokens-mean {WORDS} "
        f"--output-tokens-mean {load.deltas} --use-server-token-count --no-gpu-telemetry --no-server-metrics "
        f"--workers-max 2 --ui none --export-level raw --artifact-dir {folder / 'aiperf'}"
    ).split()


def _of_aiperf(folder: Path) -> Iterator[Observed]:
    """The raw records hold each event with its own stamp."""
    for path in folder.glob("aiperf/**/*raw*.jsonl"):
        for line in path.read_text().splitlines():
            one = json.loads(line)
            stamps: list[int] = []
            texts: list[str] = []
            for event in one.get("responses", ()):
                for packet in event.get("packets", ()):
                    if packet.get("name") == "data" and packet.get("value", "").startswith("{"):
                        choices = json.loads(packet["value"]).get("choices") or [{}]
                        if text := choices[0].get("delta", {}).get("content"):
                            texts.append(text)
                            stamps.append(event["perf_ns"])
            if stamps:
                gaps = [(after - before) / 1e6 for before, after in itertools.pairwise(stamps)]
                yield Observed("".join(texts), (stamps[0] - one["start_perf_ns"]) / 1e6, gaps)
