"""Every statistic that runs log is declared with its meaning, and those that learners declare are logged."""

import pytest

from cli.reference import option_help
from cli.statistics import all_statistics, is_described
from learners import REGISTRY as learners
from small_training import logged_statistics, needs_continuous_actions, needs_meaning, preset_of, train

# of other settings than the plainest preset's, or of actions that are one choice
OF_SETTINGS = {"value_loss", "pi_max", "entropy_weight", "critic_grad_norm", "quantile_spread", "loss_td", "hit_prob"}
OF_SETTINGS |= {"edge_grad_norm"}  # of three agents and more


@pytest.mark.parametrize("learner", list(learners))
def test_what_a_learner_logs_is_what_it_declares(tmp_path, monkeypatch, learner):
    preset = preset_of(learner)
    changes = {"env_args": {"key": "Pendulum-v1", "time_limit": 5}} if needs_continuous_actions(preset) else {}
    logged = logged_statistics(monkeypatch)
    environment = "gymnasium" if changes else "lbf" if needs_meaning(preset) else "two_step"
    train(tmp_path, monkeypatch, preset, environment, **changes)
    assert learners.entry(learner).traits["logs"].keys() - OF_SETTINGS <= logged


def test_names_that_are_described():
    assert is_described("test_return_mean", "q_learner", "two_step")
    assert is_described("red/loss", "q_learner", "two_step")
    assert is_described("test_3m/battle_won_mean", "q_learner", "skirmish")
    assert is_described("live/lr", "q_learner", "two_step")
    assert not is_described("los", "q_learner", "two_step")
    assert not is_described("entropy", "q_learner", "two_step")
    assert not is_described("battle_won_mean", "q_learner", "two_step")


def test_help_explains_a_statistic():
    assert option_help("td_error_abs").startswith("td_error_abs: mean absolute difference of values and targets\n")
    assert "learner=ppo_learner" in option_help("approx_kl")
    assert "mean return of the episodes" in option_help("test_return_mean")
    assert "env=racing" in option_help("race_time_mean")
    assert "live/<key>" in option_help("live/lr")
    assert "discount per step" in option_help("gamma")


def test_every_statistic_has_a_meaning():
    for table in all_statistics().values():
        assert table and all(one.meaning and one.logged_by for one in table)
