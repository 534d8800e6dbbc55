"""The judgement on one reply."""
