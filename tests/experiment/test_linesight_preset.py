"""The preset linesight has the numbers of Linesight's config.py (83656d3), and its network."""

from types import SimpleNamespace

import pytest

from checks import check_config
from cli.compose import compose_config
from helpers import make_args
from modules.agents import REGISTRY
from small_training import UPDATES, train
from utils.numbers.schedules import Schedule
from watched_training import assert_learnt

# its schedules: values at steps, the last ones beyond all points
SCHEDULES = {
    "epsilon": {0: 1, 50_000: 1, 300_000: 0.1, 949_000: 0.1 * 0.3 ** (649 / 2700), 3_000_000: 0.03, 9_000_000: 0.03},
    "epsilon_boltzmann": {0: 0.15, 1_500_000: (0.15 * 0.03) ** 0.5, 3_000_000: 0.03},
    "lr": {0: 1e-3, 1_500_000: (1e-3 * 5e-5) ** 0.5, 3_000_000: 5e-5, 12_000_000: 5e-5, 15_000_000: 1e-5},
    "gamma": {0: 0.999, 1_500_000: 0.999, 2_000_000: 0.9995, 2_500_000: 1, 9_000_000: 1},
    "buffer_size": {0: 50_000, 4_999_999: 50_000, 5_000_000: 100_000, 7_000_000: 200_000},
    "buffer_min": {0: 20_000, 4_999_999: 20_000, 5_000_000: 75_000, 7_000_000: 150_000},
}
NUMBERS = {
    "batch_size": 512,
    "samples_per_insert": 32,
    "hold_out": 0.05,
    "kappa": 5e-3,
    "quantiles": 8,
    "acting_quantiles": 32,
    "tau_features": 64,
    "rnn_hidden_dim": 256,
    "head_dim": 1024 // 2,
    "boltzmann_noise": 0.01,
    "optim_eps": 1e-4,
    "weight_decay": 1 / 50,
    "grad_norm_clip": 30,
    "priority_alpha": 0.0,
    "priority_beta": 1.0,
    "priority_epsilon": 2e-3,
    "target_update_interval_or_tau": 0.02,
    "double_q": False,
    "self_loss_scaling": True,
    "self_loss_start": 0.01,
    "reset_uses": 1_600_000,
}
MINI_RACE = {"horizon": 7000 // 50, "early": 40, "late": 5, "field": "obs/state_float|obs"}


@pytest.fixture
def configs():
    return {name: check_config(compose_config("linesight", name).config) for name in ("racing", "lbf")}


@pytest.mark.parametrize("key", SCHEDULES)
def test_schedules_are_those_of_linesight(configs, key):
    schedule = Schedule.of(configs["racing"][key])
    assert {step: schedule.eval(step) for step in SCHEDULES[key]} == pytest.approx(SCHEDULES[key])


def test_numbers_are_those_of_linesight(configs):
    config = configs["racing"]
    assert {key: config[key] for key in NUMBERS} == NUMBERS
    assert config["target_update_every"] * config["batch_size"] == 2048
    assert config["collectors"]["processes"] == 2 and config["collectors"]["pull_steps"] == 20
    options = {
        name: given for unit in config["sample_transforms"] if isinstance(unit, dict) for name, given in unit.items()
    }
    assert options["n_step"] == {"steps": 3, "greedy_only": True}
    assert {key: options["mini_race"][key] for key in MINI_RACE} == MINI_RACE
    assert options["mini_race"]["per_step"] == pytest.approx(1 / 70, rel=1e-5)
    frames = config["env_args"]["frame_width"], config["env_args"]["frame_height"]
    assert (frames, config["env_args"]["time_limit"], config["env_args"]["cut_off_seconds"]) == ((160, 120), 6000, 2.0)


def test_what_is_of_races_is_left_out_elsewhere(configs):
    assert "view" not in configs["lbf"]["env_args"] and "greedy_every" not in configs["lbf"]["env_args"]


def test_the_network_has_its_parameters(configs):
    """Those that its own counter tells, with a head for pictures that gives 5,632 numbers."""
    args = make_args(**{key: configs["racing"][key] for key in ("rnn_hidden_dim", *REGISTRY.entry("iqn").defaults)})
    agent = REGISTRY["iqn"](
        {"obs/state_float": (184,), "obs/frames": (120, 160, 1)}, SimpleNamespace(**vars(args) | {"n_actions": 12})
    )
    assert sum(weight.numel() for weight in agent.parameters()) == 6_578_333
    assert agent.embedding.out_features == 5632 + 256


@pytest.mark.slow
def test_it_learns_on_races(tmp_path, monkeypatch):
    """By the keys with which it trains in the game."""
    changes = {"runner": "parallel", "vector_env": "in_process", "head_dim": 8}
    changes["env_args"] = {"metres": 60.0, "time_limit": 5}
    assert_learnt(train(tmp_path, monkeypatch, "linesight", "racing", **changes), UPDATES)
