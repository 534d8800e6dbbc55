"""Repetition that was asked for: the text stands in the prompt, or the recorded reply has it as well."""

from __future__ import annotations

from collections.abc import Callable

from replayer.signals.repetition.masks import template_of


class Evidence:
    """What is known besides the reply. Asked only when an alarm is about to fall, so it may be slow."""

    def __init__(
        self, prompt_contains: Callable[[str], bool] | None = None, recorded: str | None = None
    ) -> None:
        self._prompt_contains = prompt_contains
        self._recorded = recorded

    def asked_for(self, repeated: str, channel: str) -> str | None:
        """Say where the whole repeated text stands, or None. A prompt that holds fewer copies does not excuse it."""
        for text in _spellings(repeated, channel):
            if self._prompt_contains is not None and self._prompt_contains(text):
                return "copied from the prompt"
            if self._recorded is not None and text in self._recorded:
                return "the recorded reply repeats it as well"
        return None

    def unwanted(self, unit: str, length: int) -> bool:
        """Whether the recorded reply speaks against `length` characters built from one template.

        It does when they alone outgrow the whole recorded reply twice over and that reply has less than three
        lines of the template. Without a recording nothing can be said.
        """
        if self._recorded is None or length < 2 * len(self._recorded):
            return False
        return template_of(self._recorded).count(unit.strip()) < 3


def _spellings(text: str, channel: str) -> list[str]:
    """The text, and for tool arguments also what its JSON escapes stand for (from blank to blank, lest one be cut)."""
    if channel != "tool_arguments" or "\\" not in text:
        return [text]
    start, end = text.find(" ") + 1, text.rfind(" ")
    plain = text[start : end if end > start else None].replace("\\\\", "\0")
    for escape, meant in (("\\n", "\n"), ("\\t", "\t"), ('\\"', '"')):
        plain = plain.replace(escape, meant)
    return [text, plain.replace("\0", "\\")]
