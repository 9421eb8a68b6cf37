"""The stand-in for DOTS simulators in protocol 0: one file, which a bigger one replaces."""

import os
import struct
import sys

from dots_standin_base import File, StandIn, floats_of
from dots_turns import actions, framed, from_trainer


class StandIn0(StandIn):
    def attach(self):
        self.data = File(self.path)
        # the trainer may have changed its file before the simulator has started
        self.require("the first file's flags", bytes(self.data.map[8:10]) in (b"\0\0", b"\1\2"), True)
        found = bytes(self.data.map[:8]) + bytes(2) + bytes(self.data.map[10:])
        self.require("the first file", found, struct.pack("<iiBBiii", 22, 0, 0, 0, 4, 0, 0))
        self.length, self.side = 22, 4
        self.expected = bytearray(found)

    def give(self):
        self.data.map[9] = 0
        self.expected = bytearray(self.data.map)
        self.data.map[8] = 0

    def wait(self):
        payload = framed(from_trainer(self.turn, self.scenario.get("answer", 0)))
        self.spin(lambda: self.data.map[8])
        if len(payload) >= self.side - 4 and self.data.map[9] != 3:
            self.require("the command", self.data.map[9], 2)
            side = 2 * len(payload) + 20
            tail = self.expected[14 + self.side : self.length]
            self.length += side - self.side
            self.expected = bytearray(struct.pack("<iiBBi", self.length, 0, 0, 0, side) + bytes(side) + tail)
            self.side = side
            old, self.data = self.data, File(self.data.path + "_")
            old.close()
            os.unlink(old.path)
            self.spin(lambda: self.data.map[8])
        if self.data.map[9] == 3:
            self.data.close()
            os.unlink(self.data.path)
            print("stand-in: closed", flush=True)
            sys.exit(0)
        struct.pack_into("<i", self.expected, 14, len(payload))
        self.expected[18 : 18 + len(payload)] = payload
        self.expected[8] = 1
        self.expected[9] = self.data.map[9]
        if self.data.map[9] == 1:
            print("stand-in: reset", flush=True)
        elif self.data.map[9]:
            self.differ("the command", self.data.map[9], 0)

    def read_turn(self):
        self.compare(self.data, self.expected)
        self.turn += 1

    def after_turn(self, group, frame, count, ended):
        floats, choices = actions(frame, group, count)
        values = [x for agent in (floats if not group["branches"] else choices) for x in agent]
        at = self.begin_of(group) + self.offsets(group)["action"]
        struct.pack_into(f"<{len(values)}{'i' if group['branches'] else 'f'}", self.expected, at, *values)
        # rows of agents that have ended may get anything
        size = 4 * (len(group["branches"]) or group["continuous"])
        behind = slice(at + size * count, at + size * (count + ended))
        self.expected[behind] = self.data.map[behind]
        self.compare(self.data, self.expected)
        self.data.set_number(self.begin_of(group) + self.offsets(group)["rows"], 0)
        self.turn += 1

    def write_side(self, payload):
        if len(payload) > self.side - 4:
            self.change_file(2 * len(payload) + 20, b"")
        self.data.set_number(14, len(payload))
        self.data.put(18, payload)

    def change_file(self, side, more):
        before = bytes(self.data.map)
        self.length += side - self.side + len(more)
        head = struct.pack("<iiBBi", self.length, 0, 1, 0, side)
        content = head + before[14 : 14 + self.side].ljust(side, b"\0") + before[14 + self.side :] + more
        old, self.data = self.data, File(self.data.path + "_", content)
        self.side = side
        old.map[9] = 2
        old.map[8] = 0
        old.close()

    def spec(self, group):
        name = group["name"].encode("ascii")
        data = (struct.pack("B", len(name)) + name).ljust(64, b"\0") + struct.pack("<i", group["n"])
        branches = group["branches"]
        if branches:
            data += struct.pack(f"<?i{len(branches)}i", False, len(branches), *branches)
        else:
            data += struct.pack("<?i", True, group["continuous"])
        data += struct.pack("<i", len(group["obs"]))
        for shape in group["obs"]:
            data += struct.pack("<3i", *(*shape, 0, 0)[:3])
        return data

    def offsets(self, group):
        n, floats = group["n"], floats_of(group)
        at = {"rows": len(self.spec(group))}
        at["obs"] = at["rows"] + 4
        at["reward"] = at["obs"] + 4 * n * floats
        at["done"] = at["reward"] + 4 * n
        at["max_step"] = at["done"] + n
        at["id"] = at["max_step"] + n
        at["mask"] = at["id"] + 4 * n
        at["action"] = at["mask"] + n * sum(group["branches"])
        at["end"] = at["action"] + 4 * n * (len(group["branches"]) or group["continuous"])
        return at

    def first_group(self):
        return 18 + self.side

    def show(self, group, asking, ended):
        """Asking agents first; n must have room for both."""
        at = self.offsets(group)
        if self.begin_of(group) is None:
            self.data.set_number(14 + self.side, len(self.groups) + 1)
            self.groups.append((group, self.length - 18 - self.side))
            self.change_file(self.side, self.spec(group).ljust(at["end"], b"\0"))
        begin, agents = self.begin_of(group), asking + ended
        self.data.set_number(begin + at["rows"], len(agents))
        self.put_agents(group, agents, *(begin + at[name] for name in ("obs", "reward", "id")))
        for k, agent in enumerate(agents):
            over = k >= len(asking)
            self.data.map[begin + at["done"] + k] = over
            self.data.map[begin + at["max_step"] + k] = over and agent[3]

    def say_closed(self):
        self.data.map[9] = 3
        self.data.map[8] = 0
