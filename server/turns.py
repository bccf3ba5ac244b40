"""Turn detection, without I/O and without a clock: time is counted in frames."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from models.protocols import VoiceActivity
from models.types import EAR_RATE, FRAME, Samples
from server.endings import Ending

FRAME_MS = FRAME * 1000 // EAR_RATE  # 32
HYSTERESIS = 0.15  # once speaking, this much less probability still counts as voice
LEAST = 0.01  # no voice is less likely than this, whatever threshold was set
START_FRAMES, START_WINDOW = 3, 4  # this many voiced frames of so many open a turn: about 100 ms
ALERT_START_FRAMES = 2  # the same when someone may be interrupting: a false alarm costs little then
ALERT_SURE = 0.8  # ... and then one frame is enough that is a voice as surely as this
PAUSE_MS = 96  # the first short silence: time to begin to think
ASK_MS = 200  # the silence after which a turn may be over
HALF_SURE_MS = 480  # the same, when the judge leans to the end but has been wrong like this
WAVERING_MS, MORE_MS = 560, 1_000  # the same, when the words may, or must, go on
# The same, when the voice sounds unfinished but the words make a whole sentence, or could.
SENTENCE_MS = {"low": 2_400, "medium": 1_200, "auto": 640, "high": 480}
UNCLEAR_MS = {"low": 4_800, "medium": 2_400, "auto": 1_280, "high": 960}
ASK_AGAIN_MS = (640, 1_280, 2_560)  # a thinker's pause is judged anew as it grows
MAX_TURN_SEC = 300
MAX_WAIT_MS = {"low": 8_000, "medium": 4_000, "auto": 4_000, "high": 2_000}
SURE = {"low": 0.7, "medium": 0.5, "auto": 0.5, "high": 0.35}  # below this it is no end
QUITE_SURE = {"low": 0.95, "medium": 0.9, "auto": 0.9, "high": 0.7}


@dataclass(frozen=True, slots=True)
class TurnOptions:
    threshold: float = 0.5
    prefix_ms: int = 300  # audio kept from before the voice was detected
    silence_ms: int | None = None  # end after this much silence; None: ask the judge
    eagerness: str = "auto"


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    at: int  # ear sample where the utterance begins, pre-roll excluded


@dataclass(frozen=True, slots=True)
class SpeechPaused:
    """The voice fell silent just now: it may be a breath, it may be the end."""


@dataclass(frozen=True, slots=True)
class SilenceGrew:
    """Still silent, and it was no end so far: worth judging again."""


@dataclass(frozen=True, slots=True)
class SpeechResumed:
    """The voice went on after a pause."""


@dataclass(frozen=True, slots=True)
class SpeechEnded:
    """The turn is over."""

    start: int  # ear samples, pre-roll excluded
    end: int
    utterance: Samples  # pre-roll and closing silence included


TurnEvent = SpeechStarted | SpeechPaused | SilenceGrew | SpeechResumed | SpeechEnded


class TurnDetector:
    """Feed it frames and verdicts; it says when the user starts, pauses and stops."""

    def __init__(self, vad: VoiceActivity, options: TurnOptions) -> None:
        self.options = options
        self.heard = 0  # ear samples so far
        self.alert = False  # a reply is being heard: start at less
        self.voice = 0.0  # voiced frames of the present utterance, each as far as it is surely one
        self._vad = vad
        self._recent: deque[float] = deque(maxlen=START_WINDOW)  # how surely each is a voice
        self._preroll: deque[Samples] = deque(maxlen=2 + START_WINDOW)
        self._utterance: list[Samples] = []
        self._start = 0
        self._silent_ms = 0
        self._speaking = False
        self._paused = False  # SpeechPaused was said, SpeechResumed not yet
        self._finished: float | None = None  # the judge's probability for this pause
        self._ending = Ending.OPEN  # of the words before this pause

    @property
    def paused(self) -> bool:
        return self._paused

    @property
    def silent_ms(self) -> int:
        return self._silent_ms

    @property
    def utterance(self) -> Samples:
        """The present utterance so far, pre-roll and silence included."""
        return np.concatenate(self._utterance) if self._utterance else np.empty(0, np.float32)

    def reset(self) -> None:
        """Forget the present utterance."""
        self._utterance.clear()
        self._recent.clear()
        self._speaking = self._paused = False
        self._silent_ms = 0
        self._finished = None

    def hear(
        self, frame: Samples, kept: Samples | None = None, voice: float | None = None
    ) -> TurnEvent | None:
        """One frame; `kept` is what its utterance is to hold of it if it was the beginning.

        `voice` is the probability that it holds one, if that has been found out already.
        """
        self.heard += FRAME
        if voice is None:
            voice = self._vad(frame)
        if not self._speaking:
            return self._wait(frame if kept is None else kept, voice)
        self._utterance.append(frame)
        self.voice += voice * (voice >= self.options.threshold)
        voiced = voice >= max(LEAST, self.options.threshold - HYSTERESIS)
        return self._resume() if voiced else self._fall_silent()

    def judged(self, finished: float, ending: Ending = Ending.OPEN) -> SpeechEnded | None:
        """The judge's word on the present pause; ends the turn at once if it is time."""
        if not self._paused:
            return None
        self._finished, self._ending = finished, ending
        return self._end() if self._over() else None

    def _wait(self, frame: Samples, voice: float) -> SpeechStarted | None:
        frames = max(1, self.options.prefix_ms // FRAME_MS) + START_WINDOW
        if self._preroll.maxlen != frames:
            self._preroll = deque(self._preroll, maxlen=frames)
        self._preroll.append(frame)
        self._recent.append(voice)
        floor = max(LEAST, self.options.threshold)
        voiced = [each >= floor for each in self._recent]
        needed = ALERT_START_FRAMES if self.alert else START_FRAMES
        if self.alert and voice >= ALERT_SURE:
            needed = 1
        if sum(voiced) < needed or not voiced[-1]:
            return None
        first = len(voiced) - voiced.index(True)  # frames since the first voice
        self._utterance = list(self._preroll)
        self._preroll.clear()
        self._start = self.heard - first * FRAME
        self._speaking, self._paused, self._silent_ms = True, False, 0
        self._finished = None
        self.voice = sum(each for each in self._recent if each >= floor)
        return SpeechStarted(self._start)

    def _resume(self) -> SpeechResumed | SpeechEnded | None:
        was_paused, self._paused = self._paused, False
        self._silent_ms = 0
        self._finished = None
        if len(self._utterance) * FRAME >= MAX_TURN_SEC * EAR_RATE:
            return self._end()
        return SpeechResumed() if was_paused else None

    def _fall_silent(self) -> SpeechPaused | SilenceGrew | SpeechEnded | None:
        before = self._silent_ms
        self._silent_ms += FRAME_MS
        if self._over():
            return self._end()
        if before < PAUSE_MS <= self._silent_ms:
            self._paused = True
            return SpeechPaused()
        if any(before < mark <= self._silent_ms for mark in ASK_AGAIN_MS):
            return SilenceGrew()
        return None

    def _over(self) -> bool:
        silence_ms = self.options.silence_ms
        if silence_ms is not None:
            return self._silent_ms >= silence_ms
        return self._silent_ms >= self._patience_ms()

    def _patience_ms(self) -> int:
        """The silence that ends this pause's turn, by what is known of it."""
        eagerness, finished = self.options.eagerness, self._finished
        if finished is None:
            return MAX_WAIT_MS[eagerness]
        if finished < SURE[eagerness]:
            if self._ending is Ending.COMPLETE:
                return SENTENCE_MS[eagerness]
            if self._ending is Ending.ANNOUNCING:  # whole as well, were it not for what may come
                return max(MORE_MS, SENTENCE_MS[eagerness])
            trailing = self._ending is Ending.TRAILING
            return (MAX_WAIT_MS if trailing else UNCLEAR_MS)[eagerness]
        if self._ending in (Ending.TRAILING, Ending.ANNOUNCING):
            return MORE_MS
        if self._ending is Ending.WAVERING:
            return WAVERING_MS
        return ASK_MS if finished >= QUITE_SURE[eagerness] else HALF_SURE_MS

    def _end(self) -> SpeechEnded:
        end = self.heard - self._silent_ms * EAR_RATE // 1000
        ended = SpeechEnded(self._start, end, self.utterance)
        self._preroll.clear()
        self.reset()
        return ended
