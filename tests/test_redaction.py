"""Of an event only what was allowed is kept: no words, no sound, no name, no secret else."""

import ast
import json
import tomllib
from base64 import b64encode
from collections.abc import Iterator
from copy import deepcopy
from itertools import count, product
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from openai.types.realtime import RealtimeClientEvent, RealtimeServerEvent
from pydantic import BaseModel

from models.percept import Affect, Conflict, Moment, Prosody
from server import client_events, ids
from server.consent import Consent
from server.errors import ClientError
from server.recording import timing_form
from server.recording.redaction import kept, subjects
from server.session_config import SessionConfig, updated
from server.trace import Trace
from tests.made_sessions import Exchange, made_percept, made_plan

SERVER = Path(__file__).parent.parent / "server"
TABLE = tomllib.loads((SERVER / "recording" / "timing_form.toml").read_text("utf-8"))
TYPES = [*TABLE["client"], *TABLE["server"], *TABLE["recorder"]]
ENUMERATED = {name for names in TABLE["enumerations"].values() for name in names}

EVERY = [Consent(*flags) for flags in product((False, True), repeat=3)]
NOTHING, WORDS, SOUND = Consent(), Consent(transcript=True), Consent(audio=True)


def narrower(consent: Consent) -> list[Consent]:
    return [other for other in EVERY if set(other.scopes) <= set(consent.scopes)]


def strings(value: Any) -> Iterator[str]:
    """Every string in it, the keys of objects too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def written_keys(written: Any) -> Iterator[str]:
    """Every field name of the table."""
    if isinstance(written, dict):
        for key, inner in written.items():
            yield key
            yield from written_keys(inner)


FIELDS = {
    "type",
    "event_id",
    *(key for shape in TABLE["shapes"].values() for key in written_keys(shape)),
    *(
        key
        for side in ("client", "server", "recorder")
        for event in TABLE[side].values()
        for key in written_keys(event)
    ),
}


def readable(event: dict[str, Any] | None, *, percept: bool) -> list[str]:
    """What somebody may have said or chosen."""
    known = {*FIELDS, *ENUMERATED, *TYPES, "unknown"}
    known |= timing_form.PERCEPT_NAMES if percept else set()
    return [
        text
        for text in strings(event or {})
        if text not in known and not timing_form.OWN_ID.fullmatch(text)
    ]


# -- any event at all

OWN = st.builds(ids.new, st.sampled_from(["item", "resp", "conv", "sess"]))
TEXT = st.text(max_size=12) | st.sampled_from(["my name is Ada", "item_Ada", "resp_", "sk-secret"])
SOUNDS = st.binary(max_size=400).map(lambda sound: b64encode(sound).decode())
ATOMS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | OWN | TEXT | SOUNDS
) | st.sampled_from(sorted(ENUMERATED | timing_form.PERCEPT_NAMES))
KEYS = st.sampled_from(
    sorted(FIELDS | timing_form.PERCEPT_NAMES)
    + ["name", "secret", "headers", "server_url", "text", "transcript", "delta", "arguments"]
) | st.text(max_size=8)
JSON = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from([*TYPES, "unknown", "response.audio.delta"]) | st.text(max_size=20)


def shaped(written: Any) -> st.SearchStrategy[Any]:
    """Built as the table says, but with anything where it says what may stand there."""
    if isinstance(written, list):
        return st.lists(shaped(written[0]), max_size=2)
    written = TABLE["shapes"].get(written, written) if isinstance(written, str) else written
    if not isinstance(written, dict):
        return ATOMS
    known = {key: shaped(inner) for key, inner in written.items()}
    return st.fixed_dictionaries({}, optional={**known, "text": TEXT, "name": TEXT})


LIKELY = st.one_of(
    [
        st.builds(lambda kind, fields: {**fields, "type": kind}, st.just(kind), shaped(written))
        for side in ("client", "server", "recorder")
        for kind, written in TABLE[side].items()
    ]
)
UNLIKELY = st.builds(
    lambda kind, fields: {**fields, "type": kind},
    KINDS | JSON,
    st.dictionaries(KEYS, JSON, max_size=6),
)
EVENTS = LIKELY | UNLIKELY


@settings(max_examples=250, deadline=None, derandomize=True, database=None)
@given(EVENTS)
def test_without_a_transcript_nothing_readable_of_any_event_is_kept(event: dict[str, Any]) -> None:
    assert readable(kept(event, NOTHING), percept=False) == []
    assert readable(kept(event, SOUND), percept=True) == []


@settings(max_examples=250, deadline=None, derandomize=True, database=None)
@given(EVENTS, st.sampled_from(EVERY))
@example({"type": "input_audio_buffer.append", "audio": {"bytes": None, "name": ""}}, NOTHING)
def test_keeping_twice_is_keeping_once_and_the_event_is_left_as_it_was(
    event: dict[str, Any], consent: Consent
) -> None:
    before = deepcopy(event)
    once = kept(event, consent)
    assert event == before
    assert once is None or kept(once, consent) == once


@settings(max_examples=250, deadline=None, derandomize=True, database=None)
@given(EVENTS, st.sampled_from(EVERY))
@example({"type": "input_audio_buffer.append", "audio": {"bytes": None, "name": ""}}, NOTHING)
def test_narrowing_what_was_kept_gives_what_the_narrower_consent_would_have(
    event: dict[str, Any], wide: Consent
) -> None:
    once = kept(event, wide)
    for narrow in narrower(wide):
        assert (once and kept(once, narrow)) == kept(event, narrow)


# -- the protocol's own events


class Marks:
    """Fills a type's strings with words that can be found again, in every way it can be built."""

    def __init__(self) -> None:
        self._count = count()

    def of(self, kind: Any, depth: int = 0) -> list[Any]:
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self.of(arguments[0], depth)
        if origin is Literal:
            return list(arguments)
        if origin is Union or str(origin) == "<class 'types.UnionType'>":
            return [value for member in arguments for value in self.of(member, depth)]
        if origin is list:
            return [self.of(arguments[0], depth + 1)]
        if origin is dict:
            return [{self._word(): value for value in self.of(arguments[1], depth + 1)}]
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return self._models(kind, depth)
        plain: dict[Any, list[Any]] = {int: [7], float: [0.5], bool: [True], type(None): []}
        return plain.get(kind, [self._word()] if kind is str else [{self._word(): self._word()}])

    def _models(self, model: type[BaseModel], depth: int) -> list[Any]:
        if depth > 6:
            return []
        ways = {
            field.alias or name: self.of(field.annotation, depth + 1)
            for name, field in model.model_fields.items()
        }
        most = max(map(len, ways.values()), default=1)
        return [
            {name: way[turn % len(way)] for name, way in ways.items() if way}
            for turn in range(most)
        ]

    def _word(self) -> str:
        return f"marked{next(self._count)}"


