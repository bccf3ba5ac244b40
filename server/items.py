"""The conversation's items: what was said by whom, as the protocol keeps it."""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from models.audio import decode_pcm16
from models.percept import Percept
from models.types import WIRE_RATE, AudioChunk, Turn
from server import ids
from server.client_events import NewItem, decode_audio
from server.errors import ClientError
from server.playout import Playout

MAX_ITEMS = 1_000
MAX_AUDIO_BYTES = 32 * 1024 * 1024  # over all items; the oldest items lose their sound first

TURNS_HEARD = 3  # of the user's last ones a model with ears may hear

Status = Literal["in_progress", "completed", "incomplete"]


@dataclass(slots=True)
class Item:
    """One entry of the conversation; `kind` is the wire's `type`."""

    id: str
    kind: Literal["message", "function_call", "function_call_output"]
    role: Literal["user", "assistant", "system"] | None = None
    status: Status = "completed"
    text: str = ""  # what was written, said, or transcribed
    spoken: bool = False  # audio rather than text
    audio: bytes = b""  # PCM16 at WIRE_RATE, as received
    fields: dict[str, Any] = field(default_factory=dict)  # a function call's own
    playout: Playout | None = None  # how it was spoken, when we spoke it
    percept: Percept | None = None  # how it was spoken, when the user did
    unheard: str | None = None  # why nobody knows its words, where the model failed to find them

    cut_at: int | None = None  # nothing after this sample of it was heard
    _weighed: tuple[str | None, int] = field(default=(None, 0), repr=False, compare=False)

    @property
    def text_bytes(self) -> int:
        """How much text it holds, as UTF-8."""
        if self._weighed[0] is not self.text:  # words may come late, and be cut
            texts = (self.text, *self.fields.values())
            self._weighed = self.text, sum(len(text.encode()) for text in texts)
        return self._weighed[1]

    def cut(self, sample: int) -> None:
        """Keep only the words that had sounded by then."""
        self.cut_at = sample if self.cut_at is None else min(sample, self.cut_at)
        self.trim()

    def trim(self) -> None:
        """Forget again what was cut."""
        if self.playout and self.cut_at is not None:
            self.text = self.playout.words_until(self.cut_at)

    def payload(self, *, with_audio: bool = False) -> dict[str, Any]:
        shown: dict[str, Any] = {"id": self.id, "object": "realtime.item", "type": self.kind}
        shown["status"] = self.status
        if self.kind != "message":
            return {**shown, **self.fields}
        assert self.role is not None, "a message has a role"
        return {**shown, "role": self.role, "content": self._content(with_audio)}

    def _content(self, with_audio: bool) -> list[dict[str, Any]]:
        side = "output" if self.role == "assistant" else "input"
        if not self.spoken:
            if self.role == "assistant" and self.status == "in_progress":
                return []
            return [{"type": f"{side}_text", "text": self.text}]
        if self.role == "assistant" and self.status == "in_progress":
            return []
        part: dict[str, Any] = {"type": f"{side}_audio", "transcript": self.text or None}
        if with_audio and self.audio:
            part["audio"] = b64encode(self.audio).decode()
        return [part]

    def turn(self, *, with_audio: bool = False) -> Turn | None:
        """How the reply model reads this item; None for what it cannot read."""
        heard = with_audio and self.role == "user" and self.audio
        sound = AudioChunk(decode_pcm16(self.audio), WIRE_RATE) if heard else None
        by_ear_alone = sound is not None and self.unheard is not None
        if self.kind == "message" and self.role and (self.text.strip() or by_ear_alone):
            return Turn(self.role, self.text.strip(), self.percept, sound)
        if self.kind == "function_call_output":
            return Turn("system", f"Result of a tool: {self.fields['output']}")
        return None


async def accepted(new: NewItem) -> Item:
    """The item a client wrote, checked for what only a whole item can tell."""
    if new.type in ("function_call", "function_call_output"):
        return _function_item(new)
    if new.type == "item_reference":
        raise ClientError("invalid_value", "An item_reference stands only in 'response.input'.")
    if new.role is None:
        raise ClientError(
            "missing_required_parameter", "Missing required parameter: 'item.role'.", "item.role"
        )
    if not new.content:
        raise ClientError(
            "missing_required_parameter",
            "Missing required parameter: 'item.content'.",
            "item.content",
        )
    allowed = {
        "user": ("input_text", "input_audio"),
        "system": ("input_text",),
        "assistant": ("output_text", "text", "output_audio"),
    }[new.role]
    texts, audio = [], b""
    for index, part in enumerate(new.content):
        where = f"item.content[{index}]"
        if part.type not in allowed:
            raise ClientError(
                "invalid_value",
                f"Invalid value: '{part.type}'. A {new.role} message here takes: "
                + ", ".join(allowed)
                + ".",
                f"{where}.type",
            )
        if part.type == "input_audio":
            if part.audio is None:
                raise ClientError(
                    "missing_required_parameter",
                    f"Missing required parameter: '{where}.audio'.",
                    f"{where}.audio",
                )
            audio += await decode_audio(part.audio, f"{where}.audio")
            if len(audio) % 2:
                raise ClientError(
                    "invalid_value", "PCM16 audio has an even number of bytes.", f"{where}.audio"
                )
            texts.append(part.transcript or "")
        else:
            texts.append(part.text if part.text is not None else part.transcript or "")
    spoken = any(part.type.endswith("_audio") for part in new.content)
    return Item(
        id=new.id or ids.new("item"),
        kind="message",
        role=new.role,
        text=" ".join(text for text in texts if text),
        spoken=spoken,
        audio=audio,
    )


