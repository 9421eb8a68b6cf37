"""A game in protocol 0 whose bytes are those of Unity's package at commit 2ea58e4, wrong places included.

Written from the facts about its `SharedMemoryCom`, `Academy` and `DecisionRequest`, with struct and mmap alone. It
shares no code with `dots_simulator` or `envs.dots`. With discrete actions the masks of the agents that are shown are
copied to the place of max_step, over what was written there, and nobody ever clears a mask that was set.

Each agent sees its true id, a target, and its age; it earns 1 for the target as its first action, -1 for another one.

    python dots_unity_0.py --memory-path PATH [--most N] [--show N] [--branches 2,3] [--continuous N] [--masks]
"""

import argparse
import mmap
import os
import random
import struct
import sys
import time

FIRST_ID, STEP_OF_IDS = 40, 7
PARENT = os.getppid()


class Com:
    """`SharedMemoryCom`: one file, grown by the simulator for its only group, by the trainer for messages."""

    def __init__(self, path):
        self.path = path
        self.open()
        self.offsets, self.rl_capacity = None, 4

    def open(self):
        with open(self.path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)
        assert self.int_at(4) == 0, "API incompatible"

    def int_at(self, at):
        return struct.unpack_from("<i", self.map, at)[0]

    def put(self, at, data):
        self.map[at : at + len(data)] = data

    def advance(self):
        """The trainer's command."""
        begun = time.monotonic()
        while not self.map[8]:
            time.sleep(0.0002)
            if time.monotonic() - begun > 30 or os.getppid() != PARENT:
                sys.exit(0)
        command = self.map[9]
        if command == 3:
            os.unlink(self.path)
            sys.exit(0)
        if command == 2:
            before = self.int_at(10)
            os.unlink(self.path)
            self.path += "_"
            self.open()
            if self.offsets:
                self.offsets = {name: at + self.int_at(10) - before for name, at in self.offsets.items()}
            return self.advance()
        return command

    def ready(self):
        self.map[9] = 0
        self.map[8] = 0

    def clear_side(self):
        if self.int_at(14):
            self.put(14, bytes(self.int_at(10)))

    def extend(self, more):
        old, side = self.map, self.int_at(10)
        self.path += "_"
        content = bytearray(self.int_at(0) + more)
        content[:10] = old[:10]
        content[14 : 14 + side] = old[14 : 14 + side]
        content[14 + side : 14 + side + self.rl_capacity] = old[14 + side : 14 + side + self.rl_capacity]
        struct.pack_into("<i", content, 0, len(content))
        struct.pack_into("<i", content, 10, side)
        self.rl_capacity += more
        with open(self.path, "xb") as file:
            file.write(content)
        self.open()
        old[9] = 2
        old[8] = 0

    def write_world(self, world):
        n, branches = world.most, world.branches
        if self.offsets is None:
            count_at = 14 + self.int_at(10)
            self.put(count_at, struct.pack("<i", self.int_at(count_at) + 1))
            end = self.int_at(0)
            kind = struct.pack(f"<?i{len(branches)}i", not branches, len(branches) or world.continuous, *branches)
            spec = (b"\4test").ljust(64, b"\0") + struct.pack("<i", n) + kind + struct.pack("<4i", 1, 3, 0, 0)
            sizes = {"n": 4, "obs": 12 * n, "reward": 4 * n, "done": n, "max_step": n, "id": 4 * n}
            sizes |= {"mask": n * sum(branches), "action": 4 * n * (len(branches) or world.continuous)}
            self.extend(len(spec) + sum(sizes.values()))
            self.put(end, spec)
            self.offsets, at = {}, end + len(spec)
            for name, size in sizes.items():
                self.offsets[name] = at
                at += size
        shown, at = len(world.rows), self.offsets
        self.put(at["n"], struct.pack("<i", shown))
        self.put(at["obs"], struct.pack(f"<{3 * n}f", *[x for seen in world.sensors for x in seen]))
        self.put(at["reward"], struct.pack(f"<{shown}f", *world.rewards[:shown]))
        self.put(at["done"], bytes(world.done[:shown]))
        self.put(at["max_step"], bytes(world.max_step[:shown]))
        self.put(at["id"], struct.pack(f"<{shown}i", *[agent.id for agent in world.rows]))
        if branches:  # the place is the C#'s
            self.put(at["max_step"], bytes(world.masks[: shown * sum(branches)]))

    def load_world(self, world):
        self.put(self.offsets["n"], bytes(4))
        size, kind = (len(world.branches), "i") if world.branches else (world.continuous, "f")
        return [
            struct.unpack_from(f"<{size}{kind}", self.map, self.offsets["action"] + 4 * size * row)
            for row in range(len(world.rows))
        ]


class Agent:
    def __init__(self, number):
        self.id, self.age, self.target, self.reward = number, 0, 0, 0.0


class World:
    """The arrays of an `MLAgentsWorld`; a row keeps what was set for it until it is set again."""

    def __init__(self, words):
        self.most, self.continuous, self.branches = words.most, words.continuous, words.branches
        self.sensors, self.rewards = [(0.0, 0.0, 0.0)] * self.most, [0.0] * self.most
        self.done, self.max_step = [False] * self.most, [False] * self.most
        self.masks = [False] * (self.most * sum(self.branches))
        self.rows = []

    def request(self, agent, done, timed_out):
        row = len(self.rows)
        self.rows.append(agent)
        self.sensors[row] = float(agent.id), float(agent.target), float(agent.age)
        self.rewards[row], self.done[row], self.max_step[row] = agent.reward, done or timed_out, timed_out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory-path", required=True)
    parser.add_argument("--most", type=int, default=5)
    parser.add_argument("--show", type=int)
    parser.add_argument("--branches", type=lambda text: [int(one) for one in text.split(",")], default=[2, 3])
    parser.add_argument("--continuous", type=int, default=0)
    parser.add_argument("--masks", action="store_true")
    parser.add_argument("--life", type=int, default=6)
    words = parser.parse_args()
    if words.continuous:
        words.branches = []
    world, com, dice = World(words), Com(words.memory_path), random.Random(5)
    choices = words.branches[0] if words.branches else 2
    agents = [Agent(FIRST_ID + STEP_OF_IDS * i) for i in range(words.show or words.most)]
    first = True
    while True:  # each round is a frame in which all agents ask
        for i, agent in enumerate(agents):
            # lives differ, so that not all end together; every other agent ends by its time limit
            over = agent.age >= words.life + i
            agent.target = dice.randrange(choices)
            world.request(agent, over and not i % 2, over and bool(i % 2))
            if words.masks and words.branches and agent.age == 2:
                world.masks[sum(words.branches) * i + sum(words.branches) - 1 - i % 2] = True
        command = 0
        if first:
            command, first = com.advance(), False
            com.clear_side()
        if command == 0:
            com.write_world(world)
            com.ready()
            command = com.advance()
            given = com.load_world(world)
            com.clear_side()
            for agent, action, over in zip(agents, given, world.done, strict=False):
                right = action[0] == agent.target if words.branches else (action[0] > 0) == bool(agent.target)
                agent.age, agent.reward = (0, 0.0) if over else (agent.age + 1, 1.0 if right else -1.0)
        world.rows = []
        if command == 1:
            print("game: reset", flush=True)
            for agent in agents:
                agent.age, agent.reward = 0, 0.0


if __name__ == "__main__":
    main()
