"""The loop: the runner plays, the buffer keeps, the learner learns; now and then a test, a save, a summary."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from collection import lag_of
from collection.synchronous import best_episodes
from components.sampling.compose import Minibatches
from experiment.ailments import Ailments
from experiment.assembly import Parts
from experiment.best_episodes import SavedBestEpisodes
from experiment.callbacks import Training
from experiment.contracts import PlainBuffer, PlainLearner
from experiment.inspection import Inspection
from experiment.out_of_memory import out_of_memory
from experiment.rare_infos import RareInfos
from experiment.replay_recording import save_replay
from experiment.saved_models import SavedModels
from experiment.saving import RunSaver
from experiment.teams import Member
from experiment.vitals import Vitals
from learners.averages import with_averages
from learners.histograms import keep_histograms
from learners.non_finite import NonFiniteError, non_finite_part
from records.layout import FAULTS, RUNS
from records.logger import Logger
from utils.errors import MusterError
from utils.plain_values import counted
from utils.processes.allocation import FreedMemory
from utils.processes.stop_signals import Interrupted, StopSignals
from utils.processes.stopping import StopPlaying
from utils.timehelper import time_str, time_to_go
from utils.timing import timed

NONE_LEFT = object()


class TrainingLoop:
    """Trains until `t_max`, `max_updates` or `max_hours`.

    Between any two rollouts everything that changes is in `state_dict`s.

    Args:
        args: the config, with the sizes that `assemble` added.
        parts: of the run.
        logger: where statistics go.
        saver: of the run's checkpoints.
        signals: handled after every rollout.
    """

    def __init__(self, args: SimpleNamespace, parts: Parts, logger: Logger, saver: RunSaver, signals: StopSignals):
        self.args, self.parts, self.logger, self.saver, self.signals = args, parts, logger, saver, signals
        self.console = logger.console_logger
        self.collection, self.state = parts.collection, parts.loop
        self._models = SavedModels(args, parts.models, logger)
        self._best = SavedBestEpisodes(args, parts.models, logger)
        faults = Path(args.local_results_path, RUNS, args.unique_token, FAULTS)
        self._inspection = Inspection(faults, parts.models, self.console)
        self._rare_infos = RareInfos(parts.runner, self.console)
        self._vitals = Vitals(parts.runner.spec, parts.diagnostics, args.log_interval)
        self._ailments = Ailments(vars(args), logger, self._vitals)
        self._freed_memory = FreedMemory()
        self._training, self._callbacks = Training(args, parts, logger, saver), parts.callbacks
        self._start_time = self._last_time = time.monotonic()

    def run(self) -> None:
        """Train to the end.

        Raises:
            Interrupted: by a signal; a checkpoint was written.
            MusterError: something failed; the message names the files that were kept.
        """
        self._start_t = self._last_t = self.collection.t_env
        if not self.args.test_nepisode:
            self.state.testing = None  # of a run that stopped within a test, and resumes without
        if not self.saver.resumed:
            self.state.start_T = self._start_t
        if limit := self._reached():
            done = f"All {self.args.t_max} steps are done" if limit == "t_max" else f"{limit} is reached"
            self.console.info(f"{done}; a larger {limit} continues the training.")
        else:
            self.saver.folder.unmark()
            self.console.info(f"Beginning training for {self.args.t_max} timesteps")
        self.logger.setup_progress(self.args.t_max, self._start_t)
        try:
            with self.signals.watching():
                self._train_or_stop()
            self._call_back_at_end(None)
        except Interrupted as error:
            self._call_back_at_end(error)
            raise
        except Exception as error:
            fault = out_of_memory(error, self.args, self.parts) or error
            # keep the work before the fault
            hint = self.saver.save_after_fault()
            self._call_back_at_end(fault)
            if isinstance(fault, MusterError):
                fault.args = (f"{fault}\n{hint}",)
            else:
                self.console.error(hint)
            if fault is not error:
                raise fault from error
            raise
        finally:
            self.collection.close()
            self.saver.close()
        passed = time_str(time.monotonic() - self._start_time)
        self.console.info(f"Finished Training: {self.collection.t_env} steps in {passed}")

    def _train_or_stop(self) -> None:
        try:
            self._train()
        except StopPlaying:
            self._heed_signals()
            raise

    def _train(self) -> None:
        args, state = self.args, self.state
        if self._callbacks is not None:
            self._callbacks.call("on_setup", self._training)
        while state.testing is not None or not self._reached():
            if state.testing is None:
                with timed("train"):
                    self._gather_and_learn()
            if state.testing is not None:
                self._show_time_left()
                self._test()
            t_env = self.collection.t_env
            if args.save_model and self._save_due(t_env):
                with timed("save"):
                    self._save_models(t_env)
            if t_env - state.last_log_T >= args.log_interval:
                self._log_summary(t_env)
            self.logger.show_progress(t_env)
            self._freed_memory.give_back()
            self._heed_signals()
            if self.saver.due(t_env):
                with timed("save"):
                    self.saver.begin()
        self._finish()

    def _gather_and_learn(self) -> None:
        args, state, parts = self.args, self.state, self.parts
        parts.live.before_rollout(self.collection.t_env, self.logger)
        with timed("play"), self.signals.playing():
            experience = self.collection.take()
        self._best.keep(experience.best)
        batch, t_env, state.weight_lag = experience.batch, experience.t_env, experience.lag
        if self._callbacks is not None:
            self._callbacks.call("on_rollout", self._training, batch)
        if all(PlainBuffer.of(team.buffer).taken_on == "cpu" for team in parts.learning):
            batch = batch.on("cpu")  # in one copy, which is looked at and taken apart without waiting for a GPU
        self._rare_infos.look(batch, experience.episodes)
        self._vitals.look(batch, t_env)
        parts.diagnostics.t_env, parts.diagnostics.updates = t_env, state.updates
        due = state.last_test_T is None or t_env - state.last_test_T >= args.test_interval
        if due and args.test_nepisode:
            state.last_test_T = t_env
            state.testing = 0
        elif t_env <= args.t_max:  # the runner plays tests, too
            self.collection.begin_next()
        if self._is_finite(batch, t_env):
            for team in parts.learning:
                if (seen := team.learns_from(batch, experience.learning)) is None:
                    continue
                with timed("store"):
                    # a buffer of the user's own may know of one source only
                    source = (experience.source,) if experience.source else ()
                    added = team.buffer.insert(seen, *source)
                for _ in range(team.plan.due(added)):
                    if team.buffer.ready():
                        self._learn(team, t_env)
        state.episode += experience.episodes
        self.logger.episode = state.episode

    def _learn(self, team: Member, t_env: int) -> None:
        with timed("sample"):
            sample = team.buffer.sample()
        for part in sample if isinstance(sample, Minibatches) else (sample,):
            self._update(team, part, t_env)

    def _update(self, team: Member, sample: Any, t_env: int) -> None:
        learner = PlainLearner.of(team.learner)
        skipped, logged = learner.skipped_updates, learner.log_stats_t
        try:
            with timed("update"):
                team.learner.train(sample, t_env, self.state.episode)
            if skipped is None and (part := non_finite_part(team.mac)):
                raise NonFiniteError(part)  # a learner that does not look itself
        except NonFiniteError as error:
            raise self._not_finite(error.statistic, sample, t_env) from None
        self.state.updates += 1
        self.logger.moved()
        if self._callbacks is not None:
            self._callbacks.call("on_train_step", self._training, sample)
        self.collection.weights_changed = True
        if uses := learner.take_extra_uses():
            team.plan.owe(uses)
        self.parts.diagnostics.updates = self.state.updates
        if "ids" in sample.scheme and (priorities := learner.new_priorities) is not None:
            team.buffer.update_priorities(sample["ids"], priorities)
        if learner.log_stats_t != logged and (loss := team.held_out_loss()) is not None:
            team.logger(self.logger).log_stat("loss_test", loss, t_env)
        if (learner.skipped_updates or 0) > (skipped or 0):
            self._inspect(f"{learner.turned_non_finite}; the update was skipped", sample)

    def _look_at_last_steps(self) -> None:
        """Report steps since the last statistics that were left out on a GPU; the weights are as if none had been."""
        for team in self.parts.learning:
            try:
                PlainLearner.of(team.learner).look_at_steps()
            except NonFiniteError as error:
                self.console.warning(f"Updates at the end of training were left out: {error.statistic} was not finite.")

    def _is_finite(self, batch: Any, t_env: int) -> bool:
        """Whether the rollout can be learned from."""
        place = batch.first_non_finite()
        if place is None:
            return True
        if self.args.on_non_finite == "stop":
            raise self._not_finite(place, batch, t_env)
        self.state.skipped_rollouts += 1
        self._inspect(f"{place}; the rollout was left out", batch)
        return False

    def _not_finite(self, what: str, batch: Any, t_env: int) -> MusterError:
        folder = self._inspect(what, batch, always=True)
        return MusterError(
            f"Not a finite number after {t_env} steps: {what}. Batch, weights and figures are in {folder}. "
            "To leave such updates out instead: on_non_finite=skip."
        )

    def _inspect(self, what: str, batch: Any, always: bool = False) -> Path:
        return self._inspection.keep(what, batch, self.collection.t_env, self.state.episode, always)

    def _test(self) -> None:
        """Play exactly `test_nepisode` episodes, as far as the runner counts (the last rollout may bring more)."""
        with timed("test"):
            self._play_test()
        self.logger.print_test(self.collection.t_env)
        self._rare_infos.tell()
        if self._keeps_models:
            self._models.save_best(self.collection.t_env)
        if self._callbacks is not None:
            self._callbacks.test(self._training)

    def _play_test(self) -> None:
        state, parts = self.state, self.parts
        begun = state.testing or 0
        learners = [team.learner for team in parts.learning]
        for played in self._played(with_averages(learners, self.collection.test(parts.test_stream, begun))):
            state.testing = played
            self._best.keep(best_episodes(parts.runner))
            self._heed_signals()
        if parts.opponents is not None:
            for _ in self._played(with_averages(learners, parts.opponents.test(parts.runner, parts.test_stream))):
                self._heed_signals()
        state.testing = None

    def _played(self, rollouts: Iterator[Any]) -> Iterator[Any]:
        """These, each played when it is asked for."""
        while True:
            with self.signals.playing():
                played = next(rollouts, NONE_LEFT)
            if played is NONE_LEFT:
                return
            yield played

    def _show_time_left(self) -> None:
        t_env = self.collection.t_env
        if self.logger.progress is None and t_env > self._last_t > self._start_t:  # the first steps give no speed
            self.console.info(f"t_env: {t_env} / {self.args.t_max}")
            left = time_to_go(time.monotonic() - self._last_time, self._last_t, t_env, self.args.t_max)
            passed = time_str(time.monotonic() - self._start_time)
            self.console.info(f"Estimated time left: {left}. Time passed: {passed}")
        self._last_time, self._last_t = time.monotonic(), t_env

    def _finish(self) -> None:
        """The last test, save and summary; a longer run resumes from before them."""
        args, state, t_env = self.args, self.state, self.collection.t_env
        trained = t_env > state.start_T
        self._look_at_last_steps()
        if trained:
            self.saver.save_last()
            self.collection.log_pending()
        if args.test_nepisode and state.last_test_T != t_env and trained:
            state.last_test_T, state.testing = t_env, 0
            self._test()
        if self._keeps_models and state.last_save_T != t_env and trained:
            self._save_models(t_env)
        save_replay(args, self.parts.runner, self.logger)
        if state.last_log_T != t_env:
            self._log_summary(t_env)
        self._rare_infos.tell(at_end=True)
        self.logger.close()
        self._mark_done()

    def _reached(self) -> str:
        """The limit of the run that is reached, a key of the config; empty if none is."""
        args, hours = self.args, self.logger.seconds() / 3600
        limits = {
            "t_max": self.collection.t_env > args.t_max,
            "max_updates": args.max_updates and self.state.updates >= args.max_updates,
            "max_hours": args.max_hours and hours >= args.max_hours,
            "callbacks": self._training.stopped,
        }
        return next((key for key, reached in limits.items() if reached), "")

    def _call_back_at_end(self, error: BaseException | None) -> None:
        if self._callbacks is not None:
            self._callbacks.end(self._training, error)

    def _mark_done(self) -> None:
        figures = {"limit": self._reached(), "t_env": self.collection.t_env, "updates": self.state.updates}
        try:
            self.saver.folder.mark_done(figures)
        except OSError as error:
            self.console.warning(f"The run could not be marked as done: {error}")

    def _log_summary(self, t_env: int) -> None:
        self.state.last_log_T = t_env
        skipped = sum(PlainLearner.of(team.learner).skipped_updates or 0 for team in self.parts.learning)
        for key, count in {"skipped_updates": skipped, "skipped_rollouts": self.state.skipped_rollouts}.items():
            if count:
                self.logger.log_stat(key, count, t_env)
        if lag_of(self.args.collection):
            self.logger.log_stat("weight_lag", self.state.weight_lag, t_env)
        for key, figure in self.collection.figures().items():
            self.logger.log_stat(key, figure, t_env)
        self.logger.log_stat("episode", self.state.episode, t_env)
        if self.args.histograms:
            for team in self.parts.learning:
                keep_histograms(team.learner, team.mac, team.name)
        self._vitals.write()
        self.parts.diagnostics.write()
        self.logger.print_recent_stats()
        self._ailments.look()

    @property
    def _keeps_models(self) -> bool:
        """Whether the last and the best models are saved: with `save_model=null`, those of a run that keeps results."""
        return self.saver.folder.is_open if self.args.save_model is None else self.args.save_model

    def _save_due(self, t_env: int) -> bool:
        return self.state.last_save_T is None or t_env - self.state.last_save_T >= self.args.save_model_interval

    def _save_models(self, t_env: int) -> None:
        self.state.last_save_T = t_env
        self._models.save(t_env)

    def _heed_signals(self) -> None:
        """On SIGUSR1, save; on a signal to stop, save and stop."""
        self.logger.moved()
        signals = self.signals
        if signals.stop is not None:
            name, kept = signal.Signals(signals.stop).name, self.saver.save_now()
            self._report_rollout()
            raise Interrupted(signals.stop, f"Interrupted by {name}. {kept}")
        if signals.save:
            signals.save = False
            self.console.info("SIGUSR1: writing a checkpoint")
            self.saver.begin()

    def _report_rollout(self) -> None:
        """Log what becomes of a rollout that was being played."""
        collection = self.collection
        if not collection.steps_in_play:
            return
        steps = f"{counted(collection.steps_in_play, 'step')} of the rollout that was being played"
        if collection.dropped_because:
            self.console.warning(f"{steps} are dropped, because {collection.dropped_because}.")
        else:
            self.console.info(f"The checkpoint also has {steps}.")
