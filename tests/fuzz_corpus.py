"""python -m tests.fuzz_corpus: write the kept sequences of messages, tests/data/fuzz, anew.

What a name tells is written down here; `drawn-*` are of tests/fuzzing.py, as the Hypothesis of the
day draws them; `found-*` once made the fuzzer fail, which put them there. Those are left alone.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzzing import KINDS, SEQUENCES, Message, said

CORPUS = Path(__file__).parent / "data" / "fuzz"
CALM = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
DRAWN = 16
TRIED = 400
LEAST, MOST = 3, 6000  # messages, bytes as they are kept: what is large is written below


def _audio(given: str) -> str:
    return said("input_audio_buffer.append", audio=given)


def _text(written: str, **fields: Any) -> str:
    content = [{"type": "input_text", "text": written}]
    item = {"type": "message", "role": "user", "content": content, **fields}
    return said("conversation.item.create", item=item)


def _raw(kind: str, fields: str) -> str:
    """Fields as no encoder would write them."""
    return f'{{"type":"{kind}",{fields}}}'


def _session(**fields: Any) -> str:
    return said("session.update", session={"type": "realtime", **fields})


def _heard(**fields: Any) -> str:
    return _session(audio={"input": fields})


COMMIT, CLEAR = said("input_audio_buffer.commit"), said("input_audio_buffer.clear")
ANSWER, CANCEL = said("response.create"), said("response.cancel")
TURN = (_audio("<voice>"), _audio("<hush>"))  # marks, as <item> is one: sound is large
# Right to left, above the BMP, joined, combining, of no width, and what ends lines elsewhere.
ODD = (
    "\u202eolleh\u202c 😀👩‍👩‍👧 e\u0301\u0327\u0330 \ufeff\u200b\u2028\u2029\x00\x1b[31m\x7f\uffff"
)
HUGE = "9" * 1500
WRONG: tuple[Any, ...] = (None, [], {}, -1, "", True)


def _playback(samples: float) -> str:
    ids = {"response_id": "<response>", "item_id": "<item>"}
    return said("attune.playback", **ids, played_samples=samples, input_samples=samples)


def _truncate(index: float, end_ms: float) -> str:
    where = {"item_id": "<item>", "content_index": index, "audio_end_ms": end_ms}
    return said("conversation.item.truncate", **where)


NASTY: Mapping[str, Sequence[Message]] = {
    "base64-broken": [
        *map(_audio, ("A", "AAA", "AAAA=", "====", "A===", "AA=A", "AAAA\n", " AAAA", "-_-_")),
        *map(_audio, ("ÄÖÜ", "data:audio/wav;base64,AAAA", "\x00", "😀" * 20)),
        COMMIT,
    ],
    "base64-odd-bytes": [_audio("AA=="), _audio("AAAA"), COMMIT, _audio(""), COMMIT, ANSWER],
    "base64-in-an-item": [
        said(
            "conversation.item.create",
            item={
                "type": "message",
                "role": "user",
                "content": [{"type": "input_audio", "audio": audio}],
            },
        )
        for audio in ("A", "====", "", "AAAA", "<voice>", "ÿÿÿÿ")
    ],
    "deep-lists": ["[" * deep + "]" * deep for deep in (1, 127, 255, 1023, 1024, 1025, 5000)],
    "deep-lists-left-open": ["[" * 5000, '{"type":' * 1000, '{"a":[' * 1000],
    "deep-in-a-session": [
        _raw(
            "session.update",
            '"session":{"type":"realtime","tools":'
            + '[{"parameters":' * deep
            + "1"
            + "}]" * deep
            + "}",
        )
        for deep in (2, 60, 120, 500)
    ],
    "deep-metadata": [
        _raw("response.create", '"response":{"metadata":' + '{"a":' * 200 + "1" + "}" * 201),
        CANCEL,
    ],
    "wide-lists": [
        "[<crowd>]",
        _raw("session.update", '"session":{"type":"realtime","tools":[<crowd>]}'),
        _raw("conversation.item.create", '"item":{"type":"message","content":[<crowd>]}'),
        _raw("response.create", '"response":{"input":[<crowd>]}'),
        _raw("input_audio_buffer.append", '"audio":"","more":[<crowd>]'),
        _raw("input_audio_buffer.append", '"audio":"AA\\"","more":[<crowd>]'),
        _raw("input_audio_buffer.append", '"audio":"AA==","more":"[<crowd>'),
        *TURN,
    ],
    "wide-within-what-is-allowed": [
        _raw("session.update", '"session":{"tools":[' + "1," * 8_000 + "1]}"),
        said("response.create", response={"metadata": {f"k{n}": n for n in range(200)}}),
        said("response.create", **{f"k{n}": None for n in range(200)}),
        CANCEL,
    ],
    "nan-and-infinity": [
        _text("numbers"),
        *(
            _raw(
                "conversation.item.truncate",
                f'"item_id":"<item>","content_index":0,"audio_end_ms":{number}',
            )
            for number in ("NaN", "-NaN", "Infinity", "-Infinity", "1e999", "-1e999", "nan", "0x1")
        ),
        '{"type":"input_audio_buffer.append","audio":NaN}',
        '{"type":"session.update","session":{"type":"realtime","audio":{"output":{"speed":NaN}}}}',
    ],
    "numbers-huge": [
        _text("numbers"),
        *(
            _raw(
                "conversation.item.truncate",
                f'"item_id":"<item>","content_index":{number},"audio_end_ms":{number}',
            )
            for number in (HUGE, f"-{HUGE}", f"1e{HUGE}", f"0.{HUGE}", "1e308", "-0", "1E+2")
        ),
        _raw("session.update", f'"session":{{"type":"realtime","max_output_tokens":{HUGE}}}'),
        _raw("response.create", f'"response":{{"max_output_tokens":-{HUGE}}}'),
    ],
    "numbers-at-the-edges": [
        *TURN,
        *(_playback(n) for n in (-1, 0, 0.5, 2**31, 2**53 + 1, 2**63 - 1, 2**64 - 1, 1.8e308 / 2)),
        *(_truncate(n, n) for n in (-1, 1, 2**31, 2**63 - 1, 2**64 - 1, 1e300)),
    ],
    "numbers-in-turn-detection": [
        *(
            _heard(turn_detection={"type": "server_vad", name: number})
            for name in ("threshold", "silence_duration_ms", "prefix_padding_ms", "idle_timeout_ms")
            for number in (-1, 0, 1e-320, 1e300, 2**63, True, "1", None)
        ),
        *TURN,
    ],
    "ordered-backwards": [
        CANCEL,
        _truncate(0, 100),
        said("conversation.item.delete", item_id="<item>"),
        said("output_audio_buffer.clear"),
        COMMIT,
        CLEAR,
        *reversed(TURN),
        ANSWER,
        _text("after the answer"),
    ],
    "ordered-answers-in-a-heap": [_text("one"), *[ANSWER] * 6, CANCEL, CANCEL, ANSWER, *TURN],
    "ordered-cleared-in-mid-turn": [
        TURN[0],
        CLEAR,
        COMMIT,
        TURN[1],
        COMMIT,
        ANSWER,
        CLEAR,
        said("output_audio_buffer.clear"),
    ],
    "ordered-settings-in-mid-turn": [
        TURN[0],
        _heard(format={"type": "audio/pcmu"}),
        TURN[1],
        _heard(turn_detection=None),
        *TURN,
        _heard(format={"type": "audio/pcma"}, turn_detection={"type": "semantic_vad"}),
        COMMIT,
        _session(output_modalities=["text"]),
        ANSWER,
        _session(output_modalities=["audio"], attune={"binary": True, "events": False}),
        CANCEL,
    ],
    "ordered-items-about-the-deleted": [
        _text("here"),
        said("conversation.item.delete", item_id="<item>"),
        said("conversation.item.retrieve", item_id="<item>"),
        said("conversation.item.delete", item_id="<item>"),
        _truncate(0, 0),
        said(
            "conversation.item.create",
            item={"type": "item_reference", "id": "<item>"},
            previous_item_id="<item>",
        ),
        said(
            "response.create",
            response={"conversation": "none", "input": [{"type": "item_reference", "id": "x"}]},
        ),
    ],
    "ids-twice-and-strange": [
        *(_text("who", id=name) for name in ("a", "a", "", "root", "x" * 500, ODD, "../../etc")),
        *(said("conversation.item.retrieve", item_id=name) for name in ("a", "", "root", ODD)),
        said("conversation.item.delete", item_id="a"),
        _text("who", id="a"),
    ],
    "consent-back-and-forth": [
        *(
            said("attune.consent", transcript=one, audio=other, research=one)
            for one in (True, False)
            for other in (False, True)
        ),
        *TURN,
        said("attune.consent", transcript="yes", audio=1, research=None),
        said("attune.consent"),
    ],
    "unicode-odd": [
        _text(ODD),
        _session(instructions=ODD),
        said(ODD, event_id=ODD),
        said("response.create", event_id=ODD, response={"instructions": ODD}),
        "\ufeff" + CANCEL,
    ],
    "unicode-lone-halves": [
        _text("half").replace('"half"', f'"{half}"')
        for half in (r"\ud800", r"\udc00", r"\ud83d\ud83d", r"\ud83d\ude00", r"\u0000", r"\u12")
    ],
    "kinds-with-nothing": [*(said(kind) for kind in KINDS), ANSWER, CANCEL],
    "kinds-with-the-wrong": [
        said(kind, **dict.fromkeys(("session", "audio", "item", "item_id", "response"), wrong))
        for kind in KINDS
        for wrong in WRONG
    ],
    "kinds-of-no-kind": [
        *(f'{{"type":{kind}}}' for kind in ("null", "1", "[]", "{}", '""', '"x"', "true")),
        '{"type":"response.cancel","type":"session.update"}',
        '{"type":"session.update","session":{},"session":{"type":"realtime"}}',
        said("session.created"),
        said("error", error={"type": "server_error"}),
        said("attune.queue", position=-1),
    ],
    "text-no-json": [
        *("", " ", "\n", "\x00", "null", "true", "0", '"', "'", "{", "}", "{]", "[1,]", "{,}"),
        *('{"type"', '{"type":}', "{'type': 'response.cancel'}", "GET / HTTP/1.1\r\n\r\n", "NaN"),
        ODD,
    ],
    "text-cut-off": [
        message[:at] for message in (TURN[0], ANSWER, _text(ODD)) for at in range(1, 40, 4)
    ],
    "frames-empty": [b"", b"", b"\x00", b"", COMMIT, b"\x00\x00", COMMIT, b""],
    "frames-of-odd-length": [
        *(bytes([200, 20] * 400)[:length] for length in (1, 799, 3, 2, 1, 800)),
        _session(attune={"binary": True}),
        *(bytes([200, 20] * 400)[:length] for length in (1, 799, 3, 2, 1, 800)),
        COMMIT,
    ],
    "frames-at-random": [
        _session(attune={"binary": True, "events": True}),
        # As good as random, and the same everywhere.
        *(sha256(bytes([count])).digest() * 30 for count in range(12)),
        COMMIT,
        ANSWER,
    ],
    "frames-that-say-something": [
        ANSWER.encode(),
        b"\xff\xfe\x00\x00",
        b"\xed\xa0\x80" * 30,
        b"RIFF\xff\xff\xff\xffWAVEfmt ",
        b"\x7f\xff\x80\x00" * 400,
        b"\x81\xfe\xff\xff",
    ],
}


def written(messages: Sequence[Message]) -> bytes:
    """Messages as the corpus keeps them, a line each; a frame in base64."""
    shown = [m if isinstance(m, str) else {"frame": b64encode(m).decode()} for m in messages]
    return b"[\n" + b",\n".join(orjson.dumps(each) for each in shown) + b"\n]\n"


def kept(corpus: Path) -> list[tuple[str, list[Message]]]:
    """The sequences of a folder by name; one without any is a mistake, not a success."""
    found: list[tuple[str, list[Message]]] = []
    for file in sorted(corpus.glob("*.json")):
        read = orjson.loads(file.read_bytes())
        found.append(
            (file.stem, [m if isinstance(m, str) else b64decode(m["frame"]) for m in read])
        )
    assert found, f"nothing is kept in {corpus}: python -m tests.fuzz_corpus writes it"
    return found


def keep(messages: Sequence[Message], corpus: Path, name: str | None = None) -> Path:
    """Put a sequence there; one that was found is named by what is in it."""
    data = written(messages)
    file = corpus / f"{name or f'found-{sha256(data).hexdigest()[:12]}'}.json"
    corpus.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def drawn() -> list[Sequence[Message]]:
    """What the fuzzer would try, the same each time, as far as it is small and of several parts."""
    some: list[Sequence[Message]] = []

    @settings(
        max_examples=TRIED,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=CALM,
        phases=[Phase.generate],
    )
    @given(SEQUENCES)
    def draw(messages: list[Message]) -> None:
        if len(messages) >= LEAST and len(written(messages)) <= MOST:
            some.append(messages)

    draw()
    return some[:: len(some) // DRAWN][:DRAWN]  # from all along: it begins with the simplest


def main() -> None:
    for file in CORPUS.glob("drawn-*.json"):
        file.unlink()
    for name, messages in NASTY.items():
        keep(messages, CORPUS, name)
    for number, messages in enumerate(drawn()):
        keep(messages, CORPUS, f"drawn-{number:02}")
    sizes = [file.stat().st_size for file in CORPUS.iterdir()]
    print(f"{len(sizes)} sequences, {sum(sizes) / 1000:.0f} kB, in {CORPUS}")


if __name__ == "__main__":
    main()
