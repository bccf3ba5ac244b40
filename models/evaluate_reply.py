"""How well the reply model answers, plain and tuned: `python -m models.evaluate_reply`.

Contestants answer the same scripts, told in the same ways; what can be counted is counted, and
pairs of replies are laid out for readers who do not know whose they are. What was answered, weighed
or graded before is not asked again. `python -m models.evaluate_reply verdicts FOLDER` reads what
readers chose.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from models import weights
from models.complaints import in_a_line
from models.corpus.exchange import FOLDER, CorpusError, Exchange, Split, Way, load
from models.corpus.references import FILE as REFERENCES
from models.corpus.references import References, of_all
from models.digest import sha256
from models.errors import BackendError
from models.responder_llamacpp import LlamaCpp
from models.thinking.told import Told
from models.tuning import emobank
from models.tuning.emobank import Perspective
from models.tuning.evaluation import (
    chat,
    dream,
    emotions,
    figures,
    judge,
    live,
    made,
    pairs,
    tables,
)
from models.tuning.evaluation import verdicts as readings
from models.tuning.evaluation.contestants import Contestant, gguf, hashes, model_key, parse_all
from models.tuning.evaluation.errors import EvaluationError
from models.tuning.evaluation.kept import Kept
from models.tuning.evaluation.meaning import Meaning
from models.tuning.evaluation.plan_fit import of_rules
from models.tuning.evaluation.preference import preference
from models.tuning.evaluation.questions import (
    How,
    Plans,
    Question,
    live_of_corpus,
    live_of_echomind,
    name,
    of_corpus,
    of_echomind,
)
from models.tuning.evaluation.replies import Answer, collect
from models.tuning.evaluation.weighing import Remembered, Weigher

BASE = "smollm2"  # of the weights table
REPLIES, WEIGHED, JUDGED = "replies.jsonl", "weighed.jsonl", "judged.jsonl"
NOT_ASKED = "not asked for"
NEEDED = ("torch", "transformers", "peft")  # to look into a network

app = typer.Typer(add_completion=False)


class Held(StrEnum):
    """A split that nothing is learned from."""

    TEST = "test"
    DEV = "dev"


@dataclass(frozen=True, slots=True)
class Setup:
    """What is evaluated on, and where it all goes."""

    out: Path
    split: Held
    exchanges: Sequence[Exchange]
    how: Sequence[How]
    plans: Plans
    limit: int
    seed: int
    threads: int
    echomind: Path | None
    dream: Path | None
    emobank: Path | None
    likelihood: bool
    judge: judge.Judge | None


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    contestant: Annotated[
        list[str] | None,
        typer.Option(help="NAME=ADAPTER[,ADAPTER…], in the order they are put on; base= for none."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where everything goes.")] = None,
    told: Annotated[
        list[How] | None, typer.Option(help="What the model is told, or as it is live; all.")
    ] = None,
    plans: Annotated[Plans, typer.Option(help="Whose plans it is told.")] = Plans.RULES,
    split: Annotated[Held, typer.Option(help="Of the corpus.")] = Held.TEST,
    limit: Annotated[
        int, typer.Option(help="Scripts, DREAM's dialogues, EmoBank's sentences; 0: all.")
    ] = 0,
    echomind: Annotated[Path | None, typer.Option(help="EchoMind's sample.json.")] = None,
    dream_file: Annotated[
        Path | None, typer.Option("--dream", help="DREAM's test.json or dev.json.")
    ] = None,
    emobank_folder: Annotated[
        Path | None, typer.Option("--emobank", help="EmoBank's folder.")
    ] = None,
    likelihood: Annotated[
        bool, typer.Option(help="Weigh references, DREAM's choices and EmoBank's words.")
    ] = True,
    judge_url: Annotated[
        str, typer.Option("--judge", help="A server of OpenAI-style chat that grades replies.")
    ] = "",
    judge_model: Annotated[str, typer.Option(help="Its model; not the one that was tuned.")] = "",
    judge_key: Annotated[
        str | None, typer.Option(envvar="ATTUNE_JUDGE_KEY", help="Where it asks for one.")
    ] = None,
    blind: Annotated[int, typer.Option("--pairs", help="Blind pairs to lay out.")] = 60,
    seed: Annotated[int, typer.Option(help="Of all that is by chance.")] = 7,
    threads: Annotated[int, typer.Option(help="Of the processor.")] = 1,
) -> None:
    """Evaluate the reply model with and without adapters."""
    if context.invoked_subcommand:
        return
    console = Console(stderr=True)
    with in_a_line(
        console, EvaluationError, CorpusError, BackendError, weights.WeightsError, OSError
    ):
        if out is None:
            raise EvaluationError("Say where everything goes: --out FOLDER.")
        out.mkdir(parents=True, exist_ok=True)
        exchanges = load(Split(split.value))
        setup = Setup(
            out=out,
            split=split,
            exchanges=exchanges[:limit] if limit else exchanges,
            how=tuple(told or How),
            plans=plans,
            limit=limit,
            seed=seed,
            threads=threads,
            echomind=echomind,
            dream=dream_file,
            emobank=emobank_folder,
            likelihood=likelihood,
            judge=judge.judge(judge_url, judge_model, _base_names(), judge_key)
            if judge_url
            else None,
        )
        evaluate(parse_all(contestant or []), setup, blind, console)


@app.command()
def verdicts(
    folder: Annotated[Path, typer.Argument(help="With pairs.jsonl, key.json, verdicts.jsonl.")],
) -> None:
    """Who was chosen, by whom, and whether chance would have done as well."""
    with in_a_line(Console(stderr=True), EvaluationError):
        found = readings.score(folder)
    (folder / "verdicts.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    typer.echo(tables.verdicts(found), nl=False)


def evaluate(
    contestants: Sequence[Contestant], setup: Setup, blind: int, console: Console
) -> dict[str, Any]:
    """All figures of all contestants, also written as evaluation.json and evaluation.md."""
    base = weights.path(BASE)
    near = Meaning().near
    references = of_all()
    replies: dict[tuple[str, How], Mapping[str, str]] = {}
    found: dict[str, Any] = {}
    for each in contestants:
        answers = _answers(each, setup, base, console)
        for how in setup.how:
            replies[each.name, how] = {at: one.speech for at, one in answers[how].items()}
        found[each.name] = _figures(each, setup, base, answers, near, references, console)
    evaluation = {
        "made": _made(setup, base),
        "contestants": found,
        "rules": of_rules(setup.exchanges, setup.seed),
        "pairs": _pairs(contestants, setup, replies, blind),
    }
    text = json.dumps(evaluation, indent=1, ensure_ascii=False) + "\n"
    (setup.out / "evaluation.json").write_text(text, encoding="utf-8")
    (setup.out / "evaluation.md").write_text(tables.markdown(evaluation), encoding="utf-8")
    return evaluation


Asked = How | None  # None: plain questions, told nothing


def _answers(
    contestant: Contestant, setup: Setup, base: Path, console: Console
) -> dict[Asked, dict[str, Answer]]:
    """To every question in every way of telling; the model is loaded only where one is new."""
    questions: dict[Asked, list[Question]] = {
        None: [each.question for row in chat.plain().values() for each in row]
    }
    for how in setup.how:
        if told := how.told:
            questions[how] = of_corpus(setup.exchanges, told, setup.plans)
            if setup.echomind:
                questions[how] += [each.question for each in of_echomind(setup.echomind, told)]
    kept = Kept(setup.out / REPLIES)
    model = model_key(contestant, base)
    served: list[LlamaCpp] = []

    def responder() -> LlamaCpp:
        # One at a time and always the likeliest word: the same answers in every run.
        if not served:
            file = gguf(contestant, base, setup.out)
            served.append(LlamaCpp(str(file), slots=1, threads=setup.threads, temperature=0))
        return served[0]

    async def ask() -> dict[Asked, dict[str, Answer]]:
        found: dict[Asked, dict[str, Answer]] = {}
        try:
            for how, row in questions.items():
                label = f"{contestant.name}, {how or 'plain'}: replies"
                with _progress(console, label, len(row)) as report:
                    found[how] = await collect(row, responder, kept, contestant.name, model, report)
            if How.LIVE in setup.how:
                dialogues = live_of_corpus(setup.exchanges)
                dialogues |= live_of_echomind(setup.echomind) if setup.echomind else {}
                dialogues |= {each.question.id: each.question.turns for each in chat.live()}
                label = f"{contestant.name}, live: replies"
                with _progress(console, label, len(dialogues)) as report:
                    found[How.LIVE] = await live.given(
                        dialogues, responder, kept, contestant.name, model, report
                    )
        finally:
            for each in served:
                each.close()
        return found

    return asyncio.run(ask())


def _figures(
    contestant: Contestant,
    setup: Setup,
    base: Path,
    answers: Mapping[Asked, Mapping[str, Answer]],
    near: Callable[[str, str], float],
    references: References,
    console: Console,
) -> dict[str, Any]:
    weigher, missing = _weigher(contestant, setup, base)
    found: dict[str, Any] = {}
    for how in setup.how:
        own = _of_scripts(setup, answers[how])
        found[how.value] = {
            **figures.of_corpus(setup.exchanges, own, how, near, setup.seed, references),
            "echomind": _echomind(setup, how, answers[how], near),
            "likelihood": _preferred(contestant, setup, how.told, weigher, missing, console),
            "judge": _judged(contestant, setup, how, own, console),
        }
    return {
        "adapters": [
            {"name": folder.name, "sha256": digest}
            for folder, digest in zip(contestant.adapters, hashes(contestant), strict=True)
        ],
        "model": model_key(contestant, base),
        "told": found,
        "chat": _chat(setup, answers),
        "dream": _dream(contestant, setup, weigher, missing, console),
        "emobank": _emobank(contestant, setup, weigher, missing, console),
    }


def _chat(setup: Setup, answers: Mapping[Asked, Mapping[str, Answer]]) -> dict[str, Any]:
    """The plain questions by the way they were asked."""
    asked = {way: (row, answers[None]) for way, row in chat.plain().items()}
    if How.LIVE in setup.how:
        asked[chat.LIVE] = chat.live(), answers[How.LIVE]
    return {way: chat.sanity(row, found, setup.seed) for way, (row, found) in asked.items()}


def _of_scripts(setup: Setup, answers: Mapping[str, Answer]) -> dict[str, Answer]:
    return {
        place: answers[place]
        for each in setup.exchanges
        for place in (name(each.id, way) for way in Way)
    }


def _weigher(
    contestant: Contestant, setup: Setup, base: Path
) -> tuple[Weigher | None, Mapping[str, str]]:
    """What weighs, or why nothing does."""
    if not setup.likelihood:
        return None, _absent(NOT_ASKED)
    if lacking := [package for package in NEEDED if find_spec(package) is None]:
        return None, _absent(f"needs {', '.join(lacking)}: pip install -e '.[train]'")

    def make() -> Weigher:
        import torch

        from models.tuning.evaluation.likelihood import TorchWeigher

        torch.set_num_threads(setup.threads)
        return TorchWeigher.of(BASE, contestant.adapters)

    kept = Kept(setup.out / WEIGHED)
    return Remembered(make, kept, model_key(contestant, base)), {}


def _absent(why: str) -> dict[str, str]:
    return {tables.ABSENT: why}


def _preferred(
    contestant: Contestant,
    setup: Setup,
    told: Told | None,
    weigher: Weigher | None,
    missing: Mapping[str, str],
    console: Console,
) -> Mapping[str, Any]:
    if told is None:
        return _absent("–")  # much of what is said live is no model's
    if weigher is None:
        return missing
    label = f"{contestant.name}, {told}: likelihood"
    with _progress(console, label, len(setup.exchanges)) as report:
        return preference(setup.exchanges, told, setup.plans, weigher, setup.seed, report)


def _echomind(
    setup: Setup,
    how: How,
    answers: Mapping[str, Answer],
    near: Callable[[str, str], float],
) -> dict[str, Any]:
    if setup.echomind is None:
        return _absent(NOT_ASKED)
    return figures.of_echomind(of_echomind(setup.echomind, how.told), answers, near, setup.seed)


def _judged(
    contestant: Contestant,
    setup: Setup,
    how: How,
    answers: Mapping[str, Answer],
    console: Console,
) -> dict[str, Any]:
    if setup.judge is None:
        return _absent("no judge")
    rows = [(each, answers[name(each.id, Way.TARGET)].speech) for each in setup.exchanges]
    with _progress(console, f"{contestant.name}, {how}: judge", len(rows)) as report:
        kept = Kept(setup.out / JUDGED)
        return asyncio.run(judge.empathy(setup.judge, rows, kept, setup.seed, report))


def _dream(
    contestant: Contestant,
    setup: Setup,
    weigher: Weigher | None,
    missing: Mapping[str, str],
    console: Console,
) -> Mapping[str, Any]:
    if setup.dream is None or weigher is None:
        return missing if setup.dream else _absent(NOT_ASKED)
    dialogues = dream.some(dream.read(setup.dream), setup.limit, setup.seed)
    with _progress(console, f"{contestant.name}: DREAM", len(dialogues)) as report:
        return dream.accuracy(dialogues, weigher, setup.seed, report)


def _emobank(
    contestant: Contestant,
    setup: Setup,
    weigher: Weigher | None,
    missing: Mapping[str, str],
    console: Console,
) -> Mapping[str, Any]:
    if setup.emobank is None or weigher is None:
        return missing if setup.emobank else _absent(NOT_ASKED)
    bank = emobank.read(setup.emobank)
    sentences = emobank.sampled(bank, setup.split, setup.limit or len(bank), setup.seed)
    found = {}
    for side in Perspective:
        with _progress(console, f"{contestant.name}: EmoBank, {side}", len(sentences)) as report:
            guessed = emotions.guesses(sentences, side, weigher, report)
        found[side.value] = emotions.figures(guessed, setup.seed)
    return found


def _pairs(
    contestants: Sequence[Contestant], setup: Setup, replies: pairs.Replies, blind: int
) -> str:
    """Lays the pairs out, and says so in a sentence."""
    if len(contestants) < 2 or not blind:
        return "None were laid out."
    drawn = pairs.draw(setup.exchanges, replies, contestants[0].name, blind, setup.seed)
    if not pairs.write(drawn, setup.out, setup.seed):
        return "There are verdicts on earlier pairs; those were left as they are."
    return (
        f"{len(drawn.pairs)} pairs against {contestants[0].name} are in {pairs.PAIRS}; of "
        f"{drawn.same} more both replies were the same."
    )


def _made(setup: Setup, base: Path) -> dict[str, Any]:
    row = weights.find(BASE)
    return {
        **made.machine(),
        "seed": setup.seed,
        "split": setup.split,
        "scripts": len(setup.exchanges),
        "limit": setup.limit,
        "plans": setup.plans,
        "told": list(setup.how),
        "threads": setup.threads,
        "base": {"file": base.name, "sha256": row.sha256},
        "corpus": {
            "file": f"{setup.split}.jsonl",
            "sha256": sha256(FOLDER / f"{setup.split}.jsonl"),
        },
        "references": {"file": REFERENCES, "sha256": sha256(FOLDER / REFERENCES)},
        "judge": setup.judge.model if setup.judge else None,
    }


def _base_names() -> list[str]:
    return [BASE, Path(weights.find(BASE).member).name]


@contextmanager
def _progress(console: Console, label: str, total: int) -> Iterator[Callable[[int], None]]:
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), console=console
    ) as progress:
        task = progress.add_task(label, total=total)
        yield lambda done: progress.update(task, completed=done)


if __name__ == "__main__":
    app(prog_name="python -m models.evaluate_reply")
