"""Model output made safe to show: no control characters, no escape sequences, no direction tricks."""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def safe(text: str) -> str:
    """`text` without C0 and C1 controls (newline and tab stay), bidirectional controls and lone surrogates."""
    return _UNSAFE.sub("\ufffd", text)
