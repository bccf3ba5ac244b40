"""A model that was taught to follow a note: told as in training, and heard only when it speaks."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import pytest

from models.corpus import simple
from models.corpus.exchange import Split, Way, load
from models.errors import BackendError
from models.thinking.followups import of_fact, written
from models.thinking.imagined import imagined
from models.thinking.openings import NODS
from models.thinking.plan import ReplyPlan, Strategy
from models.thinking.told import SYSTEM, THINK, Told, note, thought
from models.thinking.tuned import SURE, TunedThinker
from models.tuning.examples import empathic, led
from models.tuning.planned import heard
from models.types import Token, Turn
from tests.fakes import Scripted, known

THOUGHT = "[Need: rest. Do: calm. Tone: happy.]"
SAD = known(emotion={"sad": 0.9, "neutral": 0.1})
SAID = Turn("user", "I got my results back today.", SAD)


async def replied(
    thinker: TunedThinker, responder: Scripted, *dialogue: Turn, instructions: str = ""
) -> tuple[ReplyPlan, str]:
    plan = await thinker.think(dialogue, responder, instructions)
    answer = thinker.answer(plan, instructions, dialogue, responder, 50)
    return plan, "".join([token async for token in answer])


async def test_the_model_is_told_as_it_was_taught() -> None:
    responder = Scripted("What ", "did they ", "say?")
    plan, said = await replied(TunedThinker(), responder, SAID)
    assert said == "What did they say?"
    assert responder.asked == [
        [Turn("system", SYSTEM), Turn("user", f"{SAID.text} {note(plan, Told.PLAN)}")]
    ]
    assert "The user sounds sad." in note(plan, Told.PLAN)
    assert responder.open == 0


async def test_its_own_words_open_the_reply() -> None:
    plan, _ = await replied(TunedThinker(), Scripted("Oh."), Turn("user", "My dog died.", SAD))
    assert plan.acknowledgement == ""


@pytest.mark.parametrize("told", list(Told))
async def test_what_is_asked_is_what_was_taught(told: Told) -> None:
    """Up to the reply, letter by letter, for scripts of the corpus."""
    for exchange in load(Split.DEV)[:20]:
        for way in Way:
            before = [Turn(line.role, line.text) for line in exchange.lines[:-1]]
            heard = imagined(cue.heard for cue in exchange.variants[way].cues)
            responder = Scripted("Hm.")
            thinker = TunedThinker(told)
            plan, _ = await replied(
                thinker, responder, *before, Turn("user", exchange.words, heard)
            )
            if plan.fixed:
                continue
            taught = list(empathic(exchange, way, told).turns)
            assert all(asked[: len(taught)] == taught for asked in responder.asked)
            assert responder.asked


async def test_what_it_is_led_to_go_on_from_is_what_was_taught() -> None:
    easy = simple.load()
    told = 0
    for exchange in [each for each in load(Split.TRAIN) if each.id in easy][:300]:
        for way in easy[exchange.id]:
            responder, dialogue = Scripted("Hm."), heard(exchange, way)
            plan, _ = await replied(TunedThinker(lead=True), responder, *dialogue)
            taught = led(exchange, way, "Hm.")
            if responder.asked and taught:
                assert responder.asked == [[*taught.turns, Turn("assistant", taught.begun)]]
                told += 1
            assert bool(responder.asked) == (of_fact(plan.situation) and not plan.fixed)
    assert told


@pytest.mark.parametrize("told", list(Told))
async def test_what_is_read_ahead_begins_what_is_asked(told: Told) -> None:
    thinker, responder = TunedThinker(told), Scripted("Hm.")
    ahead = thinker.prompt("Be brief.", [Turn("user", SAID.text)])
    await replied(thinker, responder, SAID, instructions="Be brief.")
    assert ahead[0].text == f"{SYSTEM} Be brief."
    for asked in responder.asked:
        assert asked[0] == ahead[0]
        assert asked[1].text.startswith(ahead[1].text)


async def test_there_is_nothing_to_think_about_what_we_said_ourselves() -> None:
    responder = Scripted("Still there?")
    ours = Turn("assistant", "How was your day?")
    await replied(TunedThinker("think"), responder, SAID, ours)
    assert responder.asked == [[Turn("system", SYSTEM), Turn("user", SAID.text), ours]]


async def test_a_thought_is_planned_with_and_never_said() -> None:
    responder = Scripted("[Need: good", " news. Do: celebrate, sing. ", "Tone: happy.] Hooray!")
    plan = await TunedThinker("think").think([SAID], responder)
    assert plan.strategies == (Strategy.CELEBRATE,)  # there is no singing
    assert (plan.emotion, plan.said.need, plan.source) == ("happy", "good news", "rules+model")
    assert responder.open == 0
    speaking = Scripted("Well done!")
    answer = TunedThinker("think").answer(plan, "", [SAID], speaking, 50)
    assert [token async for token in answer] == ["Well done!"]
    asked = speaking.asked[0]
    assert asked[-2].text.endswith("Think first.]")
    assert asked[-1] == Turn("assistant", thought(plan))


@pytest.mark.parametrize("tokens", [(), ("Oh dear.",), ("[Need: ", "x" * 400), ("[Need: a.]",)])
async def test_without_a_thought_the_rules_plan(tokens: Sequence[str]) -> None:
    by_rules = await TunedThinker().think([SAID], Scripted())
    assert await TunedThinker("think").think([SAID], Scripted(*tokens)) == by_rules


class Late(Scripted):
    """A Responder that begins when it is let."""

    def __init__(self, begin: asyncio.Event, *tokens: str) -> None:
        super().__init__(*tokens)
        self._begin = begin

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        self.open += 1
        try:
            await self._begin.wait()
            async with aclosing(super().respond(dialogue, max_tokens)) as tokens:
                async for token in tokens:
                    yield token
        finally:
            self.open -= 1


async def test_a_model_that_never_thinks_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("models.thinking.tuned.THOUGHT_SEC", 0.01)
    by_rules = await TunedThinker().think([SAID], Scripted())
    late = Late(asyncio.Event())
    assert await TunedThinker("think").think([SAID], late) == by_rules
    assert late.open == 0


async def test_a_reply_that_is_left_lets_go_of_the_model() -> None:
    responder = Scripted("Which one", " is it,", " then?")
    plan = await TunedThinker().think([SAID], responder)
    answer = TunedThinker().answer(plan, "", [SAID], responder, 50)
    assert await anext(answer) == "Which one"
    assert responder.open == 1
    await answer.aclose()
    assert responder.open == 0


async def test_a_plan_has_a_nod_for_a_reply_that_is_late() -> None:
    said = Turn("user", "I bought a new phone today.")
    plan = await TunedThinker().think([said], Scripted())
    assert plan.nod in NODS[plan.situation] and plan.acknowledgement == ""


async def test_notes_and_circles_of_the_model_are_not_passed_on() -> None:
    _, said = await replied(TunedThinker(), Scripted("[The user sighs.] ", "Oh."), SAID)
    assert said == "Oh."
    _, said = await replied(TunedThinker(), Scripted(*["We go on. "] * 400), SAID)
    assert 1 <= said.count("We go on.") <= 3


@pytest.mark.parametrize(
    "tokens",
    [(), ("",), ("[Need: rest.]",), ("(Need: rest.)",), ("*[Need: a.]", "*"), ("<|im_end|>",)],
)
async def test_a_model_that_says_nothing_still_gives_a_reply(tokens: Sequence[str]) -> None:
    plan, said = await replied(TunedThinker(), Scripted(*tokens), SAID)
    assert said.strip("* ") == written(plan, SAID.text, [])  # marks are not spoken


async def test_distress_gets_the_careful_reply_and_no_model_is_asked() -> None:
    for told in Told:
        responder = Scripted("Cheer up!")
        plan, said = await replied(
            TunedThinker(told), responder, Turn("user", "I don't want to live anymore.")
        )
        assert plan.fixed == said and "Cheer" not in said
        assert responder.asked == []


async def test_an_operator_can_say_where_to_turn() -> None:
    thinker = TunedThinker(helplines="the night line on 555")
    _, said = await replied(thinker, Scripted(), Turn("user", "I want to kill myself."))
    assert "the night line on 555" in said


def test_an_unknown_way_names_those_there_are() -> None:
    with pytest.raises(BackendError, match="plan, think"):
        TunedThinker("cue")


GOOD_NEWS = Turn("user", "I bought a new phone today.", known(emotion={"happy": 0.9}))
QUESTION = Turn("user", "What is the tallest mountain?")


def weighed(*sentences: tuple[str, float]) -> list[str]:
    """Sentences word by word, all of one as likely."""
    return [Token(f"{word} ", logprob) for text, logprob in sentences for word in text.split()]


async def replied_led(tokens: Sequence[str], *dialogue: Turn) -> tuple[ReplyPlan, str, Scripted]:
    responder = Scripted(*tokens)
    plan, said = await replied(TunedThinker(lead=True), responder, *(dialogue or (QUESTION,)))
    return plan, said.strip(), responder


@pytest.mark.parametrize(
    "said",
    [
        GOOD_NEWS,
        Turn("user", "I bought a new phone today."),
        Turn("user", "My dog died."),
        Turn("user", "Can you recommend a film?"),
        Turn("user", "She's in Katie's seat.", known(physiological={"sobbing": 0.9})),
    ],
    ids=lambda turn: turn.text,
)
async def test_led_talk_goes_on_in_words_of_ours_and_no_model_is_asked(said: Turn) -> None:
    plan, reply, responder = await replied_led(["What are you going to help me with?"], said)
    assert plan.acknowledgement and reply == written(plan, said.text, [])
    assert responder.asked == []


async def test_led_only_what_the_model_is_asked_is_read_ahead() -> None:
    thinker, responder = TunedThinker(lead=True), Scripted("Everest.")
    assert thinker.prompt("", [Turn("user", "I bought a new")]) == []
    ahead = thinker.prompt("", [QUESTION])
    await replied(thinker, responder, QUESTION)
    (asked,) = responder.asked
    assert asked[0] == ahead[0] and asked[1].text.startswith(ahead[1].text)
    assert thinker.prompt("You are a pirate.", [Turn("user", "I bought a new")])


async def test_led_a_question_of_fact_is_answered_without_ado() -> None:
    plan, said, _ = await replied_led(["It is", " Everest."])
    assert (plan.acknowledgement, said) == ("", "It is Everest.")


async def test_led_a_question_in_an_unhappy_voice_is_answered_after_a_word_for_that() -> None:
    asked = Turn(QUESTION.role, QUESTION.text, SAD)
    plan, said, responder = await replied_led(["It is Everest."], asked)
    assert plan.acknowledgement and said == "It is Everest."
    assert responder.asked[0][-1] == Turn("assistant", plan.acknowledgement)


async def test_led_what_it_is_unsure_of_is_not_said() -> None:
    plan, said, _ = await replied_led(weighed(("Mountains are a kind of soup.", SURE - 0.1)))
    assert said == written(plan, QUESTION.text, [])
    sure, unsure = ("It is Everest.", SURE + 0.1), ("It grows on trees.", SURE - 0.1)
    _, said, _ = await replied_led(weighed(sure, unsure, sure))
    assert said == sure[0]


async def test_led_how_sure_it_was_is_each_sentence_s_own() -> None:
    """The next one's first word is known by then, and is none of it."""
    before, after = weighed(("It is Everest.", SURE + 1)), weighed(("And which?", SURE - 9))
    _, said, _ = await replied_led([*before, *after])
    assert said == "It is Everest."


