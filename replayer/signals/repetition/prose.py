"""What kind of text a loop is made of: prose, a list, a licence, babble; code, tables and data repeat for good reasons."""

from __future__ import annotations

import re
import string

from replayer.signals.repetition.scripts import is_without_blanks, sentences_of, symbols_of

UPPER = string.ascii_uppercase.encode()
LETTERS = (string.ascii_letters + "".join(filter(str.isspace, map(chr, range(128))))).encode()
DROP_LIGHT = str.maketrans(dict.fromkeys(".,;:!?'\"()*[]-_`"))
DROP_BABBLE = str.maketrans(dict.fromkeys(".()*[]-_,;!?<>~'/|"))
LEGAL = re.compile(
    r"copyright|licen[cs]e[ds]?|licensee|permission|warrant(?:y|ies)|redistribution|liability|notice|damages"
)
CODE = re.compile(
    r"""\w[.(]\w|\w\[|\s@\w|>\.|\?\.|\)[);]|\w_\w|[a-z][A-Z]|[={}]|;(?! )|\n\t|\n    |\n\s*\* ?@|\w\(|\( | \)|\)[;:{]+\n|::|->|</\w+>|\\|","|\][(\[]|[\s,][.#][\w-]{3}|%[sd]"""
)
_INNER = r"([^\W\d_](?:[^\x00-\x7f]|[A-Za-z_ ]|(?<=[ x×\d])\d){0,40}?\.?)"
STAGE = re.compile(
    r"(?<!\w)(?:\(%s\)|\[%s\]|<%s>|\*\*%s\*\*|\*%s\*|:%s:|（%s）|【%s】|~%s~)(?!\w)".replace(
        "%s", _INNER.replace("(", "(?:", 1)
    )
)
"""A stage direction: what one does, and how often, in brackets, between stars or colons."""
DROP_BETWEEN = str.maketrans(dict.fromkeys(" \n.…-/♪,;–|"))
"""What stands between noises."""
JOINED_SENTENCES = re.compile(r"(?<=[a-z][.!?])(?=[A-Z])")
RULER = re.compile(r"([*=#_~-])\1{4}")
NAMED = re.compile(r"(?<!`)`[^`\n]{1,40}`(?!`)")
OFTEN_NAMED = 4
"""What prose names of code is a word of it, where each name comes so often on average: else it says something new."""
SPECIAL = re.compile(
    r"<\|?/?(?:im|im_start|im_end|endoftext|eot_id|end|start|eos|bos|s|pad|think|assistant|user)\|?>"
)
"""Tokens that a template begins and ends a turn with, written out."""
KEYCAP = re.compile("([0-9#*])\ufe0f?\u20e3")
QUOTE = re.compile(r"^(?:> ?)+", re.MULTILINE)
LISTED = re.compile(r"^[ \t]*(?:[-*+•|#▪◦·–—⬜☐☑🔲✅✓✔❌]|\d+[.)]|\[[ x]\])", re.MULTILINE)
FILL = frozenset({"none", "null", "true", "false", "nan", "nil", "yes", "no", "na"})
"""Values that fill tables."""


def without_digits(text: str) -> str:
    """The text itself where it has none. Its bytes lose them in a quarter of the time that `str.translate` takes."""
    raw = text.encode("utf-8", "surrogatepass")
    bare = raw.translate(None, b"0123456789")
    return text if len(bare) == len(raw) else bare.decode("utf-8", "surrogatepass")


def spoken(text: str) -> str:
    """The text with a word for each special token, and an emoji of one character for each keycap."""
    if "\u20e3" in text:
        text = KEYCAP.sub(lambda found: chr(0x1F1E6 + ord(found[1]) % 26), text)
    return SPECIAL.sub(_word_of, text) if "<" in text else text


def _word_of(token: re.Match[str]) -> str:
    behind = token.string[token.start() - 1 : token.start()].isalnum()
    return " " * behind + "".join(filter(str.isalpha, token[0])) + " "


def looks_like_code(text: str) -> bool:
    """A glance at a short piece."""
    raw = text.encode("utf-8", "surrogatepass")
    signs = len(raw) - len(raw.translate(None, b"=;{\t")) - raw.count(b"; ")
    return signs + text.count("\n  ") > 0.02 * len(text)


