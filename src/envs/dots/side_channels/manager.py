"""The channels of one simulator together."""

import logging
from collections.abc import Iterable
from uuid import UUID

from dots_simulator.channels import STATE, framed, unframed
from envs.dots.side_channels.base import IncomingMessage, SideChannel

log = logging.getLogger("muster")


class SideChannelManager:
    """Gathers what channels have to say, and hands out what arrives.

    Args:
        channels: each with an id of its own.

    Raises:
        ValueError: two have the same.
    """

    def __init__(self, channels: Iterable[SideChannel] | None):
        self._channels: dict[UUID, SideChannel] = {}
        for channel in channels or ():
            if channel.channel_id in self._channels:
                raise ValueError(f"two side channels have the id {channel.channel_id}")
            self._channels[channel.channel_id] = channel
        self._unknown: set[UUID] = set()

    def generate_side_channel_messages(self) -> bytes:
        """The payload of a turn: all queued messages, which leave their queues."""
        messages = []
        for channel in self._channels.values():
            if channel.message_queue:
                messages += [(channel.channel_id, body) for body in channel.message_queue]
                channel.message_queue = []
        return framed(messages) if messages else b""

    def process_side_channel_message(self, payload: bytes) -> None:
        """Hand out the messages of a payload.

        One of an unknown channel is warned of once and dropped. Offers of a state that nobody wants are dropped.

        Raises:
            ValueError: it ends within a message, or a message ends before its values.
        """
        for channel, body in unframed(payload):
            if channel in self._channels:
                self._channels[channel].on_message_received(IncomingMessage(body))
            elif channel != STATE and channel not in self._unknown:
                self._unknown.add(channel)
                log.warning(f"The simulator sends messages of the unknown side channel {channel}. They are dropped.")