async def test_led_an_engine_that_does_not_weigh_is_trusted() -> None:
    _, said, _ = await replied_led(["It is", " Everest."])
    assert said == "It is Everest."


async def test_led_it_stops_at_a_question_and_after_two_sentences() -> None:
    _, said, responder = await replied_led(["Which one? ", "It rains. ", "It pours."])
    assert said == "Which one?" and responder.open == 0
    _, said, _ = await replied_led(["It rains. ", "It pours. ", "It hails. "])
    assert said == "It rains. It pours."


@pytest.mark.parametrize(
    "words", ["Sing me something, please.", "Hello.", "My dog died.", "Thanks!"]
)
async def test_led_a_client_s_own_instructions_leave_the_wording_to_the_model(words: str) -> None:
    """However long it goes on, however unsure it is, and whatever marks it sets."""
    told = [*((f"Arr, verse {number}!", SURE - 2) for number in range(5)), ("It is [B].", SURE - 2)]
    responder = Scripted(*weighed(*told))
    thinker, asked = TunedThinker(lead=True), Turn("user", words)
    _, said = await replied(thinker, responder, asked, instructions="You are a pirate.")
    assert said.split() == " ".join(verse for verse, _ in told).split()
    (prompt,) = responder.asked
    assert not any("[" in turn.text for turn in prompt)  # no note is told


