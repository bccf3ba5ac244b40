"""A consent tells nothing of what was before it: every turn is used by its own."""

from dataclasses import replace

import pytest

from models.types import WIRE_RATE
from server.consent import Consent
from server.scoring.exchange import Exchange
from server.scoring.judging.judge import Judge
from server.scoring.judging.material import about
from server.scoring.measuring import measured
from server.scoring.score import Score, Unscored
from server.scoring.settings import JudgeSettings
from server.scoring.words import kept
from tests.scoring_parts import ALL, conversation, silence, turn

TURNS = [
    turn(0, "user", 0.0, 1.0, "I came home late."),
    turn(1, "assistant", 1.5, 2.5, "How was it?"),
    turn(2, "user", 3.0, 4.0, "Long."),
    turn(3, "assistant", 4.5, 5.5, "Rest a little."),
]


def exchanges(**allowed: float) -> tuple[Exchange, Exchange]:
    """Two exchanges of a conversation in which each scope was allowed at some second."""

    def consent_at(position: int) -> Consent:
        said = {scope: position >= second * WIRE_RATE for scope, second in allowed.items()}
        return Consent(**{"transcript": True, "audio": True, "research": True, **said})

    whole = replace(conversation(TURNS, silence(6)), consent_at=consent_at)
    return Exchange(whole, 0, TURNS[0], TURNS[1]), Exchange(whole, 1, TURNS[2], TURNS[3])


def test_a_reply_that_began_before_the_consent_to_sound_is_not_listened_to() -> None:
    before, after = exchanges(audio=2.0)
    with pytest.raises(Unscored, match="no consent to sound"):
        before.reply_sound()
    with pytest.raises(Unscored, match="no consent to sound"):
        before.sound_allowed()
    assert after.reply_sound().duration == 1.0


def test_words_from_before_the_consent_are_missing_and_not_a_silent_reply() -> None:
    before, after = exchanges(transcript=1.2)
    assert not before.consent.transcript
    for take in (kept.answered, kept.recognised, Exchange.reply_words, Exchange.user_words):
        with pytest.raises(Unscored, match="no consent to words"):
            take(before)
    assert kept.answered(after) == "Rest a little."


def test_earlier_turns_come_along_only_if_they_may_go_as_far() -> None:
    before, after = exchanges(research=2.8)
    assert not before.consent.research
    assert after.consent == ALL and after.before == []
    assert "earlier" not in about(after)
    _, open_to_all = exchanges()
    assert [each["said"] for each in about(open_to_all)["earlier"]] == [
        "I came home late.",
        "How was it?",
    ]


def test_what_a_judge_said_of_a_turn_without_words_is_not_kept() -> None:
    class Talkative:
        key = "talkative"
        judge = None

        def measure(self, exchange: Exchange) -> dict[str, Score]:
            return {"ctx_fit": Score(4, "They said: late.", raw="late")}

    before, after = exchanges(transcript=2.8)
    told = measured(Talkative(), ("ctx_fit",), before)["ctx_fit"]
    assert (told.value, told.why, told.raw) == (4, "", "")
    assert measured(Talkative(), ("ctx_fit",), after)["ctx_fit"].why == "They said: late."


def test_a_judge_elsewhere_is_asked_nothing_more_once_somebody_has_withdrawn() -> None:
    settings = JudgeSettings(url="http://judge.example.org/v1", model="m")
    judge = Judge(settings)
    _, allowed = exchanges()
    judge.admit(allowed)
    withdrawn = replace(allowed.conversation, is_still_allowed=lambda: False)
    with pytest.raises(Unscored, match="withdrawn meanwhile"):
        judge.admit(replace(allowed, conversation=withdrawn))
    beside_us = Judge(JudgeSettings(url="http://127.0.0.1:1/v1", model="m"))
    beside_us.admit(replace(allowed, conversation=withdrawn))
