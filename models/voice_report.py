"""How the styles come out: `python -m models.voice_report --out DIR`.

Speaks the same sentences in every style and measures what can be heard of it. Two judges of
quality are used where they are installed: speechmos (DNSMOS) and distillmos (needs torch).
"""

import asyncio
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import numpy as np
import orjson
import soundfile
import typer
from numpy.typing import NDArray

from models.asr_moonshine import Moonshine
from models.audio import resample
from models.inference import session
from models.perception.perceiver import AttunePerceiver
from models.perception.prosody import Measuring, measure
from models.protocols import Speaker, Transcriber
from models.speaker_hibari import Hibari
from models.style import REPLY_EMOTIONS, Style
from models.styles import styled
from models.types import EAR_RATE, WIRE_RATE, AudioChunk, Samples

# Words that no emotion is in, so that only the voice can tell; the longest is a turn's length.
SENTENCES = (
    "The meeting is on the second floor today.",
    "I put the letters on the kitchen table.",
    "She will come back with the car at seven.",
    "There is a garden behind the old house.",
    "We can look at the pictures in the morning.",
    "The children walked along the river to school.",
    "He told me about it, and then we went home.",
    "You have three messages, and one of them is from Anna.",
)
CLAUSES = (
    ("I was at the market this morning, ", "and I bought some bread and apples."),
    ("When the rain is over, ", "we can walk along the river."),
    ("There is a letter for you, ", "and it came from your brother."),
    ("You can leave it here, ", "or you can bring it along."),
)
JOIN_SEC = 0.5  # on either side of a join that are compared
JUDGED_SEC = 9.01  # of sound that DNSMOS looks at
QUALITY_LIMITS = {"dnsmos": 0.25, "distillmos": 0.4}  # that a style may lose against neutral

Judge = Callable[[Samples], float]


@dataclass(frozen=True, slots=True)
class Spoken:
    """One sentence in one style, and what was found of it."""

    style: str
    sentence: str
    f0: float  # Hz
    f0_range: float  # semitones
    loudness: float  # dBFS
    rate: float  # syllables per second, pauses counted
    brightness: float  # dB
    quality: Mapping[str, float]
    heard: str  # the words
    emotion: str  # the likeliest, to our own ears
    valence: float
    arousal: float
    ears: Sequence[float]  # all that our own ears say of the manner


FEATURES = ("f0", "f0_range", "loudness", "rate", "brightness")


def dnsmos() -> Judge | None:
    """DNSMOS's overall score, straight from the network in the package."""
    package = find_spec("speechmos")
    if package is None or not package.submodule_search_locations:
        return None
    folder = Path(package.submodule_search_locations[0])
    network = session(folder / "dnsmos_models" / "sig_bak_ovr.onnx", 1)
    scale = np.poly1d([-0.06766283, 1.11546468, 0.04602535])  # as the network's makers publish it

    def judge(samples: Samples) -> float:
        size = int(JUDGED_SEC * EAR_RATE)
        repeated = np.resize(samples, size) if len(samples) < size else samples[:size]
        (scores,) = network.run(None, {"input_1": repeated[None].astype(np.float32)})
        return float(scale(scores[0][2]))

    return judge


def distillmos() -> Judge | None:
    """DistillMOS, whose package wants torchaudio for a command nobody calls here."""
    if find_spec("distillmos") is None or find_spec("torch") is None:
        return None
    if find_spec("torchaudio") is None:
        sys.modules["torchaudio"] = ModuleType("torchaudio")
    import torch

    torch.set_num_threads(1)
    model = import_module("distillmos").ConvTransformerSQAModel().eval()

    def judge(samples: Samples) -> float:
        with torch.no_grad():
            return float(model(torch.from_numpy(samples[None]))[0])

    return judge


async def said(speaker: Speaker, sentence: str, style: Style) -> Samples:
    async with aclosing(speaker.speak(sentence, style)) as chunks:
        return AudioChunk.join([chunk.audio async for chunk in chunks]).samples


