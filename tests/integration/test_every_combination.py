"""Every algorithm on several small environments, every runner under every learner and agent; new entries are covered.

Where three kinds of parts meet, every pair of parts is trained, not every three: see `covering`.
"""

from itertools import combinations, product

import pytest

from checks.registries import REGISTRIES
from cli.compose import compose_config
from covering import covering
from envs import batched_names
from envs.skirmish import maps
from learners import REGISTRY as learners
from runners import REGISTRY as runners
from small_training import (
    SCHEDULES,
    SHORT,
    SOURCES,
    UPDATES,
    choice_of_parts,
    declares_meaning,
    declares_state,
    episode_limit,
    mixes_entities,
    needs_continuous_actions,
    needs_meaning,
    own_agents,
    preset_of,
    preset_on_lbf,
    sees_entities,
    train,
)
from utils.config.merging import config_names
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


# they need a game, a simulator or a package; gymma and pettingzoo play what mpe plays, skirmish_maps what skirmish does
OTHERS = (
    "sc2",
    "trackmania",
    "dots",
    "smaclite",
    "gymma",
    "pettingzoo",
    "jax",
    "atari",
    "skirmish_maps",
    "recorded",
    "openspiel",
)
SMALL_ENVIRONMENTS = [name for name in config_names("envs") if not name.startswith(OTHERS)]
RACES = [name for name in SMALL_ENVIRONMENTS if name.startswith("skirmish_v2")]


def _on(environments, algorithms):
    """One preset of each learner on every second environment, so that each environment has half of the learners.

    Other choices of parts have a third of them each, in turn, or of those that they are made for, and one that they
    are not; presets that differ in numbers have one.
    """
    with_meaning = [name for name in environments if declares_meaning(name)]
    learned, seen, others = set(), set(), 0
    for algorithm in sorted(algorithms, key=len):
        learner, parts = preset_on_lbf(algorithm)["learner"], choice_of_parts(algorithm)
        if learner not in learned:
            # the three races of SMACv2, whose episodes are the longest, in turn
            race = RACES[len(learned) % len(RACES)]
            theirs = [name for name in environments if name == race or name not in RACES]
            yield from ((algorithm, name) for name in theirs[len(learned) % 2 :: 2])
        elif parts not in seen:
            third = slice(len(seen) % 3, None, 3)
            others_too = [name for name in environments if name == "two_step"]
            theirs = [*with_meaning[third], *others_too] if needs_meaning(algorithm) else environments[third]
            yield from ((algorithm, name) for name in theirs)
        else:
            yield algorithm, environments[others % len(environments)]
            others += 1
        learned.add(learner)
        seen.add(parts)


# where every step is a terminal one, from which EPyMARL's MADDPG learns nothing
ONE_STEP = ("matrix",)
# whom EOI's classifier knows without learning
ONE_AGENT = ("gymnasium", "racing")
# environments with continuous actions, by arguments or by nature
CONTINUOUS = {
    "gymnasium": {"key": "Pendulum-v1", "time_limit": 5},
    "mpe": {"time_limit": 5, "kwargs": {"continuous_actions": True}},
}


@pytest.mark.slow
@pytest.mark.usefixtures("short_battles")
@pytest.mark.parametrize(("algorithm", "environment"), list(_on(SMALL_ENVIRONMENTS, config_names("algs"))))
def test_every_algorithm_trains_on_every_environment(tmp_path, monkeypatch, algorithm, environment):
    if needs_continuous_actions(algorithm):
        with pytest.raises(
            ConfigError, match=r"does not suit|does not go with env=|needs value_network=True and continuous"
        ):
            train(tmp_path, monkeypatch, algorithm, environment, runner="episode")
        return
    if sees_entities(algorithm) != (environment == "entities"):
        with pytest.raises(
            ConfigError, match=r"does not go with env=entities|need an environment of entities|state has"
        ):
            train(tmp_path, monkeypatch, algorithm, environment, runner="episode")
        return
    if needs_meaning(algorithm) and not declares_meaning(environment):
        with pytest.raises(ConfigError, match=r"does not say what its numbers and actions mean"):
            train(tmp_path, monkeypatch, algorithm, environment, runner="episode")
        return
    if mixes_entities(algorithm) and not declares_state(environment):
        with pytest.raises(ConfigError, match=r"does not say which entities its state has"):
            train(tmp_path, monkeypatch, algorithm, environment, runner="episode")
        return
    changes = {"runner": "episode"}
    if needs_meaning(algorithm) and environment == "skirmish_v2_terran":  # medivacs: the vector does not tell them
        changes["env_args"] = {**SHORT[environment], "observation": "entities"}
    if preset_on_lbf(algorithm).get("distance_untrained"):
        changes["distance_untrained"] = False
    if environment in ONE_STEP and preset_on_lbf(algorithm).get("train_on_padding"):
        changes["train_on_padding"] = False
    if environment in ONE_STEP and (
        preset_on_lbf(algorithm)["learner"] == "trpo_learner" or algorithm == "ppo_mujoco"  # 32 minibatches
    ):
        # an update learns from one step here, whose advantage, standardised, is 0; nothing else moves the policy
        changes["normalise_advantages"] = False
    updates = train(tmp_path, monkeypatch, algorithm, environment, **changes)
    if environment in ONE_STEP:
        for update in updates:  # MASER's subgoal is the only step, as far as a network may say
            update.changed.pop("distance", None)
    if environment in ONE_AGENT:
        for update in updates:
            update.changed.pop("classifier", None)
    assert_learnt(updates, UPDATES)


