"""The channel by which simulators that can be saved are saved; `dots_simulator.channels` describes its messages."""

from dots_simulator.channels import STATE, STATE_KINDS
from dots_simulator.layout import LayoutError
from envs.dots.side_channels.base import IncomingMessage, OutgoingMessage, SideChannel

_KINDS = {number: kind for kind, number in STATE_KINDS.items()}


class StateChannel(SideChannel):
    """Asks for states, and hands them back. Each question takes a query."""

    def __init__(self) -> None:
        super().__init__(STATE)
        # whether the simulator has said that it can
        self.offered = False
        self._answers: dict[str, bytes] = {}

    def on_message_received(self, msg: IncomingMessage) -> None:
        body = msg.get_raw_bytes()
        kind = _KINDS.get(msg.read_int32(-1), "")
        if kind == "offer":
            self.offered = True
        elif kind in ("saved", "loaded"):
            self._answers[kind] = body[4:]
        else:
            raise LayoutError(f"side channel {STATE} carries a message of no known kind: {body[:16]!r}")

    def ask(self) -> None:
        """Ask for the state with the next turn, which must be a query."""
        self._send("save")

    def hand_back(self, state: bytes) -> None:
        """Send a state with the next turn, which must be a query."""
        self._send("load", state)

    def answer(self, kind: str) -> bytes | None:
        """What came back: of `saved` the state, of `loaded` nothing or why it could not be; None: no answer came."""
        return self._answers.pop(kind, None)

    def _send(self, kind: str, content: bytes = b"") -> None:
        message = OutgoingMessage()
        message.set_raw_bytes(STATE_KINDS[kind].to_bytes(4, "little", signed=True) + content)
        self.queue_message_to_send(message)
