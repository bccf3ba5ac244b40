"""Hearing sound through whatever program the machine has for it."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from server.sessions.export.clips import write_wav

PLAYERS = {
    "aplay": ["-q"],
    "paplay": [],
    "ffplay": ["-nodisp", "-autoexit", "-loglevel", "error"],
    "afplay": [],
}


class NoPlayer(Exception):
    """It cannot be heard here: one sentence."""


def play(samples: NDArray[np.int16], which: Callable[[str], str | None] = shutil.which) -> str:
    """Play it to the end; returns the program that did."""
    found = [(name, program) for name in PLAYERS if (program := which(name))]
    if not found:
        known = ", ".join(PLAYERS)
        raise NoPlayer(f"none of {known} is installed; --out FILE.wav writes the sound instead")
    with tempfile.TemporaryDirectory(prefix="attune-") as folder:
        file = Path(folder, "turn.wav")
        write_wav(file, samples)
        for name, program in found:
            done = subprocess.run([program, *PLAYERS[name], str(file)], capture_output=True)
            if done.returncode == 0:
                return name
    tried = ", ".join(name for name, _ in found)
    raise NoPlayer(f"{tried} could not play it; --out FILE.wav writes the sound instead")
