"""The simulated prefix cache against the plainest one that can be written."""

from array import array

from hypothesis import given, settings
from hypothesis import strategies as st

from replayer.simulated.cache import PrefixCache
from replayer.simulated.token_bytes import decode, encode, ids, render

prompts = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=24), min_size=1, max_size=12)


def packed(tokens):
    return array("I", tokens).tobytes()


def shared(a, b):
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@settings(max_examples=150, deadline=None)
@given(prompts, st.sampled_from([1, 2, 3, 8]))
def test_the_longest_common_prefix_in_whole_blocks_never_all_of_the_prompt(sequence, block):
    cache, seen = PrefixCache(block, 10_000), []
    for tokens in sequence:
        longest = max((min(shared(old, tokens), len(old) // block * block) for old in seen), default=0)
        expected = min(longest, len(tokens) - 1) // block * block
        assert cache.match(packed(tokens)) == expected
        assert cache.match(packed(tokens), backoff=True) == max(0, expected - block)
        cache.insert(packed(tokens))
        seen.append(tokens)


@settings(max_examples=100, deadline=None)
@given(prompts, st.sampled_from([1, 2, 4]), st.integers(0, 40))
def test_the_pool_is_never_exceeded_and_what_is_said_to_be_cached_was_seen(sequence, block, pool):
    cache, seen = PrefixCache(block, pool), []
    for tokens in sequence:
        longest = max((shared(old, tokens) for old in seen), default=0)
        assert cache.match(packed(tokens)) <= longest
        place = cache.insert(packed(tokens))
        cache.extend(place, packed([9, 9, 9]))
        seen.append([*tokens, 9, 9, 9])
        assert cache.tokens <= pool


def test_the_least_recently_used_goes_first_and_generated_tokens_are_cached():
    cache = PrefixCache(1, 20)
    place = cache.insert(packed([1] * 8))
    cache.extend(place, packed([2, 2]))
    assert cache.match(packed([1] * 8 + [2, 2, 3])) == 10
    cache.insert(packed([5] * 10))
    cache.match(packed([1] * 8 + [2, 2, 3]))
    cache.insert(packed([6] * 6))
    assert cache.match(packed([1] * 8 + [2, 2, 3])) == 10
    assert cache.match(packed([5] * 10)) == 4
    cache.clear()
    assert cache.tokens == 0 and cache.match(packed([6] * 6)) == 0


@settings(max_examples=80)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_ids_decode_to_the_exact_text(text):
    assert decode(ids(encode(text))) == text


def test_a_prompt_that_grows_by_a_message_keeps_its_tokens():
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Größe?"}]
    longer = [*messages, {"role": "assistant", "content": "Groß."}]
    assert render(longer, None).startswith(render(messages, None))
