"""python -m server.scoring.bench: a data set's clips before the live server, and their scores."""

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer

from server.client import CONSENT, consented
from server.consent import SCOPES, Consent
from server.scoring.alone import alone
from server.scoring.annotation import CueGiven, Prompt, Variant
from server.scoring.asked import Asked, settings
from server.scoring.bench.conditions import conditions
from server.scoring.bench.errors import BenchmarkError
from server.scoring.bench.folder import Benchmark, ResultFolder
from server.scoring.bench.loaders import NAMES, data_set, load
from server.scoring.bench.planning import TASKS, Play, Wanted, plays, situations
from server.scoring.bench.running import Runner
from server.scoring.ending import ended_by_signals, exit_code, until_told
from server.scoring.errors import ScoringError, Stopped
from server.scoring.options import JudgeHears, JudgeModel, JudgeRepeats, Metrics
from server.scoring.progress import shown
from server.scoring.room import refuse_sessions
from server.scoring.running import score as score_all
from server.scoring.selection import selection
from server.scoring.settings import Settings
from server.sessions.shown import plain

CUES: tuple[CueGiven, ...] = get_args(CueGiven)
REPORT = "report"


def main(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(NAMES)}.")],
    data: Annotated[Path, typer.Option(help="The data set's folder; nothing is downloaded.")],
    out: Annotated[Path, typer.Option(help="Where the result goes; run again to go on.")],
    url: Annotated[str, typer.Option(help="Where the server is.")] = (
        "ws://127.0.0.1:7860/v1/realtime"
    ),
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="Conversations at once.")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="Items, before cues and tasks.")] = None,
    prompt: Annotated[str, typer.Option(help="zero, basic or enhanced, as in EchoMind.")] = "zero",
    cue: Annotated[
        str, typer.Option(help="true: it is told; none: nobody listens; perceived: as heard.")
    ] = "perceived",
    ablation: Annotated[bool, typer.Option("--ablation", help="All three cues, compared.")] = False,
    variants: Annotated[str, typer.Option(help="Some of target,neutral,alternative.")] = (
        "target,neutral,alternative"
    ),
    tasks: Annotated[str, typer.Option(help=f"Some of {','.join(TASKS)}.")] = ",".join(TASKS),
    context: Annotated[
        Path | None, typer.Option(help="Situations, a line each, or a CSV: item,context,reference.")
    ] = None,
    consent: Annotated[str, typer.Option(metavar="SCOPES", help=CONSENT)] = ",".join(SCOPES),
    noise: Annotated[str, typer.Option(help="Pink noise at these dB below the voice: 20,10.")] = "",
    speed: Annotated[str, typer.Option(help="Spoken so much faster, same pitch: 0.8,1.2.")] = "",
    rate: Annotated[str, typer.Option(help="As a tape so much faster: pitch, too.")] = "",
    codec: Annotated[str, typer.Option(help="Through mulaw,alaw,gsm,opus,vorbis or mp3.")] = "",
    token: Annotated[
        str | None,
        typer.Option(
            help="The operator's, to fetch sessions with.", envvar="ATTUNE_OPERATOR_TOKEN"
        ),
    ] = None,
    score: Annotated[bool, typer.Option("--score/--no-score", help="Score the result.")] = True,
    judge: Annotated[str | None, typer.Option(help="As python -m server.scoring takes it.")] = None,
    judge_model: JudgeModel = None,
    judge_hears: JudgeHears = None,
    judge_repeats: JudgeRepeats = None,
    metrics: Metrics = None,
    settings_file: Annotated[
        Path | None, typer.Option("--settings", help="How to score: a TOML file.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that score.")] = 1,
    realtime: Annotated[
        bool, typer.Option("--realtime/--fast", help="Fast suits a server on the samples clock.")
    ] = True,
) -> None:
    """Play a data set to a running server, keep the conversations, and score them."""
    try:
        asked = Asked(
            metrics=metrics, judge=judge, judge_model=judge_model, judge_hears=judge_hears,
            judge_repeats=judge_repeats, file=settings_file,
        )  # fmt: skip
        how = settings(asked)
        selection(how.metrics)  # a name that is wrong is told before hours of playing
        refuse_sessions(out)
        chosen = data_set(name)
        wanted = Wanted(
            conditions(noise, speed, rate, codec),
            _some("variants", variants, get_args(Variant)),
            _some("tasks", tasks, TASKS),
            CUES if ablation else cast(tuple[CueGiven, ...], _some("cue", cue, CUES)),
            cast(Prompt, _some("prompt", prompt, get_args(Prompt))[0]),
            situations(context) if context else (),
            limit,
        )
        listed = list(plays(load(name, data), wanted))
        if not listed:
            raise BenchmarkError(f"{data} holds nothing of what was asked for.")
        about = Benchmark(
            name=name,
            title=chosen.title,
            licence=chosen.licence,
            source=chosen.source,
            url=url,
            began=datetime.now(UTC),
            settings=_told(wanted, consent, concurrency),
        )
        print(f"{chosen.title}: {chosen.licence}; {chosen.source}", file=sys.stderr)
        allowed = consented(consent) or Consent()
        with alone(out):
            folder = ResultFolder.open(out, about)
            _play(Runner(folder, url, allowed, token, realtime, concurrency), listed)
            if score and folder.done:
                _score(out, how, workers)
    except (BenchmarkError, ScoringError) as error:
        _complain(str(error))
        raise typer.Exit(1) from None


def _play(runner: Runner, listed: list[Play]) -> None:
    with shown() as tell:

        def progress(done: int, total: int, problem: str) -> None:
            if problem:
                _complain(problem)
            tell(done, total, "playing")

        runner.progress = progress
        try:
            asyncio.run(until_told(runner.run(listed)))
        except (Stopped, KeyboardInterrupt) as error:
            done, out = len(runner.folder.done), runner.folder.path
            _complain(f"stopped; {done} of {len(listed)} are in {out}, run again to go on.")
            raise typer.Exit(exit_code(error)) from None
    if failed := len(runner.folder.about.failures):
        _complain(f"{failed} of {len(listed)} failed; run again to try them.")


def _score(out: Path, how: Settings, workers: int) -> None:
    try:
        with ended_by_signals(), shown() as tell:
            score_all([out], out / REPORT, how, workers, progress=tell, say=_complain)
    except (Stopped, KeyboardInterrupt) as error:
        _complain("stopped; what was scored so far is kept for the next run.")
        raise typer.Exit(exit_code(error)) from None


def _complain(sentence: str) -> None:
    print(f"attune: {plain(sentence)}", file=sys.stderr)


def _some(flag: str, told: str, known: tuple[str, ...]) -> tuple[str, ...]:
    found = tuple(each.strip() for each in told.split(",") if each.strip())
    odd = [each for each in found if each not in known]
    if odd or not found:
        raise BenchmarkError(f"--{flag} takes some of {', '.join(known)}, not '{told}'.")
    return found


def _told(wanted: Wanted, consent: str, concurrency: int) -> dict[str, Any]:
    return {
        "variants": list(wanted.variants),
        "tasks": list(wanted.tasks),
        "cues": list(wanted.cues),
        "prompt": wanted.prompt,
        "conditions": [each.name for each in wanted.conditions],
        "situations": len(wanted.situations),
        "limit": wanted.limit,
        "consent": consent,
        "concurrency": concurrency,
    }


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command()(main)
    app(prog_name="python -m server.scoring.bench")
