"""python -m server.loadtest: scripted people talk to a server, and tell how it was, as JSON."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from server.bench.figures import Report
from server.bench.process import BenchError
from server.client import CallError
from server.loadtest.run import Plan, run

MARKS_HEARD = 0.2  # the least share by real ears, which mishear; below it they hear something else
MARKS_ENOUGH = 10  # spoken, to say so
TOKENS = ["LOADTEST_TOKEN", "ATTUNE_TOKEN"]  # in the environment, where no list shows them


def main(
    url: Annotated[str, typer.Option(help="Where the server is.")] = (
        "ws://127.0.0.1:7860/v1/realtime"
    ),
    talkers: Annotated[int, typer.Option(min=1, help="How many talk at once.")] = 4,
    minutes: Annotated[float, typer.Option(min=0.05, help="For how long.")] = 1.0,
    out: Annotated[Path | None, typer.Option(help="Write the JSON here.")] = None,
    speech: Annotated[
        Path | None, typer.Option(help="A folder with more to say: WAV, FLAC, OGG, a turn each.")
    ] = None,
    slow: Annotated[
        float, typer.Option(min=0, max=1, help="Share of talkers who read their socket slowly.")
    ] = 0.1,
    seed: Annotated[int, typer.Option(help="Of the scripts: the same gives the same people.")] = 0,
    token: Annotated[
        str | None,
        typer.Option(envvar=TOKENS, help="Sent as Authorization: Bearer; the operator's sees CPU."),
    ] = None,
) -> None:
    """Talk, and report; leaves with 1 if nothing was answered, talkers were mixed up, or answers
    were about something else."""
    try:
        if urlsplit(url).scheme not in ("ws", "wss"):
            raise CallError(f"{url} is no address of a WebSocket (ws://…, wss://…)")
        if speech and not speech.is_dir():
            raise CallError(f"{speech} is no folder")
        found = asyncio.run(run(Plan(url, talkers, minutes, seed, speech, slow, token)))
        shown = json.dumps(found, indent=1, ensure_ascii=False)
        if out:
            out.write_text(shown + "\n", encoding="utf-8")
        else:
            print(shown)
    except (CallError, BenchError, OSError) as error:
        print(f"attune: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    print("\n".join(lines(found)), file=sys.stderr)
    if problem := verdict(found):
        print(f"attune: {problem}", file=sys.stderr)
        raise typer.Exit(1)


def lines(found: Report) -> list[str]:
    """The main figures, for whoever waits at the terminal."""
    overall, server = found["overall"], found["server"]
    turns, latency, barge = overall["turns"], overall["latency_ms"], overall["barge_in"]
    cross = overall["cross_talk"]
    return [
        f"{found['talkers']} talkers, {found['minutes']:g} min, profile {found['profile']}",
        f"turns      {turns['taken']}, missed {turns['missed']}, double {turns['double']},"
        f" early {turns['early']}",
        f"latency    {_percentiles(latency)}",
        f"silence    {_percentiles(barge['to_silence_ms'])} after a barge-in",
        f"underruns  {overall['underruns']['n']} in {overall['underruns']['replies']} replies",
        f"cross-talk {'not checked' if cross['n'] is None else cross['n']}",
        f"marks      heard {_share(cross['own_mark_heard'])},"
        f" answered about {_share(cross['answered_about_it'])}",
        f"trouble    lost {overall['lost']}, refused {overall['refused']},"
        f" errors {sum(overall['errors'].values())}",
        f"server     {server['cpu_percent']} % of a core, {server['memory_mb']} MB"
        if server["cpu_percent"] is not None
        else f"server     not seen: {server['why']}",
    ]


def verdict(found: Report) -> str | None:
    """What is wrong beyond doubt, in a sentence."""
    overall = found["overall"]
    if overall["cross_talk"]["n"]:
        return f"talkers were mixed up {overall['cross_talk']['n']} times: see overall.cross_talk"
    if not overall["turns"]["answered"]:
        why = ", ".join(overall["errors"]) or "nothing came back"
        return f"no turn was answered: {why}"
    return _unheard(overall["cross_talk"], standin=found.get("profile") == "standin")


def _unheard(cross: Report, *, standin: bool) -> str | None:
    """What is wrong if talkers are answered, but not about what they said."""
    about, heard = cross["answered_about_it"], cross["own_mark_heard"]
    if standin and about["n"] and about["rate"] < 1:
        return (
            f"only {_share(about)} of what was written with a mark was answered with it, and"
            " stand-ins repeat all of it: see overall.cross_talk.answered_about_it"
        )
    if not standin and heard["n"] >= MARKS_ENOUGH and heard["rate"] < MARKS_HEARD:
        return (
            f"only {_share(heard)} of the spoken marks were heard, and the least that real ears"
            f" should is {MARKS_HEARD:.0%}: see overall.cross_talk.own_mark_heard"
        )
    return None


def _share(found: Report) -> str:
    return "-" if found["rate"] is None else f"{found['rate']:.0%} (n {found['n']})"


def _percentiles(found: Report) -> str:
    shown = [f"{name} {found[name]:.0f}" for name in ("p50", "p95", "p99") if found[name]]
    return f"{', '.join(shown) or '-'} ms (n {found['n']})"


if __name__ == "__main__":
    typer.run(main)
