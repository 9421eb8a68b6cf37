"""Arguments, batches and a logger for parts that are tried without a run."""

import copy
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as th

from checks.options import declared
from checks.registries import REGISTRIES
from components.episode_batch import EpisodeBatch
from components.scheme import scheme_of
from envs.contract.fields import pymarl_spec

SIZES = {"n_agents": 2, "n_actions": 3, "state_shape": 4, "obs_shape": 5}


def make_args(**changes: Any) -> SimpleNamespace:
    """What parts get as `args`: every key of Muster's at its default, small sizes, and `changes`.

    Defaults are those of the parts that `changes` names, such as `agent="iqn"`, where others have the key, too.
    """
    defaults = {key: option.default for key, option in declared().items()}
    for kind, registry in REGISTRIES.items():
        if changes.get(kind) in registry:
            defaults |= registry.entry(changes[kind]).defaults
    changes = {"device": "cpu", "use_cuda": False, "seed": 1, "meaning": None, **changes}
    return SimpleNamespace(**{**copy.deepcopy(defaults), **SIZES, **changes})


def empty_batch(batch_size: int, max_seq_length: int, **sizes: int) -> EpisodeBatch:
    """An EpisodeBatch with the scheme of a run, in which nothing was played; `sizes`: other ones than `SIZES`."""
    scheme, groups, preprocess = scheme_of(pymarl_spec({**SIZES, **sizes}))
    return EpisodeBatch(scheme, groups, batch_size, max_seq_length, preprocess=preprocess)


def random_batch(
    lengths: Sequence[int], max_seq_length: int, ends: str | Sequence[str] = "terminated", seed: int = 0, **sizes: int
) -> EpisodeBatch:
    """Episodes of the given lengths, filled as runners fill them.

    Args:
        lengths: steps of each episode, below `max_seq_length`.
        ends: how each ends, or all: "terminated" or "truncated".
    """
    rng = np.random.default_rng(seed)
    ends = [ends] * len(lengths) if isinstance(ends, str) else ends
    batch = empty_batch(len(lengths), max_seq_length, **sizes)
    n_agents, n_actions = batch["avail_actions"].shape[2:]
    for row, (length, end) in enumerate(zip(lengths, ends, strict=True)):
        for t in range(length + 1):
            actions = rng.integers(n_actions, size=(n_agents, 1))
            avail = rng.integers(2, size=(n_agents, n_actions))
            np.put_along_axis(avail, actions, 1, axis=1)
            batch.update(
                {
                    "state": rng.normal(size=batch["state"].shape[2:]),
                    "obs": rng.normal(size=batch["obs"].shape[2:]),
                    "avail_actions": avail,
                    "actions": actions,
                },
                bs=row,
                ts=t,
            )
            if t < length:
                last = t == length - 1
                outcome = {"reward": rng.normal(), "terminated": last and end == "terminated"}
                batch.update({**outcome, "truncated": last and end == "truncated"}, bs=row, ts=t)
    return batch


def fill(parameters: Iterable[th.Tensor], seed: int = 0, scale: float = 0.3) -> None:
    """Give parameters reproducible random values."""
    generator = th.Generator().manual_seed(seed)
    with th.no_grad():
        for parameter in parameters:
            parameter.copy_(scale * th.randn(parameter.shape, generator=generator))
