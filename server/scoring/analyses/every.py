"""All analyses by name, in the order of the report."""

from importlib import import_module

from server.scoring.scored import Analysis

MODULES = {
    "choices": "server.scoring.analyses.choices",
    "cue_gap": "server.scoring.analyses.cue_gap",
    "confusion": "server.scoring.analyses.confusion",
    "variants": "server.scoring.analyses.variants",
    "flow": "server.scoring.analyses.flow",
    "robustness": "server.scoring.analyses.robustness",
    "empathy_eval": "server.scoring.analyses.empathy_eval",
    "counterfactual": "server.scoring.analyses.counterfactual",
    "duplex": "server.scoring.analyses.duplex",
    "latencies": "server.scoring.analyses.latencies",
    "human": "server.scoring.analyses.human",
    "judges": "server.scoring.analyses.judges",
}


def analysis(name: str) -> Analysis:
    found: Analysis = import_module(MODULES[name]).analyse
    return found