async def test_led_not_even_a_part_makes_it_refuse_or_pretend() -> None:
    told = ["Arr. ", "As an AI I cannot sing. ", "Arr."]
    asked = Turn("user", "Sing me something, please.")
    thinker = TunedThinker(lead=True)
    _, said = await replied(thinker, Scripted(*told), asked, instructions="You are a pirate.")
    assert said.strip() == "Arr."


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
async def test_led_a_thought_is_not_said_whatever_part_a_client_sets(size: int) -> None:
    told = f"[Need: comfort. Do: reflection, question. Tone: comforting.] Ahoy [B]. {THOUGHT} Aye."
    tokens = [told[at : at + size] for at in range(0, len(told), size)]
    asked, part = Turn("user", "Hello."), "Think first, then answer kindly."
    _, said = await replied(TunedThinker(lead=True), Scripted(*tokens), asked, instructions=part)
    assert said.split() == ["Ahoy", "[B].", "Aye."]


async def test_led_with_a_client_s_own_instructions_no_thought_is_asked_for_or_begun() -> None:
    responder = Scripted("Arr.")
    thinker = TunedThinker("think", lead=True)
    plan, said = await replied(thinker, responder, QUESTION, instructions="You are a pirate.")
    (asked,) = responder.asked
    assert not any(THINK in turn.text or "[" in turn.text for turn in asked)
    assert said.strip() == "Arr." and plan.source == "rules"


