"""`keep_memory`: batches with the agents' memory after each decision."""

import pytest
import torch as th

from cli.compose import compose_config
from controllers.unroll import unroll_mac
from modules.agents import REGISTRY as agents
from modules.agents.ff_agent import FFAgent
from small_training import assembled, suited
from team_runs import config_of
from utils.errors import ConfigError
from utils.tensors.tensor_trees import leaves

SMALL = {"batch_size_run": 3, "vector_env": "in_process", "minibatches": 1, "rnn_hidden_dim": 8, "rollout_steps": 7}


def two_step(folder, algorithm, **changes):
    config = compose_config(algorithm, "two_step").config
    suited(config, {**SMALL, "keep_memory": True, "local_results_path": str(folder), **changes})
    return config


def check(batch, memory, key):
    """The kept memory is that of unrolling the controller over the batch, but in the last column."""
    kept = batch.trajectories()[key]
    decided = batch["filled"][:, :-1].bool().unsqueeze(-1) & (batch["terminated"][:, :-1] == 0).unsqueeze(-1)
    assert kept.shape == memory.shape
    assert kept.std() > 0
    assert th.allclose(kept[:, :-1] * decided, memory[:, :-1] * decided, atol=1e-6)


@pytest.mark.parametrize("agent", ["rnn", "lstm"])
@pytest.mark.parametrize("algorithm, runner", [("vdn", "episodes"), ("mappo", "rollout")])
def test_memory_after_each_decision_is_kept(tmp_path, algorithm, runner, agent):
    """By episodes and in rollouts, in which episodes end; of an LSTM it is a tree."""
    with assembled(two_step(tmp_path, algorithm, runner=runner, agent=agent)) as parts:
        parts.collection.take()
        batch = parts.collection.take().batch
        with th.no_grad():
            _, memory = unroll_mac(parts.mac, batch)
    for path, leaf in leaves(memory):
        check(batch, leaf, f"/agents/agents/hidden_state/{path}".rstrip("/"))


def test_a_team_keeps_that_of_its_agents(tmp_path):
    config = config_of(tmp_path, "episodes_continuous", batch_size_run=2)
    config["teams"]["trucks"]["keep_memory"] = True
    with assembled(config) as parts:
        batch = parts.collection.take().batch
    kept = {key for key in batch.scheme if key.partition("/")[2] == "hidden_state"}
    assert kept == {"trucks/hidden_state"}
    assert batch["trucks/hidden_state"].any()


class Forgetful(FFAgent):
    """A user's agent."""

    def init_hidden(self):
        return None


def test_agents_without_a_memory_are_refused(tmp_path, request):
    agents["forgetful"] = Forgetful
    request.addfinalizer(lambda: agents.__delitem__("forgetful"))
    with (
        pytest.raises(ConfigError, match="keep_memory=True: agent=forgetful has no memory"),
        assembled(two_step(tmp_path, "mappo", agent="forgetful")),
    ):
        pass
