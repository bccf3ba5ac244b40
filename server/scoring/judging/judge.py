"""A judge: what may be put to it, asking until the answer can be read, and asking again."""

import json
import math
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from models.audio import wav
from models.types import AudioChunk
from server.scoring.exchange import NO_SOUND, Exchange
from server.scoring.judging import contestants
from server.scoring.judging.answers import Answer, Malformed, read
from server.scoring.judging.client import Endpoint, Message
from server.scoring.judging.rubric import ONE_OBJECT, Rubric, enclosed
from server.scoring.score import JudgeNamed, Passing, Score, Unscored
from server.scoring.scored import Usage
from server.scoring.settings import JudgeSettings

ITSELF = "the judge is the contestant"
ELSEWHERE = "no consent to research, and the judge is elsewhere"
WITHDRAWN = "withdrawn meanwhile"
DEAF = "the judge does not hear"
UNREADABLE = "the judge's answer could not be read"
TOO_LONG = "the sound is too long for a judge"
FURTHER_TRIES = 2
LONGEST_SEC = 60.0
SHOWN_AGAIN = 2000  # letters of a wrong answer that its author is shown


class Unreadable(Unscored):
    """An answer that stayed unreadable, with all that came."""

    def __init__(self, raw: str) -> None:
        super().__init__(UNREADABLE)
        self.raw = raw


