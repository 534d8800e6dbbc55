"""Two results of the same work are equivalent whatever the clock, the address space and mktemp did."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.tools.compare import compare, normalised

EQUIVALENT = {
    "unittest": ("Ran 3 tests in 0.001s\n\nOK", "Ran 3 tests in 0.014s\n\nOK"),
    "pytest": ("===== 2 passed in 0.12s =====", "====== 2 passed in 1.02s ======"),
    "address": ("<object at 0x7f12ab34cd56>", "<object at 0x55d0c0ffee00>"),
    "clock": ("at 2026-11-21T03:04:05.123Z ok", "at 2025-01-02 03:04:05+00:00 ok"),
    "ls": ("-rw-r--r-- 1 u u 6 Nov 21 04:00 a", "-rw-r--r-- 1 u u 6 Jan  3 11:59 a"),
    "ls, old": ("-rw-r--r-- 1 u u 6 Nov 14  2023 a", "-rw-r--r-- 1 u u 6 Jan  3 11:59 a"),
    "date": ("Sat Nov 21 04:00:00 UTC 2026", "Mon Jan  5 14:00:00 UTC 2026"),
    "mktemp": ("/tmp/tmp.aB3xY9kLm1 made", "/tmp/tmp.Qw8rT2uIo0 made"),
    "time": ("real\t0m0.004s", "real\t0m1.204s"),
    "node": ("ℹ duration_ms 296.831226", "ℹ duration_ms 1564.6"),
    "a session key": ("key = '8v5cm8qpdejl611f6vmm2wvlgnswr96d'", "key = 'qtp1zzcc3kcu1lk4d9665fgtbgr92sye'"),
    "git": ("commit 1f2e3d4c5b6a7988", "commit 0a9b8c7d6e5f4321"),
    "git commit": ("[main 1a2b3c4] fix", "[main 9f8e7d6] fix"),
    "diff": ("index 83db48f..bf2a1c0 100644", "index 0000000..1111111 100644"),
    "blanks at the end": ("a  \nb\n", "a\nb"),
}
DIFFERENT = {
    "a count": ("Ran 3 tests in 0.001s", "Ran 4 tests in 0.001s"),
    "a result": ("OK", "FAILED"),
    "a size": ("-rw-r--r-- 1 u u 6 Nov 21 04:00 a", "-rw-r--r-- 1 u u 7 Nov 21 04:00 a"),
    "a line": ("a\nb", "a\n\nb"),
    "a number": ("line 12", "line 13"),
    "a version": ("Python 3.11.2", "Python 3.11.7"),
    "a small hexadecimal number": ("0x1f", "0x2f"),
}


@pytest.mark.parametrize("name", EQUIVALENT)
def test_equivalent(name):
    assert compare(*EQUIVALENT[name]) == "equivalent"


@pytest.mark.parametrize("name", DIFFERENT)
def test_different(name):
    assert compare(*DIFFERENT[name]) == "different"


@settings(max_examples=200)
@given(st.text(max_size=200))
def test_a_text_is_the_same_as_itself_and_normalising_it_twice_changes_nothing(text):
    assert compare(text, text) == "same"
    assert normalised(normalised(text)) == normalised(text)


def test_long_lines_are_compared_quickly():
    assert compare("tmp/" * 50_000, "0" * 200_000) == "different"
