"""Errors that services raise. Views turn them into messages; nobody else catches them."""


class RuleBroken(Exception):
    """What was asked is against a rule of the house. `str()` is a sentence for the guest."""


class NotFound(RuleBroken):
    """The thing asked for does not exist, or the asker may not know that it does."""