def official(union: Any) -> list[dict[str, Any]]:
    return [event for model in get_args(get_args(union)[0]) for event in Marks().of(model)]


OFFICIAL = official(RealtimeClientEvent) + official(RealtimeServerEvent)
OURS: list[dict[str, Any]] = Marks().of(client_events.ClientEvent)


def test_of_every_official_event_and_ours_nothing_marked_is_left_without_a_transcript() -> None:
    assert len({event["type"] for event in OFFICIAL}) == 57
    assert json.dumps(OFFICIAL).count("marked") > 500  # the events do hold words
    for event, consent in product(OFFICIAL + OURS, (NOTHING, SOUND)):
        assert "marked" not in json.dumps(kept(event, consent)), event["type"]


def test_the_table_knows_every_event_of_the_protocol() -> None:
    assert {event["type"] for event in OFFICIAL + OURS} <= set(TYPES)
    for event in OFFICIAL + OURS:
        form = kept(event, NOTHING)
        assert form and form["type"] == event["type"]


def test_the_table_knows_every_field_with_a_time_in_it() -> None:
    for event in OFFICIAL + OURS:
        timed = {name for name in event if name.endswith(("_ms", "_index", "_samples"))}
        assert timed <= (kept(event, NOTHING) or {}).keys(), event["type"]


def test_every_error_code_the_server_gives_is_kept() -> None:
    places = {"ClientError": 0, "find": 1, "_index": 1, "server_error": 1}  # of the code
    codes = set()
    for path in SERVER.glob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call):
                name = getattr(call.func, "id", getattr(call.func, "attr", ""))
                given = call.args[places[name] :][:1] if name in places else []
                codes |= {code.value for code in given if isinstance(code, ast.Constant)}
    assert len(codes) > 15
    assert codes <= set(TABLE["enumerations"]["code"])


