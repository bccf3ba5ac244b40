"""What all talkers saw, as figures: of each, and of all. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from server.bench.figures import Report, share, summary
from server.loadtest.ids import shared
from server.loadtest.marks import Mark, carries, mark, others
from server.loadtest.seen import Seen
from server.loadtest.turn import TurnSeen

SHARES = (50, 95, 99)
CASES = 10  # of cross-talk, shown
NO_WORDS = "stand-ins tell no words from sound: marks are written, and ids are compared"
NO_HUMS = "stand-ins take anything loud for words"


def figures(everybody: Sequence[Seen], standin: bool) -> Report:
    """Of some talkers together, or of one."""
    turns = [turn for seen in everybody for turn in seen.turns]
    spoken = [turn for turn in turns if turn.spoken]
    prompt = [turn for turn in spoken if not turn.stalled]  # nobody's own doing delayed them
    return {
        "connect_ms": _ms([each for seen in everybody for each in seen.connect_ms]),
        "socket_ms": _ms([each for seen in everybody for each in seen.opened_ms]),
        "latency_ms": _ms([turn.latency_ms for turn in prompt]),
        "stages_ms": _stages(prompt),
        "overhead_ms": _ms([turn.overhead_ms for turn in prompt]),
        "turns": {
            "taken": len(spoken),
            "answered": sum(turn.answered for turn in spoken),
            "missed": sum(turn.missed for turn in spoken),
            "double": sum(turn.double for turn in spoken),
            "early": sum(turn.early for turn in spoken),
            "written": len(turns) - len(spoken),
            "unanswered_written": sum(t.missed for t in turns if not t.spoken),
            "cut": sum(seen.cut for seen in everybody),
        },
        "barge_in": _barge_ins(turns),
        "backchannels": _backchannels(turns, standin),
        "underruns": {
            "n": sum(turn.underruns for turn in turns if not turn.stalled),
            "replies": sum(turn.sounded for turn in turns if not turn.stalled),
        },
        "slow_readers": {
            "talkers": sum(seen.slow for seen in everybody),
            "stalls": sum(seen.stalls for seen in everybody),
            "lost": sum(seen.lost for seen in everybody if seen.slow),
            "delayed_turns": sum(turn.stalled for turn in turns),
        },
        "queue": {
            "waited_sec": summary([each for seen in everybody for each in seen.queued_sec]),
            "worst_position": max((p for seen in everybody for p in seen.positions), default=None),
        },
        "refused": sum(seen.refused for seen in everybody),
        "lost": sum(seen.lost for seen in everybody),
        "errors": dict(sorted(Counter(e for seen in everybody for e in seen.errors).items())),
    }


def cross_talk(everybody: Sequence[Seen], standin: bool) -> Report:
    """Whether anybody was told what was another's, by words and by ids."""
    marks = {seen.number: mark(seen.number) for seen in everybody}
    cases = [case for seen in everybody for case in _leaks(seen, marks)]
    marked = [
        (turn, marks[seen.number])
        for seen in everybody
        for turn in seen.turns
        if turn.saying in ("marked", "written")
    ]
    # Whoever takes the word may not wait to be told what the reply is about.
    listened = [(turn, own) for turn, own in marked if turn.over != "barge_in"]
    heard = [carries(turn.heard, own) for turn, own in marked if turn.saying == "marked"]
    told = [turn for seen in everybody for turn in seen.turns if turn.heard or turn.reply]
    strays = [kind for seen in everybody for kind in seen.ids.strays]
    ids = shared([seen.ids.own for seen in everybody])
    alone = len(everybody) < 2
    return {
        "n": None if alone else len(cases) + ids + len(strays),
        "why": "there is nobody else to hear" if alone else None,
        "checked": {"texts": len(told), "ids": sum(len(seen.ids.own) for seen in everybody)},
        "by_words": None if alone else len(cases),
        "shared_ids": None if alone else ids,
        "stray_events": dict(sorted(Counter(strays).items())),
        "own_mark_heard": {**share(heard), "why": NO_WORDS if standin else None},
        "answered_about_it": share([carries(turn.reply, own) for turn, own in listened]),
        "cases": cases[:CASES],
    }


def _leaks(seen: Seen, marks: Mapping[int, Mark]) -> list[Report]:
    """Other talkers' marks in what was heard of this one, or answered to them."""
    found = []
    for turn in seen.turns:
        for where, text in (("heard", turn.heard), ("reply", turn.reply)):
            for foreign in others(text, marks[seen.number], marks.values()):
                whose = [number for number, each in marks.items() if each == foreign]
                case = {"talker": seen.number, "in": where, "mark": " ".join(foreign), "of": whose}
                found.append(case)
    return found


def report(everybody: Sequence[Seen], standin: bool, about: Mapping[str, Any]) -> Report:
    """The whole, as it is written down."""
    marks = {seen.number: mark(seen.number) for seen in everybody}
    return {
        **about,
        "overall": {
            **figures(everybody, standin),
            "cross_talk": cross_talk(everybody, standin),
        },
        "people": [
            {
                "talker": seen.number,
                "mark": " ".join(marks[seen.number]),
                "slow_reader": seen.slow,
                **figures([seen], standin),
                "cross_talk": len(_leaks(seen, marks)) + len(seen.ids.strays),
            }
            for seen in sorted(everybody, key=lambda each: each.number)
        ],
    }


def _ms(values: Sequence[float | None]) -> Report:
    return summary(values, *SHARES)


def _stages(turns: Sequence[TurnSeen]) -> Report:
    names = dict.fromkeys(name for turn in turns for name in turn.stages_ms)
    return {name: _ms([turn.stages_ms.get(name) for turn in turns]) for name in names}


def _barge_ins(turns: Sequence[TurnSeen]) -> Report:
    tried = [(t.interruption, t.stalled) for t in turns if t.interruption]
    some = [each for each, stalled in tried if not each.void and not stalled]
    return {
        "n": len(some),
        "to_silence_ms": _ms([each.silence_ms for each in some]),
        "to_decision_ms": _ms([each.decision_ms for each in some]),
        "missed": sum(each.decision_ms is None for each in some),
        "void": len(tried) - len(some),
    }


def _backchannels(turns: Sequence[TurnSeen], standin: bool) -> Report:
    hummed = [turn.hum_gave_up for turn in turns if turn.hum_gave_up is not None]
    return {
        "n": len(hummed),
        "reply_given_up": sum(hummed),
        "why": NO_HUMS if standin else None,
    }
