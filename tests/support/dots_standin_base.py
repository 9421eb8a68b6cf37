"""What the stand-in for DOTS simulators does in both protocols: it plays frames, makes faults and compares bytes."""

import math
import mmap
import os
import struct
import sys
import time

from dots_turns import from_simulator, rows


class File:
    """A file that is mapped."""

    def __init__(self, path, content=None):
        self.path = path
        if content is not None:
            with open(path, "xb") as file:
                file.write(content)
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)

    def number(self, at):
        return struct.unpack_from("<i", self.map, at)[0]

    def set_number(self, at, value):
        struct.pack_into("<i", self.map, at, value)

    def put(self, at, data):
        self.map[at : at + len(data)] = data

    def close(self):
        self.map.close()


class StandIn:
    """One simulator; `play` plays all frames and returns when the trainer closes."""

    def __init__(self, scenario, path):
        self.scenario, self.path = scenario, path
        self.groups = []  # registered: (group, begin relative to the first group's)
        self.turn = 0
        self.expected = None

    def play(self):
        self.attach()
        self.wait()
        self.read_turn()
        frame = 0
        while True:
            for group in self.scenario["groups"]:
                if frame < group.get("from", 0):
                    continue
                asking, ended = rows(frame, group)
                if not asking and not ended:
                    continue
                self.fault(frame)
                self.write_side(from_simulator(self.turn, self.scenario.get("message", 0)))
                self.show(group, asking, ended)
                self.shown = group, frame, len(asking), len(ended)
                self.give()
                self.wait()
                self.after_turn(group, frame, len(asking), len(ended))
            frame += 1

    def begin_of(self, group):
        """Where the group's block is in the file; None: it is not registered."""
        begins = [begin for known, begin in self.groups if known["name"] == group["name"]]
        return self.first_group() + begins[0] if begins else None

    def put_agents(self, group, agents, obs, reward, ids):
        """What agents show, at these places of the file."""
        for i, shape in enumerate(group["obs"]):
            size = 4 * math.prod(shape)
            for k, agent in enumerate(agents):
                self.data.put(obs + size * k, struct.pack(f"<{len(agent[0][i])}f", *agent[0][i]))
            obs += size * group["n"]
        for k, agent in enumerate(agents):
            self.data.put(reward + 4 * k, struct.pack("<f", agent[1]))
            self.data.set_number(ids + 4 * k, agent[2])

    def fault(self, frame):
        for at, kind in self.scenario.get("faults", []):
            if at != frame:
                continue
            print(f"stand-in: {kind} in frame {frame}", flush=True)
            if kind == "exit":
                sys.exit(3)
            if kind == "crash":
                os.abort()
            if kind == "hang":
                time.sleep(1000)
            if kind == "close":
                self.say_closed()
                sys.exit(0)
            getattr(self, kind)()

    def differ(self, what, found, wanted):
        print(f"turn {self.turn}: {what} is {found!r}, not {wanted!r}", flush=True)
        os._exit(9)

    def require(self, what, found, wanted):
        if found != wanted:
            self.differ(what, found, wanted)

    def compare(self, file, expected):
        found = bytes(file.map)
        if found != bytes(expected):
            if len(found) != len(expected):
                self.differ("the size of the data file", len(found), len(expected))
            at = next(i for i in range(len(found)) if found[i] != expected[i])
            self.differ(f"byte {at} of the data file", found[at : at + 16], bytes(expected[at : at + 16]))

    def spin(self, is_ours):
        count = 0
        while not is_ours():
            count += 1
            if count > 200:
                time.sleep(0.0002)
            if os.getppid() != self.parent:
                os._exit(0)

    parent = os.getppid()


def floats_of(group):
    """How many floats an agent of this group sees."""
    return sum(math.prod(shape) for shape in group["obs"])
