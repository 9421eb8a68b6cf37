"""The compiled particle worlds by EPyMARL's ids, beside the package's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_equal

import particle_episodes
from envs.particles.environment import Particles
from envs.particles.options import LEAST, WORDS, WRAPPERS
from envs.particles.state import SCENARIOS
from envs.pettingzoo.gymma import Gymma, batch, is_compiled
from envs.pettingzoo.team import PettingZooEnv
from utils.errors import ConfigError

MPE2 = pytest.importorskip("mpe2")


def key_of(scenario):
    return f"pz-mpe-{scenario.replace('_', '-')}-v{particle_episodes.LATEST.get(scenario, 3)}"


def both(scenario, **words):
    """Ours and the package's in the same first state."""
    ours, theirs = (Gymma(key=key_of(scenario), seed=3, compiled=compiled, **words) for compiled in (True, False))
    assert isinstance(ours, Particles) and isinstance(theirs, PettingZooEnv)
    ours.reset()
    theirs.reset()
    world, state = theirs.world(), ours.batch.simulator.state
    state.positions[0] = [one.state.p_pos for one in world.entities]
    state.copies["goal"], state.copies["second"] = particle_episodes.goals_of(scenario, world)
    ours.batch.simulator.show()
    return ours, theirs


@pytest.mark.parametrize("reward", ["sum", "mean"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_gymma_has_the_same_sizes_and_numbers(scenario, reward):
    ours, theirs = both(scenario, reward=reward, time_limit=5)
    compared(ours, theirs, 5)


def compared(ours, theirs, steps, seed=0):
    """Their sizes and their numbers in so many steps, after which the episode has ended."""
    info, fields = theirs.get_env_info(), ours.fields()
    assert fields["obs"].shape == (info["obs_shape"],) and fields["state"].shape == (info["state_shape"],)
    assert fields["actions"].n == info["n_actions"] and ours.groups == {"agents": info["n_agents"]}
    assert ours.episode_limit == info["episode_limit"]
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        seen, legal = ours.observe(), theirs.get_avail_actions()
        assert_allclose(seen["obs"], theirs.get_obs(), rtol=1e-6, atol=1e-6)
        assert_allclose(seen["state"], theirs.get_state(), rtol=1e-6, atol=1e-6)
        assert_equal(seen["avail_actions"], legal)
        actions = (rng.random(legal.shape) * legal).argmax(-1)
        values, terminated, truncated, _ = ours.step({"actions": actions})
        paid, ended, info = theirs.step(actions)
        assert values["reward"] == pytest.approx(paid)
        assert (terminated or truncated, truncated) == (ended, info["episode_limit"])
        if ended:
            break
    assert ended


def drawn_words(scenario, rng):
    """Words that the scenario takes, with values drawn."""
    values = {
        "local_ratio": lambda: float(rng.random()),
        "curriculum": lambda: bool(rng.integers(2)),
        "terminate_on_success": lambda: bool(rng.integers(2)),
        **{name: lambda least=least: int(rng.integers(least, 5)) for name, least in LEAST.items()},
    }
    return {name: values[name]() for name in WORDS[scenario] if rng.random() < 0.7}


@pytest.mark.parametrize("seed", range(30))
def test_any_words_make_the_same_game(seed):
    rng = np.random.default_rng(seed)
    scenario = ("simple_spread", "simple_adversary", "simple_tag", "simple_reference", "simple_world_comm")[seed % 5]
    words = drawn_words(scenario, rng)
    wrappers = [name for name, (its, _) in WRAPPERS.items() if its == scenario and name != "RandomTag"]
    if wrappers and rng.random() < 0.5:
        words["pretrained_wrapper"] = str(rng.choice(wrappers))
    compared(*both(scenario, time_limit=8, **words), 8, seed)


@pytest.mark.parametrize(
    ("wrapper", "words"),
    [
        ("FrozenTag", {}),
        ("PretrainedTag", {}),
        ("PretrainedTag", {"num_good": 2, "num_adversaries": 1, "num_obstacles": 0}),
        ("PretrainedAdversary", {}),
        ("PretrainedAdversary", {"N": 3}),
    ],
)
def test_an_agent_leaves_the_team(wrapper, words):
    scenario = WRAPPERS[wrapper][0]
    ours, theirs = both(scenario, pretrained_wrapper=wrapper, time_limit=25, reward="mean", **words)
    compared(ours, theirs, 25)
    shown, others = ours.snapshot()["units"], theirs.snapshot()["units"]
    assert [unit.get("agent") for unit in shown] == [unit.get("agent") for unit in others]
    assert len(ours.action_names()) == len(theirs.action_names()) == ours.groups["agents"]


def test_a_prey_that_moves_at_random():
    ours, theirs = both("simple_tag", pretrained_wrapper="RandomTag")
    assert ours.groups["agents"] == theirs.n_agents == 3
    for env, prey in ((ours, lambda: ours.snapshot()["units"][-1]), (theirs, lambda: theirs.snapshot()["units"][-1])):
        places = set()
        for _ in range(10):
            env.step({"actions": [0] * 3} if env is ours else [0] * 3)
            places.add((prey()["x"], prey()["y"]))
        assert len(places) > 5, "the prey moves"
    saved = theirs.state_dict()
    first = [theirs.step([0] * 3) for _ in range(5)]
    theirs.load_state_dict(saved)
    assert [theirs.step([0] * 3) for _ in range(5)] == first, "its draws are saved, too"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"pretrained_wrapper": "PretrainedTagg"}, "pretrained_wrapper is 'PretrainedTagg'.* mean 'PretrainedTag'"),
        ({"pretrained_wrapper": "PretrainedTag"}, "plays an agent of simple_tag, such as env_args.key=pz-mpe-simple-t"),
        ({"key": "Pair-v0", "pretrained_wrapper": "FrozenTag"}, "plays an agent of simple_tag"),
    ],
)
@pytest.mark.parametrize("compiled", [True, False])
def test_wrong_wrappers(words, message, compiled):
    with pytest.raises(ConfigError, match=message):
        Gymma.check_args(**{"key": key_of("simple_spread"), "compiled": compiled, **words})


