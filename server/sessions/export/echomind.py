"""The layout of EchoMind's human part, each answered turn a case."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from server.sessions.exchanges import Exchange
from server.sessions.export.clips import all_or_none, write_wav
from server.sessions.export.selection import Chosen
from server.sessions.export.spoken_info import SpokenInfo, spoken_info

NO_TOPIC = "no_specific_topics"
Record = dict[str, Any]
Case = tuple[Record, Record]  # the script, and what was answered
TOPIC = re.compile(r"[a-z_]{1,32}")  # it becomes part of a file's name


class EchoMindExport:
    """`script_info_human.json` is what its runner reads, `responses_human.json` what it writes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._scripts = _Array(folder / "data_human" / "script_info_human.json")
        self._answers = _Array(folder / "data_human" / "responses_human.json")

    def add(self, session: Chosen) -> Sequence[Exchange] | None:
        with all_or_none() as files:
            cases = [
                (exchange, case)
                for exchange in session.exchanges
                if (case := self._case(session, exchange, files))
            ]
        for _, (script, answer) in cases:
            self._scripts.add(script)
            self._answers.add({**script, **answer})
        return [exchange for exchange, _ in cases] or None

    def close(self) -> None:
        self._scripts.close()
        self._answers.close()

    def _case(self, session: Chosen, exchange: Exchange, files: list[Path]) -> Case | None:
        user, reply = exchange.user, exchange.reply
        if user is None or reply is None:
            return None
        asked, answered = session.sound(user), session.sound(reply)
        if asked is None or answered is None:
            return None
        cue, topic = spoken_info(user.percept), _topic(reply.plan)
        case_id = f"{session.file.id}_{exchange.number:03d}"
        stem = f"{cue.folder}/{case_id}_{cue.short}_{topic}_target"
        files.append(self._folder / "data_human" / "audio" / f"{stem}.wav")
        write_wav(files[-1], asked)
        files.append(self._folder / "audio_response" / f"{stem}_response.wav")
        write_wav(files[-1], answered)
        responder = session.file.models.get("responder")
        given = {
            "response_audio_transcript": reply.text or "",
            "response_text": reply.text or "",
            "file": f"{stem}_response.wav",
        }
        return _script(case_id, topic, cue, f"{stem}.wav", user.text), {
            "model": responder.backend if responder else "",
            "output_content": {"target": given, "neutral": {}, "alternative": {}},
        }


def _script(case_id: str, topic: str, cue: SpokenInfo, file: str, words: str | None) -> Record:
    return {
        "case_id": case_id,
        "topic": topic,
        "spoken_info": cue.text,
        "spoken_info_chance": cue.chance,  # a model's guess, where EchoMind has an annotation
        "speak_A": words or "",
        "target_audio_info": {"target_input_audio_file": file},
        # In the wild there is one rendering; the runner passes over files that are not there.
        "neutral_audio_info": {"neutral_input_audio_file": ""},
        "alternative_audio_info": {"alternative_input_audio_file": ""},
    }


def _topic(plan: Mapping[str, Any] | None) -> str:
    topic = ((plan or {}).get("said") or {}).get("topic") or ""
    return topic if TOPIC.fullmatch(topic) else NO_TOPIC


class _Array:
    """A JSON array that grows on disk."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("w", encoding="utf-8")
        self._between = "[\n"

    def add(self, record: Record) -> None:
        self._file.write(self._between + json.dumps(record, ensure_ascii=False, indent=1))
        self._between = ",\n"

    def close(self) -> None:
        self._file.write("[]\n" if self._between == "[\n" else "\n]\n")
        self._file.close()
