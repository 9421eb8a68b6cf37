"""The side channel of the package's sample `StringSideChannel`."""

import uuid

from envs.dots.side_channels import IncomingMessage, OutgoingMessage, SideChannel


class StringLogChannel(SideChannel):
    """Prints the strings that a build logs, and sends it strings."""

    def __init__(self) -> None:
        super().__init__(uuid.UUID("621f0a70-4f87-11ea-a6bf-784f4387d1f7"))

    def on_message_received(self, msg: IncomingMessage) -> None:
        print(msg.read_string())

    def send_string(self, data: str) -> None:
        """Send with the next turn."""
        message = OutgoingMessage()
        message.write_string(data)
        self.queue_message_to_send(message)
