"""Play in which every frame has its own number, as runners bring it, and the transitions that a list would have."""

from dataclasses import dataclass, field

import numpy as np
import torch as th

from components.episode_batch import EpisodeBatch
from components.scheme import scheme_of
from envs.contract.fields import pymarl_spec

SIZES = {"n_agents": 2, "n_actions": 3, "state_shape": 1, "obs_shape": 2}
SCHEME, GROUPS, PREPROCESS = scheme_of(pymarl_spec(SIZES))
ROLLOUT_SCHEME = SCHEME | {"hidden_before": {"vshape": (1,), "group": "agents", "episode_const": True}}


@dataclass
class Step:
    """What was done in a frame: the next frame's number, and how the episode went on."""

    after: int
    terminated: bool
    truncated: bool


@dataclass
class NumberedPlay:
    """Environments whose episodes have the lengths and ends that `rng` draws.

    `frames`: all numbers in the order of their episodes; `steps`: by frame; `episode`: of each frame.
    """

    rows: int
    rng: np.random.Generator
    longest: int = 5
    lossy: bool = False
    count: int = 0
    steps: dict[int, Step] = field(default_factory=dict)
    episode: dict[int, int] = field(default_factory=dict)
    episodes: int = 0

    def __post_init__(self):
        self.present = [self._begun() for _ in range(self.rows)]
        self.closing = [False] * self.rows
        self.waiting = set()

    def _frame(self):
        self.count += 1
        return self.count

    def _begun(self):
        self.episodes += 1
        number, length = self._frame(), int(self.rng.integers(1, self.longest + 1))
        self.episode[number] = self.episodes
        return [number, length, bool(self.rng.random() < 0.5)]

    def _show(self, batch, row, t):
        number = self.present[row][0]
        batch["obs"][row, t], batch["state"][row, t], batch["filled"][row, t] = number, number, 1
        batch["avail_actions"][row, t] = 1

    def rollout(self, steps):
        """The next `steps` of all rows, as `RolloutRunner` brings them."""
        batch = EpisodeBatch(ROLLOUT_SCHEME, GROUPS, self.rows, steps + 1, preprocess=PREPROCESS)
        for row in range(self.rows):
            if self.closing[row]:
                self.present[row], self.closing[row] = self._begun(), False
        for t in range(steps):
            for row in range(self.rows):
                self._show(batch, row, t)
                self._act(batch, row, t)
                if self.closing[row]:
                    self.present[row], self.closing[row] = self._begun(), False
                elif self.lossy and self.rng.random() < 0.1:
                    self._lose(batch, row, t)
                else:
                    self._step(batch, row, t)
        for row in range(self.rows):
            self._show(batch, row, steps)
        self.waiting = {number for number, *_ in self.present}
        return batch

    def whole_episodes(self):
        """An episode of each row from its beginning, as `EpisodesRunner` brings them."""
        batch = EpisodeBatch(SCHEME, GROUPS, self.rows, self.longest + 1, preprocess=PREPROCESS)
        for row in range(self.rows):
            self.present[row], self.closing[row], t = self._begun(), False, 0
            while not self.closing[row]:
                self._show(batch, row, t)
                self._act(batch, row, t)
                self._step(batch, row, t)
                t += 1
            self._show(batch, row, t)
            self._act(batch, row, t)
        return batch

    def _act(self, batch, row, t):
        action = self.present[row][0] % 3
        batch["actions"][row, t] = action
        batch["actions_onehot"][row, t] = th.eye(3)[action]

    def _step(self, batch, row, t):
        number, left, terminates = self.present[row]
        after = self._frame()
        self.episode[after] = self.episode[number]
        over = left == 1
        self.steps[number] = Step(after, over and terminates, over and not terminates)
        batch["reward"][row, t] = number + 0.5
        batch["terminated"][row, t], batch["truncated"][row, t] = over and terminates, over and not terminates
        self.present[row], self.closing[row] = [after, left - 1, terminates], over

    def _lose(self, batch, row, t):
        """The environment fails in this step: the episode is cut before it."""
        before = next((frame for frame, step in self.steps.items() if step.after == self.present[row][0]), None)
        if t > 0:
            batch["truncated"][row, t - 1] = 1
            if before is not None:
                self.steps[before].truncated = True
        else:
            batch["filled"][row, 0] = 0
            if self.present[row][0] not in self.waiting:  # its only frame was never shown
                del self.episode[self.present[row][0]]
        self.present[row], self.closing[row] = self._begun(), False
