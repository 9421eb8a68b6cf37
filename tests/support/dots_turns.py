"""What the stand-in for DOTS simulators shows in a turn, and what it expects to be given: functions of the turn."""

import random
import struct

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

    def mask():
        """1: not available. The first choice of a branch is, where no other one would be."""
        branches = [[dice.randrange(2) for _ in range(size)] for size in group["branches"]]
        return [masked and not (k == 0 and all(branch)) for branch in branches for k, masked in enumerate(branch)]

    least = 0 if group.get("may_be_silent") else 1
    most = group.get("show", group["n"])
    asking = [agent(mask()) for _ in range(dice.randint(least, most))]
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
