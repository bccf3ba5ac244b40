"""What is heard in one recording, as JSON: `python -m models.perception FILE.wav`."""

import sys
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console

from models.errors import BackendError
from models.perception.evaluate import WeightsChoice, read_clip
from models.perception.perceiver import AttunePerceiver
from models.weights import WeightsError


def main(
    file: Annotated[Path, typer.Argument(help="A recording: WAV, FLAC or OGG, at any rate.")],
    weights: Annotated[WeightsChoice, typer.Option()] = WeightsChoice.DEFAULT,
    words: Annotated[str, typer.Option(help="What is said in it, if known.")] = "",
) -> None:
    """Print one percept."""
    try:
        samples = read_clip(file)
        perceiver = AttunePerceiver(weights)
        try:
            percept = perceiver.percept_of(samples, words)
        finally:
            perceiver.close()
    except (BackendError, WeightsError, ValueError, OSError) as error:
        Console(stderr=True).print(f"{file}: {error}", style="red", soft_wrap=True, markup=False)
        raise typer.Exit(1) from None
    sys.stdout.buffer.write(orjson.dumps(percept.to_json(), option=orjson.OPT_INDENT_2) + b"\n")


if __name__ == "__main__":
    typer.run(main)