def test_every_stage_of_a_turn_is_kept() -> None:
    marked = set()
    for path in SERVER.glob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "mark":
                marked |= {a.value for a in call.args if isinstance(a, ast.Constant)}
    trace = Trace()
    for stage in marked:
        trace.mark(str(stage), 1.0)
    told = {
        "type": "attune.timing",
        "response_id": "resp_0a000000000000000000",
        "stages_ms": trace.stages_ms(),
    }
    assert len(marked) > 8
    assert kept(told, NOTHING) == told


# -- what each scope keeps


SAID = {
    "type": "conversation.item.added",
    "event_id": ids.event(),
    "previous_item_id": None,
    "item": {
        "id": ids.new("item"),
        "object": "realtime.item",
        "type": "message",
        "status": "completed",
        "role": "user",
        "content": [{"type": "input_audio", "transcript": "My dog died.", "audio": "AAAAAA=="}],
    },
}
PERCEPT = {
    "type": "attune.percept",
    "event_id": ids.event(),
    "item_id": ids.new("item"),
    "final": True,
    "at": 96_000,
    "percept": made_percept(Exchange(event="sigh")),
}


def test_with_a_transcript_an_event_is_kept_as_it_is_but_for_its_sound() -> None:
    shown = deepcopy(SAID)
    shown["item"]["content"][0]["audio"] = {"bytes": 4}  # type: ignore[index]
    assert kept(SAID, WORDS) == shown


def test_without_one_its_kind_and_its_order_are_kept() -> None:
    bare = deepcopy(SAID)
    bare["item"]["content"] = [{"type": "input_audio", "audio": {"bytes": 4}}]  # type: ignore[index]
    assert kept(SAID, NOTHING) == bare
    assert kept(SAID, SOUND) == bare


def test_a_percept_is_kept_whole_with_either_scope_and_not_at_all_with_none() -> None:
    assert kept(PERCEPT, WORDS) == PERCEPT
    assert kept(PERCEPT, SOUND) == PERCEPT
    assert kept(PERCEPT, NOTHING) is None
    assert kept(PERCEPT, Consent(research=True)) is None


def test_everything_a_percept_can_hold_passes_with_sound_alone() -> None:
    percept = PERCEPT["percept"] | {
        "vad": {"expressed": vars_of(Affect(1, 2, 3)), "perceived": None, "voice_part": "derived"},
        "prosody": vars_of(Prosody(f0_mean=120.5)),
        "moments": [vars_of(Moment("throat", 0.1, 0.4, 0.8))],
        "conflict": vars_of(Conflict("happy", "sad", 0.7)),
        "weights": "research",
    }  # type: ignore[operator]
    assert kept(PERCEPT | {"percept": percept}, SOUND) == PERCEPT | {"percept": percept}


def vars_of(noun: Any) -> dict[str, Any]:
    return {name: getattr(noun, name) for name in noun.__slots__}


def test_a_percept_a_client_made_up_brings_no_words_in() -> None:
    forged = {"type": "attune.percept", "percept": {"emotion": {"my name is Ada": 1}, "age": "Ada"}}
    assert kept(forged, SOUND) == {"type": "attune.percept", "percept": {"emotion": {}}}


def test_a_plan_is_words_and_stays_only_with_them() -> None:
    style = {
        "type": "attune.style",
        "response_id": "resp_0a000000000000000000",
        "item_id": "item_0b000000000000000000",
    }
    told = {**style, "plan": made_plan(Exchange())}
    assert kept(told, WORDS) == told
    assert kept(told, SOUND) == style


@pytest.mark.parametrize(
    "told",
    [
        {
            "type": "attune.hold",
            "response_id": "resp_0a000000000000000000",
            "item_id": "item_0b000000000000000000",
            "sample": 960,
        },
        {
            "type": "attune.resume",
            "response_id": "resp_0a000000000000000000",
            "item_id": "item_0b000000000000000000",
            "sample": 960,
        },
        {"type": "attune.timing", "response_id": "resp_0a000000000000000000", "overhead_ms": 3.25},
        {
            "type": "attune.playback",
            "response_id": "resp_0a000000000000000000",
            "item_id": "item_0b000000000000000000",
            "played_samples": 4_800,
            "input_samples": 96_000,
        },
        {
            "type": "attune.recording",
            "session_id": "sess_0c000000000000000000",
            "recording": True,
            "scopes": ["transcript", "research"],
            "reason": None,
        },
        {
            "type": "response.done",
            "response": {
                "id": "resp_0a000000000000000000",
                "status": "cancelled",
                "status_details": {"type": "cancelled", "reason": "turn_detected"},
            },
        },
    ],
    ids=lambda told: told["type"],
)
def test_what_is_only_timing_is_kept_whole_without_any_consent(told: dict[str, Any]) -> None:
    assert kept(told, NOTHING) == told


