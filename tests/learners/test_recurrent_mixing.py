"""A mixer whose tokens are handed on gets the agents' memories, from the first step on, of the right networks."""

import pytest
import torch as th

from checks import check_config
from cli.compose import compose_config
from controllers.basic_controller import BasicMAC
from controllers.unroll import unroll_mac
from fakes import RecordingLogger
from helpers import fill, make_args, random_batch
from learners.q_learner import QLearner
from utils.errors import ConfigError
from utils.meanings import AGENT, ENEMY, OWN, Action, Columns, Meaning


def learner_of(batch, **changes):
    seen, state = Columns(), Columns("state")
    seen.add(OWN, "a")
    seen.add(ENEMY, "xy", 2)
    state.add(AGENT, "a", 2)
    state.add(ENEMY, "x", 2)
    actions = Action("attack 1", (ENEMY, 1)), Action("wait"), Action("attack 0", (ENEMY, 0))
    settings = {"agent": "transf", "mixer": "transf", "transformer_embed_dim": 6, "transformer_heads": 2}
    settings |= {"mixer_heads": 2, "obs_last_action": False, "obs_agent_id": False, "learner_log_interval": 1}
    settings |= {"double_q": False, "td_lambda": 0.0, "gamma": 0.9}
    settings["meaning"] = Meaning(tuple(seen.groups), actions, tuple(state.groups))
    args = make_args(**{**settings, **changes})
    learner = QLearner(BasicMAC(batch.scheme, batch.groups, args), batch.scheme, RecordingLogger(), args)
    parts = [learner.mac.agent, learner.target_mac.agent, learner.mixer, learner.target_mixer]
    for seed, part in enumerate(parts):
        fill(part.parameters(), seed=seed)
    return learner


def test_the_loss_is_of_weights_that_know_the_episode():
    batch = random_batch([4, 2], 5, ends=["terminated", "truncated"])
    learner, state = learner_of(batch), batch["state"]
    with th.no_grad():
        outputs, memory = unroll_mac(learner.mac, batch)
        later, later_memory = unroll_mac(learner.target_mac, batch)
        chosen = outputs.gather(3, batch["actions"]).squeeze(3)
        best = later.masked_fill(batch["avail_actions"] == 0, -1e9).amax(3)
        values = learner.mixer(chosen, state, memory)[:, :4]
        following = learner.target_mixer(best, state, later_memory)[:, 1:]
        # tokens of the first step count in the second
        assert not th.allclose(following, learner.target_mixer(best[:, 1:], state[:, 1:], later_memory[:, 1:]))
    targets = batch["reward"][:, :4] + 0.9 * (1 - batch["terminated"][:, :4].float()) * following
    errors = ((values - targets) ** 2).squeeze(2)
    learner.train(batch, 10, 0)
    expected = (errors[0].sum() + errors[1, :2].sum()) / 6
    assert learner.logger.last()["loss"] == pytest.approx(expected.item(), rel=1e-4)


def test_agents_learn_nothing_from_their_memory_as_a_token():
    batch = random_batch([4, 2], 5)
    learner = learner_of(batch)
    # what is left of the team's value has no values of agents in it
    learner.mixer._positive = lambda x: 0 * x
    before = [p.detach().clone() for p in learner.mac.agent.parameters()]
    learner.train(batch, 10, 0)
    assert all(th.equal(p, q) for p, q in zip(learner.mac.agent.parameters(), before, strict=True))


def test_pieces_of_episodes_are_refused():
    config = compose_config("transf_qmix", "skirmish").config | {"runner": "rollout"}
    with pytest.raises(ConfigError, match="mixer=transf learns from whole episodes, and runner=rollout cuts them"):
        check_config(config)
