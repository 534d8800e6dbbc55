"""One picture of a collapse: novelty of words over a reply, with onset and alarm."""

from __future__ import annotations

from pathlib import Path

from repetition_corpus import Sample


def draw(sample: Sample, path: Path) -> None:
    raise NotImplementedError
