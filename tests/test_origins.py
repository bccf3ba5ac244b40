"""What was said under one consent is not kept under a later, wider one."""

from server.consent import Consent
from server.recording.origins import Origins

NOTHING, ALL = Consent(), Consent(True, True, True)
WORDS = Consent(transcript=True)


def about(item: str, kind: str = "conversation.item.done") -> dict[str, object]:
    return {"type": kind, "item_id": item}


def said(item: str) -> dict[str, object]:
    return {"type": "conversation.item.added", "item": {"id": item, "role": "user"}}


def test_nothing_may_be_kept_before_anybody_agreed() -> None:
    assert Origins().allow(about("item_1")) == NOTHING


def test_what_is_new_falls_under_the_present_consent() -> None:
    origins = Origins()
    origins.agreed(100, WORDS)
    assert origins.allow(about("item_1")) == WORDS


def test_an_item_told_of_before_the_consent_stays_out_of_it() -> None:
    origins = Origins()
    origins.allow(about("item_1"))
    origins.agreed(100, ALL)
    assert origins.allow(about("item_1")) == NOTHING


def test_a_turn_that_began_before_the_consent_stays_out_though_it_is_told_of_only_later() -> None:
    origins = Origins()
    origins.agreed(100, ALL)
    origins.began("item_1", 99)
    origins.began("item_2", 100)
    assert origins.allow(about("item_1")) == NOTHING
    assert origins.allow(about("item_2")) == ALL


def test_a_turn_under_a_narrow_consent_is_not_widened_by_a_later_one() -> None:
    origins = Origins()
    origins.agreed(0, WORDS)
    origins.began("item_1", 50)
    origins.agreed(100, ALL)
    assert origins.allow(about("item_1")) == WORDS


def test_what_was_withdrawn_cannot_be_given_back() -> None:
    origins = Origins()
    origins.agreed(0, ALL)
    origins.allow(about("item_1"))
    origins.agreed(100, NOTHING)
    origins.agreed(200, ALL)
    assert origins.allow(about("item_1")) == NOTHING


def test_a_reply_falls_under_the_consent_of_the_turn_it_answers() -> None:
    origins = Origins()
    origins.allow(said("item_1"))
    origins.agreed(100, ALL)
    created = {"type": "response.created", "response": {"id": "resp_1"}}
    assert origins.allow(created) == NOTHING
    style = {"type": "attune.style", "response_id": "resp_1", "item_id": "item_2"}
    assert origins.allow(style) == NOTHING
    assert origins.allow(about("item_2")) == NOTHING


def test_a_reply_to_a_later_turn_is_free_of_the_earlier_one() -> None:
    origins = Origins()
    origins.allow(said("item_1"))
    origins.agreed(100, ALL)
    origins.began("item_2", 150)
    origins.allow(said("item_2"))
    assert origins.allow({"type": "response.created", "response": {"id": "resp_1"}}) == ALL


def test_a_session_is_no_turn() -> None:
    origins = Origins()
    origins.allow({"type": "session.created", "session": {"id": "sess_1"}})
    origins.agreed(100, ALL)
    assert origins.allow({"type": "session.updated", "session": {"id": "sess_1"}}) == ALL