@pytest.mark.slow
@pytest.mark.parametrize("environment", sorted(CONTINUOUS))
@pytest.mark.parametrize(
    "algorithm",
    "ddpg td3 sac sac_v1 tqc crossq maddpg matd3 facmac masac haddpg hatd3 hasac ppo mappo happo hatrpo mat".split(),
)
def test_every_kind_of_policy_trains_on_continuous_actions(tmp_path, monkeypatch, algorithm, environment):
    changes = {"runner": "episode", "env_args": CONTINUOUS[environment]}
    assert_learnt(train(tmp_path, monkeypatch, algorithm, environment, **changes), UPDATES)


@pytest.mark.slow
@pytest.mark.parametrize("learner", sorted(learners))
def test_every_learner_takes_intrinsic_rewards(tmp_path, monkeypatch, learner):
    algorithm = preset_of(learner)
    changes = {"runner": "episode", "intrinsic": "rnd", "intrinsic_coef": 0.5}
    environment = "lbf" if needs_meaning(algorithm) else "two_step"
    if needs_continuous_actions(algorithm):
        environment, changes["env_args"] = "mpe", CONTINUOUS["mpe"]
    updates = train(tmp_path, monkeypatch, algorithm, environment, **changes)
    losses = [update.stats["intrinsic_loss"] for update in updates if "intrinsic_loss" in update.stats]
    assert losses and all(0 < loss < 1e3 for loss in losses)
    assert_learnt(updates, UPDATES)


def _presets_for_rewards_of_agents():
    """Those whose learner takes them, and that mix nothing."""
    for algorithm in config_names("algs"):
        config = preset_on_lbf(algorithm)
        takes = learners.entry(config["learner"]).traits.get("takes", ())
        suits = not (needs_continuous_actions(algorithm) or sees_entities(algorithm))
        if config["mixer"] is None and "agent_rewards" in takes and suits:
            yield algorithm


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "environment"), list(_on(["lbf", "mpe"], _presets_for_rewards_of_agents())))
def test_every_algorithm_learns_from_a_reward_for_each_agent(tmp_path, monkeypatch, algorithm, environment):
    changes = {"runner": "episode", "common_reward": False}
    assert_learnt(train(tmp_path, monkeypatch, algorithm, environment, **changes), UPDATES)


def refusal(runner, learner, agent):
    """What the message says if this combination is refused on two_step, else None; two of the three decide."""
    runs, learns, plays = runners.entry(runner).traits, learners.entry(learner).traits, AGENTS.entry(agent).traits
    controllers, bound = plays.get("controllers", ()), own_agents(learner)
    shared = set(controllers) & set(learns.get("controllers", ()))
    elsewhere = bool(controllers) and preset_on_lbf(preset_of(learner))["mac"] not in shared
    if elsewhere or (bound and agent not in bound):  # it needs a controller of its own: below
        return rf"(mac|learner)=\w+ does not go with agent={agent}|agent={agent} does not go with (mac|learner)="
    if agent not in learns.get("agents", (agent,)) or learner not in plays.get("learners", (learner,)):
        pair = f"agent={agent}", f"learner={learner}"
        return "|".join(f"{one} does not go with {other}" for one, other in (pair, pair[::-1]))
    if runs.get("cuts_episodes") and learns.get("needs_episodes"):
        return f"learner={learner} .* runner={runner}"
    actor_mac = learns.get("controllers") == ("actor_mac",)
    # test_digideep_files.py trains the agent for pictures, test_teams_of_entities.py that for units
    unsuited = {
        f"agent={agent} has a memory": actor_mac and plays.get("memory"),
        "shows no picture": plays.get("needs_pictures"),
        "shows no units": plays.get("needs_entities"),
        "does not say what its numbers and actions mean": plays.get("needs_meaning"),
        "noise=gaussian does not suit": actor_mac and needs_continuous_actions(preset_of(learner)),
    }
    return next((fault for fault, holds in unsuited.items() if holds), None)


