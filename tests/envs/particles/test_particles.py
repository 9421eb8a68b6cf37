"""The compiled particle worlds: equal to recorded episodes of mpe2, and what every compiled family does."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_equal

import particle_episodes
from envs.particles.batch import Worlds
from envs.particles.environment import Particles, ParticlesBatch
from envs.particles.state import SCENARIOS
from utils.errors import ConfigError
from vector_envs.batched import BatchedCopies

EPISODES = particle_episodes.read()
SEEDS = [3, 1, 4]


def set_to(worlds, positions, goals):
    """A first state of the package's."""
    state = worlds.state
    state.positions[:], state.velocities[:], state.words[:] = positions, 0, 0
    state.copies["goal"], state.copies["second"] = goals
    worlds.show()


def started(case, arrays, time_limit=particle_episodes.STEPS, **more):
    words = case["words"] | {"continuous_actions": case["continuous"], **more}
    worlds = Worlds(1, seed=0, scenario=case["scenario"], time_limit=time_limit, **words)
    worlds.reset()
    set_to(worlds, arrays["positions"], arrays["goals"])
    return worlds


@pytest.mark.parametrize("which", range(len(EPISODES)), ids=lambda i: f"{i}-{EPISODES[i][0]['scenario']}")
def test_episodes_are_the_packages(which):
    case, arrays = EPISODES[which]
    worlds = started(case, arrays)
    out = worlds.outputs
    assert_allclose(out.obs[0], arrays["obs"][0], atol=1e-6)
    for t, actions in enumerate(arrays["actions"]):
        worlds.step(actions[None])
        assert_allclose(out.obs[0], arrays["obs"][t + 1], rtol=1e-6, atol=1e-6, err_msg=f"step {t}")
        assert_allclose(out.rewards[0], arrays["rewards"][t], rtol=1e-9, atol=1e-9, err_msg=f"step {t}")
        assert [out.terminated[0], out.truncated[0]] == arrays["ends"][t].tolist()
    assert worlds.state.copies["ended"][0]


def test_the_recordings_meet_every_rule():
    told = [case for case, _ in EPISODES]
    assert {case["scenario"] for case in told} == {*SCENARIOS} and len(told) > 20
    assert any(arrays["ends"][-1][0] for _, arrays in EPISODES), "one succeeded"
    rewards = np.concatenate([arrays["rewards"].ravel() for case, arrays in EPISODES if "tag" in case["scenario"]])
    assert rewards.max() >= 20, "several catches at once"
    assert rewards.min() < -20


def batch(seeds=SEEDS, scenario="simple_tag", **options):
    env = BatchedCopies(ParticlesBatch(len(seeds), seed=seeds, scenario=scenario, **options), len(seeds))
    env.reset()
    return env


def played(env, steps=60, seed=0):
    """All that is seen of copies that restart, for each step."""
    rng, seen = np.random.default_rng(seed), []
    for _ in range(steps):
        shown = {path: array.copy() for path, array in env.observed().items()}
        actions = env.env.fields()["actions"]
        if actions.categorical:
            legal = shown["avail_actions"]
            chosen = (rng.random(legal.shape) * legal).argmax(-1)
        else:
            chosen = rng.random((*shown["obs"].shape[:2], *actions.shape)).astype(np.float32)
        outcome = env.step({"actions": chosen})
        ended = outcome.terminated | outcome.truncated
        seen.append((shown, outcome.values["reward"].copy(), ended, env.snapshot()))
        env.reset(ended)
    return seen


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_one_copy_is_one_of_many_in_threads_and_from_a_saved_state(scenario):
    options = {"scenario": scenario, "reward": "each", "continuous_actions": scenario == "simple_push"}
    alone, threads, saved = batch(**options), batch(threads=2, **options), batch(seeds=[0, 0, 0], **options)
    first = played(alone, 7)
    assert_equal(first, played(threads, 7))
    saved.load_state_dict(alone.state_dict())
    rest = [played(env, 30, seed=1) for env in (alone, threads, saved)]
    assert_equal(rest[0], rest[1])
    assert_equal(rest[0], rest[2])
    one = batch(seeds=SEEDS[:1], **options)
    assert_equal(one.observed()["obs"][0], first[0][0]["obs"][0])


def test_seeds_name_episodes():
    first = played(batch())
    assert_equal(played(batch()), first)
    starts = [
        shown["obs"][b].tobytes() for t, (shown, *_) in enumerate(first) if t % 25 == 0 for b in range(len(SEEDS))
    ]
    assert len({*starts}) == len(starts), "no two episodes begin alike"
    assert abs(np.array([shown["obs"] for shown, *_ in first])[::25, ..., 2:4]).max() <= 1


