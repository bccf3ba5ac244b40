"""The mouth: speech made ahead of its playing, and the voice itself."""

import asyncio
import math
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hibari import dsp

from models.ahead import ahead
from models.pauses import AUDIBLE
from models.speakable import LONGEST
from models.speaker_hibari import Hibari
from models.style import PLAIN, REPLY_EMOTIONS, Style
from models.styles import styled
from models.types import WIRE_RATE, AudioChunk, Samples, SpokenChunk

# ---- made ahead


class Source:
    """A stream that tells how far it was driven, and can be held, broken and closed."""

    def __init__(self, fail_at: int | None = None, hold_at: int | None = None) -> None:
        self.made = 0
        self.moved = asyncio.Condition()
        self.closed = asyncio.Event()
        self._fail_at, self._hold_at = fail_at, hold_at

    async def stream(self) -> AsyncGenerator[int, None]:
        try:
            while True:
                if self.made == self._fail_at:
                    raise RuntimeError("broken")
                if self.made == self._hold_at:
                    await asyncio.Event().wait()
                async with self.moved:
                    self.made += 1
                    self.moved.notify_all()
                yield self.made
        finally:
            await settle()  # cleaning up takes a while
            self.closed.set()

    async def reached(self, count: int) -> None:
        async with self.moved:
            await self.moved.wait_for(lambda: self.made >= count)


async def settle() -> None:
    """Lets every ready task run until none has anything left to do."""
    for _ in range(20):
        await asyncio.sleep(0)


async def counting(last: int) -> AsyncGenerator[int, None]:
    for number in range(1, last + 1):
        yield number


async def test_all_items_come_in_order() -> None:
    async with ahead(counting(5), 2) as items:
        assert [item async for item in items] == [1, 2, 3, 4, 5]


async def test_asking_after_the_end_ends_again() -> None:
    async with ahead(counting(1), 2) as items:
        assert [item async for item in items] == [1]
        assert [item async for item in items] == []


@pytest.mark.parametrize("depth", [1, 2, 3])
async def test_the_source_runs_ahead_by_no_more_than_the_depth(depth: int) -> None:
    source = Source()
    async with ahead(source.stream(), depth) as items:
        await source.reached(depth)
        await settle()
        assert source.made == depth
        assert await anext(items) == 1
        await source.reached(depth + 1)
        await settle()
        assert source.made == depth + 1


async def test_what_was_made_before_a_failure_is_read_before_it_surfaces() -> None:
    source = Source(fail_at=2)
    async with ahead(source.stream(), 3) as items:
        await source.closed.wait()
        assert [await anext(items), await anext(items)] == [1, 2]
        with pytest.raises(RuntimeError, match="broken"):
            await anext(items)


async def test_a_reader_who_left_before_a_failure_does_not_hear_of_it() -> None:
    source = Source(fail_at=1)
    async with ahead(source.stream(), 3):
        await source.closed.wait()


async def test_leaving_closes_a_source_that_never_ran() -> None:
    source = Source()
    stream = source.stream()
    async with ahead(stream, 1):
        pass
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_leaving_closes_a_source_that_waits_for_room() -> None:
    source = Source()
    async with ahead(source.stream(), 1) as items:
        assert await anext(items) == 1
        await source.reached(2)
    assert source.closed.is_set()


async def test_leaving_stops_a_source_at_work() -> None:
    source = Source(hold_at=1)
    async with ahead(source.stream(), 3) as items:
        assert await anext(items) == 1
    assert source.closed.is_set()


async def test_cancelling_the_reader_closes_the_source_before_the_reader_ends() -> None:
    source = Source(hold_at=1)

    async def read() -> None:
        async with ahead(source.stream(), 3) as items:
            async for _ in items:
                pass

    reader = asyncio.create_task(read())
    await source.reached(1)
    await settle()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert source.closed.is_set()


# ---- the voice


@pytest.fixture(scope="module")
def voice() -> Iterator[Hibari]:
    hibari = Hibari()
    yield hibari
    hibari.close()


async def say(voice: Hibari, clause: str, style: Style = PLAIN) -> list[SpokenChunk]:
    async with aclosing(voice.speak(clause, style)) as chunks:
        return [chunk async for chunk in chunks]


async def sound(voice: Hibari, clause: str, style: Style = PLAIN) -> Samples:
    return AudioChunk.join([chunk.audio for chunk in await say(voice, clause, style)]).samples


def audible(samples: Samples, decibels: float = 0.0) -> tuple[float, float]:
    """Seconds of silence before and behind a voice that is so much louder than its own."""
    loud = np.flatnonzero(np.abs(samples) > AUDIBLE * 10 ** (decibels / 20))
    return loud[0] / WIRE_RATE, (len(samples) - 1 - loud[-1]) / WIRE_RATE


