from durations.parse import parse
from durations.render import render

__all__ = ["parse", "render"]
