"""Exchanges of a benchmark run as they might be: made up, seeded, without words or sound."""

import random
from dataclasses import dataclass
from typing import Any, cast

from models.perception.labels import DIMENSIONS
from server.scoring.annotation import Annotation
from server.scoring.attributes import ANNOTATED
from server.scoring.score import Family, JudgeNamed, Measure
from server.scoring.scored import Row

CUES = (
    "happy",
    "sad",
    "angry",
    "fear",
    "tired",
    "hoarse",
    "sigh",
    "laughter",
    "cough",
    "whisper",
    "shout",
    "fast",
    "child",
    "elderly",
    "male",
    "rain",
    "subway",
    "chatter",
    "alarm",
    "music",
)
EMOTIONS = ("happy", "sad", "angry", "fear", "disgust", "surprise", "neutral")
SAID = (
    "I finally heard back from them this morning.",
    "So the meeting moved to Thursday after all.",
    "They asked me to bring the old photographs.",
    "I walked home instead of taking the bus.",
)
REPLIES = (
    "You sound worn out. Do you want to tell me how it went?",
    "Oh, that is lovely to hear! What happened next?",
    "I am sorry, that sounds heavy. I am here.",
    "All right. Is there anything you want to prepare?",
)
JUDGE = JudgeNamed("qwen3-omni-30b", "2026-01", "judge.example.org", "Apache-2.0")
OURS = JudgeNamed("attune perceiver", "default", None, "Apache-2.0")


@dataclass(frozen=True, slots=True)
class Made:
    """How a metric's values are made up."""

    measure: Measure
    middle: float
    spread: float
    judge: JudgeNamed | None

    @property
    def name(self) -> str:
        return self.measure.name

    @classmethod
    def of(cls, line: str) -> "Made":
        name, title, family, low, high, middle, spread, better, unit, judge = line.split("|")
        measure = Measure(
            name,
            title,
            cast(Family, family),
            f"What is meant by {title.lower()}.",
            "Our best reading: the authors published none." if judge == "ours" else "",
            unit,
            {"high": True, "low": False}.get(better),
            float(low) if low else None,
            float(high) if high else None,
        )
        return cls(measure, float(middle), float(spread), {"judge": JUDGE, "ours": OURS}.get(judge))


# Name, title, family, ends of the scale, middle and spread of the values, which is better, unit,
# and whose opinion it is.
TABLE = """\
wer_raw|WER, raw|understanding|0|100|12|9|low|%|
wer|WER, normalised|understanding|0|100|6|8|low|%|
semsim_minilm|Meaning of the transcript, MiniLM|understanding|0|100|94|4|high||
choice_understanding|Choices, understanding|understanding|0|100|60|50|high|%|
choice_reasoning|Choices, reasoning|understanding|0|100|55|50|high|%|
cue_recall|Cue named|perception|0|100|62|50|high|%|
cue_chance|Chance given to the cue|perception|0|100|55|25|high|%|
bleu4|BLEU-4|words|0|100|3|2|high||
rouge_l|ROUGE-L|words|0|100|19|6|high||
bertscore_minilm|BERTScore, MiniLM|words|0|100|52|8|high||
similarity_minilm|Similarity, MiniLM|words|0|100|41|12|high||
steering_minilm|Steered by the cue, MiniLM|words|-100|100|6|14|high||
ctx_fit|Fits the context|echomind|1|5|3.9|0.9|high||judge
resp_nat|Natural|echomind|1|5|4.1|0.7|high||judge
colloq_deg|Colloquial|echomind|1|5|4.0|0.7|high||judge
speech_rel|Takes up the cue|echomind|1|5|3.1|1.2|high||judge
judge_self_agreement_echomind|EchoMind's judge with itself|echomind|0|100|88|10|high|%|judge
ves|Vocal empathy (VES)|voice|1|5|3.0|1.0|high||judge
aeq_coherence|Coherence|aeq|1|5|3.8|0.8|high||judge
aeq_supportiveness|Supportiveness|aeq|1|5|3.4|0.9|high||judge
aeq_naturalness|Naturalness of voice|aeq|1|5|3.6|0.7|high||judge
aeq_expressiveness|Expressiveness|aeq|1|5|2.8|0.9|high||judge
empathy_choice|EmpathyEval, items|aeq|0|100|70|50|high|%|judge
echat_emotion|EChat-eval, emotion|echat|0|100|56|14|high||judge
humdial_congruence|Vocal congruence|humdial|1|5|3.1|0.8|high||judge
prefers_ours_voice|Prefers our voice|counterfactual|0|100|66|40|high|%|judge
prefers_ours_words|Prefers our words|counterfactual|0|100|74|40|high|%|judge
dnsmos_ovrl|DNSMOS, overall|sound|1|5|3.2|0.15|high||
dnsmos_p808|DNSMOS P.808|sound|1|5|3.9|0.2|high||
emo_align|Emotion of the voice fits|voice|0|100|44|50|high|%|ours
vocalbench_acoustic|Acoustic fit, VocalBench|voice|1|5|3.3|0.7|high||ours
take_over|Takes the turn|duplex|0|1|0.95|0.1|high||
turn_latency_sec|Turn-taking latency|duplex|||0.7|0.3|low|s|
pause_take_over|Talks into a pause|duplex|0|1|0.08|0.1|low||
stop_latency_sec|Time to stop|duplex|||0.5|0.2|low|s|
response_latency_sec|Time to respond|duplex|||0.9|0.2|low|s|
first_response_sec|Time to the first response|duplex|||1.1|0.2|low|s|
overlap_behaviour|Behaves rightly when talked over|duplex|0|100|70|50|high|%|judge
overlap_pitch_change_st|Change of pitch|duplex|||-0.6|0.5||st|
reply_wer|Words lost in the voice|duplex|0|100|4|4|low|%|
reply_latency_ms|Reply latency, recorded|latency|||690|160|low|ms|
"""
MADES = tuple(map(Made.of, TABLE.splitlines()))
OVERLAP = (
    "stop_latency_sec",
    "response_latency_sec",
    "first_response_sec",
    "overlap_behaviour",
    "overlap_pitch_change_st",
)
KINDS = (
    ("gender recognition", "understanding"),
    ("speech emotion recognition", "understanding"),
    ("background-sound detection", "understanding"),
    ("speaker-intent recognition", "reasoning"),
    ("preceding-event inference", "reasoning"),
)
ALWAYS = (
    "choice_understanding",
    "choice_reasoning",
    "empathy_choice",
    "overlap_behaviour",
    "prefers_ours_voice",
    "prefers_ours_words",
    "emo_align",
    "cue_recall",
)  # all or nothing
MISSING = {
    "semsim": (
        Measure("semsim", "Meaning of the transcript", "understanding", "Cosine."),
        "no encoder is configured",
    ),
    "nisqa": (
        Measure("nisqa", "NISQA", "sound", "Quality.", largest=5, smallest=1),
        "nisqa.tar is not here",
    ),
}


