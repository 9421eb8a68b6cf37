"""Every algorithm on every small environment, every runner under every algorithm; new entries are covered at once."""

from functools import cache

import pytest

from checks.registries import REGISTRIES
from cli.compose import compose_config
from envs import REGISTRY as environments
from learners import REGISTRY as learners
from run import run
from runners import REGISTRY as runners
from utils.config import config_names, recursive_dict_update
from utils.errors import ConfigError
from vector_envs.instances import constructor_of
from watched_training import assert_learnt, watch_updates

SMALL_ENVIRONMENTS = [name for name in config_names("envs") if not name.startswith("sc2")]  # needs the game
# episodes of a few steps, where an environment has an argument for that
SHORT = {"lbf": {"time_limit": 5}, "mpe": {"time_limit": 5}}
SETTINGS = {
    "batch_size": 2,
    "buffer_size": 4,
    "batch_size_run": 1,
    "test_nepisode": 1,
    "learner_log_interval": 1,
    "rnn_hidden_dim": 8,
    "mixing_embed_dim": 8,
    "hypernet_embed": 8,
    "seed": 1,
}
UPDATES = 3


@cache
def _episode_limit(environment):
    """The most steps of an episode of configs/envs/<environment>.yaml, made short."""
    config = compose_config("vdn", environment).config
    env = environments[config["env"]](**{**config["env_args"], **SHORT.get(environment, {}), "seed": 1})
    try:
        return env.get_env_info()["episode_limit"]
    finally:
        env.close()


def _run(tmp_path, monkeypatch, algorithm, environment, **changes):
    """Play until there were three updates at least, whatever the episodes' lengths; returns the updates."""
    config = compose_config(algorithm, environment).config
    changes = {"env_args": SHORT.get(environment, {}), "local_results_path": str(tmp_path), **SETTINGS, **changes}
    recursive_dict_update(config, changes)
    if learners.entry(config["learner"]).traits.get("on_policy"):
        config["minibatches"] = 1
        config["batch_size"] = config["buffer_size"] = config["batch_size_run"]
    # a rollout brings `batch_size_run` episodes: one fills the batch, and each of the others is followed by an update
    rollouts = -(-config["batch_size"] // config["batch_size_run"]) - 1 + UPDATES
    # the rollout that begins at t_max is still played
    config["rollout_steps"] = _episode_limit(environment)
    config["t_max"] = (rollouts - 1) * config["batch_size_run"] * _episode_limit(environment)
    updates = watch_updates(monkeypatch, config["learner"])
    assert run(config) is not None
    return updates


@pytest.mark.parametrize("algorithm", config_names("algs"))
@pytest.mark.parametrize("environment", SMALL_ENVIRONMENTS)
def test_every_algorithm_trains_on_every_environment(tmp_path, monkeypatch, algorithm, environment):
    assert_learnt(_run(tmp_path, monkeypatch, algorithm, environment, runner="episode"), UPDATES)


@pytest.mark.parametrize("runner", sorted(runners))
@pytest.mark.parametrize("learner", sorted(learners))
@pytest.mark.parametrize("agent", sorted(REGISTRIES["agent"]))
def test_every_runner_carries_every_learner_and_agent(tmp_path, monkeypatch, runner, learner, agent):
    algorithm = next(name for name in config_names("algs") if compose_config(name, "lbf").config["learner"] == learner)
    environments = 1 if runners.entry(runner).traits.get("max_environments") == 1 else 2
    changes = {"runner": runner, "agent": agent, "batch_size_run": environments}
    if runners.entry(runner).traits.get("cuts_episodes") and learners.entry(learner).traits.get("needs_episodes"):
        with pytest.raises(ConfigError, match=f"learner={learner} .* runner={runner}"):
            _run(tmp_path, monkeypatch, algorithm, "two_step", **changes)
        return
    assert_learnt(_run(tmp_path, monkeypatch, algorithm, "two_step", **changes), UPDATES)


def _policy_selectors():
    selectors = REGISTRIES["action_selector"]
    return [name for name in selectors if selectors.entry(name).traits["takes"] == "pi_logits"]


@pytest.mark.parametrize("selector", _policy_selectors())
def test_every_selector_of_policies_carries_coma(tmp_path, monkeypatch, selector):
    assert_learnt(_run(tmp_path, monkeypatch, "coma", "two_step", runner="episode", action_selector=selector), UPDATES)


@pytest.mark.parametrize("key", sorted(REGISTRIES))
def test_every_entry_exists_and_is_described(key):
    registry = REGISTRIES[key]
    for name in registry:
        assert registry.entry(name).description
        assert callable(registry[name])
        if not name.startswith("sc2"):
            assert constructor_of(registry[name]).__doc__


def test_every_key_that_a_built_in_part_reads_is_documented():
    """No default hides in a getattr, and nothing is documented that nobody reads."""
    import re
    from pathlib import Path

    from utils.config import default_config

    source = Path(__file__).resolve().parents[2] / "src"
    text = "\n".join(path.read_text() for path in source.rglob("*.py"))
    # a web request has arguments, too
    read = set(re.findall(r"(?<!request\.)\b_?args\.([a-z_]\w*)", text))
    added = {"n_agents", "n_actions", "state_shape", "episode_limit", "device", "unique_token", "seed"}
    documented = set(default_config())
    assert read - added <= documented
    assert not re.findall(r"getattr\((?:self\.)?args", text)
    for_bookkeeping = {"repeat_id", "label", "plugins"}  # plugins: read before there are args
    in_config = set(re.findall(r'config\["(\w+)"\]', text))
    assert documented <= read | in_config | for_bookkeeping


def test_every_documented_key_has_a_comment():
    from utils.config import CONFIG_DIR

    for line in (CONFIG_DIR / "default.yaml").read_text().splitlines():
        if line and not line.startswith("#"):
            assert " # " in line, line
