"""Read durations as people write them: "90m", "1h 30m", "1.5h"."""

import re

UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
PART = re.compile(r"(\d+)\s*([dhms])")


def parse(text):
    """Seconds in `text`. Raises ValueError when it is no duration."""
    text = text.strip().lower()
    parts = PART.findall(text)
    if not parts:
        raise ValueError(f"not a duration: {text!r}")
    return sum(int(number) * UNITS[unit] for number, unit in parts)