async def test_led_it_thinks_only_about_what_it_will_word() -> None:
    thinker, responder = TunedThinker("think", lead=True), Scripted(THOUGHT)
    talk = await thinker.think([SAID], responder)
    assert responder.asked == [] and talk.source == "rules"
    question = await thinker.think([QUESTION], responder)
    assert len(responder.asked) == 1 and question.source == "rules+model"


@pytest.mark.parametrize(
    "words",
    ["Set a timer for ten minutes.", "Can you call my mother?", "Can you dim the lights?"],
)
async def test_led_a_deed_is_asked_of_no_model(words: str) -> None:
    asked = Turn("user", words)
    plan, said, responder = await replied_led(["I have called her."], asked)
    assert responder.asked == [] and said == written(plan, words, [])


@pytest.mark.parametrize(
    "claimed", ["I've set a timer for ten minutes.", "I have called her.", "Okay, done."]
)
async def test_led_what_was_not_done_is_never_claimed(claimed: str) -> None:
    plan, said, responder = await replied_led([claimed])
    assert responder.asked and said == written(plan, QUESTION.text, [])


@pytest.mark.parametrize(
    "words",
    [
        "Can you tell me who wrote Moby Dick?",
        "Name a fruit that is yellow.",
        "What is frozen water called?",
        "Spell necessary.",
    ],
)
async def test_led_what_wants_only_to_be_told_is_asked_of_the_model(words: str) -> None:
    plan, said, responder = await replied_led(["It is so."], Turn("user", words))
    assert (plan.situation, said, len(responder.asked)) == ("asks", "It is so.", 1)


async def test_led_an_operator_can_say_how_sure_is_sure() -> None:
    tokens, asked = weighed(("It is Everest.", SURE - 0.5)), [QUESTION]
    for sure, told in ((SURE, False), (SURE - 1, True)):
        _, said = await replied(TunedThinker(lead=True, sure=sure), Scripted(*tokens), *asked)
        assert ("Everest" in said) == told


async def test_led_what_was_said_before_is_not_said_again() -> None:
    before = Turn("assistant", "It is Everest.")
    plan, said, _ = await replied_led(["It is Everest."], QUESTION, before, QUESTION)
    assert said == written(plan, QUESTION.text, [before.text])


async def test_led_a_model_that_keeps_somebody_waiting_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("models.thinking.tuned.LED_SEC", 0.01)
    late, asked = Late(asyncio.Event(), "Everest."), Turn(QUESTION.role, QUESTION.text, SAD)
    plan, said = await replied(TunedThinker(lead=True), late, asked)
    assert said == written(plan, asked.text, []) and late.open == 0
    begin = asyncio.Event()
    asyncio.get_running_loop().call_later(
        0.05, begin.set
    )  # nothing is said before: it is waited for
    _, said = await replied(TunedThinker(lead=True), Late(begin, "Everest."), QUESTION)
    assert said.strip() == "Everest."


async def test_led_a_nod_is_not_given_twice_in_a_row() -> None:
    said, thinker = Turn("user", "I bought a new phone today."), TunedThinker(lead=True)
    first = await thinker.think([said], Scripted())
    again = await thinker.think(
        [said, Turn("assistant", f"{first.acknowledgement} Which one?"), said], Scripted()
    )
    nods = first.acknowledgement, again.acknowledgement
    assert set(nods) <= set(NODS[first.situation]) and len(set(nods)) == 2


async def test_a_written_sentence_names_the_matter_unless_the_opening_did() -> None:
    exam = Turn("user", "I have my exam tomorrow.", known(emotion={"fear": 0.9}))
    plan, said, _ = await replied_led([], exam)
    assert plan.said.about == "your exam tomorrow"
    assert (plan.said.about in plan.acknowledgement) != (plan.said.about in said)


@pytest.mark.parametrize(
    "words",
    [
        "I used to have one of those.",
        "As an AI, I have no mountains.",
        "It has a lot of different and",
        "I'm your doctor, my name is Bob.",
    ],
)
async def test_led_what_is_untrue_or_unfinished_is_not_said(words: str) -> None:
    plan, said, _ = await replied_led([words])
    assert said == written(plan, QUESTION.text, [])