def test_no_wrapper():
    assert is_compiled(key_of("simple_spread"), pretrained_wrapper=None)
    Gymma(key=key_of("simple_spread"), pretrained_wrapper=None, compiled=False)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_drawing_is_that_of_the_packages(scenario):
    ours, theirs = both(scenario)
    for one, other in zip(ours.snapshot()["units"], theirs.snapshot()["units"], strict=True):
        assert one | {"colour": one["colour"][:3]} == other | {"colour": other["colour"][:3]}
    assert ours.scene() == theirs.scene()


def test_names_of_actions():
    names = both("simple_world_comm")[0].action_names()
    assert names[0][:6] == ["stay, say 0", "west, say 0", "east, say 0", "south, say 0", "north, say 0", "stay, say 1"]
    assert names[1][:6] == ["stay", "west", "east", "south", "north", "5"]
    assert both("simple_speaker_listener")[0].action_names()[0] == ["say 0", "say 1", "say 2", "3", "4"]


def test_words_and_versions():
    assert Gymma(key="pz-mpe-simple-spread-v2", N=4).groups == {"agents": 4}, "any version's number"
    assert batch(3, "pz-mpe-simple-tag-v3", num_adversaries=5).simulator.n_agents == 6
    assert not is_compiled("pz-mpe-simple-spread-v3", max_cycles=3), "a word that only the package knows"
    assert not is_compiled("pz-mpe-simple-line-v1") and not is_compiled("pz-sisl-pursuit-v5")
    assert not is_compiled("mpe2.simple_spread_v3"), "by the package's name it is the package's"
