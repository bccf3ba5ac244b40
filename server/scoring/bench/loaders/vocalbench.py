"""VocalBench's emotional part: a prompt in a feeling, and how well each feeling answers it."""

from collections.abc import Iterator
from pathlib import Path

from server.scoring.annotation import Annotation
from server.scoring.bench.cues import coarse, cue, fine
from server.scoring.bench.item import DataSet, Item
from server.scoring.bench.loaders.reading import Record, records, text, within

NAME = "vocalbench"
FEELINGS = ("angry", "happy", "neutral", "sad", "surprised")  # in the order of `Score`


def load(folder: Path) -> Iterator[Item]:
    for file in (folder / "emotion.json", folder / "json" / "emotion.json"):
        if file.is_file():
            for record in records(file):
                yield _item(record, folder)
            return


def _item(record: Record, folder: Path) -> Item:
    feeling = text(record, "Question_emo")
    spoken = cue(feeling)
    scores = record.get("Score")
    rated = scores if isinstance(scores, list) and len(scores) == len(FEELINGS) else []
    name = text(record, "Audio") or f"emotion/{text(record, 'Qid')}.wav"
    places = [within(folder, each) for each in (name, f"audio/{name}")]
    return Item(
        Annotation(
            benchmark=NAME,
            item=text(record, "Qid"),
            task="conversation",
            speech="synthetic",
            text=text(record, "Question"),
            cue=spoken,
            spoken_info=feeling,
            dimension=fine(spoken),
            labels={"emotion": spoken} if spoken else {},
            suitability={each: float(score) for each, score in zip(FEELINGS, rated, strict=False)},
        ),
        next((place for place in places if place.is_file()), places[0]),
        coarse(spoken),
    )


DATA_SET = DataSet(
    NAME,
    "VocalBench",
    "https://github.com/SJTU-OmniAgent/VocalBench",
    "Apache-2.0",
    "it holds emotion.json and the clips it names",
    load,
)