AGENTS = REGISTRIES["agent"]
COMBINATIONS = list(product(sorted(runners), sorted(learners), sorted(AGENTS)))
TRAINED = [names for names in COMBINATIONS if refusal(*names) is None]
# with the message, as a fourth choice: every kind of refusal is seen for every part that it concerns
REFUSED = [(*names, message) for names in COMBINATIONS if (message := refusal(*names))]
REFUSED_HERE = covering(REFUSED)


def _train_on_two_steps(tmp_path, monkeypatch, runner, learner, agent):
    environments = 1 if runners.entry(runner).traits.get("max_environments") == 1 else 2
    changes = {"runner": runner, "agent": agent, "batch_size_run": environments}
    return train(tmp_path, monkeypatch, preset_of(learner), "two_step", **changes)


@pytest.mark.slow
@pytest.mark.parametrize(("runner", "learner", "agent"), covering(TRAINED))
def test_every_runner_carries_every_learner_and_agent(tmp_path, monkeypatch, runner, learner, agent):
    """Each runner with each learner, each runner with each agent, each learner with each agent: `covering` says why."""
    assert_learnt(_train_on_two_steps(tmp_path, monkeypatch, runner, learner, agent), UPDATES)


@pytest.mark.parametrize("learner", sorted(learners))
def test_every_combination_that_cannot_train_is_refused(tmp_path, learner):
    refused = [names for *names, _ in REFUSED_HERE if names[1] == learner]
    assert refused
    for runner, _, agent in refused:
        with pytest.MonkeyPatch.context() as patches, pytest.raises(ConfigError, match=refusal(runner, learner, agent)):
            _train_on_two_steps(tmp_path, patches, runner, learner, agent)


@pytest.mark.slow
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
    return [name for name in SOURCES if name != "batched" or config["env"] in batched_names()]


PLAYED = [
    (environment, source, runner)
    for environment in ("skirmish", "racing", "lbf", "two_step", "mpe")
    for source in _sources(environment)
    for runner in SCHEDULES
]


@pytest.mark.slow
@pytest.mark.parametrize(("environment", "source", "runner"), covering(PLAYED))
def test_every_schedule_plays_on_every_source(tmp_path, monkeypatch, environment, source, runner):
    """`pqn_vdn` with rollouts, which is how it plays, and `vdn` with episodes. StarCraft's are with its other tests."""
    algorithm, schedule = SCHEDULES[runner]
    changes = {"runner": runner, "batch_size_run": 2, **schedule, **SOURCES[source]}
    assert_learnt(train(tmp_path, monkeypatch, algorithm, environment, **changes), UPDATES)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["batched", "in_process", "pipe", "shared_memory"])
@pytest.mark.parametrize("runner", SCHEDULES)
def test_every_schedule_tests_on_the_copies_of_training(tmp_path, monkeypatch, runner, source):
    """Tests come within training, and drop the episodes in progress where a schedule has such."""
    algorithm, schedule = SCHEDULES[runner]
    changes = {"runner": runner, "batch_size_run": 2, **schedule, **SOURCES[source]}
    changes |= {"separate_test_env": False, "test_interval": 1, "test_nepisode": 2}
    assert_learnt(train(tmp_path, monkeypatch, algorithm, "skirmish", **changes), UPDATES)


@pytest.mark.parametrize("choices", [TRAINED, REFUSED, PLAYED], ids=["trained", "refused", "played"])
def test_every_pair_of_choices_is_tried(choices):
    tried = covering(choices)
    assert set(tried) < set(choices)
    for places in combinations(range(len(choices[0])), 2):
        pairs, pairs_tried = ({tuple(case[i] for i in places) for case in cases} for cases in (choices, tried))
        assert pairs_tried == pairs


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
    assert_learnt(train(tmp_path, monkeypatch, algorithm, "two_step", **changes, sample_transforms=units), UPDATES)


def _selectors_of(outputs):
    selectors = REGISTRIES["action_selector"]
    return [name for name in selectors if selectors.entry(name).traits["takes"] == outputs]


@pytest.mark.parametrize("selector", _selectors_of("q"))
@pytest.mark.parametrize("runner", ["episode", "rollout"])
def test_every_selector_of_values_carries_q_learning(tmp_path, monkeypatch, selector, runner):
    changes = {"runner": runner, "rollout_steps": 4} if runner == "rollout" else {"runner": runner}
    assert_learnt(train(tmp_path, monkeypatch, "vdn", "two_step", **changes, action_selector=selector), UPDATES)


@pytest.mark.parametrize("selector", _selectors_of("pi_logits"))
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
