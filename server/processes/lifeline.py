"""A process that ends when its parent is gone, however the parent ended."""

import os
import shutil
import signal
import threading
import time
from pathlib import Path


class Lifeline:
    """A pipe that only the parent can write to, and never does: it closes when the parent ends."""

    def __init__(self, folder: Path, patience_sec: float) -> None:
        self._patience_sec = patience_sec  # to end in good order
        self._folder = folder  # the parent's, which it cannot take away itself then
        self._read, self._write = os.pipe()

    def hold(self) -> None:
        """In a child: watch it from a thread of its own, which no busy event loop holds up."""
        os.close(self._write)
        threading.Thread(target=self._watch, name="lifeline", daemon=True).start()

    def _watch(self) -> None:
        os.read(self._read, 1)
        shutil.rmtree(self._folder, ignore_errors=True)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(self._patience_sec)
        os.kill(os.getpid(), signal.SIGKILL)
