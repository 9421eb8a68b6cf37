"""Chunks of equal length from environments that restart independently, for on-policy learners."""

from collections.abc import Mapping
from functools import partial
from math import lcm
from typing import Any

import numpy as np
import torch as th

from components.episode_buffer import EpisodeBatch
from components.open_decisions import OpenDecisions
from components.step_writer import StepWriter
from components.stream_steps import by_stream
from envs.contract.fields import AGENTS
from envs.contract.groups import owner, stream_groups
from runners.auto_reset import AutoResetPlay, StepResult
from runners.play_in_parts import Part, PlayInParts
from runners.playing import EpisodesRunner
from runners.started import StartedRollout
from runners.step_checks import StepChecks
from utils.processes.stopping import StopPlaying
from utils.tensors.devices import acting_device
from vector_envs.contract import Copies


class RolloutRunner(EpisodesRunner):
    """The next `rollout_steps` steps of all copies of a batched environment a call, wherever episodes end.

    Row b of the batch is copy b, in `rollout_steps + 1` steps; the last one is the first of the next call.
    An episode that ends has its closing state in the next step, from which no transition leads, and the next
    episode starts in the step after that (`utils.rl_utils.episode_starts`). Where the closing state is in the last
    step, the next call starts with the next episode. An episode that is lost to a fault is truncated before the
    lost step, as by a time limit. More fields hold the controller's memory from before the first step:
    `hidden_before` `[B, n, H]`, its hidden states, and `last_actions_before` `[B, n, A]`, one-hot
    (`controllers.hidden_states.fields_before`, `utils.tensors.schemes.field_before`).

    Agents that are streams (`envs.contract.groups`) have steps of their own, as many as the longest needs
    (`components.stream_steps`); decisions that are open at the end come with the next call.

    Tests play whole episodes. With `separate_test_env=False` they play on the copies of training, and drop the episodes
    in progress, whose steps have been returned. As after a fault, the first step of the next rollout is then not
    filled, so that nobody takes its entries for a continuation; one of a single step has no room for that.

    `t_env` counts transitions, `episodes_brought` the episodes that ended in a call.
    """

    batch_columns: int

    def setup(self, scheme, groups, preprocess, mac) -> None:
        super().setup(scheme, groups, preprocess, mac)
        self.batch_scheme = {
            **scheme,
            **{key: self._constant(key, known, groups) for key, known in self.ongoing.known_before().items()},
        }
        self.batch_columns = self.args.rollout_steps + 1
        self._require_memory(self.batch_scheme, groups, preprocess, self.batch_columns)
        fields, device = (self.batch_scheme, groups, self.batch_size), acting_device(self.args)
        self.new_rollout = partial(EpisodeBatch, *fields, preprocess=preprocess, device=device)
        self._streams = stream_groups(self.spec)
        self._open = OpenDecisions(self._streams, self.new_rollout, self.args.rollout_steps)
        # a test has dropped the episodes that the last rollout had not ended
        self._dropped = False

    def _parts(self, source: str) -> int:
        return 2 if self.args.double_buffering == "on" else 1

    def _begin_ongoing(self) -> PlayInParts:
        if self.parts == 1:
            return PlayInParts([self._auto_reset_play()])
        sizes = self.vector_env.play(False).sizes
        firsts = [sum(sizes[:part]) for part in range(len(sizes))]
        return PlayInParts(
            [
                AutoResetPlay(
                    self.spec,
                    partial(self._copies_of, part),
                    self.mac,
                    self.new_batch(batch_size=size, max_seq_length=2),
                    StepChecks(self.spec, size, first),
                    first,
                    self.args.bootstrap_truncated,
                )
                for part, (size, first) in enumerate(zip(sizes, firsts, strict=True))
            ]
        )

    def _copies_of(self, part: int) -> Copies:
        return self.vector_env.play(False).parts[part]

    def close_env(self) -> None:
        if self.ongoing is not None:
            self.ongoing.close()
        super().close_env()

    def _constant(self, key: str, known: th.Tensor, groups: dict[str, int]) -> dict:
        group = owner(key, groups) or AGENTS
        return {"vshape": tuple(known.shape[2:]), "dtype": known.dtype, "group": group, "episode_const": True}

    def _play(self) -> EpisodeBatch:
        play = self.ongoing
        if self.started is None:
            play.begin_next()
            play.take_over()
            self.started = StartedRollout(self.new_rollout(self.batch_columns))
            for key, known in play.known_before().items():
                self.started.batch[key].copy_(known)
            # a rollout of one step would have nothing in it
            if self._dropped and self.args.rollout_steps > 1:
                self._begin_after_test(self.started)
            self._dropped = False
        rollout = self.started
        batch = rollout.batch
        try:
            self._play_steps(rollout)
        finally:
            play.abandon()
        self.episodes_brought = len(rollout.finished)
        self._record_finished(rollout.finished, rollout.steps)
        self._take_ends(batch, rollout.ends, test_mode=False)
        if self._streams:
            whole = self._open.precede(batch)
            batch, since = by_stream(whole, self._streams, self.new_rollout, _multiple(vars(self.args)))
            self._open.keep(whole, since)
        return batch

    def _play_steps(self, rollout: StartedRollout) -> None:
        play, parts, batch, last = self.ongoing, self.ongoing.parts, rollout.batch, self.args.rollout_steps
        views = [batch] if len(parts) == 1 else [_rows_of(batch, part.rows) for part in parts]
        stores = [StepWriter(view, part.play.pending) for view, part in zip(views, parts, strict=True)]

        def take(part: Part, t: int, result: StepResult) -> None:
            stores[part.number].write(result.values, part.everyone, t)
            if np.count_nonzero(result.lost):
                _cut_before(views[part.number], result.lost, t)
            for episode in result.finished:
                episode.whole = episode.length <= t + 1
            rollout.finished += result.finished
            rollout.ends |= {(episode.row, t): episode.info for episode in result.finished}
            rollout.steps += int(part.play.size - np.count_nonzero(result.closing | result.lost))
            rollout.t += part is parts[-1]

        try:
            for t in range(rollout.t, last):
                for part, store in zip(parts, stores, strict=True):
                    copies = int(np.count_nonzero(~part.play.closing))
                    if part is parts[0]:
                        self._before_step(copies)
                    else:  # the step has begun
                        self.steps_in_play += copies
                    store.write(observed := part.play.observed(), part.everyone, t, mark_filled=True)
                    if self._streams:
                        self._open.asked(observed, play.known_before(), batch)
                    for ended in play.step(part, t, self.t_env):
                        take(*ended)
        except StopPlaying as stop:
            if stop.between_steps:
                for ended in play.rest():
                    take(*ended)
            raise
        for ended in play.rest():
            take(*ended)
        for part, store in zip(parts, stores, strict=True):
            store.write(part.play.observed(), part.everyone, last, mark_filled=True)
            part.play.settle()

    def _cut_off(self) -> None:
        self._dropped |= self.ongoing.cut_off()
        self._open.forget()
        self._forget_unfinished()

    def _begin_after_test(self, rollout: StartedRollout) -> None:
        """Let the first step be one that is not filled: of a decision that was not carried out."""
        everyone, store = np.arange(self.batch_size), StepWriter(rollout.batch)
        store.write(self.ongoing.observed(), everyone, 0)
        store.write(self.ongoing.decide(self.t_env), everyone, 0)
        self.ongoing.forget()
        rollout.t = 1

    def _longest_rollout(self) -> int:
        return self.batch_size * self.args.rollout_steps

    def _restarted(self, state: dict) -> Any:
        if "test_mode" in state:
            return super()._restarted(state)
        rollout = StartedRollout(self.new_rollout(self.batch_columns))
        rollout.load_state_dict(state)
        return rollout

    def state_dict(self) -> dict:
        return {**super().state_dict(), "open_decisions": self._open.state_dict(), "dropped": self._dropped}

    def load_state_dict(self, state: dict) -> None:
        super().load_state_dict(state)
        self._dropped = bool(state.get("dropped", False))  # checkpoints from before it was kept have none
        known = state.get("open_decisions")
        if known is not None and self.environments_restored and state["ongoing"] is not None:
            self._open.load_state_dict(known)
        else:
            self._open.forget()


def _rows_of(batch: EpisodeBatch, rows: slice) -> EpisodeBatch:
    """Some rows of a batch, on its memory, with what derives from its fields."""
    view = batch[rows]
    view.preprocess = batch.preprocess
    return view


def _cut_before(batch: EpisodeBatch, lost: np.ndarray, t: int) -> None:
    """Let the episodes `lost` (bool `[B]`) end at the step t, which becomes their closing state."""
    rows = np.flatnonzero(lost)
    if t > 0:
        batch["truncated"][rows, t - 1] = 1
    else:  # the step before it was in the last rollout
        batch["filled"][rows, 0] = 0


def _multiple(config: Mapping[str, Any]) -> int:
    """What the steps of a rollout are a multiple of, for learners that cut it into parts: of all teams at once."""
    teams = config.get("teams") or {"": config}
    return lcm(*(own.get("chunk_length", config.get("chunk_length")) or 1 for own in teams.values()))
