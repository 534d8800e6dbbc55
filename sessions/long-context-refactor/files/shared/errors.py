"""Errors that the departments share."""


class BadInput(ValueError):
    """What came from outside makes no sense. `str()` can be shown to who sent it."""
