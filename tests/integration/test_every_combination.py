"""Every algorithm on every small environment, every runner under every algorithm; new entries are covered at once."""

import pytest

from checks.registries import REGISTRIES
from cli.compose import compose_config
from envs import batched_names
from envs.skirmish import maps
from learners import REGISTRY as learners
from runners import REGISTRY as runners
from small_training import (
    SCHEDULES,
    SOURCES,
    UPDATES,
    episode_limit,
    needs_continuous_actions,
    preset_of,
    sees_entities,
    train,
)
from utils.config import config_names
from utils.errors import ConfigError
from vector_envs.instances import constructor_of
from watched_training import assert_learnt

# steps of a battle: until its map's limit it would take twenty times as long as other episodes here
BATTLE = 8


@pytest.fixture
def short_battles(monkeypatch):
    """In this process alone."""
    monkeypatch.setattr(maps, "SMACV2_EPISODE_LIMIT", BATTLE)
    monkeypatch.setitem(maps.load_data()["maps"]["3m"], "episode_limit", BATTLE)
    episode_limit.cache_clear()
    yield
    episode_limit.cache_clear()


SMALL_ENVIRONMENTS = [
    name for name in config_names("envs") if not name.startswith(("sc2", "trackmania", "dots"))
]  # need a game, or a simulator
RACES = [name for name in SMALL_ENVIRONMENTS if name.startswith("skirmish_v2")]


def _presets_and_environments():
    """One preset for each choice of parts on all environments; the others, which differ in numbers, on one each."""
    seen, others = set(), 0
    for algorithm in sorted(config_names("algs"), key=len):
        config = compose_config(algorithm, "lbf").config
        parts = tuple(config.get(key) for key in REGISTRIES if key not in ("env", "runner"))
        if parts not in seen:
            seen.add(parts)
            # the three races of SMACv2, whose episodes are the longest, in turn
            race = RACES[len(seen) % len(RACES)]
            yield from ((algorithm, name) for name in SMALL_ENVIRONMENTS if name == race or name not in RACES)
        else:
            yield algorithm, SMALL_ENVIRONMENTS[others % len(SMALL_ENVIRONMENTS)]
            others += 1


# environments with continuous actions, by arguments or by nature
CONTINUOUS = {
    "gymnasium": {"key": "Pendulum-v1", "time_limit": 5},
    "mpe": {"time_limit": 5, "kwargs": {"continuous_actions": True}},
}


@pytest.mark.slow
@pytest.mark.usefixtures("short_battles")
@pytest.mark.parametrize(("algorithm", "environment"), list(_presets_and_environments()))
def test_every_algorithm_trains_on_every_environment(tmp_path, monkeypatch, algorithm, environment):
    if needs_continuous_actions(algorithm):
        with pytest.raises(
            ConfigError, match=r"does not suit|does not go with env=|needs value_network=True and continuous"
        ):
            train(tmp_path, monkeypatch, algorithm, environment, runner="episode")
        return
    if sees_entities(algorithm) != (environment == "entities"):
        with pytest.raises(ConfigError, match=r"does not go with env=entities|need an environment of entities"):
            train(tmp_path, monkeypatch, algorithm, environment, runner="episode")
        return
    assert_learnt(train(tmp_path, monkeypatch, algorithm, environment, runner="episode"), UPDATES)


@pytest.mark.slow
@pytest.mark.parametrize("environment", sorted(CONTINUOUS))
@pytest.mark.parametrize("algorithm", ["ddpg", "td3", "sac", "sac_v1", "maddpg", "masac", "ppo", "mappo"])
def test_every_kind_of_policy_trains_on_continuous_actions(tmp_path, monkeypatch, algorithm, environment):
    changes = {"runner": "episode", "env_args": CONTINUOUS[environment]}
    assert_learnt(train(tmp_path, monkeypatch, algorithm, environment, **changes), UPDATES)


def _presets_for_rewards_of_agents():
    """Those whose learner takes them, and that mix nothing."""
    for algorithm in config_names("algs"):
        config = compose_config(algorithm, "lbf").config
        takes = learners.entry(config["learner"]).traits.get("takes", ())
        suits = not (needs_continuous_actions(algorithm) or sees_entities(algorithm))
        if config["mixer"] is None and "agent_rewards" in takes and suits:
            yield algorithm


@pytest.mark.slow
@pytest.mark.parametrize("environment", ["lbf", "mpe"])
@pytest.mark.parametrize("algorithm", list(_presets_for_rewards_of_agents()))
def test_every_algorithm_learns_from_a_reward_for_each_agent(tmp_path, monkeypatch, algorithm, environment):
    changes = {"runner": "episode", "common_reward": False}
    assert_learnt(train(tmp_path, monkeypatch, algorithm, environment, **changes), UPDATES)


