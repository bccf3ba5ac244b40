"""What was said and when, in the forms of subtitles."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caption:
    start_sec: float
    end_sec: float
    text: str


def srt(captions: Sequence[Caption]) -> str:
    return "".join(
        f"{number}\n{_time(each.start_sec, ',')} --> {_time(each.end_sec, ',')}\n{each.text}\n\n"
        for number, each in enumerate(captions, 1)
    )


def vtt(captions: Sequence[Caption]) -> str:
    return "WEBVTT\n\n" + "".join(
        f"{_time(each.start_sec, '.')} --> {_time(each.end_sec, '.')}\n{each.text}\n\n"
        for each in captions
    )


def _time(sec: float, point: str) -> str:
    minutes, ms = divmod(round(sec * 1000), 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{ms // 1000:02}{point}{ms % 1000:03}"
