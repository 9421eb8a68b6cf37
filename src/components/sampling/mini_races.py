"""Transforms that change what a sample's rewards and ends mean: Linesight's mini-races, and shaping by potentials."""

from typing import Any

import numpy as np
import torch as th

from components.episode_batch import EpisodeBatch
from components.sampling.fields import require_fields, with_more
from utils import rl_utils
from utils.errors import ConfigError
from utils.plain_values import quoted
from utils.tensors.devices import to_device
from utils.tensors.schemes import observed_fields


def mini_race(
    batch: EpisodeBatch, context: Any, horizon: int, early: int, late: int, field: str, index: int, per_step: float
) -> EpisodeBatch:
    """Samples of `n_step` as parts of races that last `horizon` steps.

    Each entry starts at a random time t of a mini-race (`race_times`) and is over where that ends, or the episode does:
    its rewards beyond are left out, and `terminated` is 1. Values are then those of the next `horizon` steps, which
    bounds them with a discount of 1, too. An action at time 0 sees the whole horizon: so acting shows agents the time
    0.

    The time, in units of 1 / `per_step` steps, is written into the observation `field` at `index` of its last axis,
    unless `field` is empty; environments show 0 there. Of several fields, as in `obs/state_float|obs`, it is the first
    that the batch has. The constant field `mini_race_time` has t, int64 `[B]`.

    Raises:
        ConfigError: the observation has no such place, as pictures have none; or times may be beyond the horizon.
    """
    t = to_device(th.from_numpy(race_times(batch.batch_size, horizon, early, late)), batch["n_steps"].device)
    after = t + batch["n_steps"]
    number = batch["n_steps"] - (after - horizon).clamp(min=0)
    over = (number >= batch["terminal_actions"]) | (after >= horizon)
    entries = th.arange(len(t), device=t.device)
    rewards, terminated = batch["reward"].clone(), batch["terminated"].clone()
    rewards[:, 0] = batch["rewards"][entries, number - 1]
    terminated[:, 0, 0] = over.to(terminated.dtype)
    fields = {"reward": rewards, "terminated": terminated}
    if field:
        field = next((name for name in field.split("|") if name in batch.scheme), field)
        _require_room_for_the_time(batch, context.key, field, index)
        fields[field] = batch[field].clone()
        per_agent = [1] * (fields[field].dim() - 3)
        for step, time in enumerate((t, after)):
            fields[field][:, step, ..., index] = (time * per_step).view(-1, *per_agent).to(fields[field].dtype)
    return with_more(batch, fields, {"discount": batch["gammas"][entries, number - 1], "mini_race_time": t})


def _require_room_for_the_time(batch: EpisodeBatch, key: str, field: str, index: int) -> None:
    """Raises: ConfigError: see `mini_race`."""
    if field not in batch.scheme:
        raise ConfigError(
            f"{key}: mini_race.field is {quoted(field)}, which the batch does not have. Agents see "
            f"{', '.join(observed_fields(batch.scheme))}."
        )
    seen = batch[field]
    if not seen.is_floating_point():
        raise ConfigError(
            f"{key}: mini_race.field is {field}, which has no floats to write the time into. Leave field empty, or "
            "mini_race out: the preset iqn_race_pictures learns from pictures."
        )
    size = seen.size(-1)
    if not -size <= index < size:
        raise ConfigError(f"{key}: mini_race.index is {index}; {field} has {size} numbers.")


def race_times(size: int, horizon: int, early: int, late: int) -> np.ndarray:
    """Random times in mini-races, int64 `[size]`: max(0, |U| - late), U from late - early to horizon + late - 1.

    Every time below `horizon` has the same probability, but times from 1 to early - 2 late have twice that, and 0 has
    2 late + 1 times it.

    Raises:
        ConfigError: times would be beyond the horizon.
    """
    if early - 2 * late >= horizon:
        raise ConfigError(
            f"mini_race.early={early} draws times up to {early - 2 * late} steps, beyond the horizon of "
            f"{horizon}. Use at most early={horizon + 2 * late - 1}."
        )
    drawn = np.random.randint(late - early, horizon + late, size=size)
    return np.maximum(0, np.abs(drawn) - late)


def potential_shaping(batch: EpisodeBatch, context: Any, field: str, optional: bool = False) -> EpisodeBatch:
    """Two time steps with gamma Phi(s') - Phi(s) added to the reward, Phi(s') = 0 behind an end (Ng et al. 1999).

    Args:
        field: Phi, `[B, 2, 1]`, or of each agent `[B, 2, n, 1]`; added up where the reward is the team's.
        optional: rewards stay as they are if the batch has no such field.

    Raises:
        ConfigError: the batch has no such field, it is no number, or there are other steps.
    """
    if optional and field not in batch.scheme:
        return batch
    _require_potential(batch, context.key, field)
    potential, rewards = batch[field].float(), batch["reward"].clone()
    if potential.dim() > rewards.dim():
        potential = potential.sum(dim=2)
    gamma = rl_utils.discount_of(batch, context.args.gamma)
    lead = [1] * (rewards.dim() - 3)
    counts = gamma * (1 - batch["terminated"][:, 0].float())
    rewards[:, 0] += counts.view(-1, *lead, 1) * potential[:, 1] - potential[:, 0]
    return with_more(batch, {"reward": rewards})


def _require_potential(batch: EpisodeBatch, key: str, field: str) -> None:
    """Raises: ConfigError: see `potential_shaping`."""
    require_fields(batch, f"{key}: potential_shaping", [field])
    if batch.max_seq_length != 2:
        raise ConfigError(
            f"{key}: potential_shaping takes two time steps, and there are {batch.max_seq_length}. "
            "Put it behind n_step."
        )
    if batch[field].size(-1) != 1:
        raise ConfigError(
            f"{key}: potential_shaping.field is {field}, which has {batch[field].size(-1)} numbers, not 1."
        )
