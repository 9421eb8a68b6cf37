"""Refusals of parts that cannot learn from agents that come and go."""

import pytest

from checks.options import completed
from cli.compose import compose_config
from helpers import check_chosen_parts
from utils.errors import ConfigError


@pytest.mark.parametrize(
    ("algorithm", "changes", "said"),
    [
        ("vdn", {}, "runner=episode plays whole ones. Use runner=rollout"),
        ("ppo", {"runner": "parallel"}, "runner=parallel plays whole ones"),
        ("ppo", {"critic_rnn": True}, "critic_rnn=True would remember"),
        ("ppo", {"obs_last_action": True}, "obs_last_action=True would remember"),
        ("sac", {}, "which learner=sac_learner cannot tell apart"),
    ],
)
def test_parts_that_mix_up_streams_are_refused(algorithm, changes, said):
    config = completed(compose_config(algorithm, "dots").config | changes)
    with pytest.raises(ConfigError) as refusal:
        check_chosen_parts(config)
    assert said in str(refusal.value)


@pytest.mark.parametrize("agent", ["ff", "rnn"])
def test_ppo_is_not(agent):
    check_chosen_parts(compose_config("ppo", "dots").config | {"agent": agent})
