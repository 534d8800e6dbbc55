"""Repetition that was asked for: the text stands in the prompt, or the recorded reply has it as well."""

from __future__ import annotations

from collections.abc import Callable


class Evidence:
    """What is known besides the reply. Asked only when an alarm is about to fall, so it may be slow."""

    def __init__(
        self, prompt_contains: Callable[[str], bool] | None = None, recorded: str | None = None
    ) -> None:
        self._prompt_contains = prompt_contains
        self.recorded = recorded

    def asked_for(self, repeated: str, channel: str) -> str | None:
        """Say where the whole repeated text stands, or None. A prompt that holds fewer copies is no excuse."""
        for text in _spellings(repeated, channel):
            if self._prompt_contains is not None and self._prompt_contains(text):
                return "copied from the prompt"
            if self.recorded is not None and text in self.recorded:
                return "the recorded reply repeats it as well"
        return None


def _spellings(text: str, channel: str) -> list[str]:
    """The text, and for tool arguments also what its JSON escapes stand for."""
    if channel != "tool_arguments" or "\\" not in text:
        return [text]
    plain = text.replace("\\\\", "\0").replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    return [text, plain.replace("\0", "\\")]
