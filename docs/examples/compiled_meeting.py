"""The agents of meeting.py as a compiled family: its kernel, its declaration, its drawing."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from envs import REGISTRY
from envs.compiled.environment import CompiledEnv, OneCopy
from envs.compiled.kernel import Kernel
from envs.compiled.simulator import Simulator
from envs.compiled.structs import struct
from envs.contract.fields import AGENTS, FieldSpec

# the kernel: what is compiled, the data that it works on, and how copies begin and step

KERNEL = Kernel("meeting", "Meeting", 5, [Path(__file__)])
LINE = struct([("seed", "i8"), ("episode", "i8"), ("ended", "i8"), ("t", "i8")])


class State(NamedTuple):
    line: np.ndarray  # [B] LINE
    cells: np.ndarray  # [B, n] int64, where the agents are


class Outputs(NamedTuple):
    obs: np.ndarray  # [B, n, length] float32
    state: np.ndarray  # [B, n * length] float32
    avail_actions: np.ndarray  # [B, n, 3] uint8
    reward: np.ndarray  # [B] float64
    terminated: np.ndarray  # [B] bool
    truncated: np.ndarray  # [B] bool


@KERNEL.compiled()
def write_view(b, state, outputs):
    n, length = outputs.obs.shape[1], outputs.obs.shape[2]
    outputs.obs[b] = 0.0
    outputs.state[b] = 0.0
    for i in range(n):
        cell = state.cells[b, i]
        outputs.obs[b, i, cell] = outputs.state[b, i * length + cell] = 1.0
        outputs.avail_actions[b, i, 1] = cell > 0
        outputs.avail_actions[b, i, 2] = cell < length - 1


@KERNEL.compiled()
def begin(state, which, outputs, limit):
    for b in range(which.size):
        if which[b]:
            write_view(b, state, outputs)
            outputs.reward[b], outputs.terminated[b], outputs.truncated[b] = 0.0, False, False


@KERNEL.compiled()
def step(state, actions, outputs, limit):
    for b in range(actions.shape[0]):
        line, cells = state.line[b], state.cells[b]
        if line.ended:
            continue
        line.t += 1
        met = True
        for i in range(cells.size):
            cells[i] += (actions[b, i] == 2) - (actions[b, i] == 1)
            met = met and cells[i] == cells[0]
        outputs.reward[b] = 1.0 if met else -0.05
        outputs.terminated[b], outputs.truncated[b] = met, not met and line.t >= limit
        line.ended = met or line.t >= limit
        write_view(b, state, outputs)


class Meetings(Simulator):
    """B lines of two agents."""

    kernel, plural = KERNEL, "meetings"

    def __init__(self, batch_size: int, seed=None, threads: int = 1, **env_args):
        super().__init__(Options(seed=seed, **env_args), batch_size, threads)

    def set_up(self) -> None:
        self.n_agents, self.constants = 2, (self.options.episode_limit,)

    def allocate(self, copies: int) -> tuple[State, Outputs]:
        n, length = self.n_agents, self.options.length
        state = State(np.zeros(copies, LINE), np.zeros((copies, n), np.int64))
        views = np.zeros((copies, n, length), np.float32), np.zeros((copies, n * length), np.float32)
        return state, Outputs(*views, np.ones((copies, n, 3), np.uint8), np.zeros(copies), *np.zeros((2, copies), bool))

    def begin(self, which: np.ndarray) -> None:
        lines = self.state.line
        lines["episode"] += which
        lines["t"][which] = lines["ended"][which] = 0
        for b in np.flatnonzero(which):
            rng = np.random.default_rng([lines["seed"][b], lines["episode"][b]])
            self.state.cells[b] = rng.integers(self.options.length, size=self.n_agents)
        self.run(begin, which)

    def play(self, actions: np.ndarray, outputs: Outputs) -> None:
        if not np.take_along_axis(self.outputs.avail_actions, actions[..., None], 2).all():
            raise ValueError("an action is illegal")
        self.outputs = outputs
        self.run(step, actions)

    @classmethod
    def compile_all(cls) -> None:
        meetings = cls(1, seed=0)
        meetings.reset()
        meetings.step(np.zeros((1, 2), int))


# the declaration: its arguments and its fields


@dataclass
class Options:
    length: int = 5
    episode_limit: int = 10
    seed: int | list[int] | None = None


class MeetingBatch(CompiledEnv):
    title, options_class, simulator_class = "Meeting", Options, Meetings

    def __init__(self, batch_size: int, threads: int = 1, **env_args):
        super().__init__(batch_size, threads, **env_args)
        self.groups, self.episode_limit = {AGENTS: 2}, self.options.episode_limit

    def fields(self) -> dict[str, FieldSpec]:
        return {
            "obs": FieldSpec("observation", (self.options.length,)),
            "state": FieldSpec("observation", (2 * self.options.length,), group=None),
            "avail_actions": FieldSpec("mask", (3,), "uint8", of="actions"),
            "actions": FieldSpec("action", (), "int64", n=3),
            "reward": FieldSpec("outcome", (), "float64", group=None),
        }

    def info(self, b: int) -> dict:
        return {"met": bool(self.simulator.outputs.terminated[b])}

    # the drawing, of the first copy

    def snapshot(self) -> dict:
        cells = self.simulator.state.cells[0].tolist()
        return {"units": [{"id": i, "agent": i, "team": i, "x": cell, "y": 0} for i, cell in enumerate(cells)]}

    def scene(self) -> dict:
        return {"bounds": [-0.5, -0.5, self.options.length - 0.5, 0.5], "grid": 1}


class Meeting(OneCopy):
    batch_class = MeetingBatch


REGISTRY.declare("compiled_meeting", Meeting, "two agents on a line that must meet, compiled", batched=MeetingBatch)
