"""The same work on a Ray cluster, or on a small one that is started here."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from server.scoring.errors import ScoringError
from server.scoring.pool import THREADS
from server.scoring.scored import Broken
from server.scoring.working import Kit, Message, Over, Spec, Task, Worker

LOCAL = "local"
LOCAL_CPUS = 2
ROOT = Path(__file__).parents[2]
PACKAGES = ("server", "models")  # what a cluster elsewhere is sent


class OnRay:
    """Actors that each hold a Worker; the driver keeps the cache, so nothing is lost with them."""

    def __init__(self, spec: Spec, address: str) -> None:
        try:
            import ray
        except ImportError:
            message = "--ray needs the package ray: pip install -e '.[ray]'"
            raise ScoringError(message) from None
        self._ray: Any = ray
        self._address = address
        try:
            self._connect()
            actor = ray.remote(_Actor)
            needs = {"num_cpus": 1, "num_gpus": int(spec.settings.device == "cuda")}
            count = self._room(needs)
            self._actors = [
                actor.options(**needs, max_restarts=3).remote(spec) for _ in range(count)
            ]
            self.kit: Kit = ray.get(self._actors[0].kit.remote())
        except ScoringError:
            raise
        except ConnectionError:
            self.close()
            message = "cannot be reached; if it asks for a token, RAY_AUTH_TOKEN has to hold it"
            raise ScoringError(f"the Ray cluster at {address} {message}") from None
        except Exception as error:
            self.close()
            raise ScoringError(f"Ray could not be used: {type(error).__name__}") from None

    def results(self, tasks: Iterator[Task]) -> Iterator[Message]:
        idle, under_way = list(self._actors), {}
        while True:
            while idle and (task := next(tasks, None)) is not None:
                actor = idle.pop()
                under_way[actor.score.remote(task)] = actor, task
            if not under_way:
                return
            done, _ = self._ray.wait(list(under_way))
            actor, task = under_way.pop(done[0])
            idle.append(actor)
            yield from self._got(done[0], task)

    def close(self) -> None:
        self._ray.shutdown()

    def _got(self, reference: Any, task: Task) -> list[Message]:
        try:
            got: list[Message] = self._ray.get(reference)
            return got
        except self._ray.exceptions.RayError as error:
            session_id = task.unit.session_id
            problem = f"Ray could not score it: {type(error).__name__}"
            return [Over(session_id, problems=(Broken(session_id, problem),))]

    def _connect(self) -> None:
        threads = dict.fromkeys(THREADS, "1")
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self._address == LOCAL:
            path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
            self._ray.init(
                LOCAL,  # else one that happens to run here would be joined
                num_cpus=LOCAL_CPUS,
                include_dashboard=False,
                runtime_env={"env_vars": {**threads, "PYTHONPATH": path}},
                **quiet,
            )
        else:
            sent = [str(ROOT / name) for name in PACKAGES]
            self._ray.init(
                self._address, runtime_env={"env_vars": threads, "py_modules": sent}, **quiet
            )

    def _room(self, needs: dict[str, int]) -> int:
        """As many actors as the cluster has room for."""
        there = self._ray.cluster_resources()
        fit = [int(there.get(_RESOURCES[name], 0)) // n for name, n in needs.items() if n]
        if min(fit) < 1:
            raise ScoringError("the Ray cluster has no room for a worker")
        return min(fit)


_RESOURCES = {"num_cpus": "CPU", "num_gpus": "GPU"}


class _Actor:
    def __init__(self, spec: Spec) -> None:
        self._worker = Worker(spec)

    def kit(self) -> Kit:
        return self._worker.kit

    def score(self, task: Task) -> list[Message]:
        return list(self._worker.score(task))
