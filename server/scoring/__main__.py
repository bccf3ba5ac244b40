"""python -m server.scoring: score recorded sessions and benchmark results into a report."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from server.scoring.asked import Asked, settings, situation, with_ray_address
from server.scoring.ending import ended_by_signals, exit_code
from server.scoring.errors import ScoringError, Stopped
from server.scoring.options import JudgeHears, JudgeModel, JudgeRepeats, Metrics
from server.scoring.progress import shown
from server.scoring.running import score

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def main(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH",
            help="A folder or URL of sessions, a session, or the result of a benchmark.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the report.")],
    metrics: Metrics = None,
    judge: Annotated[
        str | None,
        typer.Option(help="URL of an OpenAI-style endpoint; its key is ATTUNE_JUDGE_KEY."),
    ] = None,
    judge_model: JudgeModel = None,
    judge_hears: JudgeHears = None,
    judge_repeats: JudgeRepeats = None,
    allow_same_model: Annotated[
        bool | None, typer.Option("--allow-same-model", help="Let a model judge its own replies.")
    ] = None,
    price_in: Annotated[float | None, typer.Option(help="Of a million tokens asked.")] = None,
    price_out: Annotated[float | None, typer.Option(help="Of a million tokens answered.")] = None,
    context: Annotated[
        str | None,
        typer.Option(metavar="TEXT|FILE", help="The situation of exchanges that tell none."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = 1,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="[ADDRESS]", help="On a Ray cluster; without an address on a new one."
        ),
    ] = None,
    all_consented: Annotated[
        bool | None,
        typer.Option("--all-consented", help="Also sessions without consent to research."),
    ] = None,
    settings_file: Annotated[
        Path | None, typer.Option("--settings", help="A TOML file; options go before it.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of every draw.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Score so many sessions.")] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Only the scores.")] = False,
) -> None:
    """Score what people allow to be scored, and write scores.json, scores.parquet and a report."""
    asked = Asked(
        metrics=metrics, judge=judge, judge_model=judge_model, judge_hears=judge_hears,
        judge_repeats=judge_repeats, allow_same_model=allow_same_model, price_in=price_in,
        price_out=price_out, all_consented=all_consented, seed=seed, device=device,
        file=settings_file,
    )  # fmt: skip
    try:
        with ended_by_signals(), shown() as tell:
            score(
                paths,
                out,
                settings(asked),
                workers,
                ray,
                tell,
                situation(context),
                limit=limit,
                report=not no_report,
                say=complain,
            )
    except ScoringError as error:
        complain(str(error))
        raise typer.Exit(1) from None
    except (Stopped, KeyboardInterrupt) as error:
        complain("stopped; what was scored so far is kept for the next run")
        raise typer.Exit(exit_code(error)) from None
    except OSError as error:
        complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        raise typer.Exit(1) from None


def complain(sentence: str) -> None:
    print(f"attune: {sentence}", file=sys.stderr)


def run(arguments: Sequence[str]) -> None:
    app(with_ray_address(arguments), prog_name="python -m server.scoring")


if __name__ == "__main__":
    run(sys.argv[1:])
