"""Messages nobody would send on purpose: well-formed, broken, oversized, out of order."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import orjson
from hypothesis import strategies as st

Message = str | bytes

KINDS = (
    "session.update",
    "input_audio_buffer.append",
    "input_audio_buffer.commit",
    "input_audio_buffer.clear",
    "output_audio_buffer.clear",
    "conversation.item.create",
    "conversation.item.retrieve",
    "conversation.item.delete",
    "conversation.item.truncate",
    "response.create",
    "response.cancel",
    "attune.playback",
    "attune.consent",
)
# Names that mean something somewhere: a random name is refused before anything happens.
FIELDS = (
    *("type", "event_id", "session", "audio", "item", "item_id", "previous_item_id", "id", "role"),
    *(
        "content",
        "text",
        "transcript",
        "response",
        "response_id",
        "instructions",
        "input",
        "output",
    ),
    *("format", "rate", "turn_detection", "threshold", "silence_duration_ms", "create_response"),
    *("interrupt_response", "eagerness", "transcription", "speed", "voice", "attune", "events"),
    *("binary", "perception", "cue", "capture", "replay_of", "tools", "metadata", "conversation"),
    *("output_modalities", "max_output_tokens", "audio_end_ms", "content_index", "status"),
    *("played_samples", "input_samples", "research", "name", "arguments", "call_id", "tracing"),
    *(
        "truncation",
        "prompt",
        "include",
        "output",
        "reasoning",
        "tool_choice",
        "noise_reduction",
        "model",
    ),
)
WORDS = (
    *("realtime", "transcription", "message", "user", "assistant", "system", "input_text"),
    *("input_audio", "output_audio", "input_image", "function_call", "function_call_output"),
    *("item_reference", "server_vad", "semantic_vad", "audio/pcm", "audio/pcmu", "audio/pcma"),
    *("auto", "none", "text", "audio", "inf", "hibari", "low", "high", "disabled", "happy", "root"),
)
NUMBERS = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.sampled_from([0, 1, -1, 24_000, 100, 4096, 2**31, 2**53, 10**18]),
    st.floats(allow_nan=False, allow_infinity=False),
)
TEXTS = st.one_of(st.sampled_from(WORDS), st.text(max_size=40), st.just("x" * 70_000))
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5)
    ),
    max_leaves=12,
)


def said(kind: str, **fields: Any) -> str:
    return orjson.dumps({"type": kind, **fields}).decode()


def _parts(text: st.SearchStrategy[str], audio: st.SearchStrategy[str]) -> Any:
    return st.one_of(
        st.fixed_dictionaries({"type": st.just("input_text"), "text": text}),
        st.fixed_dictionaries(
            {"type": st.just("input_audio"), "audio": audio}, optional={"transcript": text}
        ),
        st.fixed_dictionaries({"type": st.sampled_from(WORDS), "text": text}),
    )


PCM = st.binary(max_size=9600).map(lambda raw: b64encode(raw).decode())
SOUND = st.one_of(PCM, st.just(b64encode(b"\x00\x40" * 24_000).decode()), st.text(max_size=20))
# Ids that exist in the conversation are put in their place when it runs.
IDS = st.one_of(st.sampled_from(["<item>", "<response>", "root", ""]), st.text(max_size=80))
ITEMS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["message", "message", "message", "function_call_output", "item_reference"]
        )
    },
    optional={
        "role": st.sampled_from(["user", "assistant", "system", "nobody"]),
        "content": st.lists(_parts(TEXTS, SOUND), max_size=3),
        "id": IDS,
        "call_id": TEXTS,
        "output": TEXTS,
        "status": TEXTS,
    },
)
DETECTION = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["server_vad", "semantic_vad", "none"])},
        optional={
            "threshold": NUMBERS,
            "silence_duration_ms": NUMBERS,
            "idle_timeout_ms": NUMBERS,
            "eagerness": TEXTS,
            "create_response": st.booleans(),
            "interrupt_response": st.booleans(),
        },
    ),
)
FORMATS = st.fixed_dictionaries(
    {"type": st.sampled_from(["audio/pcm", "audio/pcmu", "audio/pcma", "audio/opus"])}
)
SESSIONS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["realtime", "transcription"]),
        "instructions": TEXTS,
        "output_modalities": st.lists(st.sampled_from(["text", "audio"]), max_size=2),
        "max_output_tokens": st.one_of(NUMBERS, st.just("inf")),
        "tools": VALUES,
        "audio": st.fixed_dictionaries(
            {},
            optional={
                "input": st.fixed_dictionaries(
                    {}, optional={"format": FORMATS, "turn_detection": DETECTION}
                ),
                "output": st.fixed_dictionaries(
                    {}, optional={"format": FORMATS, "speed": NUMBERS, "voice": TEXTS}
                ),
            },
        ),
        "attune": st.fixed_dictionaries(
            {},
            optional={
                "events": st.booleans(),
                "binary": st.booleans(),
                "perception": st.booleans(),
                "cue": VALUES,
                "capture": VALUES,
                "replay_of": TEXTS,
            },
        ),
    },
)
RESPONSES = st.fixed_dictionaries(
    {},
    optional={
        "conversation": st.sampled_from(["auto", "none", "both"]),
        "input": st.lists(ITEMS, max_size=2),
        "instructions": TEXTS,
        "output_modalities": st.lists(st.sampled_from(["text", "audio"]), max_size=2),
        "max_output_tokens": NUMBERS,
        "metadata": VALUES,
    },
)
FLAGS = {"transcript": st.booleans(), "audio": st.booleans(), "research": st.booleans()}


def _event(kind: str, fields: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Message]:
    return st.fixed_dictionaries(dict(fields)).map(lambda given: said(kind, **given))


MEANT = st.one_of(
    _event("session.update", {"session": SESSIONS}),
    _event("input_audio_buffer.append", {"audio": SOUND}),
    *(st.just(said(kind)) for kind in KINDS if kind.endswith((".commit", ".clear", ".cancel"))),
    _event("conversation.item.create", {"item": ITEMS}),
    _event("conversation.item.create", {"item": ITEMS, "previous_item_id": IDS}),
    *(_event(f"conversation.item.{what}", {"item_id": IDS}) for what in ("retrieve", "delete")),
    _event(
        "conversation.item.truncate",
        {"item_id": IDS, "content_index": NUMBERS, "audio_end_ms": NUMBERS},
    ),
    _event("response.create", {"response": RESPONSES}),
    _event("response.cancel", {"response_id": IDS}),
    _event(
        "attune.playback",
        {"response_id": IDS, "item_id": IDS, "played_samples": NUMBERS, "input_samples": NUMBERS},
    ),
    _event("attune.consent", FLAGS),
)
MANGLED = st.one_of(
    st.builds(
        lambda kind, fields: orjson.dumps({**fields, "type": kind}).decode(),
        st.sampled_from(KINDS),
        st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5),
    ),
    VALUES.map(lambda value: orjson.dumps(value).decode()),
    st.text(max_size=200),
    st.builds(lambda message, at: message[:at], MEANT.map(str), st.integers(0, 200)),
    st.just('{"type":"input_audio_buffer.append","audio":NaN}'),
    st.integers(1, 3000).map(lambda deep: "[" * deep + "]" * deep),
    st.integers(1, 300).map(
        lambda deep: (
            '{"type":"session.update","session":' + '{"tools":' * deep + "1" + "}" * deep + "}"
        )
    ),
)
FRAMES = st.binary(max_size=4000)

SEQUENCES = st.lists(st.one_of(MEANT, MEANT, MEANT, MANGLED, FRAMES), min_size=1, max_size=12)
