"""What a model should not be heard saying is recognised, and nothing else."""

from collections.abc import AsyncGenerator

import pytest

from models.thinking.guards import apologises, circles, pretends, refuses, stale, unlooped, unnoted


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
