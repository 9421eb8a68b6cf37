"""Parts of a run over entities, and rollouts that it plays."""

from types import SimpleNamespace

import numpy as np
import torch as th

from checks import check_config
from cli.compose import compose_config
from experiment.assembly import assemble
from fakes import RecordingLogger
from utils.config.merging import recursive_dict_update

SETTINGS = {
    "batch_size_run": 4,
    "rollout_steps": 6,
    "minibatches": 1,
    "learner_log_interval": 1,
    "test_nepisode": 2,
    "seed": 1,
    "use_cuda": False,
}
CANNON = {"orbital_cannon": True, "cooldown_period": 1, "width": 4, "height": 4}


def parts_of(environment="MineSweeper", kwargs=None, **changes):
    """The parts of a run of `enn_ppo`, by default on MineSweeper with a cannon: actors of two kinds, now and then."""
    config = compose_config("enn_ppo", "entities").config
    recursive_dict_update(config, {**SETTINGS, **changes})
    kwargs = CANNON if kwargs is None else kwargs
    config["env_args"] |= {"environment": environment, "kwargs": kwargs, "episode_limit": 9, "seed": 1}
    th.manual_seed(0)
    np.random.seed(0)
    parts = assemble(SimpleNamespace(**check_config(config), device="cpu"), RecordingLogger())
    return parts, parts.learning[0].learner
