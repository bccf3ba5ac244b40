"""What an exchange sounded like, small enough to lie inside a page."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO

import numpy as np
import soundfile

from models.types import WIRE_RATE
from server.scoring.exchange import Conversation
from server.scoring.results import ToldExchange
from server.scoring.score import Unscored
from server.sessions.exchanges import RecordedTurn

LONGEST_SEC = 20.0
BEFORE_SEC, AFTER_SEC = 0.2, 0.4
QUALITY = 0.6  # of MP3: 0 is the best
LOUDEST = 0.95
ELSEWHERE = "Sound is only in the HTML report, where it may be played."

Conversations = Callable[[str], Conversation]


@dataclass(frozen=True, slots=True)
class Clip:
    address: str  # data:; empty where there is no sound
    about: str


def clip(told: ToldExchange, conversations: Conversations | None) -> Clip:
    """Both sides as one sound; of a long exchange the part around the change of speakers."""
    if conversations is None:
        return Clip("", ELSEWHERE)
    try:
        conversation = conversations(told.session_id)
        sought = (told.user_item, told.reply_item)
        turns = [each for each in conversation.turns if each.item_id in sought]
        if not conversation.allowed(*turns).audio:
            return Clip("", "No consent to sound.")
        span = _span([each for each in turns if each.spoken])
        if span is None:
            return Clip("", "Nothing was spoken.")
        begin, end, whole = span
        pcm = conversation.cut(begin, end)
    except Unscored as error:
        return Clip("", f"{str(error).capitalize()}.")
    except Exception:  # whatever it is: a page without one sound is still a page
        return Clip("", "The sound could not be read.")
    if not len(pcm):
        return Clip("", "The sound could not be read.")
    seconds = len(pcm) / WIRE_RATE
    about = f"{seconds:.1f} s, both sides" + ("" if whole else "; cut to the change of speakers")
    return Clip(_address(np.asarray(pcm)), about)


def _span(turns: Sequence[RecordedTurn]) -> tuple[int, int, bool] | None:
    """From, to, and whether that is all of it."""
    if not turns:
        return None
    begin = max(0, min(each.start for each in turns) - round(BEFORE_SEC * WIRE_RATE))
    end = max(each.end for each in turns) + round(AFTER_SEC * WIRE_RATE)
    longest = round(LONGEST_SEC * WIRE_RATE)
    if end - begin <= longest:
        return begin, end, True
    replies = [each.start for each in turns if each.role == "assistant"]
    middle = min(replies, default=begin)
    begin = max(begin, min(middle - longest // 2, end - longest))
    return begin, begin + longest, False


def _address(pcm: "np.ndarray[tuple[int, ...], np.dtype[np.int16]]") -> str:
    mixed = pcm.astype(np.float32).sum(axis=1) / 32768
    peak = float(np.abs(mixed).max(initial=0.0))
    if peak > LOUDEST:
        mixed *= LOUDEST / peak
    held = BytesIO()
    with soundfile.SoundFile(
        held, "w", WIRE_RATE, 1, format="MP3", compression_level=QUALITY
    ) as file:
        file.write(mixed)
    return f"data:audio/mpeg;base64,{b64encode(held.getvalue()).decode()}"
