"""Auto-reset: copies of an environment restart independently; one starts its next episode while the others continue."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch as th

from components.episode_buffer import EpisodeBatch
from components.pending_writes import PendingWrites
from components.step_writer import StepWriter
from controllers.contract import controller
from controllers.decisions import Decider
from controllers.hidden_states import reset_where
from envs.contract.fields import EnvSpec
from runners.returns import EpisodeReturns
from runners.step_checks import StepChecks
from utils.errors import ConfigError
from utils.tensors.tensor_trees import Tree, is_tree, map_tree
from utils.timing import timed
from vector_envs.contract import Copies, StepOutcome


@dataclass
class FinishedEpisode:
    """An episode that has just ended in the copy `row`.

    `of_groups`: the returns of groups, by statistic. `whole`: it began in the rollout in which it ended.
    """

    row: int
    episode_return: float
    length: int
    info: dict[str, Any]
    of_groups: dict[str, float] = field(default_factory=dict)
    whole: bool = True


@dataclass
class StepResult:
    """The data of one step of all copies, in the shapes of a batch's fields; zeros in copies that were `closing`.

    `lost`: bool `[B]`, the episode is void because its environment failed; the copy has started another one.
    """

    values: dict[str, np.ndarray]
    closing: np.ndarray
    lost: np.ndarray
    finished: list[FinishedEpisode] = field(default_factory=list)


class AutoResetPlay:
    """B copies with their hidden states and last actions, each at its own step.

    A copy whose episode has ended is `closing` for one step: its closing state gets an action that is never executed,
    as in every runner, and its next episode starts with the step after. The controller reads a batch of two steps,
    the last action and the present state; so the copies need not share a time step.

    Args:
        spec: of the environment.
        copies: the copies that training plays on; tests may have played since. Their first episodes start when they are
            first asked for. A process that plays tests only never does, and leaves a simulator to them that would serve
            one at a time.
        mac: the controller. Its whole memory must be in its `hidden_states`, a tensor or a tree of tensors.
        acting: a batch of B rows and 2 columns for its inputs.
        checks: of the copies.
        first: the number of the first copy in a batch of all.
        bootstrap_truncated: whether a cut stays one; otherwise it is an end of the game.

    Attributes:
        pending: what the next decision sends to the controller's device; whoever writes the steps into a batch there
            adds to it, and calls `settle` before anybody reads that batch.
    """

    def __init__(
        self,
        spec: EnvSpec,
        copies: Callable[[], Copies],
        mac: Any,
        acting: EpisodeBatch,
        checks: StepChecks,
        first: int = 0,
        bootstrap_truncated: bool = True,
    ):
        self._spec, self._copies, self._mac, self._acting, self._checks = spec, copies, mac, acting, checks
        self._first, self._bootstrap_truncated = first, bootstrap_truncated
        self.pending = PendingWrites(acting.device)
        self._store, self._decider = StepWriter(acting, self.pending), Decider(mac, acting)
        # the fields of the last decision, all that is in the first column; None: not known
        self._decided: tuple[str, ...] | None = None
        size = self.size = acting.batch_size
        self._everyone, self._nobody = np.arange(size), np.zeros(size, dtype=bool)
        self.hidden_states = self._initial_hidden()
        self._require_memory()
        self.closing = np.zeros(size, dtype=bool)
        self._returns, self._lengths = EpisodeReturns(spec, size), np.zeros(size, dtype=np.int64)
        self._begun = False
        # of the step that has begun: who was closing, and the decisions
        self._under_way: tuple[np.ndarray, dict[str, np.ndarray]] | None = None

    @property
    def _env(self) -> Copies:
        env = self._copies()
        if not self._begun:
            self._begun = True
            env.reset()
        return env

    def observed(self) -> Mapping[str, np.ndarray]:
        """The present observations, see `VectorEnv.observed`."""
        observed = self._env.observed()
        self._checks.observed(observed, self._everyone, self._lengths)
        return observed

    def known_before(self) -> dict[str, th.Tensor]:
        """The controller's inputs from before the present step, see `controllers.contract`."""
        self.settle()
        return controller(self._mac).known_before(self.hidden_states, self._acting)

    def settle(self) -> None:
        """Send what waits for the next decision."""
        self.pending.send()

    def step(self, t_env: int) -> StepResult:
        """Let every copy act once, and those that were closing start their next episode."""
        simulate = self.begin(t_env)
        with timed("step"):
            outcome = simulate()
        return self.finish(outcome)

    def begin(self, t_env: int) -> Callable[[], StepOutcome]:
        """Decide for every copy. Returns what steps the environments, in any thread; `finish` takes the outcome."""
        with timed("act"):
            closing, (decisions, actions) = self.closing, self._act(t_env)
        self._under_way = closing, decisions
        return partial(self._env.step, actions)

    def finish(self, outcome: StepOutcome) -> StepResult:
        """Take the outcome of the step that has begun; copies that were closing start their next episode."""
        assert self._under_way is not None, "begin comes before"
        (closing, decisions), self._under_way = self._under_way, None
        env, playing = self._env, ~closing
        self._lengths += playing
        rows = np.flatnonzero(playing) if np.count_nonzero(closing) else self._everyone
        self._checks.stepped(outcome, rows, self._lengths)
        if not self._bootstrap_truncated:
            outcome = outcome.without_cuts()
        lost = self._nobody
        if np.count_nonzero(outcome.lost):
            lost = outcome.lost & playing
            playing &= ~lost
            rows = np.flatnonzero(playing)
        terminated, truncated = outcome.terminated & playing, outcome.truncated & playing
        self._returns.add(outcome.values, rows)
        ended, finished = terminated | truncated, []
        over = ended if lost is self._nobody else ended | lost
        if np.count_nonzero(over):
            finished = self._finished(env, np.flatnonzero(ended))
            self._returns.clear(over)
            self._lengths[over] = 0
        # lost copies restart at once, as do those that were closing
        self.closing = closing if lost is self._nobody else closing | lost
        self.begin_next()
        self.closing = ended
        of_playing = {}
        for path, value in outcome.values.items():
            of_playing[path] = value * (playing if value.ndim == 1 else playing.reshape(-1, *[1] * (value.ndim - 1)))
        values = {**decisions, **of_playing, "terminated": terminated, "truncated": truncated}
        return StepResult(values, closing, lost, finished)

    def _finished(self, env: Copies, rows: np.ndarray) -> list[FinishedEpisode]:
        totals, lengths, of_groups = self._returns.totals[rows], self._lengths[rows], self._returns.of_groups(rows)
        columns = (self._first + rows).tolist(), totals.tolist(), lengths.tolist(), env.infos_at(rows), of_groups
        return [FinishedEpisode(*episode) for episode in zip(*columns, strict=True)]

    def state_dict(self) -> dict:
        """The state of the copies, without that of the environment itself."""
        self.settle()
        return {
            "hidden_states": self.hidden_states,
            "begun": self._begun,
            "closing": self.closing,
            "returns": self._returns.state_dict(),
            "lengths": self._lengths,
            "acting": self._acting.data.transition_data,
        }

    def load_state_dict(self, state: dict) -> None:
        """Resume from where `state_dict` was taken; the environment must have resumed before."""
        self.settle()
        self.hidden_states = map_tree(lambda x, now: x.to(now.device), state["hidden_states"], self.hidden_states)
        self._begun = bool(state.get("begun", True))
        self.closing, self._lengths = state["closing"], state["lengths"]
        self._returns.load_state_dict(state["returns"])
        for key, tensor in self._acting.data.transition_data.items():
            tensor.copy_(state["acting"][key])
        self._decided = None

    def decide(self, t_env: int) -> dict[str, np.ndarray]:
        """The decisions of all agents in the present state, which nobody carries out, as fields of a batch."""
        return self._act(t_env)[0]

    def cut_off(self) -> bool:
        """Tests are about to play on these copies: drop the episodes in progress. The next step starts others.

        Returns:
            whether there were any that had not ended.
        """
        in_progress = self._begun and not self.closing.all()
        self.forget()
        self._returns.clear(self._everyone)
        self._lengths, self.closing = np.zeros_like(self._lengths), np.zeros_like(self.closing)
        self._begun = False
        return in_progress

    def forget(self) -> None:
        """Let the controller's memory of all copies be that from before a first step."""
        self._forget(np.ones(self.size, dtype=bool))

    def take_over(self) -> None:
        """Let groups that another model plays from now on start without memory, if the controller knows of such."""
        self.settle()
        own = controller(self._mac)
        if own.taken_over:
            self.hidden_states = self._mac.renewed(self.hidden_states, self._initial_hidden())
        elif own.counts_episodes:
            self._initial_hidden()  # tests may have played other numbers of episodes

    def begin_next(self) -> None:
        """Start the next episode of the copies that are closing."""
        if not np.count_nonzero(self.closing):
            return
        self._env.reset(self.closing)
        self._forget(self.closing)
        self.closing = np.zeros(self.size, dtype=bool)

    def _act(self, t_env: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Decisions of all agents, as fields of a batch; and their actions as the environment takes them."""
        observed = self.observed()
        self._store.write(observed, self._everyone, 1)
        self.settle()
        # tests and learners have used the controller since
        self._mac.hidden_states = self.hidden_states
        try:
            decisions = self._decider.decide(1, t_env)
        except RuntimeError:
            self._checks.undecided(observed, self._everyone, self._lengths)
            raise
        actions = self._spec.actions_of(decisions)
        self._checks.chosen(observed, actions, self._everyone, self._lengths)
        self.hidden_states = self._mac.hidden_states
        self._store.write(decisions, self._everyone, 0)
        self._decided = tuple(decisions)
        return decisions, actions

    def _forget(self, closing: np.ndarray) -> None:
        """Hidden states and last actions of the copies `closing` (bool `[B]`) become those before a first step."""
        self._store.clear(np.flatnonzero(closing), 0, self._decided)
        self.pending.add(self._reset_hidden, [closing], [th.bool])

    def _reset_hidden(self, there: list[th.Tensor]) -> None:
        self.hidden_states = reset_where(there[0], self.hidden_states, self._initial_hidden())

    def _initial_hidden(self) -> Tree:
        self._mac.init_hidden(self.size)
        return controller(self._mac).hidden_states

    def _require_memory(self) -> None:
        """Refuse a controller whose memory cannot be kept for each environment."""
        try:
            if is_tree(self.hidden_states):
                self.known_before()
                return
        except RuntimeError:  # of another number of rows
            pass
        raise ConfigError(
            f"mac={type(self._mac).__name__} does not keep its memory in hidden_states, as a tensor or a tree of "
            "tensors with a row for each agent. So environments could not restart while others continue. "
            "Use runner=batched with batched_mode=synchronous."
        )
