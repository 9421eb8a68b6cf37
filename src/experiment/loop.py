"""The loop: the runner plays, the buffer keeps, the learner learns; now and then a test, a save, a summary."""

import signal
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from collection.contract import Experience
from collection.synchronous import best_episodes
from components.episode_batch import EpisodeBatch
from experiment.assembly import Parts
from experiment.best_episodes import SavedBestEpisodes
from experiment.callbacks import Training
from experiment.contracts import PlainBuffer
from experiment.out_of_memory import out_of_memory
from experiment.rare_infos import RareInfos
from experiment.replay_recording import save_replay
from experiment.saved_models import SavedModels
from experiment.saving import RunSaver
from experiment.shared_updates import Alone
from experiment.summaries import Summaries
from experiment.tracing import Tracing
from experiment.updates import Updates
from experiment.vitals import Vitals
from learners.averages import with_averages
from records.logger import Logger
from utils.errors import MusterError
from utils.plain_values import counted
from utils.processes.allocation import FreedMemory
from utils.processes.stop_signals import Interrupted, StopSignals
from utils.processes.stopping import StopPlaying
from utils.timing import timed

NONE_LEFT = object()


class TrainingLoop:
    """Trains until `t_max`, `stop_at`, `max_updates` or `max_hours`.

    Between any two rollouts everything that changes is in `state_dict`s.

    Args:
        args: the config, with the sizes that `assemble` added.
        parts: of the run.
        logger: where statistics go.
        saver: of the run's checkpoints.
        signals: handled after every rollout.
        learners: calls them; None: in this process alone.
    """

    def __init__(
        self,
        args: SimpleNamespace,
        parts: Parts,
        logger: Logger,
        saver: RunSaver,
        signals: StopSignals,
        learners: Alone | None = None,
    ):
        self.args, self.parts, self.logger, self.saver, self.signals = args, parts, logger, saver, signals
        self.console = logger.console_logger
        self.collection, self.state = parts.collection, parts.loop
        self._models = SavedModels(args, parts.models, logger)
        self._best = SavedBestEpisodes(args, parts.models, logger)
        self._rare_infos = RareInfos(parts.runner, self.console)
        self._vitals = Vitals(parts.runner.spec, parts.diagnostics, args.log_interval)
        self._freed_memory = FreedMemory()
        self._tracing = Tracing(args, lambda: saver.folder, self.console)
        self._training, self._callbacks = Training(args, parts, logger, saver), parts.callbacks
        self._updates = Updates(args, parts, logger, self._training, learners or Alone())
        self._summaries = Summaries(args, parts, logger, self._updates, self._vitals)

    def run(self) -> None:
        """Train to the end.

        Raises:
            Interrupted: by a signal; a checkpoint was written.
            MusterError: something failed; the message names the files that were kept.
        """
        begun = self.collection.t_env
        self._summaries.begin(begun)
        if not self.args.test_nepisode:
            self.state.testing = None  # of a run that stopped within a test, and resumes without
        if not self.saver.resumed:
            self.state.start_T = begun
        if limit := self._reached():
            done = f"All {self.args.t_max} steps are done" if limit == "t_max" else f"{limit} is reached"
            self.console.info(f"{done}; a larger {limit} continues the training.")
        else:
            self.saver.folder.unmark()
            self.console.info(f"Beginning training for {self.args.t_max} timesteps")
        self.logger.setup_progress(self.args.t_max, begun)
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
            self._tracing.close()
            self.collection.close()
            self.saver.close()
        if self.parts.recorder is not None:
            self.parts.recorder.close()
        self.console.info(f"Finished Training: {self.collection.t_env} steps in {self._summaries.passed()}")

    def mark_done(self) -> None:
        """After `run`: write into the run's folder which limit it has reached; a failure is logged."""
        figures = {"limit": self._reached(), "t_env": self.collection.t_env, "updates": self.state.updates}
        try:
            self.saver.folder.mark_done(figures)
        except OSError as error:
            self.console.warning(f"The run could not be marked as done: {error}")

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
                with self._tracing.round(self.collection.t_env), timed("train"):
                    self._gather_and_learn()
            if state.testing is not None:
                self._summaries.show_time_left(self.collection.t_env)
                self._test()
            t_env = self.collection.t_env
            if args.save_model and self._save_due(t_env):
                with timed("save"):
                    self._save_models(t_env)
            if t_env - state.last_log_T >= args.log_interval:
                self._summaries.log(t_env)
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
        if batch is not None:
            batch = self._look_at(batch, experience)
        parts.diagnostics.t_env, parts.diagnostics.updates = t_env, state.updates
        due = state.last_test_T is None or t_env - state.last_test_T >= args.test_interval
        if due and args.test_nepisode:
            state.last_test_T = t_env
            state.testing = 0
        elif t_env <= args.t_max:  # the runner plays tests, too
            self.collection.begin_next()
        self._updates.learn_from(batch, experience, t_env)
        state.episode += experience.episodes
        self.logger.episode = state.episode

    def _look_at(self, batch: EpisodeBatch, experience: Experience) -> EpisodeBatch:
        """Let all see a rollout that do; returns it where the buffers take it."""
        if self._callbacks is not None:
            self._callbacks.call("on_rollout", self._training, batch)
        if all(PlainBuffer.of(team.buffer).taken_on == "cpu" for team in self.parts.learning):
            batch = batch.on("cpu")  # in one copy, which is looked at and taken apart without waiting for a GPU
        if self.parts.recorder is not None and experience.t_env > self.args.record_data_from:
            self.parts.recorder.take(batch, experience.source)
        self._rare_infos.look(batch, experience.episodes)
        self._vitals.look(batch, experience.t_env)
        return batch

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
        if parts.exploitability is not None:
            parts.exploitability.log(self.collection.t_env)
        state.testing = None

    def _played(self, rollouts: Iterator[Any]) -> Iterator[Any]:
        """These, each played when it is asked for."""
        while True:
            with self.signals.playing():
                played = next(rollouts, NONE_LEFT)
            if played is NONE_LEFT:
                return
            yield played

    def _finish(self) -> None:
        """The last test, save and summary; a longer run resumes from before them."""
        args, state, t_env = self.args, self.state, self.collection.t_env
        trained = t_env > state.start_T
        self._updates.look_at_last_steps()
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
            self._summaries.log(t_env)
        self._rare_infos.tell(at_end=True)
        self.logger.close()

    def _reached(self) -> str:
        """The limit of the run that is reached, a key of the config; empty if none is."""
        args, hours = self.args, self.logger.seconds() / 3600
        limits = {
            "t_max": self.collection.t_env > args.t_max,
            "stop_at": args.stop_at and self.collection.t_env >= args.stop_at,
            "max_updates": args.max_updates and self.state.updates >= args.max_updates,
            "max_hours": args.max_hours and hours >= args.max_hours,
            "callbacks": self._training.stopped,
        }
        return next((key for key, reached in limits.items() if reached), "")

    def _call_back_at_end(self, error: BaseException | None) -> None:
        if self._callbacks is not None:
            self._callbacks.end(self._training, error)

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
