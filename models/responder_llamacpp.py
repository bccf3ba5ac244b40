"""Replies by llama.cpp, in this process."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby, takewhile
from operator import attrgetter
from pathlib import Path
from threading import Event
from typing import Any

import xllamacpp

from models import prompt, weights
from models.due import Rank, rank
from models.errors import BackendError, UnfitInput
from models.thinking.told import SYSTEM
from models.types import Token, Turn
from models.worker import Worker

ROLE = "responder"
CONTEXT = 2048  # tokens of one conversation; models/prompt.py stays within
BATCH = 16  # prompt tokens in one step: an abort, or another's reply, waits for no more
KEPT_MIB = 256  # prompts of conversations that lost their slot, 23 kB a token
SILENT = -1  # the engine writes to stderr by itself; what matters reaches us as errors

# Chosen by reading replies to everyday sentences. Penalties on single words, the common remedy
# against repetition, make so small a model avoid the very word that was asked for.
SAMPLING: Mapping[str, object] = {
    "min_p": 0.1,
    "repeat_penalty": 1.0,
    "dry_multiplier": 0.8,  # against saying a phrase again
    "dry_allowed_length": 2,
    "dry_penalty_last_n": 64,
    "stop": ["\n"],  # lists, essays and the other side's lines all begin on a new line
}

# Where somebody stands in the line, asked anew whenever it moves; and their number.
_Asking = tuple[Callable[[], Rank], int]


@dataclass(slots=True)
class _Slot:
    """A place in the engine, with a thread to wait there and the text it has read last."""

    number: int
    worker: Worker
    read: str = ""
    used: int = 0
    idle: bool = True
    leaving: bool = False  # its reader has left, and the engine is about to


class LlamaCpp:
    """A Responder that forms several replies at once, each after the prompt it knows already.

    While all slots are taken, further replies wait here rather than in the engine: one given up
    by then has cost nothing. All of them live in one event loop.
    """

    def __init__(
        self,
        model: str | None = None,
        slots: int = 4,
        threads: int = 1,
        temperature: float = 0.2,
        seed: int | None = 7,
    ) -> None:
        """Loads the model, and reads into every slot how what a taught model is asked begins.

        Args:
            model: a GGUF file; by default the taught one of the weights table.
            slots: replies formed at the same time.
            threads: of computation; more than 1 only on a machine with idle cores.
            temperature: 0 always takes the likeliest word.
            seed: the same seed, dialogue and state of the caches give the same reply; None varies.
        """
        self._sampling = {**SAMPLING, "temperature": temperature}
        if seed is not None:
            self._sampling["seed"] = seed
        file = Path(model) if model else weights.path("attune-reply")
        self._engine = _engine(file, slots, threads)
        self._asking: list[_Asking] = []  # who waits for a slot
        self._freed = asyncio.Event()
        self._slots = [_Slot(number, Worker(f"llamacpp-{number}")) for number in range(slots)]
        self._clock = count(1)
        opening = prompt.messages(SYSTEM, [Turn("user", "Hello.")], None)
        for slot in self._slots:
            self._engine.handle_chat_completions(self._request(slot, opening, 1), _ignore)
            slot.read = _joined(opening)

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        left = Event()  # the engine asks, once for each piece, whether to go on

        def hear(piece: dict[str, Any]) -> bool:
            if not left.is_set():
                loop.call_soon_threadsafe(pieces.put_nowait, piece)
            return left.is_set()

        def done(call: asyncio.Future[None]) -> None:
            if not call.cancelled():
                call.exception()  # a reader that has left need not hear of it
            slot.idle, slot.leaving = True, False
            self._freed.set()
            pieces.put_nowait(None)

        slot = await self._take(dialogue)
        request = self._request(slot, dialogue, max_tokens)
        call = asyncio.ensure_future(
            slot.worker.run(lambda: self._engine.handle_chat_completions(request, hear))
        )
        # The slot is free once the engine has let go of it, which is after the reader has left.
        call.add_done_callback(done)
        try:
            while (piece := await pieces.get()) is not None:
                if token := _token(piece):
                    yield token
            try:
                await call
            except (RuntimeError, ValueError) as error:  # the latter: it refuses the messages
                raise BackendError(ROLE, "The reply engine stopped with an error.") from error
        finally:
            left.set()
            slot.leaving = not slot.idle

    def metrics(self) -> dict[str, float]:
        """The engine's own counters, such as tokens_predicted_total and requests_processing."""
        lines = self._engine.handle_metrics().splitlines()
        pairs = (line.split() for line in lines if line.startswith("llamacpp:"))
        return {name.removeprefix("llamacpp:"): float(value) for name, value in pairs}

    def close(self) -> None:
        """Waits for the slots, which readers should have left, and frees the model."""
        for slot in self._slots:
            slot.worker.close()
        del self._engine

    async def _take(self, dialogue: Sequence[Turn]) -> _Slot:
        """The slot that has read the most of this dialogue, else the one longest unused.

        Slots go to whoever needs one first, and then to whoever has waited longest.
        One that is about to be free is waited for: that takes a moment, reading all again many.
        """
        text = _joined(dialogue)
        me = rank(), next(self._clock)
        self._asking.append(me)
        try:
            while True:
                first = min(self._asking, key=lambda each: (each[0](), each[1]))
                if me == first and (best := self._best(text)) and best.idle:
                    best.read, best.used, best.idle = text, next(self._clock), False
                    return best
                self._freed.clear()
                await self._freed.wait()
        finally:
            self._asking.remove(me)
            self._freed.set()  # it is another's turn to look

    def _best(self, text: str) -> _Slot | None:
        return max(
            (slot for slot in self._slots if slot.idle or slot.leaving),
            key=lambda slot: (_gain(slot.read, text), slot.idle, -slot.used),
            default=None,
        )

    def _request(self, slot: _Slot, turns: Sequence[Turn], max_tokens: int) -> dict[str, object]:
        return {
            **self._sampling,
            "messages": _messages(turns),
            "max_tokens": max_tokens,
            "id_slot": slot.number,
            "stream": True,
            "logprobs": True,
            "top_logprobs": 1,
            "return_progress": True,  # so that we are asked while a long prompt is read, too
        }