def _function_item(new: NewItem) -> Item:
    needed = ("call_id", "output") if new.type == "function_call_output" else ("name", "arguments")
    for name in needed:
        if getattr(new, name) is None:
            raise ClientError(
                "missing_required_parameter",
                f"Missing required parameter: 'item.{name}'.",
                f"item.{name}",
            )
    kept = {n: getattr(new, n) for n in ("call_id", "name", "arguments", "output")}
    return Item(
        id=new.id or ids.new("item"),
        kind="function_call_output" if new.type == "function_call_output" else "function_call",
        fields={name: value for name, value in kept.items() if value is not None},
    )


class Conversation:
    """The items in their order."""

    def __init__(self, most_bytes: int) -> None:
        self.id = ids.new("conv")
        self._most_bytes = most_bytes  # of text
        self._items: list[Item] = []

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: Item, after: str | None = None) -> str | None:
        """Put the item at the end, or after another; returns the id it now follows."""
        self._check_new(item)
        if len(self._items) >= MAX_ITEMS:
            raise ClientError(
                "conversation_too_long",
                f"The conversation already holds {MAX_ITEMS} items; delete some first.",
            )
        if self._excess(item) > 0:
            raise ClientError(
                "conversation_too_long",
                f"The conversation holds at most {self._most_bytes} bytes of text; delete some "
                "items first.",
            )
        where = len(self._items)
        if after == "root":
            where = 0
        elif after is not None:
            where = self._index(after, "item_create_invalid_previous_item_id") + 1
        return self._insert(item, where)

    def find(self, item_id: str, code: str) -> Item:
        return self._items[self._index(item_id, code)]

    def delete(self, item_id: str) -> None:
        del self._items[self._index(item_id, "item_delete_invalid_item_id")]

    def join(self, item: Item) -> str | None:
        """Put at the end what has been said, whatever the length; returns what it follows."""
        self._check_new(item)
        excess = self._excess(item)
        while self._items and (len(self._items) >= MAX_ITEMS or excess > 0):
            excess -= self._items.pop(0).text_bytes
        return self._insert(item, len(self._items))

    @property
    def last_id(self) -> str | None:
        return self._items[-1].id if self._items else None

    def turns(self, without: str | None = None, *, with_audio: bool = False) -> list[Turn]:
        """The dialogue as the reply model reads it; its sound only for whom it is to hear."""
        return turns([item for item in self._items if item.id != without], with_audio=with_audio)

    @property
    def unheard(self) -> str | None:
        """Why nobody knows what the user said last, if that is so."""
        theirs = [item for item in self._items if item.role == "user"]
        return theirs[-1].unheard if theirs else None

    def _check_new(self, item: Item) -> None:
        if any(item.id == other.id for other in self._items):
            raise ClientError(
                "item_create_duplicate_item_id",
                f"An item with id '{item.id}' already exists.",
                "item.id",
            )

    def _excess(self, item: Item) -> int:
        """Bytes of text that would be too many with this item."""
        return text_bytes([*self._items, item]) - self._most_bytes

    def _insert(self, item: Item, where: int) -> str | None:
        self._items.insert(where, item)
        self._forget_old_audio()
        return self._items[where - 1].id if where else None

    def _index(self, item_id: str, code: str) -> int:
        for index, item in enumerate(self._items):
            if item.id == item_id:
                return index
        raise ClientError(code, f"There is no item with id '{item_id[:64]}'.", "item_id")

    def _forget_old_audio(self) -> None:
        total = sum(len(item.audio) for item in self._items)
        for item in self._items:
            if total <= MAX_AUDIO_BYTES:
                return
            total -= len(item.audio)
            item.audio = b""


def text_bytes(items: Iterable[Item]) -> int:
    """How much text they hold together, as UTF-8."""
    return sum(item.text_bytes for item in items)


def turns(items: Sequence[Item], *, with_audio: bool) -> list[Turn]:
    """The dialogue as the reply model reads it; the user's last turns with their sound if asked."""
    heard = [item.id for item in items if item.role == "user" and item.audio] if with_audio else []
    spoken = heard[-TURNS_HEARD:]
    return [turn for item in items if (turn := item.turn(with_audio=item.id in spoken))]