def test_what_is_wrong_with_a_name_is_not_told_with_the_name() -> None:
    long_name = {"type": "attune.consent", "transcript": True, "audio": True, "research": True}
    with pytest.raises(ClientError) as refused:
        client_events.parse(long_name | {"name": "Ada " * 100})
    assert "Ada" in refused.value.message
    error = {"type": "error", "error": refused.value.payload(None)}
    assert "Ada" not in json.dumps(kept(error, WORDS))
    assert kept(error, WORDS) == kept(error, NOTHING)


def test_settings_keep_their_figures_and_lose_their_words() -> None:
    config = SessionConfig(id=ids.new("sess"), model="a model Ada chose")
    config = updated(
        config,
        {
            "instructions": "Call me Ada.",
            "tools": [{"type": "function", "name": "Ada_lookup"}],
            "audio": {"input": {"transcription": {"prompt": "Ada"}}, "output": {"voice": "Ada"}},
            "attune": {"events": True},
        },
        has_spoken=False,
    )
    event = {"type": "session.updated", "event_id": ids.event(), "session": config.payload()}
    form = kept(event, NOTHING)
    assert form and "Ada" not in json.dumps(form)
    assert form["session"]["audio"]["input"]["turn_detection"]["eagerness"] == "auto"
    assert form["session"]["attune"] == {"events": True, "binary": False, "perception": True}


def test_an_error_keeps_its_code_but_not_its_sentence() -> None:
    problem = {"type": "invalid_request_error", "code": "invalid_value", "param": "Ada"}
    error = {"type": "error", "error": {**problem, "message": "Invalid value 'Ada'."}}
    assert kept(error, NOTHING) == {
        "type": "error",
        "error": {"type": "invalid_request_error", "code": "invalid_value"},
    }


@pytest.mark.parametrize(
    "chosen", ["Ada", "item_Ada", "item_0a\n", "item_", "item_" + "0a" * 20, "ITEM_0a", "item_٠"]
)
def test_an_id_that_a_client_chose_is_text(chosen: str) -> None:
    told = {
        "type": "conversation.item.delete",
        "item_id": chosen,
        "event_id": "event_0a000000000000000000",
    }
    assert kept(told, SOUND) == {"type": "conversation.item.delete"}
    assert kept(told, WORDS) == told


def test_of_an_unknown_event_only_that_it_came_is_kept() -> None:
    told = {"type": "ada.says", "hello": "Ada", "n": 5}
    assert kept(told, NOTHING) == kept({"n": 5}, NOTHING) == {"type": "unknown"}
    assert kept(told, WORDS) == told
    assert kept({"n": 5}, WORDS) == {"type": "unknown", "n": 5}  # a line always has a type


RECORDED: list[dict[str, Any]] = [
    {
        "type": "recording.turn",
        "item_id": "item_0a000000000000000000",
        "role": "user",
        "start": 5,
        "end": 9,
    },
    {"type": "recording.gap", "start": 100, "end": 4_900},
    {"type": "recording.stopped", "reason": "disk_full"},
    {"type": "recording.consent", "transcript": False, "audio": True, "research": False},
    {"type": "input_audio_buffer.append", "samples": [0, 24_000], "messages": 50},
    {
        "type": "response.output_audio.delta",
        "response_id": "resp_0a000000000000000000",
        "item_id": "item_0b000000000000000000",
        "reply_samples": [0, 960],
        "messages": 1,
    },
]


@pytest.mark.parametrize("event", RECORDED, ids=lambda event: event["type"])
@pytest.mark.parametrize("consent", EVERY, ids=lambda consent: ",".join(consent.scopes) or "none")
def test_what_the_recorder_itself_tells_is_always_kept(
    event: dict[str, Any], consent: Consent
) -> None:
    assert kept(event, consent) == event


