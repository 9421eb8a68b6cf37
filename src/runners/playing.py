"""The common part of all built-in runners, which play on a source of environments (`vector_envs`)."""

from functools import partial
from typing import Any

import numpy as np

from components.episode_buffer import EpisodeBatch
from components.pending_writes import PendingWrites
from components.step_writer import StepWriter
from controllers.contract import controller
from controllers.decisions import Decider
from envs.contract.fields import EnvSpec
from runners.auto_reset import AutoResetPlay, FinishedEpisode
from runners.base import BaseRunner
from runners.sources import source_of
from runners.started import SlowRollout, StartedEpisodes
from runners.step_checks import StepChecks
from utils.config.merging import with_defaults
from utils.processes.stopping import GRACE, StopPlaying, heed_stop
from utils.tensors.tensor_trees import is_tree, map_tree
from utils.timing import timed
from vector_envs import REGISTRY as SOURCES
from vector_envs.contract import Copies
from vector_envs.parts import FirstCopies
from vector_envs.train_and_test import has_all


class EpisodesRunner(BaseRunner):
    """Plays `batch_size_run` whole episodes a call, all copies from the same moment.

    A subclass may say in `_play` how else training plays.

    Attributes:
        started: the rollout that is being played, or that a resumed run is to end first.
    """

    spec: EnvSpec
    batch: EpisodeBatch
    # the source of its environments if the config leaves it open
    lives = ""

    def __init__(self, args, logger):
        super().__init__(args, logger)
        source = source_of(vars(self.args), self.lives)
        self.parts = self._parts(source)
        in_parts = {} if self.parts == 1 else {"parts": self.parts}
        self.vector_env = SOURCES[source](with_defaults(self.args, SOURCES.entry(source).defaults), **in_parts)
        self.spec = self.vector_env.spec
        self.episode_limit = self.spec.episode_limit
        self.figures.rooms.update(path.rpartition("/")[0] for path in self.spec.rewards())
        # arguments of the environments that have changed, which they have not yet
        self._live_args: dict[str, Any] = {}
        # the play that continues between calls, once `setup` has made it
        self.ongoing: Any = None
        # while `reset` is called by `run`: what it resets, of how many copies, and whether for a test
        self._stage: tuple[Copies, int, bool] | None = None

    def _parts(self, source: str) -> int:
        """Into how many parts, each stepped by itself, `source` is to divide the copies of training."""
        return 1

    @property
    def env(self) -> Any:
        """The copies that training plays on; while a test is started, those of the test."""
        return self.vector_env.play(False) if self._stage is None else self._stage[0]

    def get_env_info(self) -> dict:
        return dict(self.spec.env_info)

    def save_replay(self) -> None:
        self.vector_env.save_replay()

    def close_env(self) -> None:
        self.vector_env.close()

    def setup(self, scheme, groups, preprocess, mac) -> None:
        super().setup(scheme, groups, preprocess, mac)
        # within a step of training, or where one was given up
        self._in_play = False
        self.started: Any = None
        self._paused = self.continues = False
        self.steps_in_play, self.dropped_because = 0, ""
        self._slow: SlowRollout | None = None
        self._played_any = False
        self._checks: dict[int, StepChecks] = {}  # by the number of copies
        self.ongoing = self._begin_ongoing()

    def reset(self) -> None:
        """Start the episodes that are played next: a new `batch`, the copies at new episodes, `t` at 0 (PyMARL's).

        `run` calls it wherever all copies start together; a subclass's own `run` gets those of training.
        """
        env, size, test_mode = self._stage or (self.vector_env.play(False), self.batch_size, False)
        self.batch, self.t = self.new_batch(batch_size=size), 0
        self.started = StartedEpisodes(self.spec, self.batch, test_mode)
        env.reset()

    def run(self, test_mode: bool = False) -> EpisodeBatch:
        """Play, and return the batch.

        Raises:
            StopPlaying: that was requested (`utils.processes.stopping`). `state_dict` then has what was played, if the
                environments can be saved, and no step was given up; the next call ends that rollout.
        """
        self._in_play, self._paused = not test_mode, False
        if test_mode and self.ongoing is not None and not self.args.separate_test_env:
            self._cut_off()
        if self.started is not None and self.started.test_mode != test_mode:
            self.started, self.steps_in_play = None, 0  # of a run that was resumed only to be tested
        for name in list(self._live_args):
            self.vector_env.take_live(name, self._live_args.pop(name))
        if not (self._played_any or test_mode):
            self._slow = SlowRollout(self.logger.console_logger.info, self._longest_rollout())
        try:
            self.batch = self._play_together(test_mode=True) if test_mode else self._play()
        except StopPlaying as stop:
            self._paused, self._in_play = stop.between_steps, not stop.between_steps
            self.dropped_because = "" if self._paused else f"a step did not end within {GRACE:.0f} seconds"
            raise
        self._in_play, self._slow, self.started, self.steps_in_play = False, None, None, 0
        self.continues = False
        self._played_any |= not test_mode
        return self.batch

    def _before_step(self, copies: int) -> None:
        """Called before each step of so many copies.

        Raises:
            StopPlaying: that was requested.
        """
        heed_stop()
        if self._slow is not None:
            self._slow.played(self.steps_in_play)
        self.steps_in_play += copies

    def _longest_rollout(self) -> int:
        """The most steps of a training call."""
        return self.batch_size * self.episode_limit

    def take_live(self, key: str, value: Any) -> None:
        """A key of the config has changed. Environments take theirs before they play next: a thread may play now."""
        room, _, name = key.partition(".")
        if room == "env_args":
            self._live_args[name] = value

    def _play(self) -> EpisodeBatch:
        """The number of episodes of a training call."""
        return self._play_together(test_mode=False)

    @property
    def worker_restarts(self) -> int:
        return self.vector_env.restarts

    def _auto_reset_play(self) -> AutoResetPlay:
        copies, batch = partial(self.vector_env.play, False), self.new_batch(max_seq_length=2)
        checks, bootstrap = self._checks_of(self.batch_size), self.args.bootstrap_truncated
        return AutoResetPlay(self.spec, copies, self.mac, batch, checks, bootstrap_truncated=bootstrap)

    def environments_state(self) -> dict[str, Any]:
        return self.vector_env.state_dict()

    def load_environments_state(self, state: dict[str, Any]) -> bool:
        return self.vector_env.load_state_dict(state)

    def state_dict(self) -> dict:
        """As of every runner; the ongoing play is None after a fault, which may have interrupted a step."""
        ongoing = None if self.ongoing is None or self._in_play else self.ongoing.state_dict()
        state = {**super().state_dict(), "ongoing": ongoing, "paused": None}
        if not self._paused:
            return state
        tested = self.started is not None and self.started.test_mode
        if has_all(state["environments"], tested) and self._note_memory():
            started = None if self.started is None else self.started.state_dict()
            state["paused"] = {"started": started, "steps": self.steps_in_play}
        else:
            self.dropped_because = "its environments, or what the controller remembers, cannot be saved"
        return state

    def _note_memory(self) -> bool:
        """Note in `started` what others remember of it. Returns whether it can then be continued."""
        if not isinstance(self.started, StartedEpisodes):
            return True
        # a controller that keeps its memory elsewhere is saved by its attributes
        self.started.memory = controller(self.mac).hidden_states
        env = self.vector_env.play(self.started.test_mode)
        self.started.infos |= {b: env.info(b) for b in self.started.ended().tolist() if b not in self.started.infos}
        recorded = self.started.test_mode and self.recorder is not None and self.recorder.is_recording
        return not recorded and (self.started.memory is None or is_tree(self.started.memory))

    def load_state_dict(self, state: dict) -> None:
        super().load_state_dict(state)
        self._load_ongoing(state)
        # of checkpoints from before it was kept
        paused = state.get("paused") if self.environments_restored else None
        self.continues, self.steps_in_play = paused is not None, 0 if paused is None else int(paused["steps"])
        started = None if paused is None else paused["started"]
        self.started = None if started is None else self._restarted(started)

    def _restarted(self, state: dict) -> Any:
        """What a `state_dict` of `started` was taken of."""
        started = StartedEpisodes(self.spec, self.new_batch(batch_size=int(state["rows"])), bool(state["test_mode"]))
        started.load_state_dict(state)
        return started

    def _load_ongoing(self, state: dict) -> None:
        if self.ongoing is None:
            return
        if state["ongoing"] is None or not self.environments_restored:
            self.ongoing = self._begin_ongoing()
            self._forget_unfinished()
        else:
            self.ongoing.load_state_dict(state["ongoing"])

    def _begin_ongoing(self) -> Any:
        """The play that continues between calls, at new episodes; None: every call starts its own episodes."""
        return None

    def _cut_off(self) -> None:
        """A test is about to play on the copies of training: drop what they play. The next call starts new episodes."""
        self.ongoing.cut_off(self.t_env)
        self._forget_unfinished()

    def _forget_unfinished(self) -> None:
        if self.best_episodes is not None:
            self.best_episodes.joined.forget()

    def _record_finished(self, finished: list[FinishedEpisode], steps: int | None = None) -> None:
        returns, lengths = [one.episode_return for one in finished], [one.length for one in finished]
        infos, of_groups = [one.info for one in finished], [one.of_groups for one in finished]
        whole = [one.whole for one in finished]
        self._record(returns, lengths, infos, test_mode=False, steps=steps, of_groups=of_groups, whole=whole)

    def _play_together(self, test_mode: bool) -> EpisodeBatch:
        """Play one episode in each copy, all from the same moment; row b of the batch is copy b.

        The copies are the first ones in a test that needs fewer episodes than there are copies.
        An episode that is lost to a fault leaves nothing behind: when the others have ended, another one is played
        into its row.
        """
        copies = self.test_batch_size if test_mode else self.batch_size
        env, listener, size = self.vector_env.play(test_mode), None, copies
        if test_mode and self.on_match_episode is None:
            size = min(size, self.args.test_nepisode - len(self.test_returns))
        if size < copies:
            env = FirstCopies(env, size, copies)
        if test_mode and self.recorder is not None:
            env, listener = self.recorder.watch(env, self.t_env)
        resumed = self.started is not None
        if not resumed:
            self._start(env, size, test_mode)
        started = self.started
        decider = Decider(self.mac, started.batch, listener)
        self.mac.init_hidden(batch_size=size)
        if resumed and is_tree(started.memory):
            now = self.mac.hidden_states
            self.mac.hidden_states = map_tree(lambda x, like: x.to(like.device), started.memory, now)
        self._play_rows(env, decider, started, test_mode)
        while started.lost.any():
            lost = np.flatnonzero(started.lost)
            started.begin_again(lost)
            env.reset(np.isin(np.arange(size), lost))
            self.mac.init_hidden(batch_size=size)
            self._play_rows(env, decider, started, test_mode)

        lengths, returns = started.lengths, started.returns
        known = started.infos  # of before the run was resumed
        rows = np.array([b for b in range(size) if b not in known], dtype=np.int64)
        known = known | dict(zip(rows.tolist(), env.infos_at(rows), strict=True))
        infos = [known[b] for b in range(size)]
        of_groups = returns.of_groups(np.arange(size))
        self._record(returns.totals.tolist(), lengths.tolist(), infos, test_mode, of_groups=of_groups)
        self._take_ends(started.batch, {(b, int(lengths[b]) - 1): infos[b] for b in range(size)}, test_mode)
        return started.batch

    def _start(self, env: Copies, size: int, test_mode: bool) -> None:
        """`reset` these copies; it may be a subclass's own, and may know PyMARL's attributes only."""
        self._stage = env, size, test_mode
        try:
            self.reset()
        finally:
            self._stage = None
        if self.started is None:
            self.started = StartedEpisodes(self.spec, self.batch, test_mode)

    def _play_rows(self, env: Copies, decider: Decider, started: StartedEpisodes, test_mode: bool) -> None:
        """Play the started episodes to their ends."""
        batch, lengths, checks = started.batch, started.lengths, self._checks_of(started.batch.batch_size)
        size, pending = batch.batch_size, PendingWrites(batch.device)
        store = StepWriter(batch, pending)
        observed = env.observed()
        if started.t == 0:
            checks.observed(observed, started.playing, 0)
            store.write(observed, started.playing, 0, mark_filled=True)
        self.t = started.t

        while started.acting.size:
            playing, acting = started.playing, started.acting
            pending.send()
            self._before_step(len(playing))
            try:
                with timed("act"):
                    decided = decider.decide(self.t, self.t_env, None if acting.size == size else acting, test_mode)
            except RuntimeError:
                checks.undecided(observed, acting, self.t)
                raise
            actions = self.spec.actions_of(decided)
            checks.chosen(observed, actions, acting, self.t)
            if acting.size < size:  # fewer and fewer of the rows
                decided = {key: _of_all_rows(value, acting, size) for key, value in decided.items()}
                actions = self.spec.actions_of(decided)
            store.write(decided, acting, self.t)
            if not playing.size:
                break
            with timed("step"):
                outcome = env.step(actions)
            lengths[playing] += 1
            checks.stepped(outcome, playing, lengths)
            if not self.args.bootstrap_truncated:
                outcome = outcome.without_cuts()
            started.returns.add(outcome.values, playing)
            store.write(outcome.fields(copied=pending.wait), playing, self.t)
            self.t += 1
            observed = env.observed()
            checks.observed(observed, playing, self.t)
            store.write(observed, playing, self.t, mark_filled=True)
            ended = outcome.terminated | outcome.truncated | outcome.lost
            acting, playing = playing, playing[~ended[playing]]
            if np.count_nonzero(outcome.lost):
                started.lost |= outcome.lost
                acting = acting[~started.lost[acting]]
            started.t, started.playing, started.acting = self.t, playing, acting
        pending.send()

    def _checks_of(self, size: int) -> StepChecks:
        if size not in self._checks:
            self._checks[size] = StepChecks(self.spec, size)
        return self._checks[size]


def _of_all_rows(values: np.ndarray, rows: np.ndarray, size: int) -> np.ndarray:
    """Values of some rows, at their places among all; zeros elsewhere."""
    placed = np.zeros((size, *values.shape[1:]), dtype=values.dtype)
    placed[rows] = values
    return placed
