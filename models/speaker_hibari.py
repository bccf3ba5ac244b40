"""The voice: hibari, clause by clause, with the words in their places."""

import re
from collections.abc import AsyncGenerator, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
from hibari import Hibari as Network
from hibari import dsp
from hibari.voices import voice_path

from models.errors import BackendError
from models.pauses import AUDIBLE, GAP_SEC, STOP_SEC, goes_on
from models.speakable import spoken
from models.style import PLAIN, Style
from models.types import WIRE_RATE, AudioChunk, Samples, SpokenChunk
from models.voicing import FRAME_SEC, Frames, performed, within_limits
from models.worker import Worker

ROLE = "speaker"
STEP = 2  # of the network's frames of 12.5 ms: what its durations count
FRAME = WIRE_RATE // 100  # 10 ms
FAINT = 10 ** (-55 / 20)
FADE_IN = FRAME // 2
FADE_OUT = 2 * FRAME
EARLY_SEC = 0.075  # so long before its time, at the most, a sound may be heard
MARKS = frozenset(';:,.!?—…"“”()')  # phonemes that are no sound

# The voice falls at the end of whatever it is given, even at a comma. So a clause that goes on is
# spoken with these words behind it, which are cut off again in the silence of the comma.
ONWARD = " ænd ðˈɛn wi ɡˈO."


@dataclass(frozen=True, slots=True)
class _Sound:
    """Speech with its pause behind it, and the sample at which each spoken word has ended."""

    samples: Samples
    ends: list[int]


class Hibari:
    """A Speaker on hibari's network: a chunk for each word, up to where the next begins."""

    def __init__(self, voice: str = "heart", threads: int = 1, seed: int = 0) -> None:
        """Loads and warms the voice.

        Args:
            voice: one of hibari's; all but "heart" are fetched from the model hub.
            threads: of computation; one is many times faster than speech.
            seed: of the breath in the voice, so that a clause always sounds the same.
        """
        self._seed = seed
        model = _with_durations(Path(voice_path(voice)).read_bytes())
        self._network = Network(voice=voice, model=model, threads=threads)
        self._worker = Worker("hibari")
        self._centre = self._own_pitch("This is how I speak, and there is nothing more to it.")
        self._say("Zaxby said 25 warm words, ", PLAIN)  # loads dictionary, numbers, unknown words

    async def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        """Chunks whose texts joined are the clause; none if there is nothing to say."""
        try:
            chunks = await self._worker.run(partial(self._say, clause, within_limits(style)))
        except Exception as error:  # the network's or the dictionary's: any text may come here
            raise BackendError(ROLE, "The voice could not speak this clause.") from error
        for chunk in chunks:
            yield chunk

    def close(self) -> None:
        self._worker.close()

    def _own_pitch(self, sentence: str) -> float:
        """The middle of the voice's own melody, in Hz."""
        (line,) = self._lines(sentence)
        frames, _ = self._frames(line, 1.0)
        return float(np.median(frames.pitch[frames.voiced]))

    def _say(self, clause: str, style: Style) -> list[SpokenChunk]:
        rng = np.random.default_rng(self._seed)
        readings = spoken(clause)  # no word so long, or with so many digits, that hibari chokes
        said = "".join(reading for _, reading in readings)
        onward = goes_on(said)
        lines = self._lines(re.sub(r"[\s,;:—–-]+$", ",", said) if onward else said)
        words = [  # as written, and how many words each is when spoken
            (word, sum(map(_count_words, self._lines(reading)))) for word, reading in readings
        ]
        places = list(accumulate(map(_count_words, lines), initial=0))
        stressed = _stressed(words, style.stress, places[-1])
        sounds = [
            self._sound(
                line,
                style,
                {word - first for word in stressed},
                onward and end == places[-1],
                rng,
            )
            for line, (first, end) in zip(lines, pairwise(places), strict=True)
        ]
        samples = np.concatenate([np.zeros(0, np.float32), *(sound.samples for sound in sounds)])
        if not len(samples):
            return []
        ends: list[int] = []
        for sound, start in zip(
            sounds, accumulate(len(sound.samples) for sound in sounds), strict=True
        ):
            ends += [start - len(sound.samples) + end for end in sound.ends]
        return list(_chunks(samples, words, ends))

    def _lines(self, text: str) -> list[str]:
        """Phonemes of each sentence, without those that say nothing."""
        lines: list[str] = self._network.phonemize(text)
        return [line for line in lines if _count_words(line)]

    def _frames(self, phonemes: str, speed: float) -> tuple[Frames, list[int]]:
        """What the network predicts, and the frame at which each id's sound has ended, or rather
        one too late."""
        ids = self._network.ids(phonemes)
        feed = {"ids": np.asarray([ids]), "speed": np.asarray([speed], np.float32)}
        *spectra, steps = self._network.sess.run(None, feed)
        return Frames(*(spectrum[0] for spectrum in spectra)), [int(step) * STEP for step in steps]

    def _sound(
        self, line: str, style: Style, stressed: Set[int], onward: bool, rng: np.random.Generator
    ) -> _Sound:
        """One line of phonemes as sound; the stressed are counted in its words."""
        if onward and not line.endswith(","):
            line += ","
        frames, ends = self._frames(line + ONWARD if onward else line, style.pace)
        early = EARLY_SEC / style.pace
        comma = len(self._network.ids(line)) - 2
        if onward:  # so far as to find the silence before the first word of ONWARD
            frames = Frames(*(part[..., : ends[comma + 1]] for part in frames))
        breaks = self._breaks(line)
        middle = round(early / 2 / FRAME_SEC)  # of where a word may really begin and end
        words = list(pairwise([0, *(ends[at] - middle for at in breaks), ends[comma] - middle]))
        spans = [words[word] for word in sorted(stressed) if 0 <= word < len(words)]
        final = not onward and "?" not in line[-2:]
        frames, moved = performed(frames, style, self._centre, spans, final)
        ends = [int(moved[min(end, len(moved) - 1)]) * dsp.HOP for end in ends]
        lead = int(early * WIRE_RATE)
        samples: Samples = dsp.synth(*frames, rng)
        if onward:
            samples = samples[: _quietest(samples, ends[comma - 1] - lead, ends[comma + 1])]
        cuts = [_quietest(samples, ends[at] - lead, ends[at]) for at in breaks]
        pause_sec = GAP_SEC if line[-1] in ",;:—" else STOP_SEC
        gain = 10 ** (style.loudness / 20)
        start, samples = _trimmed(samples, gain, pause_sec * style.pause / style.pace)
        return _Sound(samples, [*(max(at - start, 0) for at in cuts), len(samples)])

    def _breaks(self, line: str) -> list[int]:
        """Ids of the spaces between words; a mark standing alone belongs to the word before it."""
        breaks: list[int] = []
        at, begun = 0, False
        for word in line.split(" "):
            if _count_words(word) and begun:
                breaks.append(at)
            begun = begun or _count_words(word) > 0
            at += len(self._network.ids(word)) - 1  # two ids are no phonemes, the space is one
        return breaks