async def examined(
    samples: Samples,
    style: str,
    sentence: str,
    judges: Mapping[str, Judge],
    perceiver: AttunePerceiver,
    transcriber: Transcriber,
) -> Spoken:
    ear = resample(samples, WIRE_RATE, EAR_RATE)
    measuring = Measuring()
    measuring.hear(ear)
    voice = measuring.voice()
    percept = perceiver.percept_of(ear)
    affect = percept.perceived or percept.expressed
    return Spoken(
        style,
        sentence,
        voice.prosody.f0_mean or 0.0,
        voice.prosody.f0_range or 0.0,
        voice.prosody.loudness or 0.0,
        len(re.findall(r"[aeiouy]+", sentence.lower())) / (len(samples) / WIRE_RATE),
        voice.brightness or 0.0,
        {name: judge(ear) for name, judge in judges.items()},
        await transcriber.transcribe(AudioChunk(ear, EAR_RATE)),
        max(percept.emotion, key=lambda name: percept.emotion[name]),
        affect.valence if affect else 3.0,
        affect.arousal if affect else 3.0,
        [
            *((affect.valence, affect.arousal) if affect else (3.0, 3.0)),
            *percept.emotion.values(),
            *percept.volume.values(),
            *percept.speed.values(),
        ],
    )


def told_apart(features: NDArray[np.float64]) -> NDArray[np.int_]:
    """Whom a nearest centroid takes each style for, on sentences it has not heard.

    Args:
        features: by style, sentence and feature.

    Returns:
        Counts by true and by supposed style.
    """
    styles, sentences, _ = features.shape
    matrix = np.zeros((styles, styles), np.int_)
    for held_out in range(sentences):
        known = np.delete(features, held_out, axis=1)
        spread = known.std(axis=1).mean(axis=0) + 1e-9
        distance = (features[:, held_out, None] - known.mean(axis=1)[None]) / spread
        supposed = np.square(distance).sum(axis=-1).argmin(axis=1)
        np.add.at(matrix, (np.arange(styles), supposed), 1)
    return matrix


async def joins(speaker: Speaker, style: Style) -> dict[str, float]:
    """What a listener meets where one clause ends and the next begins."""
    pitches, levels, waves = [], [], []
    for first, second in CLAUSES:
        before, after = await said(speaker, first, style), await said(speaker, second, style)
        waves.append(float(np.abs(np.diff([*before[-2:], *after[:2]])).max()))
        size = int(JOIN_SEC * WIRE_RATE)
        last = measure(resample(np.trim_zeros(before, "b")[-size:], WIRE_RATE, EAR_RATE))
        next_ = measure(resample(after[:size], WIRE_RATE, EAR_RATE))
        if last.f0_mean and next_.f0_mean:
            pitches.append(12 * float(np.log2(next_.f0_mean / last.f0_mean)))
        if last.loudness and next_.loudness:
            levels.append(next_.loudness - last.loudness)
    return {"pitch": _mean(pitches), "level": _mean(levels), "wave": max(waves)}


def word_errors(spoken: Sequence[Spoken]) -> float:
    """Share of the words that our own ears get wrong."""
    from jiwer import wer

    return float(wer([_plain(s.sentence) for s in spoken], [_plain(s.heard) for s in spoken]))


def summary(spoken: Sequence[Spoken]) -> dict[str, Any]:
    """What the clips say together."""
    by_style = {name: [s for s in spoken if s.style == name] for name in REPLY_EMOTIONS}
    raw = np.array(
        [[[getattr(s, f) for f in FEATURES] for s in clips] for clips in by_style.values()]
    )
    raw[..., 0] = 12 * np.log2(np.maximum(raw[..., 0], 1.0))
    ears = np.array([[clip.ears for clip in clips] for clips in by_style.values()])
    styles = {}
    for name, clips in by_style.items():
        quality = {
            judge: _mean([clip.quality[judge] for clip in clips]) for judge in clips[0].quality
        }
        styles[name] = {
            **{f: _mean([getattr(clip, f) for clip in clips]) for f in FEATURES},
            **quality,
            "wer": word_errors(clips),
            "valence": _mean([clip.valence for clip in clips]),
            "arousal": _mean([clip.arousal for clip in clips]),
            "emotions": dict(Counter(clip.emotion for clip in clips).most_common()),
        }
    return {
        "sentences": len(SENTENCES),
        "styles": styles,
        # Against the sentence's mean over all styles, as someone hears who knows the voice.
        "told_apart": {
            "prosody": told_apart(raw - raw.mean(axis=0)).tolist(),
            "prosody, as of a stranger": told_apart(raw).tolist(),
            "our own ears": told_apart(ears - ears.mean(axis=0)).tolist(),
        },
        "agreement": {
            side: float(
                np.corrcoef(
                    [getattr(styled(name).target, side) for name in styles],
                    [style[side] for style in styles.values()],
                )[0, 1]
            )
            for side in ("valence", "arousal")
        },
    }


