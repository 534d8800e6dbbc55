"""A text that is painted only where it has changed: laying a screen out costs more than all else on it."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static


class Quiet(Static):
    """`paint` instead of `update`: nothing where the content is the same, no layout where it has as many lines."""

    def __init__(self, classes: str | None = None) -> None:
        super().__init__(markup=False, classes=classes)
        self._painted: Content | None = None

    def paint(self, content: Content) -> None:
        """`content` fits the width, so that its lines are its height."""
        before, self._painted = self._painted, content
        if before is None:
            self.update(content)
        elif not content.is_same(before):
            self.update(content, layout=content.plain.count("\n") != before.plain.count("\n"))
