"""A client that was lost comes back, over another socket, to the conversation it had."""

from starlette.websockets import WebSocket

from server.errors import server_error
from server.link import LinkLost, WebSocketLink
from server.parking import Parking
from server.server_events import event

HEADER = "x-attune-resume"
OFFERED = "attune-resume."  # a browser can set no headers, but offer a sub-protocol of any name
REFUSED, TAKEN_OVER = 1008, 4001


def token_of(socket: WebSocket) -> str | None:
    """The token a client brings to come back with; None if it begins anew.

    In the address it may end up in the log of whatever lies between, but not in ours.
    """
    for offered in socket.scope.get("subprotocols", []):
        if offered.startswith(OFFERED):
            return str(offered.removeprefix(OFFERED))
    return socket.headers.get(HEADER) or socket.query_params.get("resume")


async def resume(socket: WebSocket, parking: Parking, token: str, tick_sec: float | None) -> None:
    """Let the conversation go on here, until it is over or goes on elsewhere."""
    link = WebSocketLink(socket, tick_sec)
    conversation = parking.claim(token)
    before = conversation.socket if conversation else None
    if conversation is None or not conversation.take_over(link, socket.query_params.get("after")):
        if conversation:  # what was missed is not kept any more: nobody can go on with it
            conversation.abort()
        parking.vitals.resumes_failed += 1
        await _refuse(link)
        return
    if before:  # it looked alive, as one does whose network is gone
        await before.shut(TAKEN_OVER, "resumed over another connection")
    await link.over.wait()


async def _refuse(link: WebSocketLink) -> None:
    problem = server_error("That conversation cannot be resumed; begin a new one.", "resume_failed")
    try:
        await link.tell(event("error", error=problem))
    except LinkLost:
        return  # it did not wait for the answer
    await link.shut(REFUSED, "resume failed")
