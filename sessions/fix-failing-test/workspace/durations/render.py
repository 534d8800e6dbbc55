"""Write seconds as the shortest text that `parse` reads back."""

from parse import UNITS


def render(seconds):
    parts = []
    for unit, size in UNITS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts)
