"""Cutting a reply into clauses: tokens are drawn with | between them, clauses too."""

from collections.abc import AsyncGenerator

import pytest

from models.clauses import clauses


async def stream(picture: str) -> AsyncGenerator[str, None]:
    for token in picture.split("|"):
        yield token


async def cut(picture: str) -> str:
    return "|".join([clause async for clause in clauses(stream(picture))])


@pytest.mark.parametrize(
    ("tokens", "spoken"),
    [
        ("hel|lo| |w|orld", "hello world"),
        ("Hi| there|!| How| are| you|?", "Hi there! |How are you?"),
        ("Yes|.| I| do|.", "Yes. |I do."),
        ("Oh| no|,| I| am| sorry|.", "Oh no, |I am sorry."),
        ("Well|,| I| see|.", "Well, I see."),  # one word alone is no clause
        ("All| right|;| then| go|.", "All right; |then go."),
        ("Two| things|:| tea| and| rest|.", "Two things: |tea and rest."),
        ("Not| that| —| this| one|.", "Not that — |this one."),
        ("It's a well-known fact", "It's a well-known fact"),
    ],
)
async def test_the_first_clause_ends_at_the_first_natural_pause(tokens: str, spoken: str) -> None:
    assert await cut(tokens) == spoken


@pytest.mark.parametrize(
    ("tokens", "spoken"),
    [
        (
            "I would love to help you find a place to eat near your home",
            "I would love to help you find a place |to eat near your home",
        ),
        (
            "I went home early last night because it rained all day long",
            "I went home early last night |because it rained all day long",
        ),
        (
            "Big old red barns stand proud here near green river banks beside tall trees",
            "Big old red barns stand proud here near green river banks beside |tall trees",
        ),
        (
            "Nine small boys saw five tall men sell good fresh bread the next day",
            "Nine small boys saw five tall men sell good fresh bread |the next day",
        ),
    ],
)
async def test_a_first_clause_without_punctuation_ends_where_it_sounds_least_cut(
    tokens: str, spoken: str
) -> None:
    assert await cut(tokens.replace(" ", "| ")) == spoken


async def test_later_clauses_are_longer() -> None:
    assert await cut(
        "Of course. I can, if you like, tell you all about the stars, and the moon, too. Well?"
    ) == (
        "Of course. |I can, if you like, tell you all about the stars, |and the moon, too. |Well?"
    )


async def test_a_very_long_sentence_is_still_cut() -> None:
    words = " ".join(["Word"] * 100)
    pieces = (await cut(f"Yes. {words}")).split("|")
    assert pieces[0] == "Yes. "
    assert all(len(piece.split()) <= 28 for piece in pieces)
    assert "".join(pieces) == f"Yes. {words}"


@pytest.mark.parametrize(
    "sentence",
    [
        "Dr. Smith met Mrs. Jones vs. Mr. Hall",
        "It is 3.5 or 4.25 in all",
        "Take fruit, e.g. Apples",
        "The U.S. Senate met J. K. Rowling",
        "Look at https://example.com/a.b?c=d!e now",
        'He said "Stop!" and left',
        "Is it 10:30 or 1,000",
    ],
)
async def test_no_sentence_ends_inside(sentence: str) -> None:
    said = await cut(f"Yes. {sentence}. Good.")
    assert said == f"Yes. |{sentence}. |Good."


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("So do I. And you?", "So do I. |And you?"),
        ("We met at 5 p.m. Then we ate.", "We met at 5 p.m. |Then we ate."),
        ("We met at 5 p.m. on Monday.", "We met at 5 p.m. on Monday."),
        ('"Really?" I asked. "Yes."', '"Really?" |I asked. |"Yes."'),
        ("No. I have 3. You?", "No. |I have 3. |You?"),
        ("What?! No!", "What?! |No!"),
        ("Hmm... I see... maybe.", "Hmm... I see... |maybe."),
    ],
)
async def test_sentence_ends_that_look_doubtful(text: str, spoken: str) -> None:
    assert await cut(text) == spoken


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("**Sure**, _really_ `yes`!", "Sure, really yes!"),
        ("Great! 😊👍🏽 I like it ❤️.", "Great! |I like it ."),
        ("Great 😊", "Great"),
        ("*smiles warmly* Hello there.", "Hello there."),
        ("Hello. (laughs) You are funny.", "Hello. |You are funny."),
        ("[pauses for a moment] Yes.", "Yes."),
        ("The sun (a star) is big.", "The sun (a star) is big."),
        ("See [this page](https://a.b/c) now.", "See this page now."),
        ("# Title\n\nText here.", "Title |Text here."),
        ("Try:\n\n1. Walk\n2. Rest\n- Sleep\n* Eat", "Try: |Walk |Rest |Sleep |Eat"),
        ("snake_case stays", "snake_case stays"),
        ("😊", ""),
        ("", ""),
        (" \n ", ""),
    ],
)
async def test_what_cannot_be_spoken_is_left_out(text: str, spoken: str) -> None:
    assert await cut(text) == spoken
    assert await cut("|".join(text)) == spoken  # however the tokens fall


async def test_joined_clauses_are_the_reply_with_single_spaces() -> None:
    text = ' Well,  I think\tso. It was (I believe) 3.5 miles;\n\nor more... "Right?" Yes!  '
    pieces = (await cut("|".join(text))).split("|")
    assert "".join(pieces) == " ".join(text.split())
    assert all(piece.endswith(" ") for piece in pieces[:-1])


async def test_a_clause_is_released_as_soon_as_the_next_word_begins() -> None:
    given: list[str] = []

    async def watched() -> AsyncGenerator[str, None]:
        for token in ("I", " see", ".", " It", " was"):
            given.append(token)
            yield token

    released = clauses(watched())
    assert await anext(released) == "I see. "
    assert given == ["I", " see", ".", " It"]
    assert await anext(released) == "It was"