def is_code(text: str) -> bool:
    """Joined names, statements, indented lines."""
    return len(CODE.findall(text)) > 0.008 * len(text) + 1


def is_prose(text: str) -> bool:
    """Words and light punctuation: few symbols and digits, blanks between words, not mostly capitals, no deep indent."""
    if ">" in text:
        text = QUOTE.sub("", text)
    if "`" in text:
        named = NAMED.findall(text)
        text = NAMED.sub("name", text) if len(named) >= OFTEN_NAMED * len(set(named)) else text
    bare = len(text) - text.count("  ") * 2
    if text.count('"') > 0.03 * bare:
        return False
    spaced = not is_without_blanks(text)
    if spaced and text.isascii() and text.count(" ") + text.count("\n") < 0.08 * bare:
        return False
    symbols, digits = _symbols(text)
    return (
        len(symbols) <= (0.15 if spaced else 0.25) * bare
        and len(symbols.translate(DROP_LIGHT)) <= 0.03 * bare
        and digits <= 0.04 * bare
        and _capitals(text) <= 0.3 * bare
        and not is_code(text)
    )


def _capitals(text: str) -> int:
    return (
        len(text) - len(text.encode().translate(None, UPPER))
        if text.isascii()
        else sum(map(str.isupper, text))
    )


def is_babble(text: str, words: list[str], joined: bool = False, staged: bool = False) -> bool:
    """Hardly anything but words, perhaps bracketed or hyphenated, or `joined` by underscores; no constants in a table.

    `staged`: noises may last "for 3 seconds".
    """
    if staged:
        text = STAGE.sub(_said_of, text).replace("  ", " ")
    text = JOINED_SENTENCES.sub(" ", text)
    symbols, digits = _symbols(text)
    size = len(text)
    return (
        digits <= (0.07 if staged else 0.03) * size
        and not RULER.search(text)
        and len(symbols.translate(DROP_BABBLE)) <= 0.04 * size
        and (staged or symbols.count(",") <= 0.16 * size + 2)
        and text.count("  ") + text.count("\t") <= 0.02 * size + 1
        and len(CODE.findall(text.replace("_", " ") if joined else text)) <= 0.008 * size + joined
        and text.count("\n ") <= 1
        and text.count("/") - text.count(" / ") <= 0.03 * size
        and sum(map(FILL.__contains__, words)) <= 0.2 * len(words)
    )


def _said_of(stage: re.Match[str]) -> str:
    return without_digits(stage[0].strip("()[]<>*:（）【】~").replace("_", " ")) + " "


def is_legal(text: str) -> bool:
    """Licence texts, the one kind of sound prose that repeats itself nearly word for word."""
    return len(LEGAL.findall(text.lower())) > 0.03 * len(text.split())


def is_list(text: str) -> bool:
    lines = text.count("\n") + 1
    return lines > 3 and len(LISTED.findall(text)) >= 0.4 * lines


def is_staged(unit: str) -> bool:
    """Whether a cycle is made of stage directions."""
    if len(unit) > 250 or unit.isalnum():
        return False
    text = unit * 3
    return noise_share(text) >= 0.6 and is_babble(text, [], staged=True)


def noise_share(text: str) -> float:
    """Share of stage directions in a text, what stands between them not counted."""
    noises = "".join(STAGE.findall(text)).translate(DROP_BETWEEN)
    return len(noises) / max(1, len(text.translate(DROP_BETWEEN))) if noises else 0.0


def lines_differ(text: str) -> bool:
    """Whether hardly one of its lines and sentences is said again, as in a list."""
    lines = [line for part in sentences_of(text)[1:-1] if (line := part.strip())]
    return len(lines) > 3 and len(set(lines)) > 0.8 * len(lines)


def _symbols(text: str) -> tuple[str, int]:
    """Characters that are neither letter, blank nor digit, and the number of digits."""
    if text.isascii():
        rest = text.encode().translate(None, LETTERS).decode()
        symbols = without_digits(rest)
    else:
        rest = symbols_of(text)
        symbols = rest.replace("0", "")
    return symbols, len(rest) - len(symbols)
