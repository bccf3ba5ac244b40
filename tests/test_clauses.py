"""Cutting a reply into clauses: tokens are drawn with | between them, clauses too."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from models.clauses import LONGEST_WORD, MOST_LETTERS, NO_CODE, clauses


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
        ("Great! 😊👍🏽 I like it ❤️.", "Great! |I like it."),
        ("Great 😊", "Great"),
        ("Great 😊 I like it", "Great. |I like it"),  # it stood for a full stop
        ("Well, 😊 I do, 😊 too 😊!", "Well, I do, |too!"),
        ("We won 🎉 and you 🎉\nWell done", "We won and you. |Well done"),
        ("Salt &amp; pepper<br> <b>now</b>", "Salt & pepper now"),
        ("*smiles warmly* Hello there.", "Hello there."),
        ("Hello. (laughs) You are funny.", "Hello. |You are funny."),
        ("[pauses for a moment] Yes.", "Yes."),
        ("The sun (a star) is big.", "The sun (a star) is big."),
        ("See [this page](https://a.b/c) now.", "See this page now."),
        ("# Title\n\nText here.", "Title. |Text here."),
        ("> So it is.\n---\nYes.", "So it is. |Yes."),
        ("42.", "42."),
        ("snake_case stays", "snake_case stays"),
        ("Go to a.com?b&copy=1 for R&D", "Go to a.com?b&copy=1 for R&D"),
        ("*sighs* I know. *Smiling softly* You do.", "I know. |You do."),
        ("Well, *clears his throat* yes.", "Well, yes."),
        ("😊", ""),
        ("", ""),
        (" \n ", ""),
    ],
)
async def test_what_cannot_be_spoken_is_left_out(text: str, spoken: str) -> None:
    assert await cut(text) == spoken
    assert await cut("|".join(text)) == spoken  # however the tokens fall


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("**Coughing** can hurt.", "Coughing can hurt."),
        ("*Coughing* can hurt.", "Coughing can hurt."),
        ("I am (leaning towards yes) sure.", "I am (leaning towards yes) sure."),
        ("Do it *slowly* and he *smiles* too.", "Do it slowly and he smiles too."),
        ("[Waving](http://x.y) is fine", "Waving is fine"),
        ("[Waving hello](http://x.y) is fine", "Waving hello is fine"),
        (
            "*smiles softly I am so glad you told me that.",
            "smiles softly I am so glad you told me that.",
        ),
        ("It *smiles softly", "It smiles softly"),
        ("(Nods of all those heads) count.", "(Nods of all those heads) count."),
    ],
)
async def test_what_only_looks_like_a_stage_direction_is_said(text: str, spoken: str) -> None:
    assert await cut(text) == spoken
    assert (await cut("|".join(text))).replace("|", "") == spoken.replace("|", "")


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("2 * 3 = 6", "2 × 3 = 6"),
        ("2*3 = 6", "2×3 = 6"),
        ("So a * b is *it*.", "So a × b is it."),
        ("Well * done", "Well × done"),
        ("Done. * Well", "Done. |Well"),
    ],
)
async def test_a_star_between_numbers_is_no_mark(text: str, spoken: str) -> None:
    assert await cut(text) == spoken
    assert await cut("|".join(text)) == spoken


@pytest.mark.parametrize("piece", ["ha-", "ha", "ab1", "ha/", "1-", "ha,", "é", "_a"])
async def test_a_word_without_an_end_is_cut_up(piece: str) -> None:
    word = piece * (4096 // len(piece))
    released = [clause async for clause in clauses(stream(f"Oh. {word}"))]
    assert all(len(each) <= LONGEST_WORD for clause in released for each in clause.split())
    assert all(len(clause) <= MOST_LETTERS + 28 for clause in released)
    if piece not in ("é", "_a"):
        assert "".join(released).replace(" ", "") == f"Oh.{word}"


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("1" * 400, "1" * 400),  # the voice says the first few
        (f"https://example.com/{'a' * 100}", f"https://example.com/{'a' * 100}"),
        (f"N{'o' * 400}!", "Nooo!"),
        (
            "the-very-well-known-mother-in-law-of-the-king",
            "the-very-well-known-mother-in-law- of-the-king",
        ),
    ],
)
async def test_long_words_stay_as_whole_as_they_can(word: str, shown: str) -> None:
    assert await cut(word) == shown


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        (
            "Try this:\n\n1. Walk\n2. Rest!\n3. Sleep 😴\n\nGood luck.",
            "Try this: |first, Walk; |then Rest! |Then Sleep. |Good luck.",
        ),
        ("Get:\n- milk\n- [x] eggs\n* **tea**", "Get: |milk; |eggs; |tea."),
        ("I see.\n**1.** Go.\n**2. Stay**", "I see. |First, Go. |Then Stay."),
        ("1. Walk\n2. Rest", "Well, first, |Walk; |then Rest."),  # no reply starts with a list
        ("- milk and bread\n- eggs", "Well, milk and bread; |eggs."),
        ("Take it - now - at 1. 2. 3.", "Take it - |now - at 1. |2. |3."),
    ],
)
async def test_lists_become_sentences(text: str, spoken: str) -> None:
    assert await cut(text) == spoken
    assert await cut("|".join(text)) == spoken


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        (
            "Here:\n\n| Day | Sun |\n|:---|---:|\n| Monday | 5 hours |\n|Tuesday|none|\n\nNice.",
            "Here: |Day, Sun; |Monday, 5 hours; |Tuesday, none. |Nice.",
        ),
        ("| a | b |\n|---|---|\n| c | d |", "Well, a, |b; |c, d."),
    ],
)
async def test_tables_become_sentences(text: str, spoken: str) -> None:
    async def letters() -> AsyncGenerator[str, None]:
        for letter in text:
            yield letter

    assert "|".join([clause async for clause in clauses(letters())]) == spoken


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        (
            "Like this:\n```python\nprint(1)\n```\nSee?\n```\nx = 2\n\ny\n```\nDone.",
            f"Like this: |{NO_CODE} |See? |Done.",
        ),
        ("```\nx\n```", f"{NO_CODE} "),
        ("```\nnever ends", f"{NO_CODE} "),
        ("Say ```x``` or `y` now.", "Say x or y now."),
    ],
)
async def test_code_is_not_read_and_that_is_said_once(text: str, spoken: str) -> None:
    assert await cut(text) == spoken
    assert await cut("|".join(text)) == spoken


async def test_one_need_not_wait_for_the_end_of_the_code() -> None:
    given: list[str] = []

    async def watched() -> AsyncGenerator[str, None]:
        for token in ("```", "py", "\n", "x", " =", " 1", "\n", "```"):
            given.append(token)
            yield token

    released = clauses(watched())
    assert await anext(released) == f"{NO_CODE} "
    assert given == ["```", "py", "\n", "x"]
    await released.aclose()


# What the embedded model really says, and what larger ones do.
PICTURES = """
I'm here to help. |What's your current job?
I am so sorry, |that must hurt.
Oh, that is wonderful news! |You must be so proud of yourself.
You're doing great, |right? |I'm glad to help. |I'm here to assist you with any questions you have.
I'm sorry for any misunderstanding, |but I'm a cooking assistant. |I can help with any type of meal.
The moon is a celestial body |that orbits Earth. |It's a beautiful sight, but it's also harsh.
You can fix a flat tire |by calling 804-321-0111. |They're open, right?
In Tokyo, |it's around 11:50 AM.
The sky is blue |because of a process called scattering. |It was first described by a physicist.
I'm so sorry to hear that. |I'm always here to support you, and I'm happy to help you find peace.
No, no, |no! |No, no!
Losing someone you have loved |for so many years is a hard thing, |and there is no right way.
It sounds as if you have been carrying this all |on your own for a very long time now.
That really is a lot |to deal with on top of everything else that you do every day.
Hello! |How are you feeling today?
Dr. Lee said that it was fine, |e.g. in the morning, at 8 a.m. or so, |and on Aug. 5 at the latest.
The No. 5 bus leaves |at 5 p.m. |Take it to the station. |Then walk.
It costs about $3.50 at the shop |on the corner of the street.
"""


@pytest.mark.parametrize("picture", PICTURES.strip().splitlines())
async def test_replies_are_cut_where_a_speaker_would_breathe(picture: str) -> None:
    words = picture.replace("|", "").split(" ")
    assert await cut("| ".join(words)) == picture


@pytest.mark.parametrize("picture", PICTURES.strip().splitlines())
async def test_the_first_clause_is_known_after_few_words(picture: str) -> None:
    words = picture.replace("|", "").split(" ")
    given: list[str] = []

    async def watched() -> AsyncGenerator[str, None]:
        for word in words:
            given.append(word)
            yield f"{word} "

    released = clauses(watched())
    first = await anext(released)
    await released.aclose()
    assert len(given) <= 13
    assert len(given) <= len(first.split()) + 5


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


async def test_a_sentence_given_whole_is_spoken_without_waiting_for_the_next() -> None:
    waits = asyncio.Event()

    async def pieces() -> AsyncGenerator[str, None]:
        yield "It is Everest. "
        await waits.wait()
        yield "It lies in Nepal."

    async with aclosing(clauses(pieces())) as said:
        assert await anext(said) == "It is Everest. "
        waits.set()
        assert await anext(said) == "It lies in Nepal."


async def test_a_piece_that_ends_with_an_abbreviation_is_not_a_sentence() -> None:
    async def pieces() -> AsyncGenerator[str, None]:
        yield "I saw Dr. "
        yield "Lee today."

    assert [clause async for clause in clauses(pieces())] == ["I saw Dr. Lee today."]
