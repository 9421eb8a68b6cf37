"""The stand-in for DOTS simulators in protocol 0.3.2: a header file that stays, and data files that grow.

A scenario that says `sealed` uses the trainer's sealed header, and wants every data file in sealed memory.
"""

import os
import struct
import sys
import time

from dots_standin_base import File, StandIn, floats_of
from dots_turns import actions, framed, from_simulator, from_trainer


class StandIn032(StandIn):
    def attach(self):
        self.is_sealed = bool(self.scenario.get("sealed"))
        self.header = File(self.path + (".sealed" if self.is_sealed else ""))
        version = tuple(self.header.number(at) for at in (0, 4, 8))
        mine = tuple(self.scenario.get("version", (0, 3, 2)))
        for at, number in zip((0, 4, 8), mine, strict=True):
            self.header.set_number(at, number)
        if version != mine:
            self.header.map[15] = 1
            sys.exit(0)
        self.require(
            "header 12 to 29 at first", bytes(self.header.map[12:29]), b"\0\1\0\0" + struct.pack("<iiiB", 1, 0, 0, 0)
        )
        self.k, self.side, self.rest = 1, 4, 0
        self.data = File(self.path + "_")
        self.require("the first data file", bytes(self.data.map), bytes(4))
        self.give()
        self.expected = bytearray(4)

    def is_ours(self):
        return not self.header.map[12] or self.header.map[15]

    def give(self):
        self.expected = bytearray(self.data.map)
        self.header.map[12] = 1
        self.header.map[13] = 0

    def wait(self):
        self.spin(self.is_ours)
        if self.header.map[15]:
            self.header.close()
            for path in (self.path, self.data.path):
                if os.path.exists(path):
                    os.unlink(path)
            print("stand-in: closed", flush=True)
            sys.exit(0)
        self.require("12 and 13", bytes(self.header.map[12:14]), b"\0\1")
        # the message of this turn, and the growth it must cause
        payload = framed(from_trainer(self.turn, self.scenario.get("answer", 0)))
        side = 0 if self.k == 1 and self.side == 4 else self.side
        grows = len(payload) >= side - 4
        moves = self.is_sealed and self.rest > 0 and not os.path.islink(self.data.path)
        if grows or moves:
            self.k, self.side = self.k + 1, 2 * len(payload) + 20 if grows else self.side
            tail = self.expected[len(self.expected) - self.rest :] if self.rest else b""
            self.expected = bytearray(self.side) + tail
            old, self.data = self.data, File(self.path + "_" * self.k)
            old.close()
            os.unlink(old.path)
            self.require("whether the data file is sealed", os.path.islink(self.data.path), self.is_sealed)
        self.require("16 to 28", bytes(self.header.map[16:28]), struct.pack("<iii", self.k, self.side, self.rest))
        struct.pack_into("<i", self.expected, 0, len(payload))
        self.expected[4 : 4 + len(payload)] = payload

    def read_turn(self):
        """Of a turn without rows: nothing but the side channel changes."""
        self.query_or_reset()
        self.compare(self.data, self.expected)
        self.turn += 1

    def query_or_reset(self):
        while self.header.map[28]:
            self.compare(self.data, self.expected)
            self.header.map[28] = 0
            self.turn += 1
            self.write_side(from_simulator(self.turn, self.scenario.get("message", 0)))
            self.give()
            self.wait()
        if self.header.map[14]:
            print("stand-in: reset", flush=True)
        self.header.map[14] = 0

    def after_turn(self, group, frame, count, ended):
        # in a query there are no actions yet
        self.query_or_reset()
        floats, choices = actions(frame, group, count)
        begin = self.begin_of(group)
        at = begin + self.offsets(group)["continuous"]
        flat = [x for agent in floats for x in agent]
        struct.pack_into(f"<{len(flat)}f", self.expected, at, *flat)
        at = begin + self.offsets(group)["discrete"]
        flat = [x for agent in choices for x in agent]
        struct.pack_into(f"<{len(flat)}i", self.expected, at, *flat)
        if self.scenario.get("any_actions"):
            end = begin + self.offsets(group)["end"]
            at = begin + self.offsets(group)["continuous"]
            self.expected[at:end] = self.data.map[at:end]
        self.compare(self.data, self.expected)
        for name in ("asking", "ended"):
            self.data.set_number(begin + self.offsets(group)[name], 0)
        self.turn += 1

    def write_side(self, payload):
        if len(payload) > self.side - 4:
            self.change_file(2 * len(payload) + 20, b"")
        self.data.set_number(0, len(payload))
        self.data.put(4, payload)

    def change_file(self, side, more):
        tail = bytes(self.data.map[self.side : self.side + self.rest])
        first = bytes(self.data.map[: self.side]).ljust(side, b"\0")
        self.k += 1
        self.header.set_number(16, self.k)
        self.data.close()
        self.data = File(self.path + "_" * self.k, first + tail + more)
        self.side, self.rest = side, self.rest + len(more)
        self.header.set_number(20, side)
        self.header.set_number(24, self.rest)

    def spec(self, group):
        name = group["name"].encode("ascii")
        data = struct.pack("B", len(name)) + name + struct.pack("<ii", group["n"], len(group["obs"]))
        for shape in group["obs"]:
            data += struct.pack("<7i", *(*shape, 0, 0)[:3], 0, 0, 0, 0)
        return data + struct.pack(
            f"<ii{len(group['branches'])}i", group["continuous"], len(group["branches"]), *group["branches"]
        )

    def offsets(self, group):
        n, floats = group["n"], floats_of(group)
        at = {"asking": len(self.spec(group))}
        at["obs"] = at["asking"] + 4
        at["reward"] = at["obs"] + 4 * n * floats
        at["id"] = at["reward"] + 4 * n
        at["mask"] = at["id"] + 4 * n
        at["ended"] = at["mask"] + n * sum(group["branches"])
        at["ended obs"] = at["ended"] + 4
        at["ended reward"] = at["ended obs"] + 4 * n * floats
        at["status"] = at["ended reward"] + 4 * n
        at["ended id"] = at["status"] + n
        at["continuous"] = at["ended id"] + 4 * n
        at["discrete"] = at["continuous"] + 4 * n * group["continuous"]
        at["end"] = at["discrete"] + 4 * n * len(group["branches"])
        return at

    def first_group(self):
        return self.side

    def show(self, group, asking, ended):
        at = self.offsets(group)
        if self.begin_of(group) is None:
            self.groups.append((group, self.rest))
            self.change_file(self.side, self.spec(group).ljust(at["end"], b"\0"))
        begin = self.begin_of(group)
        for agents, names in (
            (asking, ("asking", "obs", "reward", "id")),
            (ended, ("ended", "ended obs", "ended reward", "ended id")),
        ):
            count, *places = (begin + at[name] for name in names)
            self.data.set_number(count, len(agents))
            self.put_agents(group, agents, *places)
        for k, agent in enumerate(asking):
            self.data.put(begin + at["mask"] + k * len(agent[3]), bytes(agent[3]))
        for k, agent in enumerate(ended):
            self.data.put(begin + at["status"] + k, bytes([agent[3]]))

    def say_closed(self):
        self.header.map[15] = 1

    def sizes(self):
        self.header.set_number(24, 2**31 - 1)
        self.header.set_number(16, self.k + 1)
        self.header.map[12], self.header.map[13] = 1, 0
        time.sleep(1000)

    def twice(self):
        group = self.groups[0][0]
        self.change_file(self.side, self.spec(group).ljust(self.offsets(group)["end"], b"\0"))

    def too_many(self):
        group = self.groups[0][0]
        self.data.set_number(self.begin_of(group) + self.offsets(group)["asking"], group["n"] + 1)
        self.header.map[12], self.header.map[13] = 1, 0
        time.sleep(1000)

    def half(self):
        self.header.map[12] = 1
        os._exit(4)
