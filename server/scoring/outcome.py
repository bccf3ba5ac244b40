"""What came of a scoring, in one line for whoever started it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from server.reports import SCORES_FILE
from server.scoring.finishing import REPORT_FOLDER
from server.scoring.gathering import Gathered
from server.scoring.report.figures import counted
from server.scoring.scored import Row

PAGE = "index.html"
TOLD = 3  # reasons


def outcome(gathered: Gathered, metrics: Iterable[str], out: Path) -> str:
    """How much was scored, what was not and why, and where to look; nothing that was said."""
    rows = [row for row in gathered.rows if row.values]
    sessions = len({row.session_id for row in rows})
    told = [
        f"{counted(len(rows), 'exchange')} of {counted(sessions, 'session')} scored"
        if rows
        else "nothing was scored"
    ]
    if bare := len(gathered.rows) - len(rows):
        told.append(f"{counted(bare, 'exchange')} without any score")
    if left := gathered.left_out.total():
        told.append(f"{counted(left, 'session')} left out ({_reasons(gathered.left_out)})")
    unscored = _unscored(gathered.rows, metrics)
    if many := unscored.total():
        told.append(f"{counted(many, 'metric')} unscored ({_reasons(unscored)})")
    if gathered.broken:
        told.append(f"{counted(len(gathered.broken), 'problem')} told in the scores")
    page = out / REPORT_FOLDER / PAGE
    return f"{', '.join(told)}; open {page if page.is_file() else out / SCORES_FILE}"


def _unscored(rows: Sequence[Row], metrics: Iterable[str]) -> Counter[str]:
    """Of metrics that no exchange has: how many, by their commonest reason."""
    valued = {name for row in rows for name in row.values}
    found: Counter[str] = Counter()
    for name in metrics:
        if name not in valued and (
            reasons := Counter(row.unscored[name] for row in rows if name in row.unscored)
        ):
            found[_short(reasons.most_common(1)[0][0])] += 1
    return found


def _short(reason: str) -> str:
    """Without what it would take: the report tells that."""
    return reason.partition(":")[0].rstrip(".")


def _reasons(counts: Mapping[str, int]) -> str:
    """The only one, or the commonest with their numbers."""
    if len(counts) == 1:
        return next(iter(counts))
    ranked = Counter(counts).most_common()
    told = [f"{n:,}: {reason}" for reason, n in ranked[:TOLD]]
    if rest := sum(n for _, n in ranked[TOLD:]):
        told.append(f"{rest:,} for other reasons")
    return ", ".join(told)
