"""What was played goes to the buffers and on to the learners; numbers that are not finite stop it or are left out."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from collection.contract import Experience
from components.sampling.compose import Minibatches
from experiment.assembly import Parts
from experiment.callbacks import Training
from experiment.contracts import PlainLearner
from experiment.inspection import Inspection
from experiment.shared_updates import Alone
from experiment.teams import Member
from learners.non_finite import NonFiniteError, non_finite_part
from records.layout import FAULTS, RUNS
from records.logger import Logger
from utils.errors import MusterError
from utils.timing import timed


class Updates:
    """Learning from rollouts, for every team that learns.

    Args:
        args: the config, with the sizes that `assemble` added.
        parts: of the run; its state counts the updates and the rollouts that were left out.
        logger: where statistics go.
        training: what callbacks get.
        learners: calls them.
    """

    def __init__(self, args: SimpleNamespace, parts: Parts, logger: Logger, training: Training, learners: Alone):
        self.args, self.parts, self.logger, self._training = args, parts, logger, training
        self._learners = learners
        faults = Path(args.local_results_path, RUNS, args.unique_token, FAULTS)
        self._inspection = Inspection(faults, parts.models, logger.console_logger)

    def learn_from(self, batch: Any, experience: Experience, t_env: int) -> None:
        """Store a rollout and make the updates that are due; without one, make an update of each team.

        Args:
            batch: the one of `experience`, where the buffers take it.
            t_env: steps of the run.

        Raises:
            MusterError: a number is not finite, and `on_non_finite` is "stop".
        """
        if batch is None:
            for team in self.parts.learning:
                self._learn(team, t_env)
            return
        if not self._is_finite(batch, t_env):
            return
        for team in self.parts.learning:
            if (seen := team.learns_from(batch, experience.learning)) is None:
                continue
            if PlainLearner.of(team.learner).take_rollout is not None:
                self._learners.call(team, "take_rollout", seen, t_env)
            with timed("store"):
                # a buffer of the user's own may know of one source only
                source = (experience.source,) if experience.source else ()
                added = team.buffer.insert(seen, *source)
            for _ in range(team.plan.due(added)):
                if team.buffer.ready():
                    self._learn(team, t_env)

    def look_at_last_steps(self) -> None:
        """Report steps since the last statistics that were left out on a GPU; the weights are as if none had been."""
        for team in self.parts.learning:
            try:
                PlainLearner.of(team.learner).look_at_steps()
            except NonFiniteError as error:
                text = f"Updates at the end of training were left out: {error.statistic} was not finite."
                self.logger.console_logger.warning(text)

    def skipped(self) -> dict[str, int]:
        """How many updates and rollouts were left out so far."""
        updates = sum(PlainLearner.of(team.learner).skipped_updates or 0 for team in self.parts.learning)
        return {"skipped_updates": updates, "skipped_rollouts": self.parts.loop.skipped_rollouts}

    def _learn(self, team: Member, t_env: int) -> None:
        with timed("sample"):
            sample = team.buffer.sample()
        for part in sample if isinstance(sample, Minibatches) else (sample,):
            self._update(team, part, t_env)

    def _update(self, team: Member, sample: Any, t_env: int) -> None:
        state, learner = self.parts.loop, PlainLearner.of(team.learner)
        skipped, logged = learner.skipped_updates, learner.log_stats_t
        try:
            with timed("update"):
                self._learners.call(team, "update", sample, t_env, state.episode)
            if skipped is None and (part := non_finite_part(team.mac)):
                raise NonFiniteError(part)  # a learner that does not look itself
        except NonFiniteError as error:
            raise self._not_finite(error.statistic, sample, t_env) from None
        state.updates += 1
        self.logger.moved()
        if self.parts.callbacks is not None:
            self.parts.callbacks.call("on_train_step", self._training, sample)
        self.parts.collection.weights_changed = True
        if uses := learner.take_extra_uses():
            team.plan.owe(uses)
        self.parts.diagnostics.updates = state.updates
        if "ids" in sample.scheme and (priorities := learner.new_priorities) is not None:
            team.buffer.update_priorities(sample["ids"], priorities)
        if learner.log_stats_t != logged:
            self._learners.compare()
        if learner.log_stats_t != logged and (loss := team.held_out_loss()) is not None:
            team.logger(self.logger).log_stat("loss_test", loss, t_env)
        if (learner.skipped_updates or 0) > (skipped or 0):
            self._inspect(f"{learner.turned_non_finite}; the update was skipped", sample)

    def _is_finite(self, batch: Any, t_env: int) -> bool:
        """Whether the rollout can be learned from."""
        place = batch.first_non_finite()
        if place is None:
            return True
        if self.args.on_non_finite == "stop":
            raise self._not_finite(place, batch, t_env)
        self.parts.loop.skipped_rollouts += 1
        self._inspect(f"{place}; the rollout was left out", batch)
        return False

    def _not_finite(self, what: str, batch: Any, t_env: int) -> MusterError:
        folder = self._inspect(what, batch, always=True)
        return MusterError(
            f"Not a finite number after {t_env} steps: {what}. Batch, weights and figures are in {folder}. "
            "To leave such updates out instead: on_non_finite=skip."
        )

    def _inspect(self, what: str, batch: Any, always: bool = False) -> Path:
        return self._inspection.keep(what, batch, self.parts.collection.t_env, self.parts.loop.episode, always)
