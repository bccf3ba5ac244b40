"""All instruments by name; each is imported only when it is asked for."""

from importlib import import_module
from types import ModuleType

from server.scoring.score import Instrument, Measure
from server.scoring.settings import Settings

# The order is that of the report.
MODULES = {
    "understanding": "server.scoring.words.understanding",
    "choices": "server.scoring.words.choices",
    "overlap": "server.scoring.words.overlap",
    "meaning": "server.scoring.words.meaning",
    "echomind": "server.scoring.judging.echomind",
    "aeq": "server.scoring.judging.aeq",
    "echat": "server.scoring.judging.echat",
    "humdial": "server.scoring.judging.humdial",
    "vstyle": "server.scoring.judging.vstyle",
    "vocalbench": "server.scoring.judging.vocalbench",
    "vocal_empathy": "server.scoring.judging.vocal_empathy",
    "counterfactual": "server.scoring.judging.counterfactual",
    "empathy_choice": "server.scoring.judging.empathy_choice",
    "dnsmos": "server.scoring.sound.dnsmos",
    "distillmos": "server.scoring.sound.distillmos",
    "nisqa": "server.scoring.sound.nisqa",
    "utmos": "server.scoring.sound.utmos",
    "reply_emotion": "server.scoring.sound.reply_emotion",
    "entrainment": "server.scoring.sound.entrainment",
    "perceived": "server.scoring.sound.perceived",
    "latency": "server.scoring.duplex.latency",
    "heard": "server.scoring.duplex.heard",
    "taking_turns": "server.scoring.duplex.taking_turns",
    "overlaps": "server.scoring.duplex.overlaps",
    "overlap_quality": "server.scoring.duplex.quality",
    "relevance": "server.scoring.duplex.relevance",
}


def measures(name: str) -> tuple[Measure, ...]:
    """What an instrument could give, whether or not it can be built here."""
    found: tuple[Measure, ...] = _module(name).MEASURES
    return found


def build(name: str, settings: Settings) -> Instrument:
    """The instrument, ready; Unavailable says why not."""
    built: Instrument = _module(name).build(settings)
    return built


def _module(name: str) -> ModuleType:
    return import_module(MODULES[name])