def _engine(model: Path, slots: int, threads: int) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_parallel = slots
    params.n_ctx = slots * CONTEXT
    params.n_batch = params.n_ubatch = BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = KEPT_MIB
    params.verbosity = SILENT
    params.endpoint_metrics = True
    params.ui = False
    params.n_threads_http = 1
    # The engine insists on listening. On a socket in a private directory, gone before anyone
    # could connect, it opens no port.
    with tempfile.TemporaryDirectory() as private:
        params.hostnames = [f"{private}/engine.sock"]
        try:
            return xllamacpp.Server(params)
        except RuntimeError as error:
            sentence = f"The reply engine cannot load {model.name}: is it a GGUF file?"
            raise BackendError(ROLE, sentence) from error


def _messages(turns: Sequence[Turn]) -> list[dict[str, str]]:
    """As the engine wants them: one side's turns in a row, which it refuses, are one message."""
    said = [
        (role, " ".join(turn.text for turn in row))
        for role, row in groupby(turns, attrgetter("role"))
    ]
    return [{"role": role, "content": text} for role, text in said]


def _joined(turns: Iterable[Turn]) -> str:
    """A dialogue as one text; the system's part, which every slot may hold, left out."""
    return "\n".join(turn.text for turn in turns if turn.role != "system")


def _gain(read: str, text: str) -> int:
    """Characters a slot need not read again, less those it would forget; at worst nothing."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(read, text, strict=False)))
    return max(same - (len(read) - same), 0)


def _token(piece: Mapping[str, Any]) -> str:
    """What a piece adds to the reply, which may be nothing."""
    if "error" in piece:
        raise UnfitInput(ROLE, f"The reply engine refused: {piece['error']['message']}.")
    choice: dict[str, Any] = next(iter(piece.get("choices") or ()), {})
    text = choice.get("delta", {}).get("content") or ""
    weighed = (choice.get("logprobs") or {}).get("content")
    return Token(text, sum(each["logprob"] for each in weighed)) if weighed else text


def _ignore(piece: Mapping[str, Any]) -> bool:
    _token(piece)
    return False
