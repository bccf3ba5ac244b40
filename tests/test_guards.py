"""What a model should not be heard saying is recognised, and nothing else."""

from collections.abc import AsyncGenerator

import pytest

from models.thinking.guards import (
    apologises,
    circles,
    claims_a_deed,
    pretends,
    refuses,
    stale,
    unlooped,
    unnoted,
    unthought,
)


@pytest.mark.parametrize(
    "text",
    [
        "I'm afraid I'm unable to recommend a book.",
        "As an AI, I don't have feelings.",
        "I cannot help with that.",
    ],
)
def test_refusals_are_recognised(text: str) -> None:
    assert refuses(text)


@pytest.mark.parametrize(
    "text",
    [
        "What brings you to my office today?",
        "I can take you a picture of it.",
        "Maybe we could take a walk together?",
        "What is your phone number?",
        "Do you have any other jobs lined up for me?",
    ],
)
def test_claims_of_a_body_or_prying_are_recognised(text: str) -> None:
    assert pretends(text)


@pytest.mark.parametrize(
    "text",
    ["How can I help you?", "Would you like to know more about it?", "I'm here to assist you."],
)
def test_phrases_of_the_trade_are_recognised(text: str) -> None:
    assert stale(text)


@pytest.mark.parametrize(
    "text",
    [
        "I've set a timer for ten minutes.",
        "I have called her.",
        "I have just turned the lights off.",
        "I’ve added milk to your list.",
        "I sent the message.",
        "I'll remind you at five.",
        "Let me check the weather.",
        "I can book a table.",
        "I'm going to wake you at six.",
        "Your alarm is set for six.",
        "The lights are off.",
        "Playing some jazz for you.",
        "Okay, done!",
        "All set.",
    ],
)
def test_claims_of_deeds_are_recognised(text: str) -> None:
    assert claims_a_deed(text)


@pytest.mark.parametrize(
    "text",
    [
        "Herman Melville called him Ahab.",
        "The United States was founded in 1776.",
        "It is called ice.",
        "A call is made by telephone.",
        "I have no idea.",
        "I need to think about it.",
        "I can tell you that it is Rome.",
        "A timer is a clock that counts down.",
        "It was done by Newton.",
        "Birds build nests now and then.",
    ],
)
def test_what_others_did_is_no_deed_of_ours(text: str) -> None:
    assert not claims_a_deed(text)


@pytest.mark.parametrize(
    "text",
    [
        "What kind of dog did you have?",
        "That must have taken months of work.",
        "The capital of France is Paris.",
        "You could ask your doctor about it tomorrow.",
        "Can your sister help you with the move?",
        "No, I'm an AI, a computer program.",
    ],
)
def test_ordinary_sentences_pass(text: str) -> None:
    assert not (refuses(text) or pretends(text) or stale(text))


def test_an_apology_is_one_however_strong() -> None:
    assert apologises("I'm so sorry about your dog.")
    assert apologises("I am truly sorry.")
    assert not apologises("It was a sorry sight.")


@pytest.mark.parametrize(
    "text",
    [
        "we go on and on and on and on and on and on",
        "I see. I see. I see.",
        "It is what it is, it is what it is, it is what it is,",
        "la la la la la",
    ],
)
def test_going_in_circles_is_noticed(text: str) -> None:
    assert circles(text)


@pytest.mark.parametrize(
    "text",
    ["No, no, no, not that one.", "I see. I see what you mean.", "It was so, so good.", ""],
)
def test_saying_something_twice_is_no_circle(text: str) -> None:
    assert not circles(text)


async def test_a_loop_ends_the_reply_where_it_closes() -> None:
    closed = False

    async def tokens() -> AsyncGenerator[str, None]:
        nonlocal closed
        try:
            while True:
                for token in ("you", " are", " kind", ". "):
                    yield token
        finally:
            closed = True

    source = tokens()
    said = "".join([token async for token in unlooped(source)])
    await source.aclose()
    assert said.count("kind") == 2
    assert closed


# ---- notes


async def spoken(*tokens: str) -> str:
    async def stream() -> AsyncGenerator[str, None]:
        for token in tokens:
            yield token

    return "".join([token async for token in unnoted(stream())])


@pytest.mark.parametrize(
    ("told", "heard"),
    [
        ("[Need: rest. Do: calm. Tone: pleasant.] Sleep well.", "Sleep well."),
        ("Oh. [The user sighs.] Long day?", "Oh. Long day?"),
        ("Oh.[The user sighs.] Long day?", "Oh. Long day?"),
        ("Long day? [Need: rest. Do: ca", "Long day? "),
        ("Long day? Need: rest. Do: calm.", "Long day?"),
        ("Long day? Need:", "Long day?"),
        ("Need:rest. do : calm.", ""),
        ("Oh. **Tone:** happy.", "Oh."),
        ("(Need: rest. Do: calm.) Hello.", ""),
        ("Think first. Oh dear.", ""),
        ("Do you need a rest? Need be, I'll wait.", "Do you need a rest? Need be, I'll wait."),
        ("Here is a to-Do: rest.", "Here is a to-Do: rest."),
        ("Tone it down. Do", "Tone it down. Do"),
        ("Nothing is lost. No", "Nothing is lost. No"),
        ("Think first of you. Then", "Think first of you. Then"),
    ],
)
async def test_notes_are_never_said_however_they_are_split(told: str, heard: str) -> None:
    for size in (1, 2, 3, 7, len(told)):
        pieces = [told[at : at + size] for at in range(0, len(told), size)]
        assert await spoken(*pieces) == heard


async def thoughtless(*tokens: str) -> str:
    async def stream() -> AsyncGenerator[str, None]:
        for token in tokens:
            yield token

    return "".join([token async for token in unthought(stream())])


THOUGHT = "Need: comfort. Do: reflection, question. Tone: comforting."


@pytest.mark.parametrize(
    ("told", "heard"),
    [
        (f"[{THOUGHT}] Oh dear.", "Oh dear."),
        (f"Oh dear. [{THOUGHT}] And then?", "Oh dear. And then?"),
        (f"Oh dear.[{THOUGHT}] And then?", "Oh dear. And then?"),
        (f"[{THOUGHT}] [{THOUGHT}] Oh dear.", "Oh dear."),
        (f"[ {THOUGHT.lower()} ] Oh dear.", "Oh dear."),
        ("Oh dear. [Need: comfort. Do: refl", "Oh dear. "),
        (f"{THOUGHT} Oh dear.", "Oh dear."),
        (f"({THOUGHT}) Oh dear.", "Oh dear."),
        ("Need: comfort. Do: reflection. Oh dear.", "Oh dear."),
        ("Need: comfort. Do: refl", ""),
        ("[Need: a.] Need: b. Do: c. Tone: d. Oh dear.", "Oh dear."),
        ("[Neddy] and [B] are here.", "[Neddy] and [B] are here."),
        ("Choose one: [Ne", "Choose one: [Ne"),
        ("[laughs] Ahoy!", "[laughs] Ahoy!"),
        ("Need: a crew. Done by noon, I say.", "Need: a crew. Done by noon, I say."),
        ("Need: a crew", "Need: a crew"),
        (f"It said {THOUGHT}", f"It said {THOUGHT}"),
        ("Do you need rest? Tone it down.", "Do you need rest? Tone it down."),
    ],
)
async def test_thoughts_are_never_said_and_other_brackets_are(told: str, heard: str) -> None:
    for size in (1, 2, 3, 7, len(told)):
        pieces = [told[at : at + size] for at in range(0, len(told), size)]
        assert await thoughtless(*pieces) == heard
