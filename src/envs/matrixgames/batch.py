"""Many matrix games in arrays, stepped by one call."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from envs.compiled.kernel import Kernel
from envs.compiled.structs import struct
from envs.compiled.team_simulator import COPY, TeamSimulator, begin_copy, end_step
from envs.matrixgames.options import Options
from envs.matrixgames.payoffs import TWO_STEP, payoffs_of

KERNEL = Kernel("matrixgames", "Matrix games", 6, [Path(__file__)])
RULES = struct([(name, "i8") for name in ("limit", "n_actions", "shows_last", "branches")])


class State(NamedTuple):
    copies: np.ndarray  # [B] COPY
    stage: np.ndarray  # [B] int64, which of the payoff tables is paid next; after the end, which was paid last
    last: np.ndarray  # [B, n] int64, the last actions; -1: none yet


@KERNEL.compiled()
def write_view(b, state, outputs, payoffs, rules):
    n, stages = state.last.shape[1], payoffs.shape[0]
    for i in range(n):
        for k in range(outputs.obs.shape[2]):
            outputs.obs[b, i, k] = 0.0
        if stages > 1:
            outputs.obs[b, i, state.stage[b]] = 1.0
        elif rules.shows_last and state.last[b, 0] >= 0:
            for j in range(n):
                outputs.obs[b, i, j * rules.n_actions + state.last[b, j]] = 1.0


@KERNEL.compiled()
def begin(state, which, outputs, payoffs, all_rules):
    for b in range(which.size):
        if which[b]:
            begin_copy(b, state.copies[b], outputs)
            state.stage[b] = 0
            for i in range(state.last.shape[1]):
                state.last[b, i] = -1
            write_view(b, state, outputs, payoffs, all_rules[0])


@KERNEL.compiled()
def step(state, actions, outputs, payoffs, all_rules):
    rules = all_rules[0]
    for b in range(actions.shape[0]):
        copy = state.copies[b]
        if copy.ended:
            continue
        joint, stage = 0, state.stage[b]
        for i in range(actions.shape[1]):
            state.last[b, i] = actions[b, i]
            joint = joint * rules.n_actions + actions[b, i]
        for i in range(actions.shape[1]):
            outputs.rewards[b, i] = payoffs[stage, i, joint]
        if rules.branches and stage == 0:
            state.stage[b] = 1 if actions[b, 0] == 0 else 2
        end_step(b, copy, outputs, rules.branches and stage > 0, rules.limit)
        write_view(b, state, outputs, payoffs, rules)


class MatrixGames(TeamSimulator):
    """B games of the same table."""

    kernel, plural, options_class, functions = KERNEL, "games", Options, (begin, step)
    options: Options

    def set_up(self) -> None:
        key = self.options.key
        payoffs = payoffs_of(key)
        self.n_agents, self.n_actions = payoffs.shape[1:3]
        shows_last, branches = "-laststate-" in key, key == TWO_STEP
        self.obs_size = len(payoffs) if branches else self.n_agents * (self.n_actions if shows_last else 1)
        limit = min(self.options.time_limit, self.options.ep_length)
        table = payoffs.reshape(len(payoffs), self.n_agents, -1)
        self.constants = table, np.array([(limit, self.n_actions, shows_last, branches)], RULES)

    def new_state(self, copies: int) -> Any:
        return State(np.zeros(copies, COPY), np.zeros(copies, np.int64), np.zeros((copies, self.n_agents), np.int64))
