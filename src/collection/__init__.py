"""Acting: when the runner plays, and with which weights."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from utils.config.options import EXPERIENCE, FREE, SHARED, STEPS, Option
from utils.config.reach import NOWHERE
from utils.config.registry import Registry

if TYPE_CHECKING:  # which import torch
    from collection.contract import Collection
    from components.episode_batch import EpisodeBatch
    from runners.contract import Runner

REGISTRY = Registry("way of acting")
REGISTRY.declare(
    "sync",
    "collection.synchronous:SyncCollection",
    "a rollout, then its updates: each is played with the newest weights",
    lag=0,
    options={},
)
REGISTRY.declare(
    "async",
    "collection.asynchronous:AsyncCollection",
    "the next rollout is played in a thread during the updates; its weights are one round of updates older",
    lag=1,
    options={},
)
REGISTRY.declare(
    "data",
    "collection.from_data:FromData",
    "no rollouts: updates on the data set that dataset names, which chooses this; then rollouts, if dataset_updates "
    "says when",
    lag=0,
    options={
        "dataset_updates": Option(
            None,
            "updates on the data before the run also plays, each of which counts as a step; null: it never plays",
            nullable=True,
            kind=int,
            at_least=1,
            at_most=STEPS,
            resume=EXPERIENCE,
        )
    },
)
REGISTRY.declare(
    "collectors",
    "collection.collectors:Collectors",
    "rollouts are played in other processes, with weights of a bounded age (runner=collectors means this)",
    lag=1,
    options={
        "collectors": Option(
            SHARED,
            "collectors: processes, runner, queue, max_lag, pull_steps, deterministic, timeout, restarts, transport, "
            "address, cpus, gpus (docs/trackmania.md, docs/suites.md)",
            resume=FREE,
            reaches=NOWHERE,
        )
    },
)


def build(
    args: SimpleNamespace, runner: "Runner", mac: Any, acting_mac: Any, logger: Any, like: "EpisodeBatch"
) -> "Collection":
    """The part that `args.collection` names.

    Args:
        runner: acts with `acting_mac`.
        mac: the learner's controller.
        acting_mac: `mac` itself, or a copy of it, which is brought up to date before each rollout; a collection
            with a lag needs a copy.
        logger: the one that the runner logs to.
        like: anything with the scheme, groups and preprocess of the runner's batches.
    """
    from collection.contract import Collection, PlainCollection

    made = REGISTRY[args.collection](runner, mac, acting_mac, logger, like)
    return made if isinstance(made, Collection) else PlainCollection.of(made)


def lag_of(name: str) -> int:
    """How many rollouts the acting weights lag behind the learner's; 0 for a user's own collection."""
    return REGISTRY.entry(name).traits.get("lag", 0)
