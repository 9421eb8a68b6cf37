"""Behavioural cloning (Pomerleau 1989) by passes over a data set: a policy learns to choose what was chosen."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as th

from collection.recorded_batches import RecordedBatches
from components.episode_batch import EpisodeBatch
from components.sampling.fields import batch_with
from controllers.contract import controller
from envs.recorded.formats import DataSet
from experiment.assembly import assemble_players, learner_for
from learners.likelihood import likelihood
from learners.q_targets import masked_mean
from records.logger import Logger
from utils.errors import ConfigError
from utils.rl_utils import valid_transitions
from utils.tensors.optimisers import build_optimiser


@dataclass(frozen=True)
class Plan:
    """Passes over the data, steps of an update, and the share of episodes that is only tested on."""

    epochs: int = 20
    batch_size: int = 256
    test_share: float = 0.1


def clone(args: SimpleNamespace, logger: Logger, data: DataSet, plan: Plan, folder: Path) -> dict[str, float]:
    """Train the controller of a config on a data set and save it in `<folder>/0`, with a learner that starts there.

    So a run can load it and learn on from its step 0, with optimisers and critics that are new. A policy without a
    memory learns from single steps in any order, one with a memory from whole episodes.

    The loss is the mean negative log-likelihood of the actions over actors that had more than one legal choice.

    Returns:
        the figures of the last epoch: cloning_loss, test_cloning_loss, and of choices cloning_accuracy,
        test_cloning_accuracy.

    Raises:
        ConfigError: the data do not fit the environment, or the controller has no policy.
    """
    players = assemble_players(args, logger)
    players.runner.close_env()
    mac = players.mac
    if not hasattr(mac, "distribution"):
        raise ConfigError(f"mac={args.mac}: cloning takes a policy, such as mac=policy_mac.")
    examples = Examples(_episodes(data, players), single_steps=_sees_single_steps(mac, args))
    trained, tested = examples.split(plan.test_share, args.seed)
    rows = max(1, round(plan.batch_size / examples.steps_in_a_row))
    if hasattr(mac, "take_in"):
        mac.take_in(examples.batch[trained], examples.batch[trained]["filled"])
    optimiser = build_optimiser(list(mac.parameters()), args.lr, args)
    order, updates, figures = np.random.default_rng(args.seed), 0, {}
    for epoch in range(1, plan.epochs + 1):
        for numbers in np.array_split(order.permutation(len(trained)), -(-len(trained) // rows)):
            loss, _ = examples.loss(mac, trained[th.as_tensor(numbers)])
            optimiser.zero_grad()
            loss.backward()
            th.nn.utils.clip_grad_norm_(list(mac.parameters()), args.grad_norm_clip)
            optimiser.step()
            updates += 1
        figures = _figures(mac, examples, {"": trained, "test_": tested})
        for key, value in figures.items():
            logger.log_stat(key, value, updates)
        told = ", ".join(f"{key} {value:.4f}" for key, value in figures.items())
        logger.console_logger.info(f"Epoch {epoch} of {plan.epochs}: {told}")
    models = folder / "0"
    models.mkdir(parents=True, mode=0o700)
    learner_for(players, logger).save_models(str(models))
    return figures


class Examples:
    """Rows to learn from: whole episodes, or single steps.

    Attributes:
        batch: the rows.
        steps_in_a_row: the mean number of transitions in one.
    """

    def __init__(self, episodes: EpisodeBatch, single_steps: bool):
        done = th.nn.functional.pad(valid_transitions(episodes)[..., 0], (0, 1))
        self.batch, self._mask = episodes, done
        self._episode = th.arange(episodes.batch_size)
        if single_steps:
            rows, columns = (done > 0).nonzero(as_tuple=True)
            steps = {key: x[rows, columns].unsqueeze(1) for key, x in episodes.data.transition_data.items()}
            self.batch = batch_with(episodes, steps, {}, episodes.scheme)
            self._mask, self._episode = done[rows, columns].unsqueeze(1), rows
        self.steps_in_a_row = float(self._mask.sum(1).mean())

    def split(self, test_share: float, seed: int) -> tuple[th.Tensor, th.Tensor]:
        """Which rows to learn from, and which to test on, int64; no episode is in both, and neither is empty.

        Raises:
            ConfigError: there are fewer than two episodes.
        """
        count = int(self._episode.max()) + 1
        if count < 2:
            raise ConfigError(f"The data have {count} episode: it takes two, one of them to test on.")
        order = np.random.default_rng(seed).permutation(count)
        chosen = min(max(round(test_share * count), 1), count - 1)
        tested = th.isin(self._episode, th.as_tensor(order[:chosen]))
        return (~tested).nonzero().squeeze(1), tested.nonzero().squeeze(1)

    def loss(self, mac: Any, rows: th.Tensor) -> tuple[th.Tensor, th.Tensor | None]:
        """Of these rows: the mean negative log-likelihood, and the share that the policy finds most likely."""
        log_prob, right, several = likelihood(mac, self.batch[rows])
        mask = self._mask[rows].unsqueeze(-1) * several
        return -masked_mean(log_prob, mask), None if right is None else masked_mean(right, mask)


def _sees_single_steps(mac: Any, args: SimpleNamespace) -> bool:
    """Whether what a policy does depends on the present step alone."""
    sees_last = "obs_last_action" in vars(args) and args.obs_last_action
    return controller(mac).memoryless and not sees_last


def _episodes(data: DataSet, players: Any) -> EpisodeBatch:
    """All of them, in one batch."""
    (team,) = players.teams
    own = {key: info for key, info in players.scheme.items() if not info.get("decision")}  # a learner's alone
    batches = list(RecordedBatches(data, own, players.groups, players.preprocess, team.args.episode_limit + 1))
    longest = max(batch.max_seq_length for batch in batches)
    tensors = {
        key: th.cat([_longer(batch[key], longest) for batch in batches]) for key in batches[0].data.transition_data
    }
    count = sum(batch.batch_size for batch in batches)
    whole = EpisodeBatch(own, players.groups, count, longest, preprocess=players.preprocess)
    return batch_with(whole, tensors, {}, whole.scheme)


def _longer(x: th.Tensor, length: int) -> th.Tensor:
    """With zeros behind: `[B, length, ...]`."""
    return th.cat([x, x.new_zeros(x.size(0), length - x.size(1), *x.shape[2:])], dim=1)


@th.no_grad()
def _figures(mac: Any, examples: Examples, parts: dict[str, th.Tensor]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for prefix, rows in parts.items():
        loss, accuracy = examples.loss(mac, rows)
        figures[f"{prefix}cloning_loss"] = loss.item()
        if accuracy is not None:
            figures[f"{prefix}cloning_accuracy"] = accuracy.item()
    return figures