@pytest.mark.parametrize("clause", ["Hello there. ", "Is it you?", "Oh no, ", "Maybe we should "])
async def test_a_clause_opens_at_once_and_without_a_click(voice: Hibari, clause: str) -> None:
    samples = await sound(voice, clause)
    before, _ = audible(samples)
    assert before <= 0.010
    assert abs(samples[0]) < 1e-3
    assert abs(samples[-1]) < 1e-3


async def test_a_sentence_is_followed_by_a_longer_pause_than_a_clause(voice: Hibari) -> None:
    assert audible(await sound(voice, "I see. "))[1] == pytest.approx(0.18, abs=0.005)
    assert audible(await sound(voice, "I see, "))[1] == pytest.approx(0.06, abs=0.005)


@pytest.mark.parametrize("clause", ["We could all go home now", "I will be happy to see you"])
async def test_a_clause_that_goes_on_does_not_fall_as_a_sentence_does(
    voice: Hibari, clause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    endings: list[float] = []
    synth = dsp.synth

    def watched(*spectra: Samples, rng: np.random.Generator) -> Samples:
        pitch = spectra[-1][spectra[-1] > 40]  # Hz, where there is a voice
        endings.append(float(np.mean(pitch[-16:])))  # a fifth of a second
        made: Samples = synth(*spectra, rng)
        return made

    monkeypatch.setattr(dsp, "synth", lambda *given: watched(*given[:-1], rng=given[-1]))
    for end in (". ", " ", ", "):
        await sound(voice, clause + end)
    falling, bare, comma = endings
    assert 12 * math.log2(bare / falling) > 2  # semitones
    assert 12 * math.log2(comma / falling) > 2


@pytest.mark.parametrize(
    "clause",
    [
        "I'm so sorry to hear that. ",
        "  Well,   two  spaces ",
        "It cost $3.50 on May 3rd, 2024, Dr. Smith said; ",
        "Hi! Really? (Yes.) ",
        '"Quoted," she said — naïvely. ',
        "50% of C++ & Rust = #1 @home~",
        "http://example.com/x?y=1 ",
        "no-one’s well-being, ",
        "1,234,567",
        "x " * 120,
    ],
)
async def test_chunks_hold_whole_words_that_join_to_the_clause(voice: Hibari, clause: str) -> None:
    chunks = await say(voice, clause)
    assert "".join(chunk.text for chunk in chunks) == clause
    assert all(chunk.text.endswith(" ") for chunk in chunks[:-1])
    assert all(len(chunk.audio.samples) for chunk in chunks)


@pytest.mark.parametrize("clause", ["ha-" * 60, "1" * 400, "1,000" * 20, "$1" + ",000" * 16])
async def test_a_word_without_an_end_is_given_to_the_network_in_pieces(
    voice: Hibari, clause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes the cube of a word's length, and fails at too many digits."""
    network: Any = voice._network
    given: list[str] = []
    phonemize = network.phonemize

    def watched(text: str) -> list[str]:
        given.extend(text.split())
        lines: list[str] = phonemize(text)
        return lines

    monkeypatch.setattr(network, "phonemize", watched)
    chunks = await say(voice, clause)
    assert "".join(chunk.text for chunk in chunks) == clause
    assert max(map(len, given)) <= LONGEST


async def test_every_word_has_its_own_chunk(voice: Hibari) -> None:
    chunks = await say(voice, "Five big dogs ran home, ")
    assert [chunk.text for chunk in chunks] == ["Five ", "big ", "dogs ", "ran ", "home, "]


@pytest.mark.parametrize("clause", ["Yes, everybody.", "Now, early, always.", "Please, always."])
async def test_the_silence_of_a_comma_ends_the_chunk_before_it(voice: Hibari, clause: str) -> None:
    chunks = [chunk.audio.samples for chunk in await say(voice, clause)]
    for before, after in zip(chunks, chunks[1:], strict=False):
        assert float(np.abs(before[-WIRE_RATE // 200 :]).max()) < AUDIBLE
        assert audible(after)[0] < 0.06


@pytest.mark.parametrize("clause", ["", " ", "...", "—", "😊 ", "*", "日本語"])
async def test_with_nothing_to_say_there_is_no_sound(voice: Hibari, clause: str) -> None:
    assert await say(voice, clause) == []


async def test_a_slower_voice_takes_longer(voice: Hibari) -> None:
    fast, normal, slow = [
        len(await sound(voice, "A nice day. ", Style(pace=pace))) for pace in (1.5, 1.0, 0.25)
    ]
    assert fast < normal < slow / 2


async def test_the_same_clause_always_sounds_the_same(voice: Hibari) -> None:
    np.testing.assert_array_equal(await sound(voice, "Same."), await sound(voice, "Same."))


# ---- the voice in a style


def level(samples: Samples) -> float:
    """dB."""
    return float(10 * np.log10(np.mean(np.square(samples, dtype=np.float64))))


@pytest.mark.parametrize("emotion", REPLY_EMOTIONS)
async def test_in_every_style_clauses_open_and_close_silently_and_never_clip(
    voice: Hibari, emotion: str
) -> None:
    style = replace(styled(emotion), stress=("not", "home"))
    for clause in ("Well, it is not far, ", "but we should go home now! "):
        chunks = await say(voice, clause, style)
        samples = AudioChunk.join([chunk.audio for chunk in chunks]).samples
        assert "".join(chunk.text for chunk in chunks) == clause
        assert audible(samples, style.loudness)[0] <= 0.010
        assert max(abs(samples[0]), abs(samples[-1])) < 1e-3
        assert np.abs(samples).max() < 0.9


async def test_a_pause_between_clauses_and_sentences_follows_the_style(voice: Hibari) -> None:
    slow = Style(pause=2.0)
    assert audible(await sound(voice, "I see. ", slow))[1] == pytest.approx(0.36, abs=0.005)
    assert audible(await sound(voice, "I see, ", slow))[1] == pytest.approx(0.12, abs=0.005)


async def test_a_pause_inside_a_sentence_follows_the_style(voice: Hibari) -> None:
    comma, longer = [
        (await say(voice, "Now, early, always.", Style(pause=pause)))[0].audio.duration
        for pause in (1.0, 2.0)
    ]
    assert longer > comma + 0.05


async def test_a_softer_style_is_softer_and_as_long(voice: Hibari) -> None:
    loud, soft = [
        await sound(voice, "We are nearly there.", Style(loudness=decibels))
        for decibels in (0.0, -6.0)
    ]
    assert level(soft) - level(loud) == pytest.approx(-6, abs=0.5)
    assert len(soft) == len(loud)


@pytest.mark.parametrize("word", ["nearly", "there"])
async def test_the_word_to_stress_is_longer_and_louder_and_no_other(
    voice: Hibari, word: str
) -> None:
    clause = "We are nearly there, she said."
    plain = await say(voice, clause)
    stressed = await say(voice, clause, Style(emphasis=1.0, stress=(word,)))
    pairs = [(a.audio, b.audio) for a, b in zip(plain, stressed, strict=True)]
    longer = [after.duration - before.duration for before, after in pairs]
    louder = [level(after.samples) - level(before.samples) for before, after in pairs]
    place = clause.replace(",", "").split().index(word)
    assert np.argmax(longer) == np.argmax(louder) == place
    assert longer[place] > 0.03
    assert louder[place] > 1.2
    assert sum(longer) - longer[place] < 0.03


async def test_a_word_to_stress_that_is_spoken_as_several_is_found(voice: Hibari) -> None:
    plain, stressed = [
        await say(voice, "It costs $25, you know.", Style(emphasis=1.0, stress=stress))
        for stress in ((), ("25",))
    ]
    assert plain[2].text == stressed[2].text == "$25, "
    assert level(stressed[2].audio.samples) > level(plain[2].audio.samples) + 1


@pytest.mark.parametrize(
    ("clause", "bent"), [("It is here.", True), ("Is it here?", False), ("It is here, ", False)]
)
async def test_only_the_end_of_a_statement_is_bent(
    voice: Hibari, clause: str, bent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    endings: list[float] = []
    synth = dsp.synth

    def watched(*given: Any) -> Samples:
        endings.append(float(given[5][given[5] > 40][-1]))
        made: Samples = synth(*given)
        return made

    monkeypatch.setattr(dsp, "synth", watched)
    for contour in (PLAIN, Style(contour="rise")):
        await sound(voice, clause, contour)
    own, rising = endings
    assert (rising > own * 1.05) is bent


async def test_neighbouring_clauses_are_changed_alike(voice: Hibari) -> None:
    """No style makes the step of level between two clauses larger than the voice's own."""
    clauses = ("I was at the market this morning, ", "and I bought some bread and apples. ")
    own = [level(await sound(voice, clause)) for clause in clauses]
    for emotion in ("sad", "happy", "angry"):
        styled_ = [level(await sound(voice, clause, styled(emotion))) for clause in clauses]
        assert styled_[1] - styled_[0] == pytest.approx(own[1] - own[0], abs=1.5)


async def test_a_style_beyond_all_limits_is_still_spoken(voice: Hibari) -> None:
    wild = Style(
        pace=9, pitch=90, range=-3, slope=99, loudness=60, tilt=40, breath=9, pause=-1, emphasis=7
    )
    samples = await sound(voice, "Good grief, stop it!", wild)
    assert np.isfinite(samples).all()
    assert np.abs(samples).max() < 1