def _with_durations(model: bytes) -> bytes:
    """The network, made to tell also when each phoneme has ended.

    A second `graph` field in an ONNX file is merged into the first, so an output can be added by
    appending: field 7 (graph) of field 12 (output) of field 1 (name).
    """
    output = b"/CumSum_output_0"
    for field in (1, 12, 7):
        output = bytes([field << 3 | 2, len(output)]) + output
    return model + output


def _stressed(words: Sequence[tuple[str, int]], stress: Sequence[str], spoken: int) -> set[int]:
    """Which of so many spoken words to stress."""
    counts = [0, *accumulate(count for _, count in words)]
    share = spoken / max(counts[-1], 1)  # words together may be spoken otherwise than each alone
    found: set[int] = set()
    for (word, _), (start, stop) in zip(words, pairwise(counts), strict=True):
        if re.sub(r"^\W+|\W+$", "", word.lower().replace("’", "'")) in stress:
            found.update(range(round(start * share), round(stop * share)))
    return found


def _count_words(phonemes: str) -> int:
    return sum(not MARKS.issuperset(word) for word in phonemes.split(" "))


def _quietest(samples: Samples, start: int, stop: int) -> int:
    """The middle of the faintest 10 ms in a stretch."""
    energy = np.cumsum(np.square(samples[start:stop], dtype=np.float64))
    return start + int(np.argmin(energy[FRAME:] - energy[:-FRAME])) + FRAME // 2


def _trimmed(samples: Samples, gain: float, pause_sec: float) -> tuple[int, Samples]:
    """Where speech begins, at most 10 ms before it is audible, and from there speech and pause.

    A voice made softer or louder by a gain is cut where it would have been without.
    """
    audible = np.flatnonzero(np.abs(samples) > AUDIBLE * gain)
    if not len(audible):
        return 0, np.zeros(0, np.float32)
    faint = np.flatnonzero(np.abs(samples) > FAINT * gain)
    start = int(max(faint[0], audible[0] - FRAME + FADE_IN))
    out = np.zeros(int(audible[-1]) + round(pause_sec * WIRE_RATE) - start, np.float32)
    speech = samples[start : start + len(out)]
    out[: len(speech)] = speech
    out[:FADE_IN] *= np.linspace(0, 1, FADE_IN, dtype=np.float32)
    out[len(speech) - FADE_OUT : len(speech)] *= np.linspace(1, 0, FADE_OUT, dtype=np.float32)
    return start, out


def _chunks(
    samples: Samples, words: Sequence[tuple[str, int]], ends: Sequence[int]
) -> Iterator[SpokenChunk]:
    """The sound cut where words end; a word without a sound of its own joins its neighbour."""
    counts = list(accumulate(count for _, count in words))
    start, text = 0, ""
    for place, ((word, _), count) in enumerate(zip(words, counts, strict=True), 1):
        text += word
        # Words together may be spoken otherwise than each alone ("May 3"): then share them out.
        end = ends[max(round(count * len(ends) / max(counts[-1], 1)), 1) - 1]
        if place == len(words) or (start < end and words[place][1]):
            yield SpokenChunk(AudioChunk(samples[start:end], WIRE_RATE), text)
            start, text = end, ""
