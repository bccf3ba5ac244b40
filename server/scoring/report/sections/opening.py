"""What this is, of when, and of how much."""

from collections import Counter

from server.scoring.report.blocks import Block, Facts, Para, Section
from server.scoring.report.figures import counted
from server.scoring.report.material import Material
from server.scoring.results import PlayedSet

CUES = {"true": "true cue given", "none": "no cue given", "perceived": "cue as we perceived it"}


def opening(material: Material) -> Section:
    head, made = material.head, material.head.made
    days = sorted(each.started.date() for each in head.sessions)
    known = sum(each.mean is not None for each in head.metrics)
    lead = (
        f"{counted(material.exchanges, 'exchange')} of {counted(len(head.sessions), 'session')}, "
        f"{_between(str(days[0]), str(days[-1])) if days else 'none recorded'}. "
        f"{counted(known, 'metric')} could be told of {len(head.metrics)}."
    )
    facts = [
        ("Made", f"{made.day} {made:%B %Y, %H:%M} {made.tzname() or ''} by {head.software}"),
        ("Judges", _judges(material)),
        ("Models", _models(material)),
        ("Data", _listed(material.apart["benchmark"]) or "recorded conversations, no data set"),
        *((f"{each.title or each.name}", _played(each)) for each in head.benchmarks),
    ]
    for name, title in (("variant", "Variants"), ("prompt", "Prompts"), ("speech", "Speech")):
        if told := _listed(material.apart[name]):
            facts.append((title, told))
    if cues := material.apart["cue_given"]:
        spelt = Counter({CUES.get(name, name): n for name, n in cues.items()})
        facts.append(("Cue", _listed(spelt)))
    if head.run is not None:
        facts.append(("Machine", head.run.machine))
    if head.took_sec is not None:
        facts.append(("Took", f"{head.took_sec:,.0f} s"))
    blocks: list[Block] = [Para(lead, "lead"), Facts(tuple(facts))]
    if head.left_out or head.broken or any(each.failed for each in head.benchmarks):
        blocks.append(Para(_missing(material), "warning"))
    return Section("run", "What was scored", tuple(blocks))


def _judges(material: Material) -> str:
    """Somebody may be asked twice, of words and of sound."""
    told = dict.fromkeys(
        f"{judge.name}{f' ({judge.version})' if judge.version else ''}, "
        f"{f'at {judge.host}' if judge.host else 'on this machine'}"
        for judge in material.head.judges
    )
    return "; ".join(told) or "none: nothing here is anybody's opinion"


def _models(material: Material) -> str:
    used: dict[str, set[str]] = {}
    for session in material.head.sessions:
        for role, backend in session.models.items():
            used.setdefault(role, set()).add(backend)
    return "; ".join(f"{role} {', '.join(sorted(names))}" for role, names in used.items()) or "–"


def _listed(counter: Counter[str]) -> str:
    return ", ".join(f"{name} ({n:,})" for name, n in counter.most_common())


def _between(first: str, last: str) -> str:
    return f"recorded on {first}" if first == last else f"recorded from {first} to {last}"


def _played(each: PlayedSet) -> str:
    told = f"{each.played:,} of {each.wanted:,} plays"
    told += f", {each.failed:,} failed" if each.failed else ""
    return (
        f"{told}; from {each.source or 'nobody says where'}; licence: {each.licence or 'not told'}"
    )


def _missing(material: Material) -> str:
    left, broken = sum(material.head.left_out.values()), len(material.head.broken)
    parts = []
    if left:
        parts.append(f"{counted(left, 'session')} left out")
    if failed := sum(each.failed for each in material.head.benchmarks):
        parts.append(f"{counted(failed, 'item')} of data sets failed")
    if broken:
        parts.append(f"{counted(broken, 'part')} could not be read or looked at")
    return f"{' and '.join(parts)}: see below what, and why."
