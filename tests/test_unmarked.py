"""A model's marks never reach a person: tokens are drawn with ¦ between them."""

from collections.abc import AsyncGenerator

import pytest

from models.unmarked import plain


async def stream(picture: str) -> AsyncGenerator[str, None]:
    for token in picture.split("¦"):
        yield token


async def read(picture: str) -> str:
    return "".join([text async for text in plain(stream(picture))])


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("Hello there.<|im_end|>", "Hello there."),
        ("Hello.<|im_end|>\n<|im_start|>user\nHi", "Hello."),
        ("<|im_start|>assistant\nHello.", "Hello."),
        ("<|start_header_id|>assistant<|end_header_id|>\n\nHello.<|eot_id|>", "Hello."),
        ("<start_of_turn>model\nHello.<end_of_turn>", "Hello."),
        ("<s>[INST] <<SYS>> <</SYS>> [/INST] Hello.</s>", "Hello."),
        ("Hello. [INST] And you?", "Hello. "),
        ("<｜begin▁of▁sentence｜>Hello.<｜end▁of▁sentence｜>", "Hello."),
        ("That is <|HAPPY|>great<|0.36|> news.", "That is great news."),
        ("<think>They are sad < me.</think>\n\nI am sorry.", "I am sorry."),
        ("I see. <think>What now?</think>Go on.", "I see. Go on."),
        ("<THINK>hm</THINK>Yes.", "Yes."),
        ("<think>never ends, and <|im_end|> is in it", ""),
        ("so they are sad</think>I am sorry.", "so they are sadI am sorry."),
        ('<tool_call>{"name": "x"}</tool_call>Done.', "Done."),
        ("Assistant: Hello.", "Hello."),
        ("**Assistant:** Hello.", "Hello."),
        ("Hello.\nUser: Hi\nAssistant: Hello.", "Hello.\n"),
        ("Hello.\n\n**User:** Hi", "Hello.\n\n"),
        ("Hello.\nHuman: Hi", "Hello.\n"),
        ("Hello.\nAssistant: Hello again.", "Hello.\n"),
        ("User: how are you?", ""),
        ("<|im_end|>", ""),
        ("", ""),
    ],
)
async def test_marks_are_left_out_however_the_tokens_fall(given: str, left: str) -> None:
    assert await read(given) == left
    assert await read("¦".join(given)) == left
    for cut in range(1, len(given)):
        assert await read(f"{given[:cut]}¦{given[cut:]}") == left


@pytest.mark.parametrize(
    "text",
    [
        "I <3 you, and 2 < 3 > 1.",
        "A <b>bold</b> [link] and [1] and a [",
        "Model trains are fun. Users: many. My user: me.",
        "As for me, I am human: quite so.",
        "Think of it. </b> <thinker> <",
        "One line.\nAnother: here.\nUs",
        "assist",
        "a | b || c |> d <| e",
    ],
)
async def test_ordinary_text_is_left_alone(text: str) -> None:
    assert await read(text) == text
    assert await read("¦".join(text)) == text


async def test_a_word_is_given_as_soon_as_it_cannot_be_a_mark() -> None:
    given: list[str] = []

    async def watched() -> AsyncGenerator[str, None]:
        for token in ("I", " see", " <", "3", "\n", "Us", "ing"):
            given.append(token)
            yield token

    seen = [(text, given[-1]) async for text in plain(watched())]
    assert seen == [
        ("I", "I"), (" see", " see"), (" ", " <"), ("<3", "3"), ("\n", "\n"), ("Using", "ing")
    ]  # fmt: skip


async def test_nothing_is_asked_of_the_model_once_the_reply_is_over() -> None:
    given: list[str] = []

    async def watched() -> AsyncGenerator[str, None]:
        for token in ("Bye.", "\n", "User", ":", " Hi"):
            given.append(token)
            yield token

    assert "".join([text async for text in plain(watched())]) == "Bye.\n"
    assert given[-1] == ":"


async def test_a_thought_of_any_length_is_not_kept() -> None:
    async def endless() -> AsyncGenerator[str, None]:
        yield "<think>"
        for _ in range(20_000):
            yield " why <b"
        yield "</think>Because."

    assert "".join([text async for text in plain(endless())]) == "Because."
