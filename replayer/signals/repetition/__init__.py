"""Repetition collapse, caught while a reply streams, on the client's side and on any engine, and loops over turns.

Method, figures and limits: `docs/repetition.md`.
"""
