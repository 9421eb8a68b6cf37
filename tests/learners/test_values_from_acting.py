"""Values that recurrent agents gave when they acted, in place of those of another pass over the rollout."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch as th

from checks import check_config
from cli.compose import compose_config
from experiment.assembly import assemble
from fakes import RecordingLogger
from utils.config.merging import recursive_dict_update

SIZES = {"batch_size_run": 6, "rollout_steps": 7, "rnn_hidden_dim": 8, "minibatches": 2, "use_cuda": False, "seed": 1}


def _parts(**changes):
    config = compose_config("ippo", "lbf").config
    recursive_dict_update(config, {**SIZES, **changes})
    config["env_args"] |= {"time_limit": 5, "seed": 1}
    th.manual_seed(0)
    np.random.seed(0)
    return assemble(SimpleNamespace(**check_config(config), device="cpu"), RecordingLogger())


@pytest.mark.parametrize("agent", ["rnn", "lstm"])
@pytest.mark.parametrize(("steps", "last_columns"), [(7, {"between", "closing"}), (8, {"between", "first"})])
def test_they_are_those_of_another_pass(agent, steps, last_columns):
    """Episodes of five steps: the last frame of a rollout is an episode's first, its closing one, or between."""
    changes = {"rollout_steps": steps, "obs_last_action": True, "use_rollout_values": True, "keep_memory": True}
    parts = _parts(agent=agent, **changes)
    learner = parts.learning[0].learner
    seen = set()
    with th.no_grad():
        for weight in parts.mac.parameters():
            weight *= 5
    for t in range(6):
        batch = parts.runner.run()
        ended = batch["truncated"][0, :-1, 0].bool() | batch["terminated"][0, :-1, 0].bool()
        seen.add("first" if ended[-2] else "closing" if ended[-1] else "between")
        taken = learner.values(batch)
        learner.state_values._from_acting = False
        passed = learner.values(batch)
        learner.state_values._from_acting = True
        th.testing.assert_close(taken, passed, rtol=1e-4, atol=1e-5)
        assert passed.std() > 0.01
        learner.train(batch, t, 0)
    parts.runner.close_env()
    assert seen == last_columns


def test_they_save_a_pass_over_the_rollout():
    parts = _parts(use_rollout_values=True, keep_memory=True)
    learner, seen = parts.learning[0].learner, []
    batch = parts.runner.run()
    unroll = learner.mac.unroll_packed
    learner.mac.unroll_packed = lambda inputs, *rest: seen.append(len(inputs.steps.places)) or unroll(inputs, *rest)
    learner.train(batch, 0, 0)
    parts.runner.close_env()
    assert seen == [6] + [3 * 7] * (2 * learner.args.epochs)
