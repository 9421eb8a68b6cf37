"""The loop of a run, watched, and its updates: the losses that each logged, and the networks that it changed."""

import math
from dataclasses import dataclass, field

import torch as th

from experiment.loop import TrainingLoop
from learners import REGISTRY
from learners.intrinsic.rewards import NAME
from utils.logging import Logger

# networks of intrinsic rewards, which learn before a learner's `train`
LEFT_OUT = (NAME, "curiosity_values")


@dataclass
class Update:
    """One call of `train`: its step, logged statistics, and for each network whether it has other weights now."""

    t_env: int
    stats: dict[str, object] = field(default_factory=dict)
    changed: dict[str, bool] = field(default_factory=dict)


def watch_updates(monkeypatch, learner):
    """A list that gets an `Update` for every call of `train` of the learner of this name, in the runs that follow."""
    updates = []
    cls = REGISTRY[learner]
    train, log_stat = cls.train, Logger.log_stat

    def watched_train(self, batch, t_env, episode_num):
        others = {key: list(network.parameters()) for key, network in self.networks.items() if key not in LEFT_OUT}
        networks = {"agent": list(self.mac.parameters()), **others}
        before = {
            name: [weight.detach().clone() for weight in weights] for name, weights in networks.items() if weights
        }
        updates.append(Update(t_env))
        result = train(self, batch, t_env, episode_num)
        updates[-1].changed = {
            name: any(not th.equal(old, new) for old, new in zip(before[name], networks[name], strict=True))
            for name in before
        }
        return result

    def watched_stat(self, key, value, t, to_sacred=True):
        if updates:
            updates[-1].stats.setdefault(key, value)
        return log_stat(self, key, value, t, to_sacred)

    monkeypatch.setattr(cls, "train", watched_train)
    monkeypatch.setattr(Logger, "log_stat", watched_stat)
    return updates


def assert_learnt(updates, least=3):
    """Each first update after a step logged finite losses; so many of all changed the weights of each network."""
    assert updates
    first_after_a_step = {update.t_env: update for update in reversed(updates)}
    for update in first_after_a_step.values():
        losses = {key: value for key, value in update.stats.items() if key.endswith("loss")}
        assert losses, update.stats
        assert all(math.isfinite(value) for value in losses.values()), losses
    for name in updates[0].changed:
        # COMA's first update may leave the agents as they are: with epsilon 1, their policy does not depend on them
        assert sum(update.changed[name] for update in updates) >= least, (name, [u.changed for u in updates])


def watch_loop(monkeypatch, notice):
    """Call `notice(loop)` whenever the loop of a run has gathered and learned."""
    original = TrainingLoop._gather_and_learn

    def gather(loop):
        original(loop)
        notice(loop)

    monkeypatch.setattr(TrainingLoop, "_gather_and_learn", gather)