def test_a_turn_whose_id_may_not_be_kept_is_not_kept_at_all() -> None:
    turn = RECORDED[0] | {"item_id": "Ada's turn"}
    assert kept(turn, WORDS) == turn
    assert kept(turn, SOUND) is None


# -- what no consent covers


@pytest.mark.parametrize("consent", EVERY, ids=lambda consent: ",".join(consent.scopes) or "none")
def test_names_and_secrets_are_never_kept(consent: Consent) -> None:
    flags = {"transcript": True, "audio": True, "research": True}
    told = {"type": "attune.consent", **flags, "name": "Ada Lovelace", "event_id": "Ada"}
    assert kept(told, consent) == {"type": "attune.consent", **flags}
    session_id = ids.new("sess")
    told = {"type": "attune.session", "id": session_id, "secret": "Ada", "resume_token": "Ada"}
    assert kept(told, consent) == {"type": "attune.session", "id": session_id}


def test_a_tools_credentials_are_never_kept_but_its_description_is() -> None:
    tool = {
        "type": "mcp",
        "server_url": "https://ada:pass@tools.example/mcp?token=abc#frag",
        "authorization": "sk-abc",
        "headers": {"X-Key": "sk-abc"},
    }
    schema = {"properties": {"password": {"type": "string"}}}
    lookup = {"type": "function", "name": "lookup", "parameters": schema}
    told = {"type": "session.update", "session": {"type": "realtime", "tools": [tool, lookup]}}
    shown = kept(told, WORDS)
    assert shown and shown["session"]["tools"] == [
        {"type": "mcp", "server_url": "https://tools.example/mcp"},
        lookup,
    ]


SOUND_64 = b64encode(bytes(range(256)) * 3).decode()


@pytest.mark.parametrize(
    "event",
    [
        {"type": "input_audio_buffer.append", "audio": SOUND_64},
        {"type": "response.output_audio.delta", "delta": SOUND_64},
        {"type": "response.content_part.done", "part": {"type": "audio", "audio": SOUND_64}},
        {"type": "conversation.item.create", "item": {"content": [{"audio": SOUND_64}]}},
        {"type": "response.create", "response": {"input": [{"content": [{"audio": SOUND_64}]}]}},
        {"type": "response.audio.delta", "delta": SOUND_64},
        {"type": "made.up", "sound": {"data": SOUND_64}, SOUND_64: 1},
        {"type": "made.up", "samples": list(range(1_000))},
        {"type": "conversation.item.create", "item": {"output": f'{{"wav": "{SOUND_64}"}}'}},
        {"type": SOUND_64},
        {"type": "made.up", "audio": {"bytes": SOUND_64}},
    ],
)
def test_sound_is_never_kept_in_an_event_wherever_it_hides(event: dict[str, Any]) -> None:
    for consent in EVERY:
        written = json.dumps(kept(event, consent))
        assert SOUND_64[:64] not in written
        assert "100, 101" not in written
        assert len(written) < 200


def test_the_size_of_a_sound_is_that_of_its_bytes() -> None:
    for size in (0, 1, 2, 3, 960):
        sound = b64encode(bytes(size)).decode()
        heard = {"type": "input_audio_buffer.append", "audio": sound}
        given = {"type": "response.output_audio.delta", "delta": sound}
        for event, consent in product((heard, given), EVERY):
            assert kept(event, consent) == {"type": event["type"], "audio": {"bytes": size}}


def test_an_event_nested_without_end_is_cut_and_can_be_written() -> None:
    deep: dict[str, Any] = {"text": "Ada"}
    for _ in range(5_000):
        deep = {"in": deep}
    event = {"type": "session.update", "session": deep}
    for consent in EVERY:
        assert json.dumps(kept(event, consent))
    assert subjects(event) == set()


def test_an_event_names_the_items_and_responses_it_tells_of() -> None:
    done = {
        "type": "response.done",
        "event_id": "event_10000000000000000000",
        "response": {
            "id": "resp_10000000000000000000",
            "output": [{"id": "item_10000000000000000000", "content": []}],
        },
    }
    assert subjects(done) == {"resp_10000000000000000000", "item_10000000000000000000"}
    added = {"type": "conversation.item.added", "item": {"id": "A"}, "previous_item_id": "B"}
    assert subjects(added) == {"A"}
    assert subjects({"type": "attune.percept", "item_id": "item_20000000000000000000"}) == {
        "item_20000000000000000000"
    }