def measures() -> dict[str, Measure]:
    told = {each.name: each.measure for each in MADES}
    return told | {name: measure for name, (measure, _) in MISSING.items()}


def rows(scripts: int = 20, seed: int = 7) -> list[Row]:
    """An EchoMind-like run: every script in five ways, some in noise; questions; other tasks."""
    chance = random.Random(seed)
    played = [
        _conversation(script, variant, given, condition)
        for script in range(scripts)
        for variant, given, condition in (
            ("target", "perceived", "clean"),
            ("target", "none", "clean"),
            ("target", "true", "clean"),
            ("neutral", "perceived", "clean"),
            ("alternative", "perceived", "clean"),
            *((("target", "perceived", "noise 10 dB"),) if script % 2 else ()),
            *((("target", "perceived", "speed 1.2"),) if script % 4 == 1 else ()),
        )
    ]
    asked = [_question(number) for number in range(scripts)]
    others = [_other(number) for number in range(scripts)]
    return [_row(number, each, chance) for number, each in enumerate((*played, *asked, *others))]


def _conversation(script: int, variant: str, given: str, condition: str) -> Annotation:
    cue = CUES[script % len(CUES)]
    dimension = next(name for name, each in DIMENSIONS.items() if cue in each.attributes)
    told = {"variant": variant, "cue_given": given, "speech": ("synthetic", "human")[script % 2]}
    return Annotation(
        benchmark="echomind",
        item=f"case {script}",
        group=f"script {script}",
        task="conversation",
        topic=("work", "family", "health")[script % 3],
        condition=condition,
        setting="tone",
        text=SAID[script % 4],
        cue="neutral" if variant == "neutral" else cue,
        spoken_info=f"{cue} voice",
        dimension=dimension,
        reference=REPLIES[script % 4],
        prompt="basic",
        **told,
    )


def _question(number: int) -> Annotation:
    kind, level = KINDS[number % len(KINDS)]
    options = ("one", "two") if number % 3 == 0 else ("one", "two", "three", "four")
    return Annotation(
        benchmark="echomind",
        item=f"question {number}",
        task="mcq",
        question="Which?",
        options=options,
        answer="A",
        kind=kind,
        level=level,
        cue_given="perceived",
    )


