"""What the reply model is asked."""

from models.prompt import BLOCK, CUE, DIALOGUE, SPOKEN, messages
from models.types import Role, Turn
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


# ---- how it was said


def test_how_the_last_turn_was_said_is_remarked_after_its_words() -> None:
    assert messages("x", [Turn("user", "I am fine.", SAD)])[1:] == [
        Turn("user", "I am fine. [The user sounds sad]")
    ]


def test_what_the_model_may_have_read_ahead_comes_before_the_remark() -> None:
    plain, remarked = (messages("", [Turn("user", LONG, how)])[-1].text for how in (None, SAD))
    assert remarked.startswith(plain)
    assert remarked != plain


def test_how_earlier_turns_were_said_is_not_remarked() -> None:
    turns = [Turn("user", "Well.", SAD), Turn("assistant", "Yes?"), Turn("user", "Nothing.")]
    assert messages("x", turns)[1:] == [Turn(turn.role, turn.text) for turn in turns]
    assert messages("x", turns[:2])[1:] == [Turn("user", "Well."), Turn("assistant", "Yes?")]


def test_nothing_is_remarked_where_nothing_stands_out() -> None:
    neutral = known(emotion={"neutral": 0.9, "sad": 0.1})
    assert messages("x", [Turn("user", "Hello.", neutral)])[1:] == [Turn("user", "Hello.")]


def test_of_one_thing_said_in_two_parts_the_last_known_voice_counts() -> None:
    happy = known(emotion={"happy": 0.9})
    for parts in ([None, happy], [SAD, happy], [happy, None]):
        turns = [Turn("user", "So.", how) for how in parts]
        assert messages("x", turns)[-1] == Turn("user", "So. So. [The user sounds happy]")


def test_the_remark_stays_within_its_bound_after_the_longest_turn() -> None:
    everything = known(
        emotion={"disgust": 0.9},
        physiological={"breath": 0.9},
        events={"throat": 0.9},
        volume={"whisper": 0.9},
        environment={"thunderstorm": 0.9},
    )
    plain, remarked = (
        messages("x", [Turn("user", LONG * 100, how)])[-1].text for how in (None, everything)
    )
    assert 0 < len(remarked) - len(plain) <= 2 * CUE, "of about four letters a token"
