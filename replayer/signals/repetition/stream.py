"""The detector of one stream of text: gathers deltas, looks every 32 characters, states each level once."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from replayer.signals.repetition.copies import FAMILIAR, CopiedText, near_copies
from replayer.signals.repetition.cycles import CycleSignal, Run
from replayer.signals.repetition.evidence import Evidence
from replayer.signals.repetition.finding import AT_THE_LIMIT, UNIT_CHARS, Finding, Kind, Level
from replayer.signals.repetition.news import is_silent
from replayer.signals.repetition.pools import LOOKED_AT, pool_of
from replayer.signals.repetition.prose import (
    is_prose,
    looks_like_code,
    spoken,
    without_digits,
)
from replayer.signals.repetition.sayings import Sayings
from replayer.signals.repetition.scripts import END, flat_of, split_words
from replayer.signals.repetition.templates import Template, TemplateSignal
from replayer.signals.repetition.vocabulary import Vocabulary, is_staged
from replayer.signals.repetition.worn import WornWords

STRIDE, CALM_STRIDE = 32, 64
"""Verdicts fall on a grid of this many characters only, however the text was cut into deltas; the second where the
newest characters repeat nothing."""
WORDS_OFTEN, WORDS_THIN, CODE_OFTEN = 128, 64, 256
"""Characters after which words are looked at where the newest of them were said before; the second where they are few
different ones."""
GLANCE = 7
"""Newest characters that are looked up at each stride: where they recur, perhaps nothing new is being said."""
CALM = 0.4
"""Share of known word pairs (smoothed) from which on words are looked at often, too."""
WORN = 100
"""Characters without a new word from which on the next ones are looked at soon."""
FEW_DIGITS = 0.2
"""Share of digits from which on a text is a table of numbers."""
RECURS, RECURS_STAGED = 2, 1
"""Looks in a row that must find the newest characters before; the second among what may be noises."""
LOOKS_IN_VAIN, LEAST_OFTEN = 32, 3
"""Looks without a finding after which the next ones come half as often, and how often that happens."""
FAR_EVERY, FAR_OFTEN, FAR_CALM = 512, 256, 1024
"""Characters after which everything is looked at; long cycles and templates sooner where the text is familiar, later where
it is not: the shortest that only these see takes longer."""
LONGEST_WORD, JOINTS = 48, "_-,./;:)]>*）】 \n"
"""Characters without a blank that are no longer waited for, and what words may end with besides."""
OFTEN = 0.7
NOVEL = 0.85
"""Share of new word pairs from which on a thin vocabulary is not looked at more often."""
NEWS = 0.4
LITTLE = 0.55
"""Share of known word pairs (smoothed) below which no template is looked for."""
CODE_IS = 0.2
"""More familiar than prose, for good reasons."""
NOTHING_NEW, SAID_BEFORE = 0.05, 0.3
"""Share of new word pairs, and of known ones (smoothed), where a pool of lines is looked for."""
NEAR_TEXT = 12_288
"""Characters that near-copies are looked for in."""
NEAR_EVERY = 1024
"""How much familiar text must arrive before near-copies are looked for; after `PATIENCE` looks in vain the wait
doubles with each, since a look is dear."""
PATIENCE = 2


class TextDetector:
    """Watches one channel of one reply (or the arguments of one call)."""

    def __init__(self, channel: str, call_index: int = -1, evidence: Evidence | None = None) -> None:
        self.channel = channel
        self.call_index = call_index
        self.pending = ""
        self.stride = CALM_STRIDE
        self._evidence = evidence or Evidence()
        self._near = CycleSignal(window=1300, probe=24, glance=GLANCE)
        self._far = CycleSignal(window=16_384, probe=64)
        self._templates = TemplateSignal()
        self._vocabulary = Vocabulary()
        self._copied = CopiedText()
        self._sayings = Sayings()
        self._worn = WornWords()
        self._rest = ""
        self._code = False
        self._words_every = WORDS_OFTEN
        self._far_every, self._far_at, self._read_at = FAR_EVERY, 0, 0
        self._next_at = WORDS_OFTEN
        self._thin = self._soon = False
        self._near_due = NEAR_EVERY
        self._near_looks = self._in_vain = 0
        self._block: list[str] = []
        self._offset = 0
        self._checksum = 0
        self._level: Level | None = None
        self._deaf_until = 0
        self._cut = False

    def feed(self, text: str) -> list[Finding]:
        """Append a delta; return findings that fell with it."""
        self.pending += text
        return self.advance() if len(self.pending) >= self.stride else []

    def close(self, cut: bool = False) -> list[Finding]:
        """The stream has ended: look once at what is left. `cut`: by the token limit, so a cycle that was still
        running was not going to end by itself, and a suspicion is enough."""
        self._cut = cut
        rest, self.pending = self.pending, ""
        found = list(self._look(rest, last=True)) if self._level != "collapsed" else []
        return found + self._listen() if cut else found

    def advance(self) -> list[Finding]:
        """Look at every whole stride that has arrived. A stream that has collapsed is not looked at again."""
        text = self.pending
        found: list[Finding] = []
        start, size = 0, len(text)
        while size - start >= (stride := self.stride):
            if self._level == "collapsed":
                self.pending = ""
                return found
            if new := self._look(text[start : start + stride]):
                found += new
            start += stride
        self.pending = text[start:] if size > start else ""
        return found

    def _look(self, piece: str, last: bool = False) -> Sequence[Finding]:
        offset = self._offset = self._offset + len(piece)
        self._block.append(piece)
        tracker = self._near.tracker
        run = tracker.push(piece)
        self.stride = STRIDE if tracker.lag or self._words_every == STRIDE else CALM_STRIDE
        if not run and offset < self._next_at and not last:
            return ()
        far_due = last or offset - self._far_at >= self._far_every
        unread = offset - self._read_at
        words_due = far_due or (
            unread >= self._words_every
            and (
                self._soon
                or tracker.lag > 0
                or tracker.recurs >= (RECURS_STAGED if is_staged(piece) else RECURS)
            )
        )
        found: Sequence[Finding] = self._cycle(*hit) if run and (hit := self._near.judge(run)) else ()
        if words_due:
            block = "".join(self._block)
            self._read_at = self._offset
            found = [*found, *self._look_at_words(block[len(block) - unread :], last)]
            self._plan_looks(unread)
        if far_due:
            found = [*found, *self._look_far(last)]
        return found

    def _is_familiar(self) -> bool:
        return self._copied.familiar - CODE_IS * self._code >= LITTLE

    def _plan_looks(self, size: int) -> None:
        """Soon where little is said; less often where that was looked at many times in vain. `size`: of this look."""
        copied = self._copied
        self._in_vain = self._in_vain + 1 if size < FAR_EVERY else 0
        words = self._vocabulary
        self._thin = not self._code and words.is_thin and (copied.fresh <= NOVEL or words.is_staged)
        self._soon = self._thin or self._worn.size > WORN or (copied.size > 0 and copied.familiar >= CALM)
        every = CODE_OFTEN if self._code else WORDS_OFTEN
        if self._thin:
            every = STRIDE if words.is_staged else WORDS_THIN
        self._words_every = every << min(self._in_vain // LOOKS_IN_VAIN, LEAST_OFTEN)
        self._far_every = FAR_OFTEN if not self._code and copied.familiar >= OFTEN else FAR_EVERY
        self._next_at = min(self._read_at + self._words_every, self._far_at + self._far_every)

    def _look_at_words(self, block: str, last: bool) -> list[Finding]:
        """Whole words only; the rest waits for the next look."""
        if self.channel == "tool_arguments":
            block = block.replace("\\n", " \n")
        text = self._rest + block
        cut = max(text.rfind(" "), text.rfind("\n")) + 1
        if len(text) - cut > LONGEST_WORD:
            cut = max(map(text.rfind, JOINTS)) + 1 or len(text)
        if last:
            cut = len(text)
        self._rest = text[cut:]
        return self._judge_words(text[:cut])

    def _judge_words(self, text: str) -> list[Finding]:
        copied = self._copied
        self._code = looks_like_code(text)
        flat, in_ascii = flat_of(text if self._code else (text := spoken(text))), text.isascii()
        if self._code:
            worn = self._look_at_worn(text, words := split_words(flat))
            if words and all(map(str.isdecimal, words)):
                copied.skip()
            else:
                copied.push(without_digits(text).split(), len(text), False)
            self._sayings.wait(f"{flat}\n", in_ascii)
            return [*worn, *self._look_for_pool()]
        size, bare = len(flat), without_digits(flat)
        table = size - len(bare) > FEW_DIGITS * size
        if "\n" in bare:
            parts = filter(str.strip if table or not in_ascii else None, bare.split("\n"))
            sentences = split_words(f" {END} ".join(parts))
        else:
            sentences = split_words(bare)
        worn = self._look_at_worn(text, sentences if in_ascii and bare is flat else split_words(flat))
        unspaced = not in_ascii and len(sentences) > 0.5 * len(text)
        due = copied.skip() if table and not sentences else copied.push(sentences, len(text), unspaced)
        due = due or (self._cut and copied.size > 0)
        end, found = self._offset - len(self._rest), [*worn, *self._look_for_pool()]
        if copied.familiar < NEWS or copied.fresh > NEWS:
            self._sayings.wait(flat, in_ascii)
        elif (said := self._sayings.push(flat, in_ascii)) and is_prose(self._recent(said.size)):
            onset = max(0, end - said.size)
            found += self._state(
                "recycled", "collapsed", onset, None, self._recent(200), said.share, said.size
            )
        if table:
            self._vocabulary.skip()
        elif babble := self._vocabulary.push(text, sentences, copied.fresh):
            onset = max(0, end - babble.size)
            found += self._state(
                "vocabulary", "collapsed", onset, None, self._recent(200), babble.share, babble.size
            )
        if due and copied.is_loop(self._recent(min(copied.size, NEAR_TEXT)), self._cut):
            onset = max(0, end - copied.size)
            found += self._state("recycled", "collapsed", onset, None, self._recent(200), copied.share, 400)
        return found

    def _look_at_worn(self, text: str, words: list[str]) -> list[Finding]:
        worn = self._worn.push(text, words, not self._code or self._near.tracker.recurs > 0, self._cut)
        if worn is None or not self._worn.is_worn(worn, self._recent(worn.size + len(self._rest)), self._cut):
            return []
        onset = max(0, self._offset - len(self._rest) - worn.size)
        return self._state("recycled", "collapsed", onset, None, self._recent(200), worn.share, worn.size)

    def _look_for_pool(self) -> list[Finding]:
        """A few lines or flags again and again; only where all was said before, since a look is dear."""
        if self._copied.fresh > NOTHING_NEW or self._copied.familiar < SAID_BEFORE:
            return []
        text = self._recent(LOOKED_AT)
        pool = pool_of(text.replace("\\n", " \n") if self.channel == "tool_arguments" else text)
        if pool is None:
            return []
        onset = max(0, self._offset - pool.size)
        return self._state("recycled", "collapsed", onset, None, self._recent(200), pool.share, pool.size)

    def _look_far(self, last: bool) -> list[Finding]:
        block, self._far_at = "".join(self._block), self._offset
        self._next_at = self._offset + min(self._words_every, self._far_every)
        calm = self._copied.familiar < NEWS and not self._far.tracker.lag
        if calm and len(block) < FAR_CALM and not last:
            self._block = [block]
            return []
        self._block, found = [], list[Finding]()
        run = self._far.tracker.push(block)
        if run and (hit := self._far.judge(run)):
            found += self._cycle(*hit)
        if self.channel == "tool_arguments":
            self._checksum = crc32(block.encode("utf-8", "replace"), self._checksum)
            block = block.replace("\\n", " \n")
        if not (self._is_familiar() or last):
            self._templates.wait(block)
        elif template := self._templates.push(block, last, self._cut):
            found += self._template(template)
        if self._copied.familiar - CODE_IS * self._code >= FAMILIAR:
            found += self._look_for_copies(min(len(block), FAR_EVERY))
        else:
            self._near_looks = max(0, self._near_looks - max(1, len(block) // FAR_EVERY))
            self._near_due = self._near_wait()
        return found

    def _near_wait(self) -> int:
        return NEAR_EVERY << max(0, self._near_looks - PATIENCE)

    def _look_for_copies(self, size: int) -> list[Finding]:
        self._near_due -= size
        if self._near_due > 0:
            return []
        self._near_looks = min(self._near_looks + 1, PATIENCE + 3)
        self._near_due = self._near_wait()
        if not self._code and self._copied.familiar >= OFTEN and (silent := self._listen()):
            return silent
        text = self._recent(NEAR_TEXT)
        copies = near_copies(text.replace("\\n", " \n") if self.channel == "tool_arguments" else text)
        if copies is None:
            return []
        onset = self._offset - copies.length + copies.period
        return self._state(
            "recycled", "collapsed", onset, copies.period, copies.unit, copies.alike, copies.length
        )

    def _listen(self) -> list[Finding]:
        """Whether the newest text says anything."""
        silence = (
            is_silent(spoken(self._recent(LOOKED_AT)), self._cut) if self._level != "collapsed" else None
        )
        if silence is None:
            return []
        onset = max(0, self._offset - silence.size)
        return self._state(
            "recycled", "collapsed", onset, None, self._recent(200), silence.share, silence.size
        )

    def _template(self, found: Template) -> list[Finding]:
        run = found.run
        kind: Kind = "counter" if found.loops else "structure"
        level: Level = "collapsed"
        if not found.loops and not self._evidence.unwanted(found.unit, run.end - run.start):
            level = "suspect"
        return self._state(kind, level, run.start + run.period, run.period, found.unit, 1.0, 400)

    def _cycle(self, level: Level, run: Run, unit: str) -> list[Finding]:
        kind: Kind = "character" if len(unit) == 1 else "cycle"
        return self._state(
            kind,
            "collapsed" if self._cut else level,
            run.start + run.period,
            run.period,
            unit,
            1.0,
            run.end - run.start,
        )

    def _state(
        self,
        kind: Kind,
        level: Level,
        onset: int,
        period: int | None,
        unit: str,
        confidence: float,
        copied: int,
    ) -> list[Finding]:
        """State a level the first time it is reached, unless the text was asked for."""
        if self._level in (level, "collapsed"):
            return []
        note = None
        if kind == "recycled" and (exact := self._near.spans(onset)):  # worn words may tell before copies do
            kind, confidence, (run, unit) = "cycle", 1.0, exact
            onset, period = run.start + run.period, run.period
        if level == "collapsed":
            if self._offset < self._deaf_until:
                return []
            note = self._evidence.asked_for(self._recent(copied), self.channel)
            if note:
                self._deaf_until = self._offset + copied
                level = "suspect"
                if self._level == "suspect":
                    return []
            elif self._cut:
                note = AT_THE_LIMIT
        self._level = level
        return [
            Finding(
                kind=kind,
                level=level,
                channel=self.channel,
                call_index=self.call_index,
                onset=onset,
                detected_at=self._offset,
                period=period,
                unit=unit[:UNIT_CHARS],
                wasted_chars=max(0, self._offset - onset),
                confidence=round(confidence, 3),
                note=note,
            )
        ]

    def digest(self) -> tuple[int, int]:
        """Length and checksum of all that was fed: equal for equal text, however it was cut."""
        rest = "".join(self._block) + self.pending if self._level != "collapsed" else ""
        return self._offset + len(self.pending), crc32(rest.encode("utf-8", "replace"), self._checksum)

    def newest(self, size: int) -> str:
        """The newest characters that were fed, looked at or not; at most 12,288."""
        return (self._recent(8192) + self.pending)[-size:]

    def _recent(self, size: int) -> str:
        """The newest characters that were looked at."""
        return (self._far.tracker.tail(NEAR_TEXT) + "".join(self._block))[-size:]