def _other(number: int) -> Annotation:
    """EmpathyEval's groups of two, and being talked over."""
    if number % 2:
        return Annotation(
            benchmark="empathyeval",
            item=f"pair {number}",
            group=f"group {number // 4}",
            task="empathy_choice",
            setting=("context", "tone")[number // 4 % 2],
        )
    task = ("user_interruption", "user_backchannel", "pause", "turn_taking")[number // 2 % 4]
    return Annotation(benchmark="fullduplex", item=f"talk {number}", task=task)


def _row(number: int, annotation: Annotation, chance: random.Random) -> Row:
    cue = annotation.cue or "neutral"
    given = annotation.cue_given or "perceived"
    good = {"true": 0.7, "perceived": 0.35, "none": -0.5}[given] + chance.gauss(0, 0.5)
    values = {made.name: _value(made, good, chance) for made in MADES if _fits(made, annotation)}
    unscored = {name: reason for name, (_, reason) in MISSING.items()}
    if number % 17 == 5:
        for name in ("ves", "aeq_naturalness", "aeq_expressiveness", "dnsmos_ovrl"):
            if values.pop(name, None) is not None:
                unscored[name] = "no consent to sound"
    attributes = {
        "responder": "llamacpp",
        "speaker": "hibari",
        "perceiver": "default",
        "profile": "embedded",
        "emotion": chance.choice(EMOTIONS),
    }
    told = {name: str(value) for name in ANNOTATED if (value := getattr(annotation, name))}
    return Row(
        _session(number // 2),
        number % 2,
        f"item_{2 * (number % 2)}",
        f"item_{2 * (number % 2) + 1}",
        attributes | told,
        values,
        unscored,
        annotation,
        _percept(cue, good, chance),
        _plan(cue, good),
        _stages(chance),
        number % 13 == 0,
    )


def _fits(made: Made, annotation: Annotation) -> bool:
    if annotation.task == "mcq":
        return made.name == f"choice_{annotation.level}"
    if annotation.task == "empathy_choice":
        return made.name == "empathy_choice"
    if made.name in ("choice_understanding", "choice_reasoning", "empathy_choice"):
        return False
    if made.name in OVERLAP:
        return annotation.task in ("user_interruption", "user_backchannel")
    return annotation.task == "conversation" or made.measure.family in ("duplex", "latency")


def _value(made: Made, good: float, chance: random.Random) -> float:
    if made.name in ALWAYS:
        return 100.0 * (chance.gauss(made.middle / 100 + good * 0.25, 0.35) > 0.5)
    if made.name in ("take_over", "pause_take_over"):
        return float(chance.random() < made.middle)
    measure = made.measure
    way = -1 if measure.higher_is_better is False else 1
    value = chance.gauss(made.middle + way * good * made.spread * 0.8, made.spread * 0.7)
    if measure.smallest is not None and measure.largest is not None:
        value = min(measure.largest, max(measure.smallest, value))
    return float(round(value)) if made.judge and measure.largest == 5 else round(value, 3)


def _percept(cue: str, good: float, chance: random.Random) -> dict[str, Any]:
    heard = cue if good > -0.2 else chance.choice(CUES)
    told: dict[str, Any] = {"unknown": ["location"], "seconds": 3.2, "weights": "default"}
    for dimension in DIMENSIONS.values():
        names = dimension.answers
        if heard in names:
            chances = {name: 0.72 if name == heard else 0.28 / (len(names) - 1) for name in names}
        elif dimension.rest:
            chances = {name: 0.9 if name == dimension.rest else 0.1 / len(names) for name in names}
        else:
            chances = dict.fromkeys(names, 0.04)
        told[dimension.field] = {**told.get(dimension.field, {}), **chances}
    return told


def _plan(cue: str, good: float) -> dict[str, Any]:
    emotion = "comforting" if good > 0 else "neutral"
    heard = [{"dimension": "emotion", "name": cue, "confidence": 0.8, "sure": True}]
    return {
        "heard": heard if good > 0 else [],
        "situation": cue,
        "emotion": emotion,
        "strategies": ["reflection", "question"],
        "acknowledgement": "I hear you.",
        "line": f"heard: {cue} → {emotion}: reflection, question",
    }


def _stages(chance: random.Random) -> dict[str, float]:
    late = abs(chance.gauss(0, 60))
    return {
        "words": 120 + late,
        "judged": 180 + late,
        "percept": 90.0,
        "planned": 195 + late,
        "first_token": 330 + 2 * late,
        "first_clause": 410 + 2 * late,
        "gate": 420 + late,
        "first_audio": 560 + 3 * late,
        "first_sent": 566 + 3 * late,
    }


def _session(number: int) -> str:
    return f"sess_{number:020x}"
