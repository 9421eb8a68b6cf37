"""A stand-in for TrackMania with TMInterface's plugin: the same messages, racing's car behind them.

As a program: python server.py PORT MAPS [FAULTS], where MAPS is JSON {path: file of the line} and FAULTS JSON of
`faults.Faults`.
"""

import contextlib
import json
import re
import select
import socket
import struct
import sys
import threading
import time
from collections import OrderedDict

import numpy as np

from envs.trackmania.messages import BLOCK, BY_NAME, BY_NUMBER, CLIENT, NUMBER, SCALARS, packed
from trackmania_game.car import Car, blank_head
from trackmania_game.faults import Dropped, Faults

FIRST_TIMEOUT = 2000  # ms
COUNTDOWN = -2600
TICK = 10
MOST_KEPT = 5000  # states that can be rewound to


class Expired(Exception):
    """The client did not echo in time."""


class StandIn:
    """The game, in a thread of its own.

    `log`: ("S" or "C", name, raw bytes) of all messages; `commands`: the console's; `connections`: how many it had.
    """

    def __init__(self, maps, port=0, faults=None):
        self.maps, self.faults = dict(maps), faults or Faults()
        self.log, self.commands, self.connections, self.expired = [], [], 0, 0
        self.unknown = 0
        self.loaded, self.car, self.time, self.finished, self.stuck = None, None, 0, False, False
        self.speed, self.period, self.interface = 1.0, 10, 1
        self.inputs, self.wish, self.timeout = (0, 0, 0, 0), None, FIRST_TIMEOUT
        self._kept = OrderedDict()
        self._closed = threading.Event()
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", port))
        self.port = self._listener.getsockname()[1]
        self.connection, self._dropped = None, []
        if not self.faults.menus:
            self.load(next(iter(self.maps)))
        if not self.faults.listen_after:
            self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self):
        self._closed.set()
        for connection in [self._listener, self.connection, *self._dropped]:
            if connection is not None:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()
        self._thread.join(5)

    def names(self, sender=None):
        """The names of all messages, or of those of one side."""
        return [name for who, name, _ in self.log if sender in (None, who)]

    def load(self, path):
        if path in self.maps:
            self.loaded = path
            self.begin_race()

    def begin_race(self):
        """The race starts, with its countdown."""
        self.car = Car(self.maps[self.loaded])
        self.time, self.finished, self.stuck = COUNTDOWN, False, False

    # the game's thread

    def _serve(self):
        time.sleep(self.faults.listen_after)
        with contextlib.suppress(OSError):
            if self.faults.listen_after:
                self._listener.listen()
            while not self._closed.is_set():
                self.connection, _ = self._listener.accept()
                self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connections += 1
                time.sleep(self.faults.greet_after)
                try:
                    self._play()
                except Dropped as error:
                    if error.args[0] == "close":
                        self.connection.close()
                    else:
                        self._dropped.append(self.connection)
                except Expired:
                    self.expired += 1
                    self.timeout, self.wish = FIRST_TIMEOUT, None
                    self._dropped.append(self.connection)  # still open, but nobody reads it
                except (OSError, EOFError, ValueError):  # ValueError: it was closed by `close`
                    self.connection.close()

    def _play(self):
        self._sync("connected")
        while not self._closed.is_set():
            if self.wish is not None:
                width, height = self.wish
                self._sync("frame", self.pixels(width, height))
                self.wish = None  # a request made before the echo is lost
            elif self.speed == 0 or self.loaded is None or self.stuck:
                if self._closed.wait(0.01) or self._is_gone():
                    raise EOFError
            else:
                self._tick()

    def _is_gone(self):
        """Whether the client has closed; only looked at where the game would wait for ever."""
        if not select.select([self.connection], [], [], 0)[0]:
            return False
        return not self.connection.recv(1, socket.MSG_PEEK)

    def _tick(self):
        if self.time % self.period == 0:
            self._sync("run_step", self.time)
        if self.loaded is None or self.time < 0:
            self.time += TICK
            return
        if not self.finished:
            self.car.tick(*self.inputs)
        self.time += TICK
        forced = self.faults.finish_at is not None and self.time - TICK == self.faults.finish_at
        if (self.car.finished or forced) and not self.finished:
            self.finished = self.stuck = True
            self._sync("checkpoint_count", 1, 1)

    def pixels(self, width, height):
        """A picture that shows the time."""
        picture = np.zeros((height, width, 4), np.uint8)
        picture[...] = self.time // TICK % 256, 7, 11, 255
        picture[0, 0] = 1, 2, 3, 4
        return picture.tobytes()

    def state(self):
        """The simulation state, which can be rewound to."""
        head, checkpoints = blank_head(), self.faults.checkpoints
        head["flags"], head["race_time"], head["finished"] = self.faults.flags, self.time, self.finished
        head["n_states"] = checkpoints
        if self.car is not None:
            self.car.write(head)
        times = np.full((checkpoints, 2), -1, "<i4")
        if self.finished and checkpoints:
            times[-1, 0] = self.time
        data = bytearray(
            head.tobytes() + bytes(4 * checkpoints) + struct.pack("<i", checkpoints) + times.astype("<i4").tobytes()
        )
        serial = len(self._kept) and next(reversed(self._kept)) + 1
        struct.pack_into("<q", data, 300, serial)  # where the layout knows of nothing
        self._kept[serial] = (self.car and self.car.snapshot(), self.time, self.finished)
        if len(self._kept) > MOST_KEPT:
            self._kept.pop(list(self._kept)[1])
        return bytes(data)

    def rewind(self, data):
        (serial,) = struct.unpack_from("<q", data, 300)
        car, self.time, self.finished = self._kept[serial]
        self.car.restore(car)
        undone = data[-8:-4] == b"\xff\xff\xff\xff"
        self.stuck = self.finished and not undone

    def _sync(self, name, *values):
        message = NUMBER.pack(BY_NAME[name].number)
        message += b"".join(packed(kind, value) for (_, kind), value in zip(BY_NAME[name].payload, values, strict=True))
        struck = self.faults.happens(name)
        if struck and self.faults.do:
            self.faults.strike(self, message)
        self.log.append(("S", name, message))
        self.connection.sendall(message)
        self._await(name, 2 if struck and self.faults.echo_twice else 1)

    def _await(self, name, echoes):
        """Serve the client until it echoes."""
        begun = time.monotonic()
        while echoes:
            left = begun + self.timeout / 1000 - time.monotonic()
            if not select.select([self.connection], [], [], max(left, 0))[0]:
                raise Expired
            number = NUMBER.unpack(self._read(4))[0]
            if number == BY_NAME[name].number:
                self.log.append(("C", "echo", NUMBER.pack(number)))
                echoes -= 1
                continue
            message = BY_NUMBER.get(number)
            if message is None:
                self.unknown += 1  # its payload stays in the stream
            elif message.sender == CLIENT:
                self._obey(message)

    def _obey(self, message):
        raw, values = NUMBER.pack(message.number), []
        for _, kind in message.payload:
            if kind == BLOCK:
                size = self._read(4)
                values.append(self._read(struct.unpack("<i", size)[0]))
                raw += size + values[-1]
            else:
                data = self._read(SCALARS[kind].size)
                values.append(SCALARS[kind].unpack(data)[0])
                raw += data
        self.log.append(("C", message.name, raw))
        reply = getattr(self, f"on_{message.name}", lambda *_: None)(*values)
        data = packed(message.reply, reply) if message.reply else b""
        if self.faults.happens(message.name):
            self.faults.strike(self, data)
        if data:
            self.log.append(("S", "reply", data))
            self.connection.sendall(data)

    def _read(self, size):
        data = b""
        while len(data) < size:
            more = self.connection.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    # what messages do

    def on_set_speed(self, speed):
        self.speed = speed

    def on_rewind(self, data):
        if self.loaded:
            self.rewind(data)

    def on_get_state(self):
        return self.state()

    def on_set_inputs(self, *pressed):
        self.inputs = pressed

    def on_give_up(self):
        if self.loaded:
            self.begin_race()

    def on_prevent_finish(self):
        self.stuck = False

    def on_shutdown(self):
        raise Dropped("shutdown")

    def on_execute(self, text):
        command = text.decode()
        self.commands.append(command)
        if found := re.fullmatch(r'map "(.*)"', command):
            self.load(found[1])

    def on_set_timeout(self, milliseconds):
        self.timeout = milliseconds

    def on_race_finished(self):
        return int(self.loaded is not None and self.finished)

    def on_request_frame(self, width, height):
        self.wish = (width, height)

    def on_set_step_period(self, milliseconds):
        self.period = milliseconds

    def on_cancel_frame(self):
        if not self.faults.late_frame:
            self.wish = None

    def on_toggle_interface(self, shown):
        self.interface = shown

    def on_in_menus(self):
        return int(self.loaded is None)

    def on_get_inputs(self):
        return b"0.0-1.0 press up\n"


def main():
    port, maps = int(sys.argv[1]), json.loads(sys.argv[2])
    StandIn(maps, port, Faults(**json.loads(sys.argv[3])) if len(sys.argv) > 3 else None)
    threading.Event().wait()


if __name__ == "__main__":
    main()
