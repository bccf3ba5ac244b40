"""A server with OpenAI's HTTP interface, and a sentence for every way it can fail us."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2

from models import peer
from models.errors import BackendError, Crowded, Hung, UnfitInput
from models.in_line import in_line
from models.places import Places

CONNECT_SEC = 3.0
CONCURRENCY = 16  # requests at once, unless told
BUSY = "is busy; please try again soon"
UNFIT = (400, 413, 415, 422)  # what was asked was at fault, and nothing else


class OpenAIServer:
    """Where one role's requests go.

    Each has a connection of its own: closing it is how the server is told to stop, and between
    two turns a kept one would have been dropped as a rule. Servers take what comes first, so what
    is more than they do at once waits here, and whoever needs it first goes first.
    """

    def __init__(
        self,
        role: str,
        name: str,
        url: str,
        api_key: str | None,
        timeout_sec: float,
        concurrency: int = CONCURRENCY,
    ) -> None:
        """Connects to nothing yet.

        Args:
            role: for which it works.
            name: by which a user knows it, as in "voice server".
            url: up to and with the version, as in "http://localhost:8091/v1".
            api_key: sent as the bearer's token, where the server asks for one.
            timeout_sec: for its turn to come, then for the answer to begin, and between any two
                pieces of it.
            concurrency: requests made at the same time; about as many as the server works on.
        """
        if concurrency < 1:
            raise BackendError(
                role, f"The {name}'s concurrency is {concurrency}, and not 1 or more."
            )
        self._role = role
        self._name = name
        self._url = url.rstrip("/")
        address = peer.checked(role, name, self._url)
        self._headers = peer.authorization(role, name, api_key)
        self._timeout_sec = timeout_sec
        self._timeout = httpx2.Timeout(timeout_sec, connect=CONNECT_SEC)
        self._places = Places(concurrency)
        self._tls = peer.trusted(address)

    def failed(self, how: str, kind: type[BackendError] = BackendError) -> BackendError:
        return kind(self._role, f"The {self._name} {how.rstrip('.')}.")

    @asynccontextmanager
    async def post(self, path: str, **content: Any) -> AsyncGenerator[httpx2.Response, None]:
        """The answer, still to be read within; whatever goes wrong is a BackendError.

        Others may be waiting for its place: it is to be read as fast as it comes.
        """
        async with AsyncExitStack() as opened:
            try:
                with in_line():
                    await opened.enter_async_context(self._places.one(self._timeout_sec))
            except TimeoutError as error:
                raise self.failed(BUSY, Crowded) from error
            yield await opened.enter_async_context(self._answered(path, content))

    @asynccontextmanager
    async def _answered(
        self, path: str, content: Mapping[str, Any]
    ) -> AsyncGenerator[httpx2.Response, None]:
        try:
            async with (
                httpx2.AsyncClient(
                    headers=self._headers,
                    timeout=self._timeout,
                    verify=self._tls,
                    trust_env=False,  # a proxy for the web is no way to one's own server
                ) as client,
                client.stream("POST", self._url + path, **content) as answer,
            ):
                if not answer.is_success:
                    kind = UnfitInput if answer.status_code in UNFIT else BackendError
                    how = _refusal(answer.status_code, await answer.aread())
                    raise self.failed(how, kind)
                yield answer
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise self.failed(f"cannot be reached at {self._url}") from error
        except httpx2.TimeoutException as error:
            raise self.failed("did not answer in time", Hung) from error
        except httpx2.HTTPError as error:
            raise self.failed("broke off in the middle") from error


def _refusal(status: int, body: bytes) -> str:
    match status:
        case 401 | 403:
            return "did not accept our key"
        case 429 | 503:
            return BUSY
        case _ if 400 <= status < 500:
            return f"refused: {peer.reason(body) or f'status {status}'}"
        case _:
            return f"failed with status {status}"