@pytest.mark.parametrize("action", [-1, 5])
def test_illegal_actions(action):
    env = batch(scenario="simple_speaker_listener")
    assert env.observed()["avail_actions"][0].tolist() == [[1, 1, 1, 0, 0], [1] * 5]
    before = env.observed()["obs"].copy()
    for actions, words in (
        ([0, action], f"Agent 1 of copy 1 cannot take action {action}; its actions are 0 to 4"),
        ([3, 0], "Agent 0 of copy 1 cannot take action 3; its actions are 0 to 2"),
    ):
        with pytest.raises(ValueError, match=words):
            env.step({"actions": np.array([[0, 0], actions, [0, 0]])})
    assert_equal(env.observed()["obs"], before)


def test_continuous_actions_are_cut_to_their_bounds():
    words = {"scenario": "simple_reference", "continuous_actions": True}
    wide, cut = Particles(seed=1, **words), Particles(seed=1, **words)
    wide.reset()
    cut.reset()
    actions = np.random.default_rng(0).uniform(-2, 3, (2, 15))
    assert wide.fields()["actions"].shape == (15,) and "avail_actions" not in wide.observe()
    assert_equal(wide.step({"actions": actions}), cut.step({"actions": actions.clip(0, 1)}))
    with pytest.raises(ValueError, match="no finite number"):
        wide.step({"actions": np.full((2, 15), np.nan)})
    with pytest.raises(ValueError, match=r"the shape \(1, 2, 5\), not \(1, 2, 15\)"):
        wide.step({"actions": np.zeros((2, 5))})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"scenario": "simple_sprad"}, "env_args.scenario is 'simple_sprad'.* Did you mean 'simple_spread'"),
        ({"scenario": "simple", "N": 2}, "env_args.N: simple has no such argument; it has none"),
        ({"num_good": 2}, "env_args.num_good: simple_spread has no such argument; it has N, local_ratio"),
        ({"N": 0}, "env_args.N is 0; it must be a whole number from 1 to 100"),
        ({"local_ratio": 2}, "env_args.local_ratio is 2; it must be a number from 0 to 1"),
        ({"opponent": "rules"}, "env_args.opponent is 'rules'.* Did you mean 'rule'"),
        ({"opponent": "rule"}, "opponent=rule: simple_spread has none; simple_tag and simple_adversary do"),
        ({"curriculum": "yes"}, "env_args.curriculum is 'yes'"),
        ({"time_limit": 0}, "env_args.time_limit is 0"),
        ({"rewards": "sum"}, "env_args.rewards: Particles has no such argument. Did you mean 'reward'"),
    ],
)
def test_bad_arguments(words, message):
    with pytest.raises(ConfigError, match=message):
        Particles.check_args(**words)


def test_success_in_the_last_step_truncates():
    case, arrays = next((case, arrays) for case, arrays in EPISODES if len(arrays["ends"]) == 1)
    worlds = started(case, arrays, time_limit=1)
    worlds.step(arrays["actions"][0][None])
    assert [worlds.outputs.terminated[0], worlds.outputs.truncated[0]] == [False, True], "time comes first"


def test_who_says_nothing_in_crypto_misreads_nothing():
    world = Particles(seed=0, scenario="simple_crypto", continuous_actions=True, reward="each")
    world.reset()
    silent, heard = np.zeros((3, 4)), np.eye(3, 4)
    assert world.step({"actions": silent})[0]["reward"].tolist() == [0, 0, 0]
    assert world.step({"actions": heard})[0]["reward"].any()


@pytest.mark.parametrize(
    ("scenario", "words", "least"),
    [("simple_adversary", {}, 5.0), ("simple_tag", {}, 30.0), ("simple_tag", {"continuous_actions": True}, 30.0)],
)
def test_rules_are_stronger_than_chance(scenario, words, least):
    """Of simple_adversary, the adversary's return; of simple_tag, the prey's, chased straight on."""
    returns = {}
    for opponent in ("frozen", "random", "rule"):
        worlds = Worlds(64, seed=0, scenario=scenario, opponent=opponent, **words)
        worlds.reset()
        state, other = worlds.state, 0 if scenario == "simple_adversary" else -1
        returns[opponent] = 0.0
        for _ in range(25):
            x, y = np.moveaxis(state.positions[:, 3:4] - state.positions[:, : worlds.n_agents], 2, 0)
            chosen = np.where(abs(x) > abs(y), np.where(x > 0, 2, 1), np.where(y > 0, 4, 3))
            worlds.step(np.eye(5)[chosen] if words else chosen)
            returns[opponent] += state.paid[:, other].mean()
    assert returns["rule"] > max(returns["frozen"], returns["random"]) + least