@pytest.mark.parametrize("runner", sorted(runners))
@pytest.mark.parametrize("learner", sorted(learners))
@pytest.mark.parametrize("agent", sorted(REGISTRIES["agent"]))
def test_every_runner_carries_every_learner_and_agent(tmp_path, monkeypatch, runner, learner, agent):
    algorithm = preset_of(learner)
    environments = 1 if runners.entry(runner).traits.get("max_environments") == 1 else 2
    changes = {"runner": runner, "agent": agent, "batch_size_run": environments}
    if agent == "rogue_net":  # below
        with pytest.raises(ConfigError, match=r"agent=rogue_net does not go with (mac|learner)="):
            train(tmp_path, monkeypatch, algorithm, "two_step", **changes)
        return
    pairs = learners.entry(learner).traits.get("agents"), REGISTRIES["agent"].entry(agent).traits.get("learners")
    if any(wanted is not None and name not in wanted for wanted, name in zip(pairs, (agent, learner), strict=True)):
        with pytest.raises(ConfigError, match=f"agent={agent} does not go with learner={learner}"):
            train(tmp_path, monkeypatch, algorithm, "two_step", **changes)
        return
    if runners.entry(runner).traits.get("cuts_episodes") and learners.entry(learner).traits.get("needs_episodes"):
        with pytest.raises(ConfigError, match=f"learner={learner} .* runner={runner}"):
            train(tmp_path, monkeypatch, algorithm, "two_step", **changes)
        return
    traits = REGISTRIES["agent"].entry(agent).traits
    actor_mac = learners.entry(learner).traits.get("controllers") == ("actor_mac",)
    # tests/integration/test_digideep_files.py trains the first of these, test_teams_of_entities.py the second
    unsuited = {
        f"agent={agent} has a memory": actor_mac and traits.get("memory"),
        "shows no picture": traits.get("needs_pictures"),
        "shows no units": traits.get("needs_entities"),
        "deviation=none does not suit": actor_mac and needs_continuous_actions(algorithm),
    }
    if fault := next((fault for fault, holds in unsuited.items() if holds), None):
        with pytest.raises(ConfigError, match=fault):
            train(tmp_path, monkeypatch, algorithm, "two_step", **changes)
        return
    assert_learnt(train(tmp_path, monkeypatch, algorithm, "two_step", **changes), UPDATES)


@pytest.mark.parametrize("runner", sorted(runners))
@pytest.mark.parametrize("learner", ["ppo_learner", "a2c_learner"])
def test_every_runner_carries_entities(tmp_path, monkeypatch, runner, learner):
    environments = 1 if runners.entry(runner).traits.get("max_environments") == 1 else 2
    changes = {"runner": runner, "learner": learner, "batch_size_run": environments, "rollout_steps": 4}
    changes["env_args"] = {"environment": "Xor"}
    assert_learnt(train(tmp_path, monkeypatch, "enn_ppo", "entities", **changes), 1)


def _sources(environment):
    """The names of the sources that this environment takes."""
    config = compose_config("vdn", environment).config
    return [name for name in SOURCES if name != "native" or config["env"] in batched_names()]


@pytest.mark.slow
@pytest.mark.parametrize("runner", SCHEDULES)
@pytest.mark.parametrize(
    ("environment", "source"), [(e, s) for e in ("skirmish", "racing", "lbf", "two_step", "mpe") for s in _sources(e)]
)
def test_every_schedule_plays_on_every_source(tmp_path, monkeypatch, environment, source, runner):
    """`pqn_vdn` with rollouts, which is how it plays, and `vdn` with episodes. StarCraft's are with its other tests."""
    algorithm, schedule = SCHEDULES[runner]
    changes = {"runner": runner, "batch_size_run": 2, **schedule, **SOURCES[source]}
    assert_learnt(train(tmp_path, monkeypatch, algorithm, environment, **changes), UPDATES)


@pytest.mark.parametrize("units", [[], [{"window": {"steps": 2}}, {"n_step": {"steps": 2}}]])
@pytest.mark.parametrize("algorithm", ["iql", "qmix", "qtran"])
def test_q_learners_learn_from_transitions(tmp_path, monkeypatch, algorithm, units):
    changes = {
        "runner": "rollout",
        "rollout_steps": 4,
        "buffer": "transitions",
        "agent": "ff",
        "obs_last_action": False,
    }
    assert_learnt(train(tmp_path, monkeypatch, algorithm, "two_step", **changes, sample_units=units), UPDATES)


def _policy_selectors():
    selectors = REGISTRIES["action_selector"]
    return [name for name in selectors if selectors.entry(name).traits["takes"] == "pi_logits"]


@pytest.mark.parametrize("selector", _policy_selectors())
def test_every_selector_of_policies_carries_coma(tmp_path, monkeypatch, selector):
    assert_learnt(train(tmp_path, monkeypatch, "coma", "two_step", runner="episode", action_selector=selector), UPDATES)


@pytest.mark.parametrize("key", sorted(REGISTRIES))
def test_every_entry_exists_and_is_described(key):
    registry = REGISTRIES[key]
    for name in registry:
        assert registry.entry(name).description
        assert callable(registry[name])
        if not name.startswith("sc2"):
            assert constructor_of(registry[name]).__doc__
