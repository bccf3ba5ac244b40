"""Which instruments are built and which of their measures are kept, by what somebody asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from server.scoring import instruments
from server.scoring.errors import ScoringError
from server.scoring.score import Measure
from server.scoring.scored import Broken

NEAR = 3  # names that are told when one is unknown


@dataclass(frozen=True, slots=True)
class Selection:
    """The measures that are wanted, by instrument, in the order of the report."""

    wanted: dict[str, tuple[Measure, ...]]
    broken: tuple[Broken, ...] = ()  # instruments that cannot even be asked what they measure

    @property
    def measures(self) -> dict[str, Measure]:
        return {each.name: each for some in self.wanted.values() for each in some}


def selection(asked: Sequence[str]) -> Selection:
    """Names of metrics, instruments or families; none: everything."""
    offered, broken = _offered()
    names = [name for each in asked for name in each.replace(",", " ").split()]
    if not names:
        return Selection(offered, broken)
    known = {*offered, *(n for some in offered.values() for m in some for n in (m.name, m.family))}
    for name in names:
        if name not in known:
            raise ScoringError(_unknown(name, sorted(known)))
    chosen = set(names)
    wanted = {
        instrument: tuple(
            each for each in some if instrument in chosen or chosen & {each.name, each.family}
        )
        for instrument, some in offered.items()
    }
    return Selection({name: some for name, some in wanted.items() if some}, broken)


def _offered() -> tuple[dict[str, tuple[Measure, ...]], tuple[Broken, ...]]:
    offered, broken = {}, []
    for name in instruments.MODULES:
        try:
            offered[name] = instruments.measures(name)
        except Exception as error:  # one that is broken never stops the others
            broken.append(
                Broken(f"instrument {name}", f"it cannot be used: {type(error).__name__}")
            )
    return offered, tuple(broken)


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, NEAR, 0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "see docs/scoring.md for their names."
    return f"there is no metric, instrument or family '{name[:64]}'; {hint}"
