"""EchoMind: the published folders, and the sample pack of three scripts and four questions."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from models.perception.given import NEUTRAL
from server.scoring.annotation import Annotation, Variant
from server.scoring.bench.cues import coarse, cue, fine
from server.scoring.bench.errors import BenchmarkError
from server.scoring.bench.item import DataSet, Item
from server.scoring.bench.loaders.reading import Record, records, text, within

NAME = "echomind"
VARIANTS: tuple[Variant, ...] = get_args(Variant)
LEVELS: tuple[Literal["understanding", "reasoning"], ...] = ("understanding", "reasoning")
SPEECH: Mapping[str, Literal["human", "synthetic"]] = {"human": "human", "synthesis": "synthetic"}
WORDS = ("speak_A", "speak_a", "script", "utterance", "text", "speaker_A")
ANSWERS = ("answer", "correct_answer", "answer_key", "correct_option", "label", "gold")
KINDS = ("question_type", "type", "task_type", "sub_task", "subtask", "task", "category")


def load(folder: Path) -> Iterator[Item]:
    if (folder / "sample.json").is_file():
        yield from _sample(folder)
        return
    for made, speech in SPEECH.items():
        for data in (folder / f"data_{made}", folder):
            if (data / f"script_info_{made}.json").is_file():
                yield from _published(data, made, speech)
                break


# -- as published


def _published(data: Path, made: str, speech: Literal["human", "synthetic"]) -> Iterator[Item]:
    scripts = list(records(data / f"script_info_{made}.json"))
    audio = data / "audio"
    items = [item for record in scripts for item in _script(record, audio, speech)]
    yield from items
    clips = _clips(items)
    for level in LEVELS:
        if (file := data / "MCQ" / f"{level}.json").is_file():
            for record in records(file):
                yield from _question(record, clips, audio, level, speech)


def _script(record: Record, audio: Path, speech: Literal["human", "synthetic"]) -> Iterator[Item]:
    case, told = text(record, "case_id"), text(record, "spoken_info")
    parts = {each: _part(record, each) for each in VARIANTS}
    references = {each: _reference(parts[each], record, each) for each in VARIANTS}
    for variant in VARIANTS:
        name = text(parts[variant], f"{variant}_input_audio_file", "input_audio_file")
        if name is None:
            continue
        info = told if variant == "target" else _info(parts[variant], record, variant)
        other: Variant = "alternative" if variant == "target" else "target"
        spoken = NEUTRAL if variant == "neutral" else cue(info)
        yield Item(
            Annotation(
                benchmark=NAME,
                item=case,
                group=case,
                task="conversation",
                variant=variant,
                setting="tone",
                topic=text(record, "topic"),
                speech=speech,
                text=text(record, *WORDS),
                cue=spoken,
                spoken_info=info if variant != "neutral" else NEUTRAL,
                dimension=fine(spoken) or fine(cue(told)),
                reference=references[variant],
                alternative_reference=references[other],
            ),
            within(audio, name),
            coarse(cue(told)),
        )


def _part(record: Record, variant: str) -> Record:
    part = record.get(f"{variant}_audio_info")
    return part if isinstance(part, dict) else {}


def _info(part: Record, record: Record, variant: str) -> str | None:
    """The cue of a variant: which field tells it is not published, so all that could are tried."""
    names = (f"{variant}_spoken_info", "spoken_info", f"{variant}_attribute", "attribute")
    return text(part, *names) or text(record, *names[::2])


def _reference(part: Record, record: Record, variant: str) -> str | None:
    names = (
        f"{variant}_response_text", f"{variant}_response", "response_text", "response",
        f"{variant}_reference_response", "reference_response",
    )  # fmt: skip
    return text(part, *names) or text(record, *(name for name in names if variant in name))


def _clips(items: Sequence[Item]) -> dict[Path | str, Item]:
    """By their file, and by its name alone where no other has the same."""
    names = Counter(item.audio.name for item in items)
    alone: dict[Path | str, Item] = {
        item.audio.name: item for item in items if names[item.audio.name] == 1
    }
    return alone | {item.audio: item for item in items}


def _question(
    record: Record,
    clips: Mapping[Path | str, Item],
    audio: Path,
    level: Literal["understanding", "reasoning"],
    speech: Literal["human", "synthetic"],
) -> Iterator[Item]:
    name, answer = text(record, "audio_name"), letter(text(record, *ANSWERS))
    options = listed(record.get("options_text") or record.get("options"))
    if name is None or not options:
        return
    file = within(audio, f"{text(record, 'audio_dir') or ''}/{name}")
    # A question is about one rendering of a script: only that one's cue is the truth about it.
    clip = clips.get(file) or clips.get(file.name) or Item(_unlisted(record, name), file)
    known = clip.annotation
    yield Item(
        Annotation(
            benchmark=NAME,
            item=text(record, "question_id"),
            group=known.group,
            task="mcq",
            variant=known.variant,
            topic=known.topic,
            speech=speech,
            text=known.text,
            cue=known.cue,
            spoken_info=known.spoken_info,
            dimension=known.dimension,
            question=text(record, "question"),
            options=options,
            answer=answer,
            kind=text(record, *KINDS),
            level=level,
        ),
        file,
        clip.about or coarse(known.cue),
    )


def _unlisted(record: Record, name: str) -> Annotation:
    """What a question tells of a clip that no script has; no cue where it may be another's."""
    variant = _variant(name)
    told = NEUTRAL if variant == "neutral" else text(record, "spoken_info")
    if variant == "alternative":
        told = None
    return Annotation(
        group=text(record, "case_id"),
        variant=variant,
        topic=text(record, "topic"),
        text=text(record, *WORDS),
        cue=cue(told),
        spoken_info=told,
        dimension=fine(cue(told)),
    )