def markdown(found: Mapping[str, Any]) -> str:
    """The tables, for people."""
    styles = found["styles"]
    judges = [judge for judge in QUALITY_LIMITS if judge in styles["neutral"]]
    head = ["style", "F0 Hz", "range st", "dBFS", "syll/s", "bright dB", *judges, "WER"]
    lines = [_row(head), _row(["---"] * len(head))]
    for name, style in styles.items():
        cells = [name, f"{style['f0']:.0f}"]
        cells += [f"{style[f]:.1f}" for f in FEATURES[1:]]
        for judge in judges:
            lost = styles["neutral"][judge] - style[judge]
            cells.append(f"{style[judge]:.2f}{' (miss)' if lost > QUALITY_LIMITS[judge] else ''}")
        lines.append(_row([*cells, f"{style['wer']:.1%}"]))
    lines += ["", _row(["style", "valence", "arousal", "emotions heard"]), _row(["---"] * 4)]
    for name, style in styles.items():
        emotions = ", ".join(f"{emotion} {count}" for emotion, count in style["emotions"].items())
        cells = [name, f"{style['valence']:.2f}", f"{style['arousal']:.2f}", emotions]
        lines.append(_row(cells))
    lines += ["", "Correlation of what was meant with what our own ears hear, over the styles:"]
    lines += [f"{side} {r:.2f}" for side, r in found["agreement"].items()]
    names = list(styles)
    for judge, matrix in found["told_apart"].items():
        counts = np.array(matrix)
        lines += ["", f"Told apart by {judge}: {counts.trace()} of {counts.sum()}.", ""]
        lines += [_row(["spoken \\ taken for", *names]), _row(["---"] * (len(names) + 1))]
        for name, row in zip(names, matrix, strict=True):
            lines.append(_row([name, *(str(count or "") for count in row)]))
    lines += ["", _row(["style", "step of F0 st", "step of level dB", "step of the wave"])]
    lines.append(_row(["---"] * 4))
    for name, join in found["joins"].items():
        lines.append(
            _row([name, f"{join['pitch']:.1f}", f"{join['level']:.1f}", f"{join['wave']:.5f}"])
        )
    return "\n".join(lines) + "\n"


async def report(out: Path, speaker: Speaker, judges: Mapping[str, Judge]) -> dict[str, Any]:
    """Speaks and examines it all; sounds, figures and tables land in the folder."""
    perceiver, transcriber = AttunePerceiver(), Moonshine()
    spoken = []
    try:
        for name in REPLY_EMOTIONS:
            for number, sentence in enumerate(SENTENCES, 1):
                samples = await said(speaker, sentence, styled(name))
                soundfile.write(out / f"{name}-{number}.wav", samples, WIRE_RATE)
                spoken.append(
                    await examined(samples, name, sentence, judges, perceiver, transcriber)
                )
    finally:
        perceiver.close()
        transcriber.close()
    found = {
        **summary(spoken),
        "joins": {name: await joins(speaker, styled(name)) for name in REPLY_EMOTIONS},
        "clips": [asdict(each) for each in spoken],
    }
    (out / "voice.json").write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2))
    (out / "voice.md").write_text(markdown(found), "utf-8")
    return found


def main(
    out: Annotated[Path, typer.Option(help="A folder for sounds, figures and tables.")],
) -> None:
    """Measure every style."""
    out.mkdir(parents=True, exist_ok=True)
    judges = {}
    for name, judge in (("dnsmos", dnsmos()), ("distillmos", distillmos())):
        if judge is None:
            typer.echo(f"{name} is left out: its package is not installed", err=True)
        else:
            judges[name] = judge
    speaker = Hibari()
    try:
        found = asyncio.run(report(out, speaker, judges))
    finally:
        speaker.close()
    typer.echo(markdown(found))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _plain(text: str) -> str:
    return re.sub(r"[^a-z' ]", "", text.lower()).strip() or "-"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    typer.run(main)
