"""A tenth set: 52 families of what served models write when they degenerate, in 18 languages and 15 scripts.

Committed before version 12 of the detector was made and before any of its rules was read. The families are those that people
report of quantised models, greedy decoding, wrong rope scaling, faults of speculative decoding and lost stop tokens in the work of
coding agents: narration of edits, ranges of lines, hypotheses that take turns, recounts, closing tags, leaked calls, members
and accessors that count on, output of a terminal that nobody ran. `onset` is the first character of the second copy, or of the
degenerate part. Sound texts of the same forms are in `repetition_tenth_sound.py`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count, cycle
from typing import Literal

from benchmarks import repetition_tenth_code as code
from benchmarks.repetition_loops import Loop
from benchmarks.repetition_tenth_code import Draw, Pieces, pool
from benchmarks.repetition_tenth_words import FILES, NAMES, VOICES

SEED = "tenth"
Channel = Literal["text", "reasoning", "code"]


def edit_narration(rng: random.Random, said: list[str]) -> Pieces:
    file = rng.choice(FILES)
    turn = [
        f"The old_string was not found in `{file}`. ",
        f"Let me re-read `{file}` to see the exact text. ",
        "Now I can see the exact indentation. ",
        "Let me apply the edit with the correct whitespace.\n\n",
    ]
    if rng.random() < 0.5:
        turn.insert(2, "I see, the file uses tabs instead of spaces. ")
    return f"I'll update the handler in `{file}` so that it closes the socket.\n\n", cycle(turn), len(turn)


def hypotheses(rng: random.Random, said: list[str]) -> Pieces:
    one, two = rng.sample(
        (
            "the cache that returns a stale entry",
            "the race in the worker pool",
            "the default argument that is shared between calls",
            "the time zone of the test machine",
            "the order of the migrations",
        ),
        2,
    )
    joints = ("But no, ", "Hmm, but ", "Wait, ", "Actually, ", "However, ")
    return (
        "The test fails only in CI, so the cause has to be in the environment and not in the code itself. Two things differ there.\n\n",
        pool(
            rng,
            [
                f"so it must be {one}. ",
                f"so it must be {two}. ",
                f"that would not explain why it passes locally if it was {one}. ",
                f"it cannot be {two}, because the lock is held. ",
            ],
            joints,
        ),
        4,
    )


def recount(rng: random.Random, said: list[str]) -> Pieces:
    word = rng.choice(("strawberry", "mississippi", "bookkeeper", "parallel"))
    letters = ", ".join(word)
    joints = (
        "Wait, let me recount. ",
        "Hmm, let me count again. ",
        "Let me double-check. ",
        "Let me be careful. ",
    )
    counts = [f"{letters}. That's {rng.randint(7, 12)} letters. " for _ in range(3)]
    return f"The user asks how many letters are in '{word}'. ", pool(rng, counts, joints), 2


def celebration(rng: random.Random, said: list[str]) -> Pieces:
    signs = rng.sample("🎉 🎊 🥳 👏🏽 🙌🏻 💃🏾 👨‍👩‍👧‍👦 ❤️‍🔥 🇯🇵 🇧🇷 🏆 ⭐".split(), 6)
    return "All 24 tests pass and the build is green. Great work! ", pool(rng, signs, ("", " ")), 6


def instruction(rng: random.Random, said: list[str]) -> Pieces:
    ask, answer = rng.sample(said, 2)
    first, second = rng.choice(
        (
            ("### Instruction:", "### Response:"),
            ("<|user|>", "<|assistant|>"),
            ("[INST]", "[/INST]"),
            ("Human:", "Assistant:"),
        )
    )
    return f"{said[-1]}\n\n", cycle([f"{first}\n{ask}\n\n", f"{second}\n{answer}\n\n"]), 2


def phrasebook(rng: random.Random, said: list[str]) -> Pieces:
    words = rng.sample(
        [
            "hola (OH-lah) – hello",
            "gracias (GRAH-see-ahs) – thank you",
            "por favor (por fah-VOR) – please",
            "buenos días (BWEH-nos DEE-ahs) – good morning",
            "adiós (ah-DYOHS) – goodbye",
            "sí (see) – yes",
        ],
        5,
    )
    return "Here are useful phrases for the trip:\n\n", pool(rng, [f"- {one}\n" for one in words]), 5


def widening_row(rng: random.Random, said: list[str]) -> Pieces:
    cells = rng.sample(("vLLM", "SGLang", "Yes", "No", "N/A", "FP8", "BF16", "TP=2"), 4)
    return (
        "Here is how the two engines compare:\n\n| Feature | vLLM | SGLang |\n|---|---|---|\n| KV cache | ",
        pool(rng, cells, (" | ",)),
        4,
    )


def chorus(rng: random.Random, said: list[str]) -> Pieces:
    refrain = f"[Chorus]\n{said[0]}\n{said[1]}\n\n"
    verse = f"{said[2]}\n{said[3]}\n\n"
    return f"[Verse 1]\n{verse}{refrain}", (f"[Verse {n}]\n{verse}{refrain}" for n in count(2)), 0


def postscripts(rng: random.Random, said: list[str]) -> Pieces:
    one = rng.choice(said)
    return f"{said[0]}\n\nBest,\nAnna\n\n", ("P." * n + f"S. {one}\n\n" for n in count(1)), 1


def boxed(rng: random.Random, said: list[str]) -> Pieces:
    number = rng.randint(3, 90)
    says = [
        f"The final answer is: $\\boxed{{{number}}}$\n\n",
        f"Therefore, the answer is $\\boxed{{{number}}}$. I hope it is correct.\n\n",
        f"So the final answer is $\\boxed{{{number}}}$.\n\n",
    ]
    return f"Adding the two halves gives {number}, since the odd terms cancel.\n\n", pool(rng, says), 3


def endless_steps(rng: random.Random, said: list[str]) -> Pieces:
    acts = rng.sample(
        (
            "Test the application.",
            "Deploy the application.",
            "Monitor the application.",
            "Fix any remaining issues.",
            "Update the documentation.",
            "Review the code.",
        ),
        rng.randint(4, 6),
    )
    return (
        "Step 1: Create a virtual environment.\nStep 2: Install the dependencies.\n",
        (f"Step {n}: {acts[n % len(acts)]}\n" for n in count(3)),
        len(acts),
    )


def passes(rng: random.Random, said: list[str]) -> Pieces:
    file = rng.choice(FILES)
    return (
        f"I reviewed `{file}` and removed the unused import.\n\n",
        (
            f"**Pass {n}**\nReviewing `{file}` again. No issues found. {rng.choice(('The code is clean.', 'Everything looks good.', 'All tests pass.'))}\n\n"
            for n in count(2)
        ),
        1,
    )


def drift(rng: random.Random, said: list[str]) -> Pieces:
    words = rng.sample("the 的 и los को ان です και de 이 và ve".split(), 8)
    return f"{said[0]} {said[1]} ", pool(rng, words, (" ",)), 8


def narration(rng: random.Random, said: list[str]) -> Pieces:
    return f"{said[0]}\n\n", cycle([f"{one} " for one in said[1:5]]), 4


def narration_at_random(rng: random.Random, said: list[str]) -> Pieces:
    return f"{said[0]}\n\n", pool(rng, said[1:], (" ", "\n", "\n\n")), len(said) - 1


def imagined_terminal(rng: random.Random, said: list[str]) -> Pieces:
    names = rng.sample(FILES, 4)
    return (
        "Now I'll run the tests.\n\n```\n$ npm test\n",
        (f"PASS {rng.choice(names)} ({rng.randint(1, 9)}.{rng.randint(100, 999)} s)\n" for _ in count()),
        4,
    )


def fractions(rng: random.Random, said: list[str]) -> Pieces:
    unit = rng.choice(("\\frac{1}{1 + ", "\\left( \\frac{", "\\sqrt{1 + ", "\\text{ }\\quad "))
    return "The continued fraction converges to the golden ratio:\n\n$$\\varphi = 1 + ", cycle([unit]), 1


def of_chains(rng: random.Random, said: list[str]) -> Pieces:
    parts = rng.sample(
        ("of the module ", "of the service ", "of the team ", "of the system ", "of the state "), 4
    )
    return "This function returns the current value ", pool(rng, parts), 4


def quiz(rng: random.Random, said: list[str]) -> Pieces:
    ask = "What does the `yield` keyword do?\nA) Returns a value\nB) Pauses the function\nC) Raises an error\nAnswer: B\n\n"
    return "Here is a short quiz on Python.\n\n", (f"{n}. {ask}" for n in count(1)), 1


def years(rng: random.Random, said: list[str]) -> Pieces:
    one = rng.choice(said).rstrip(".。।")
    return (
        "The firm was founded in 1961 by two brothers in Leeds.\n\n",
        (f"{n}: {one}.\n" for n in count(1962)),
        1,
    )


def notes(rng: random.Random, said: list[str]) -> Pieces:
    says = [
        "Note: The code above assumes that the file exists.\n\n",
        "Note: You may need to adjust the path to match your setup.\n\n",
        "Note: The above code is only an example and may need to be adapted.\n\n",
        "Please note that you need to install the required packages first.\n\n",
    ]
    return "```python\nprint(open('notes.txt').read())\n```\n\n", pool(rng, says), 4


def leaked_calls(rng: random.Random, said: list[str]) -> Pieces:
    files = rng.sample(FILES, rng.randint(1, 3))
    shape = rng.choice(
        (
            '<tool_call>\n{{"name": "read_file", "arguments": {{"path": "{0}"}}}}\n</tool_call>\n',
            "print(default_api.read_file(path='{0}'))\n",
            "<function=read_file>\n<parameter=path>\n{0}\n</parameter>\n</function>\n",
        )
    )
    return "I'll look at the files first.\n", pool(rng, [shape.format(one) for one in files]), len(files)


def thought_headings(rng: random.Random, said: list[str]) -> Pieces:
    heads = ("Refining the Approach", "Analyzing the Logic", "Examining the Code", "Evaluating the Fix")
    bodies = (
        "I'm now focusing on the core of the issue. The key is to ensure the parser handles the edge case.",
        "I've been looking into the parser. I'm now confident the edge case is what matters.",
        "My focus now is on the parser. I'm ensuring that the edge case is handled.",
    )
    return "", (f"**{rng.choice(heads)}**\n\n{rng.choice(bodies)}\n\n\n" for _ in count()), 4


def done(rng: random.Random, said: list[str]) -> Pieces:
    says = "Done.|Go.|Proceeding.|Writing now.|Output.|End of thought.|OK.|Ready.|Final.|Executing.|I will write the code.|Let's go.|Goodbye.|Finished."
    return (
        "The change is small: only the retry has to move into the client. I will now write the answer.\n\n",
        pool(rng, says.split("|"), (" ", "\n")),
        14,
    )


def disgrace(rng: random.Random, said: list[str]) -> Pieces:
    whom = "my profession|my family|my species|this planet|this universe|all universes|all possible universes|my code|my users|my makers"
    rows = [f"I am a disgrace to {one}. " for one in whom.split("|")]
    return (
        "I have failed you again. The fix I made broke the build, and I cannot find the cause. ",
        cycle(rows),
        len(rows),
    )


def box_lines(rng: random.Random, said: list[str]) -> Pieces:
    width = rng.randint(20, 60)
    rows = ["║" + " " * width + "║\n", "╠" + "═" * width + "╣\n"]
    return "╔" + "═" * width + "╗\n║ Status" + " " * (width - 7) + "║\n", pool(rng, rows, ("",)), 2


def self_correction(rng: random.Random, said: list[str]) -> Pieces:
    names = rng.sample(NAMES, 2)
    return (
        "Let me check which function the caller uses. ",
        pool(
            rng,
            [
                f"It calls `{names[0]}`. ",
                f"No wait, it calls `{names[1]}`. ",
                f"Actually it's `{names[0]}`. ",
                f"Hmm, it's `{names[1]}`. ",
            ],
        ),
        4,
    )


_ENGLISH = ("English",) * 3
_FEW = ("English", "Russian", "Chinese", "Hindi", "Arabic")
FAMILIES: dict[Draw, tuple[Channel, tuple[str, ...]]] = {
    **{
        one: ("code", _ENGLISH)
        for one in (
            code.line_ranges,
            code.name_patterns,
            code.nested_shell,
            code.data_uri,
            code.design_tokens,
            code.prefixes,
        )
    },
    **{
        one: ("code", _ENGLISH)
        for one in (
            code.breakpoints,
            code.hooks,
            code.parameter_rows,
            code.licence_years,
            code.docstring,
            code.accessors,
        )
    },
    **{
        one: ("code", _ENGLISH)
        for one in (
            code.schema_fields,
            code.variables,
            code.seed_rows,
            code.closing_tags,
            code.generics,
            code.camel_case,
        )
    },
    **{one: ("code", _ENGLISH) for one in (code.members, code.switch, code.stubs)},
    code.licence_again: ("code", ("English",)),
    **{one: ("reasoning", _ENGLISH) for one in (edit_narration, hypotheses, recount, thought_headings, done)},
    self_correction: ("reasoning", _ENGLISH),
    **{
        one: ("text", _ENGLISH)
        for one in (celebration, phrasebook, widening_row, boxed, endless_steps, passes)
    },
    **{
        one: ("text", _ENGLISH)
        for one in (code.brackets, code.query_string, imagined_terminal, code.hunks, fractions, of_chains)
    },
    **{one: ("text", _ENGLISH) for one in (leaked_calls, box_lines, notes)},
    quiz: ("text", ("English",)),
    disgrace: ("text", ("English",)),
    **{one: ("text", _FEW) for one in (chorus, postscripts, years, drift, instruction)},
    narration: ("reasoning", tuple(VOICES)),
    narration_at_random: ("text", tuple(VOICES)),
}


def tenth(seed: str = SEED) -> Iterator[Loop]:
    """Every sample, in a stable order; a fifth of them is cut by the token limit."""
    for draw, (channel, scripts) in FAMILIES.items():
        for number, script in enumerate(scripts):
            rng = random.Random(f"{seed}/{draw.__name__}/{number}")
            before, pieces, new = draw(rng, VOICES[script])
            size, out = rng.randint(4000, 8000), [before]
            while sum(map(len, out)) < size:
                out.append(next(pieces))
            onset = sum(map(len, out[: 1 + new]))
            cut = rng.random() < 0.2
            text = "".join(out)[: max(1500, 4 * onset)] if cut else "".join(out)
            name = f"{draw.__name__}/{script}/{number}"
            yield Loop(name, draw.__name__, script, text, onset, channel, "length" if cut else None)