def _variant(name: str) -> Variant | None:
    return next((each for each in VARIANTS if Path(name).stem.endswith(f"_{each}")), None)


# -- the sample pack


def _sample(folder: Path) -> Iterator[Item]:
    from orjson import JSONDecodeError, loads

    try:
        pack = loads((folder / "sample.json").read_bytes())
        for script in pack["dialogues"]:
            yield from _dialogue(script, folder)
        for number, record in enumerate(pack["mcq"]):
            yield _sample_question(record, number, folder)
    except (JSONDecodeError, KeyError, TypeError, OSError):
        raise BenchmarkError(f"{folder / 'sample.json'} is not EchoMind's sample.") from None


def _dialogue(script: Mapping[str, Any], folder: Path) -> Iterator[Item]:
    renderings = script["variants"]
    target = cue(renderings["target"]["attribute"])
    for variant, told in renderings.items():
        other = renderings.get("alternative" if variant == "target" else "target", {})
        spoken = cue(told["attribute"])
        yield Item(
            Annotation(
                benchmark=NAME,
                item=str(script["case_id"]),
                group=str(script["case_id"]),
                task="conversation",
                variant=variant,
                setting="tone",
                topic=script["topic"],
                text=script["script"],
                cue=spoken,
                spoken_info=told["attribute"],
                dimension=fine(spoken) or fine(target),
                reference=told.get("reference_response"),
                alternative_reference=other.get("reference_response"),
            ),
            within(folder, told["input_wav"]),
            coarse(target),
        )


def _sample_question(record: Mapping[str, Any], number: int, folder: Path) -> Item:
    spoken = cue(record["target"])
    return Item(
        Annotation(
            benchmark=NAME,
            item=f"mcq_{number}",
            task="mcq",
            variant=_variant(record["audio"]),
            text=record["script"],
            cue=spoken,
            spoken_info=record["target"],
            dimension=fine(spoken),
            question=record["question"],
            options=tuple(record["options"]),
            answer=letter(record["answer"]),
            kind=record["type"],
            level=record["level"],
        ),
        within(folder, record["audio"]),
        coarse(spoken),
    )


# -- questions


def listed(options: Any) -> tuple[str, ...]:
    """Options as lines that begin with their letters."""
    if isinstance(options, dict):
        options = [f"{name}. {told}" for name, told in options.items()]
    if isinstance(options, str):
        options = options.splitlines()
    found = [str(each).strip() for each in options or () if str(each).strip()]
    return tuple(
        each if each[1:2] in (".", ")", ":") and each[0].isalpha() else f"{chr(65 + place)}. {each}"
        for place, each in enumerate(found)
    )


def letter(answer: str | None) -> str | None:
    """The letter of an answer, however it is dressed."""
    plain = (answer or "").strip(" []().:").upper()
    return plain[0] if plain and (len(plain) == 1 or not plain[1].isalnum()) else None


DATA_SET = DataSet(
    NAME,
    "EchoMind",
    "https://huggingface.co/datasets/hlt-cuhksz/EchoMind",
    "CC BY-NC-SA 4.0",
    "it holds data_human or data_synthesis with script_info_….json, or a sample.json",
    load,
)
