"""What the reply model is asked."""

import numpy as np

from models.prompt import BLOCK, DIALOGUE, SPOKEN, messages
from models.types import AudioChunk, Role, Turn
from tests.fakes import known

SAD = known(emotion={"sad": 0.9, "neutral": 0.1})
LONG = "so many words here " * 20  # about a hundred tokens


def dialogue(*texts: str) -> list[Turn]:
    roles: tuple[Role, Role] = ("user", "assistant")
    return [Turn(roles[place % 2], text) for place, text in enumerate(texts)]


def test_without_instructions_the_prompt_still_says_how_to_speak() -> None:
    system, *greeting, last = messages("", dialogue("How are you?"))
    assert system.role == "system"
    assert system.text.endswith(SPOKEN)
    assert [turn.role for turn in greeting] == ["user", "assistant"]
    assert last == Turn("user", "How are you?")


def test_a_clients_instructions_are_used_and_the_spoken_style_kept() -> None:
    assert messages(" You are a pirate. ", dialogue("Hello")) == [
        Turn("system", f"You are a pirate. {SPOKEN}"),
        Turn("user", "Hello"),
    ]


def test_the_fixed_part_comes_first_and_never_changes() -> None:
    short, long = messages("", dialogue("One")), messages("", dialogue("Two", "Three", "Four"))
    assert short[:-1] == long[:-3]


def test_a_user_who_paused_and_went_on_has_said_one_thing() -> None:
    turns = [Turn("user", "I was"), Turn("user", "thinking."), Turn("assistant", "Yes?")]
    assert messages("x", turns)[1:] == [Turn("user", "I was thinking."), Turn("assistant", "Yes?")]


def test_an_unheard_reply_does_not_part_what_the_user_said() -> None:
    turns = [Turn("user", "I was"), Turn("assistant", " "), Turn("user", "thinking.")]
    assert messages("x", turns)[1:] == [Turn("user", "I was thinking.")]


def test_empty_turns_are_dropped_and_spaces_made_single() -> None:
    turns = [Turn("user", ""), Turn("user", " a\n b "), Turn("assistant", "\t")]
    assert messages("x", turns)[1:] == [Turn("user", "a b")]


def test_an_opening_by_the_assistant_is_kept() -> None:
    turns = [Turn("assistant", "Welcome!"), Turn("user", "Thanks.")]
    assert messages("x", turns)[1:] == turns


def test_a_long_dialogue_loses_its_oldest_turns_and_begins_with_a_question() -> None:
    turns = dialogue(*(f"{place} {LONG}" for place in range(41)))
    kept = messages("x", turns)[1:]
    assert kept[-1].text.startswith("40 ")
    assert kept[0].role == "user"
    assert 1 < len(kept) < 41
    assert sum(len(turn.text) for turn in kept) / 4 <= DIALOGUE


def test_as_a_dialogue_grows_its_beginning_stays_for_several_turns() -> None:
    turns = dialogue(*(f"{place} {LONG}" for place in range(61)))
    openings = [messages("x", turns[:length])[1] for length in range(21, 61, 2)]
    changes = sum(a != b for a, b in zip(openings, openings[1:], strict=False))
    assert 0 < changes <= 40 * 105 / BLOCK + 1


def test_one_endless_turn_is_cut_at_its_beginning() -> None:
    (last,) = messages("x", [Turn("user", LONG * 100 + "the end")])[1:]
    assert last.text.endswith("the end")
    assert len(last.text) / 4 < DIALOGUE


def test_letters_that_cost_many_tokens_are_counted_so() -> None:
    (last,) = messages("x", [Turn("user", "語" * 5000)])[1:]
    assert len(last.text.encode()) < DIALOGUE


def test_endless_instructions_are_cut_but_the_spoken_style_kept() -> None:
    system, _ = messages(LONG * 100, dialogue("Hello"))
    assert system.text.endswith(SPOKEN)
    assert len(system.text) / 4 < DIALOGUE


# ---- notes


def test_a_note_stands_after_the_last_words() -> None:
    assert messages("x", [Turn("user", "I am fine.", SAD)], note="[Sad]")[1:] == [
        Turn("user", "I am fine. [Sad]")
    ]


def test_what_the_model_may_have_read_ahead_comes_before_the_note() -> None:
    plain, noted = (messages("", [Turn("user", LONG)], note=n)[-1].text for n in ("", "[Sad]"))
    assert noted == f"{plain} [Sad]"


def test_a_note_is_only_for_what_a_user_said_last() -> None:
    turns = [Turn("user", "Well.", SAD), Turn("assistant", "Yes?")]
    assert messages("x", turns, note="[Sad]")[1:] == [Turn("user", "Well."), turns[1]]


def test_without_guidance_a_model_reads_nothing_of_ours() -> None:
    turns = [Turn("user", "Hello.")]
    assert messages("", turns, None) == turns
    assert messages("Be brief.", turns, None) == [Turn("system", "Be brief."), *turns]


def test_what_was_heard_goes_along_for_models_with_ears() -> None:
    first, second = (AudioChunk(np.zeros(n, np.float32)) for n in (1, 2))
    turns = [Turn("user", "I was", audio=first), Turn("user", "thinking.", audio=second)]
    assert messages("x", turns)[-1].audio is second
