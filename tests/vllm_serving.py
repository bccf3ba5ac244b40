"""A real vLLM on the CPU, for tests: what it serves is built once, and it ends with the tests."""

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import soundfile

from models import weights
from models.types import EAR_RATE

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv-vllm" / "bin" / "python"
RECIPE = ROOT / "tests" / "build_served_model.py"
NAME = "smollm2-with-ears"
READY_SEC = 300  # on a busy machine; some 40 s on an idle one
STOP_SEC = 15
LOG_LINES = 40  # shown of a server that failed

# One thread: it shares two cores with the conversation. float32: on processors that promise AMX
# and then trap, bfloat16 ends the process.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}
OPTIONS = ["--dtype", "float32", "--enforce-eager", "--max-model-len", "2048"]
OPTIONS += ["--scheduling-policy", "priority"]  # as docs/gpu.md has it


def built() -> Path:
    """The folder with the model, made anew only if its recipe or SmolLM2 has changed."""
    folder = weights.cache_dir() / "served" / NAME
    made_of = hashlib.sha256(RECIPE.read_bytes() + weights.find("smollm2").sha256.encode())
    stamp = folder / "made_of"
    if stamp.exists() and stamp.read_text() == made_of.hexdigest():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as part:
        made = Path(part) / NAME
        command = [PYTHON, RECIPE, weights.path("smollm2"), made]
        done = subprocess.run(
            command, env=os.environ | ENVIRONMENT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"the model was not built:\n{_end(done.stderr)}"
        (made / stamp.name).write_text(made_of.hexdigest())
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)
    return folder


class VllmServer:
    """One on a port of its own, which it keeps when it is started again."""

    def __init__(self, log: Path, model: Path | None = None, options: Sequence[str] = ()) -> None:
        """Serves SmolLM2 with ears, or a folder with a model that only reads."""
        self._log = log
        self._model = model
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._address = f"http://127.0.0.1:{free.getsockname()[1]}"

    @property
    def url(self) -> str:
        return f"{self._address}/v1"

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def health(self) -> str:
        """The URL that answers while it is well."""
        return f"{self._address}/health"

    @property
    def command(self) -> list[str]:
        """What starts it, in ENVIRONMENT."""
        port = self._address.rpartition(":")[2]
        command = [str(PYTHON), "-m", "vllm.entrypoints.openai.api_server"]
        command += ["--model", str(self._model or built()), "--served-model-name", NAME]
        return [*command, "--host", "127.0.0.1", "--port", port, *OPTIONS, *self._options]

    def start(self) -> None:
        """Returns once it has answered: it says that it is healthy before it can."""
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self.command,
                env=os.environ | ENVIRONMENT,
                stdout=log,
                stderr=log,
                start_new_session=True,  # it has children, which are to end with it
            )
        try:
            self._wait_for_an_answer(time.monotonic() + READY_SEC)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Lets it clean up after itself, if it does so in time."""
        if self.running:
            assert self._process is not None
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SEC)
        self.kill()

    def kill(self) -> None:
        """Ends it and all of its children at once."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def metric(self, name: str) -> float:
        """One of its counters, such as num_requests_running."""
        lines = httpx2.get(f"{self._address}/metrics", timeout=10).text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(f"vllm:{name}{{"))

    def _wait_for_an_answer(self, deadline: float) -> None:
        question = {
            "model": NAME,
            "messages": [{"role": "user", "content": "Hello." if self._model else _sound()}],
            "max_tokens": 1,
        }
        while True:
            try:
                answer = httpx2.post(f"{self.url}/chat/completions", json=question, timeout=60)
            except httpx2.TransportError:
                pass  # it does not listen yet
            else:
                assert answer.status_code == 200, f"vLLM cannot answer:\n{self._said()}"
                return
            assert self.running, f"vLLM has ended:\n{self._said()}"
            assert time.monotonic() < deadline, f"vLLM is not ready:\n{self._said()}"
            time.sleep(0.2)

    def _said(self) -> str:
        return _end(self._log.read_text(errors="replace"))


def _sound() -> list[dict[str, Any]]:
    """The first sound a model is given costs it seconds."""
    sound = BytesIO()
    soundfile.write(sound, np.zeros(EAR_RATE), EAR_RATE, format="WAV", subtype="PCM_16")
    audio = {"data": b64encode(sound.getvalue()).decode(), "format": "wav"}
    return [{"type": "input_audio", "input_audio": audio}]


def _end(text: str) -> str:
    return "\n".join(text.splitlines()[-LOG_LINES:])