@dataclass(frozen=True, slots=True)
class Sound:
    """Something to listen to, and what it is."""

    name: str
    audio: AudioChunk


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge answered, once or several times."""

    rubric: Rubric
    answers: tuple[Answer, ...]
    raw: str
    telling: bool = True  # its words may be kept

    def mean(self, key: str) -> float:
        return math.fsum(float(answer[key]) for answer in self.answers) / len(self.answers)

    def why(self, key: str) -> str:
        """In the words of its first answer."""
        return self.rubric.reasons(self.answers[0], key) if self.telling else ""

    def score(self, key: str, note: str = "") -> Score:
        return Score(self.mean(key), _joined(note, self.why(key)), raw=self.raw)

    def scores(self, names: Mapping[str, str]) -> dict[str, Score]:
        """By the names of measures, from the keys of the answer."""
        return {name: self.score(key) for key, name in names.items()}

    @property
    def agreement(self) -> float | None:
        """How often, in a hundred, two of its answers to one question are equal."""
        keys = [question.key for question in self.rubric.questions]
        pairs = [
            one[key] == other[key] for one, other in combinations(self.answers, 2) for key in keys
        ]
        return 100 * sum(pairs) / len(pairs) if pairs else None


class Judge:
    """Someone to ask about exchanges, who is told nothing that was not consented to."""

    def __init__(self, settings: JudgeSettings, endpoint: Endpoint | None = None) -> None:
        self._settings = settings
        self._endpoint = endpoint or Endpoint(settings)

    @property
    def named(self) -> JudgeNamed:
        host = None if self._endpoint.local else self._endpoint.url.host
        return JudgeNamed(self._endpoint.model, host=host)

    @property
    def usage(self) -> Usage:
        """Of what was asked since it was built; what a cache knew was not asked."""
        return self._endpoint.usage

    @property
    def hears(self) -> bool:
        return self._settings.hears

    def key(self, name: str, version: int, rubrics: Iterable[str]) -> str:
        """All that the scores of an instrument depend on; another host may serve another model."""
        told = self._settings
        return (
            f"{name} {version}; rubrics {'+'.join(rubrics)}; judge {told.model} "
            f"{'here' if self._endpoint.local else f'at {self._endpoint.url.netloc.decode()}'}; "
            f"temperature {told.temperature:g}; seed {told.seed}; repeats {told.repeats}; "
            f"hears {told.hears}; itself {told.allow_same_model}; tokens {told.max_tokens}"
        )

    def admit(self, exchange: Exchange, *, contest: bool = True) -> None:
        """Raises Unscored where this exchange may not be put to this judge."""
        if not self._endpoint.local:
            if not exchange.consent.research:
                raise Unscored(ELSEWHERE)
            if not exchange.conversation.is_still_allowed():
                raise Passing(WITHDRAWN)
        if self._settings.allow_same_model or not contest:
            return
        responder = exchange.conversation.session.models.get("responder")
        if contestants.same(self._endpoint.model, self._endpoint.url, responder):
            raise Unscored(ITSELF)

    def listening(self) -> None:
        if not self.hears:
            raise Unscored(DEAF)

    def ask(
        self,
        exchange: Exchange,
        rubric: Rubric,
        material: Mapping[str, Any],
        sounds: Sequence[Sound] = (),
        *,
        contest: bool = True,
    ) -> Verdict:
        """The judge's opinion, as often as the settings say.

        Args:
            exchange: what it is about; whether it may be asked depends on it.
            rubric: what it is asked.
            material: what it reads; words only, which whoever calls was allowed to take.
            sounds: what it listens to.
            contest: whether something is judged that the exchange's own models made.
        """
        self.admit(exchange, contest=contest)
        if sounds:
            self.listening()
            if not exchange.consent.audio:
                raise Unscored(NO_SOUND)
            if any(sound.audio.duration > LONGEST_SEC for sound in sounds):
                raise Unscored(TOO_LONG)
        # Without consent to words a judge's own, which may repeat them, are not kept either.
        telling = exchange.consent.transcript
        messages = _messages(rubric, material, sounds)
        answers: list[Answer] = []
        came: list[str] = []
        for repeat in range(self._settings.repeats):
            if repeat:
                self.admit(exchange, contest=contest)
            try:
                answers.append(self._answer(messages, rubric, self._settings.seed + repeat, came))
            except Malformed:
                raise Unreadable(self._raw(rubric, came, answers, telling)) from None
        raw = self._raw(rubric, came, answers, telling)
        return Verdict(rubric, tuple(answers), raw, telling)

    def _answer(
        self, messages: Sequence[Message], rubric: Rubric, seed: int, came: list[str]
    ) -> Answer:
        asked = list(messages)
        for attempt in range(FURTHER_TRIES + 1):
            completion = self._endpoint.complete(asked, seed)
            came.append(completion.text)
            try:
                return read(completion.text, rubric.fields)
            except Malformed as problem:
                if attempt == FURTHER_TRIES:
                    raise
                wrong = str(problem) if completion.whole else "it was too long and broke off"
            self._endpoint.meter.retries += 1
            asked = [
                *messages,
                {"role": "assistant", "content": completion.text[:SHOWN_AGAIN] or "(nothing)"},
                {"role": "user", "content": f"That cannot be read: {wrong}. {ONE_OBJECT}"},
            ]
        raise AssertionError("the last attempt returns or raises")

    def _raw(
        self, rubric: Rubric, came: Sequence[str], answers: Sequence[Answer], telling: bool
    ) -> str:
        """What came, as it came; only the grades where words may not be kept."""
        graded = {question.key for question in rubric.questions}
        told: dict[str, Any] = {"judge": self._endpoint.model, "rubric": rubric.name}
        if telling:
            told["answers"] = list(came)
        else:
            told["grades"] = [
                {key: value for key, value in answer.items() if key in graded} for answer in answers
            ]
        return json.dumps(told, ensure_ascii=False)


def _messages(
    rubric: Rubric, material: Mapping[str, Any], sounds: Sequence[Sound]
) -> list[Message]:
    text = f"{enclosed(material)}\n{ONE_OBJECT}"
    content: str | list[dict[str, Any]] = text
    if sounds:
        content = []
        for sound in sounds:
            content.append({"type": "text", "text": f"The next sound is {sound.name}."})
            content.append({"type": "input_audio", "input_audio": _encoded(sound.audio)})
        content.append({"type": "text", "text": text})
    return [
        {"role": "system", "content": rubric.instructions},
        {"role": "user", "content": content},
    ]


def _encoded(audio: AudioChunk) -> dict[str, str]:
    return {"data": b64encode(wav(audio.samples, audio.rate)).decode(), "format": "wav"}


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)
