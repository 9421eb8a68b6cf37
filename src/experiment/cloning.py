"""Behavioural cloning (Pomerleau 1989): a policy learns, from recorded steps, to choose what was chosen."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as th

from components.episode_batch import EpisodeBatch
from controllers.contract import controller
from experiment.assembly import assemble_players, learner_for
from experiment.recordings import Recording
from learners.q_targets import masked_mean
from modules.policies.policy import plain
from records.logger import Logger
from utils.errors import ConfigError
from utils.tensors.optimisers import build_optimiser
from utils.tensors.schemes import choice_masks, chosen_fields


@dataclass(frozen=True)
class Plan:
    """Passes over the recording, steps of an update, and the share of episodes that is only tested on."""

    epochs: int = 20
    batch_size: int = 256
    test_share: float = 0.1


def clone(args: SimpleNamespace, logger: Logger, recording: Recording, plan: Plan, folder: Path) -> dict[str, float]:
    """Train the controller of a config on a recording and save it in `<folder>/0`, with a learner that starts there.

    So a run can load it and learn on from its step 0, with optimisers and critics that are new.

    The loss is the mean negative log-likelihood of the actions over actors that had more than one legal choice.

    Returns:
        the figures of the last epoch: cloning_loss, cloning_accuracy, test_cloning_loss, test_cloning_accuracy.

    Raises:
        ConfigError: the recording does not fit the environment, or the controller has a memory or no policy.
    """
    players = assemble_players(args, logger)
    players.runner.close_env()
    mac = players.mac
    if not (controller(mac).memoryless and hasattr(mac, "distribution")):
        raise ConfigError(f"mac={args.mac}: cloning takes a policy without a memory, such as mac=entity_mac.")
    if chosen_fields(players.scheme) != ["actions"]:
        raise ConfigError("Cloning takes an environment with one field of discrete actions.")
    steps = _batch_of(recording, players)
    trained, tested = recording.split(plan.test_share, args.seed)
    if hasattr(mac, "take_in"):
        mac.take_in(steps[trained], steps[trained]["filled"])
    optimiser = build_optimiser(list(mac.parameters()), args.lr, args)
    order, updates, figures = np.random.default_rng(args.seed), 0, {}
    for epoch in range(1, plan.epochs + 1):
        for numbers in np.array_split(order.permutation(len(trained)), -(-len(trained) // plan.batch_size)):
            loss, _ = _likelihood(mac, steps[trained[th.as_tensor(numbers)]])
            optimiser.zero_grad()
            loss.backward()
            th.nn.utils.clip_grad_norm_(list(mac.parameters()), args.grad_norm_clip)
            optimiser.step()
            updates += 1
        figures = _figures(mac, steps, {"": trained, "test_": tested})
        for key, value in figures.items():
            logger.log_stat(key, value, updates)
        told = ", ".join(f"{key} {value:.4f}" for key, value in figures.items())
        logger.console_logger.info(f"Epoch {epoch} of {plan.epochs}: {told}")
    models = folder / "0"
    models.mkdir(parents=True, mode=0o700)
    learner_for(players, logger).save_models(str(models))
    return figures


def _batch_of(recording: Recording, players: Any) -> EpisodeBatch:
    """All steps as episodes of one step."""
    count = len(recording.steps["episode"])
    batch = EpisodeBatch(players.scheme, players.groups, count, 1, preprocess=players.preprocess)
    fields = {}
    for key, info in players.scheme.items():
        if key in recording.steps:
            found, expected = tuple(recording.steps[key].shape[1:]), tuple(batch[key].shape[2:])
            if found != expected:
                raise ConfigError(
                    f"The recording's field '{key}' has the shape {found}, and the environment's {expected}."
                )
            fields[key] = recording.steps[key].unsqueeze(1)
        elif info.get("kind") in ("observation", "mask", "action"):
            raise ConfigError(f"The recording has no field '{key}', which the environment has.")
    batch.update(fields, ts=slice(0, 1))
    return batch


def _likelihood(mac: Any, steps: EpisodeBatch) -> tuple[th.Tensor, th.Tensor]:
    """The mean negative log-likelihood of the actions, and the share of them that the policy finds most likely."""
    outputs, _ = mac.unroll(steps)
    masks = {mask: steps[mask] for mask in choice_masks(steps.scheme).values()}
    policy, chosen = mac.distribution(outputs, masks), plain(steps["actions"], outputs.dim() - 1)
    legal = next(iter(masks.values()))
    several = ((legal != 0).sum(-1) > 1).to(outputs.dtype)
    right = (policy.mode()["actions"] == chosen).to(outputs.dtype)
    return -masked_mean(policy.log_prob({"actions": chosen}), several), masked_mean(right, several)


@th.no_grad()
def _figures(mac: Any, steps: EpisodeBatch, parts: dict[str, th.Tensor]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for prefix, numbers in parts.items():
        loss, accuracy = _likelihood(mac, steps[numbers])
        figures |= {f"{prefix}cloning_loss": loss.item(), f"{prefix}cloning_accuracy": accuracy.item()}
    return figures
