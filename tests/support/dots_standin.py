"""A simulator of both DOTS protocols for the tests, written from the facts with struct and mmap alone.

It shares no code with `dots_simulator` or `envs.dots`: who disagrees with it disagrees with the facts. What it shows
and what it expects to be given are functions of the turn, which the tests call as well. It compares every byte of the
files with what they must be when its turn comes, and exits with code 9 at the first difference.

    python dots_standin.py SCENARIO.json --memory-path PATH
"""

import json
import mmap
import os
import random
import struct
import sys
import time

GUID = bytes(range(16))


def rows(frame, group):
    """What a group shows: (agents that ask, agents that ended), each as a list of (obs lists, reward, id, mask or
    interrupted)."""
    dice = random.Random(f"{frame} {group['name']}")

    def floats(shape):
        count = 1
        for size in shape:
            count *= size
        return [dice.randrange(-8, 8) / 4 for _ in range(count)]

    def agent(last):
        return [floats(shape) for shape in group["obs"]], dice.randrange(100) / 4, dice.randrange(10**6), last

    choices = sum(group["branches"])
    least = 0 if group.get("may_be_silent") else 1
    most = group.get("show", group["n"])
    asking = [agent([dice.randrange(2) for _ in range(choices)]) for _ in range(dice.randint(least, most))]
    ended = [agent(dice.randrange(2)) for _ in range(dice.randint(0, most))]
    return asking, ended


def actions(frame, group, count):
    """The actions that the test gives to `count` agents: floats and choices, by agent."""
    dice = random.Random(f"act {frame} {group['name']}")
    floats = [[dice.randrange(-8, 8) / 8 for _ in range(group["continuous"])] for _ in range(count)]
    return floats, [[dice.randrange(size) for size in group["branches"]] for _ in range(count)]


def from_simulator(turn, most):
    """The payload of the simulator's turn: one raw message, or nothing."""
    dice = random.Random(f"sim {turn}")
    body = bytes(dice.randrange(256) for _ in range(dice.randint(0, most)))
    return GUID + struct.pack("<i", len(body)) + body if most and dice.random() < 0.6 else b""


def from_trainer(turn, most):
    """The body of the trainer's message in its turn; None: none."""
    dice = random.Random(f"trainer {turn}")
    body = bytes(dice.randrange(256) for _ in range(dice.randint(0, most)))
    return body if most and dice.random() < 0.6 else None


def framed(body):
    return b"" if body is None else GUID + struct.pack("<i", len(body)) + body


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


class StandIn032(StandIn):
    def attach(self):
        self.header = File(self.path)
        version = tuple(self.header.number(at) for at in (0, 4, 8))
        mine = tuple(self.scenario.get("version", (0, 3, 2)))
        for at, number in zip((0, 4, 8), mine, strict=True):
            self.header.set_number(at, number)
        if version != mine:
            self.header.map[15] = 1
            sys.exit(0)
        self.require(
            "header 12 to 29 at first", bytes(self.header.map[12:]), b"\0\1\0\0" + struct.pack("<iiiB", 1, 0, 0, 0)
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
        if len(payload) >= side - 4:
            self.k, self.side = self.k + 1, 2 * len(payload) + 20
            tail = self.expected[len(self.expected) - self.rest :] if self.rest else b""
            self.expected = bytearray(self.side) + tail
            old, self.data = self.data, File(self.path + "_" * self.k)
            old.close()
            os.unlink(old.path)
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
        n, floats = group["n"], 0
        for shape in group["obs"]:
            size = 1
            for one in shape:
                size *= one
            floats += size
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

    def begin_of(self, group):
        for known, begin in self.groups:
            if known["name"] == group["name"]:
                return self.side + begin
        return None

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
            count, obs, reward, ids = (begin + at[name] for name in names)
            self.data.set_number(count, len(agents))
            for i, shape in enumerate(group["obs"]):
                size = 1
                for one in shape:
                    size *= one
                for k, agent in enumerate(agents):
                    self.data.put(obs + 4 * size * k, struct.pack(f"<{size}f", *agent[0][i]))
                obs += 4 * size * group["n"]
            for k, agent in enumerate(agents):
                self.data.put(reward + 4 * k, struct.pack("<f", agent[1]))
                self.data.set_number(ids + 4 * k, agent[2])
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
        n, floats = group["n"], 0
        for shape in group["obs"]:
            size = 1
            for one in shape:
                size *= one
            floats += size
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

    def begin_of(self, group):
        for known, begin in self.groups:
            if known["name"] == group["name"]:
                return 18 + self.side + begin
        return None

    def show(self, group, asking, ended):
        """Asking agents first; n must have room for both."""
        at = self.offsets(group)
        if self.begin_of(group) is None:
            self.data.set_number(14 + self.side, len(self.groups) + 1)
            self.groups.append((group, self.length - 18 - self.side))
            self.change_file(self.side, self.spec(group).ljust(at["end"], b"\0"))
        begin, agents = self.begin_of(group), asking + ended
        self.data.set_number(begin + at["rows"], len(agents))
        obs = begin + at["obs"]
        for i, shape in enumerate(group["obs"]):
            size = 1
            for one in shape:
                size *= one
            for k, agent in enumerate(agents):
                self.data.put(obs + 4 * size * k, struct.pack(f"<{size}f", *agent[0][i]))
            obs += 4 * size * group["n"]
        for k, agent in enumerate(agents):
            over = k >= len(asking)
            self.data.put(begin + at["reward"] + 4 * k, struct.pack("<f", agent[1]))
            self.data.map[begin + at["done"] + k] = over
            self.data.map[begin + at["max_step"] + k] = over and agent[3]
            self.data.set_number(begin + at["id"] + 4 * k, agent[2])

    def say_closed(self):
        self.data.map[9] = 3
        self.data.map[8] = 0


def main():
    with open(sys.argv[1]) as file:
        scenario = json.load(file)
    path = sys.argv[sys.argv.index("--memory-path") + 1]
    (StandIn0 if scenario.get("protocol") == "0" else StandIn032)(scenario, path).play()


if __name__ == "__main__":
    main()
