"""`muster.load`: the policy decides as the run does in tests, for one environment and for many."""

import numpy as np
import pytest
import torch as th

import muster

T_MAX = 150


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A recurrent policy, which also sees its last actions."""
    folder = tmp_path_factory.mktemp("run")
    settings = {"t_max": T_MAX, "test_nepisode": 2, "seed": 2, "quiet": True, "local_results_path": str(folder)}
    return muster.train("qmix", "skirmish", map_name="3m", batch_size=2, **settings)


@pytest.fixture(scope="module")
def played(run):
    """Test episodes of the run's own: observations, legal actions, actions, and how long each was."""
    batches = []
    settings = {"checkpoint_path": str(run.best_model), "evaluate": True, "test_nepisode": 3}
    from run import run as run_config

    def keep(loaded):
        batches.extend(loaded.play())

    run_config({**run.config, **settings}, custom=keep)
    return batches


def test_it_decides_as_the_run_does_step_after_step(run, played):
    policy = run.load()
    for batch in played:
        policy.reset()
        for t in range(int(batch["filled"][0].sum()) - 1):
            actions = policy.act(batch["obs"][0, t].numpy(), batch["avail_actions"][0, t].numpy())
            assert actions.tolist() == batch["actions"][0, t, :, 0].tolist(), t


def test_many_environments_are_as_many_single_ones(run):
    rng = np.random.default_rng(0)
    # faint observations and larger weights make much of last actions and memory
    obs = rng.normal(scale=0.05, size=(12, 3, 3, 30)).astype(np.float32)
    legal = rng.integers(0, 2, (12, 3, 3, 9)) | np.eye(9, dtype=int)[1]
    many, *single = (run.load() for _ in range(4))
    for policy in (many, *single):
        for weights in policy._mac.parameters():
            weights.data *= 6
    for t in range(12):
        if t in (4, 7, 10):  # another episode begins in one of them
            many.reset(np.arange(3) == t % 3)
            single[t % 3].reset()
        expected = [one.act(o, m) for one, o, m in zip(single, obs[t], legal[t], strict=True)]
        assert many.act(obs[t], legal[t]).tolist() == np.stack(expected).tolist(), t
    assert np.take_along_axis(legal[-1], np.stack(expected)[..., None], -1).all()


def test_agents_by_name_and_those_who_leave(run):
    policy, other = run.load(), run.load()
    env = muster.make("skirmish", map_name="3m", illegal_actions="error", seed=1)
    obs, _ = env.reset()
    while env.agents:
        actions = policy.act(obs)
        assert list(actions) == list(obs)  # those who have just left are still seen
        whole, legal = np.zeros((3, 30), np.float32), np.eye(9)[[0, 0, 0]]
        for i, agent in enumerate(env.possible_agents):
            if agent in obs:
                whole[i], legal[i] = obs[agent]["observation"], obs[agent]["action_mask"]
        expected = dict(zip(env.possible_agents, other.act(whole, legal), strict=True))
        assert all(action == expected[agent] for agent, action in actions.items())
        obs, *_ = env.step(actions)


def test_it_plays_vectorised_environments(run):
    policy, envs = run.load(), muster.make("skirmish", map_name="3m", num_envs=4, illegal_actions="error")
    obs, infos = envs.reset(seed=1)
    ends = 0
    for _ in range(70):
        obs, rewards, terminated, truncated, infos = envs.step(policy.act(obs, infos["action_mask"]))
        policy.reset(terminated | truncated)
        ends += int((terminated | truncated).sum())
    assert ends >= 4 and rewards.shape == (4,)


@pytest.mark.parametrize(
    ("obs", "legal", "message"),
    [
        (np.zeros((3, 31)), None, r"it must be \(3, 30\) of one environment, or \(B, 3, 30\)"),
        ({"obz": np.zeros((3, 30)), "state": 0}, None, "no field 'obz'. Did you mean 'obs'"),
        ({"state": np.zeros(48)}, None, "'obs' is missing"),
        ({"a": np.zeros(30)}, None, "observations of 1 agents"),
        (np.zeros((2, 3, 30)), np.ones((3, 3, 9)), "2 and 3 environments"),
        (np.zeros((0, 3, 30)), None, "of no environment"),
        ([[1, 2], [3]], None, "rows of 'obs' have unequal lengths"),
        (np.full((3, 30), "a"), None, "'obs' must be numbers"),
        (None, None, "'obs' must be numbers"),
        (dict.fromkeys("abc", np.zeros(30)), np.ones((3, 9)), "legal must be a mapping from agents"),
        (dict.fromkeys("abc", np.zeros(30)), {"d": np.ones(9)}, "legal has no agent 'd'"),
        (dict.fromkeys("abc", np.zeros(5)), None, r"'obs' of 'a' has the shape \(5,\); it must be \(30,\)"),
        (dict.fromkeys("abc", 0.0), None, r"'obs' of 'a' has the shape \(\)"),
    ],
)
def test_wrong_observations_are_refused(obs, legal, message, run):
    with pytest.raises(muster.ConfigError, match=message):
        run.load().act(obs, legal)


def test_what_it_takes_for_observations(run):
    policy = run.load()
    obs = np.random.default_rng(1).normal(size=(3, 30)).astype(np.float32)
    forms = [obs, obs.astype(float), obs.tolist(), th.from_numpy(obs).requires_grad_(), {"obs": obs}, obs[None]]
    acted = [np.reshape(policy.act(form, {"actions": np.ones((3, 9))} if k < 5 else None), 3).tolist()
             for k, form in enumerate(forms) if policy.reset() is None]  # fmt: skip
    assert acted == [acted[0]] * 6
    policy.reset()
    agents = dict(zip("abc", obs, strict=True))
    assert policy.act(agents) == dict(zip("abc", acted[0], strict=True))
    assert policy.act({}) == {}  # all have left


def test_it_explores_if_it_is_asked_to(run):
    policy, legal = run.load(), np.tile(np.eye(9, dtype=int)[4] + np.eye(9, dtype=int)[7], (200, 3, 1))
    obs = np.zeros((200, 3, 30))
    greedy = policy.act(obs, legal)
    assert (greedy == greedy[0]).all()
    policy.reset()
    assert np.unique(policy.act(obs, legal, greedy=False)[:, 0]).tolist() == [4, 7]


def test_one_of_its_models_is_chosen(run):
    assert run.load("newest").step >= run.load().step
    for play in (run.load, lambda model: run.evaluate(2, model=model)):
        with pytest.raises(muster.ConfigError, match=r"model is 'bst'\. Did you mean 'best'"):
            play("bst")
    for episodes in (0, -1, 1.5, "two"):
        with pytest.raises(muster.ConfigError, match=r"episodes is .*; it must be a whole number from 1"):
            run.evaluate(episodes)
    with pytest.raises(muster.ConfigError, match=r"version is '7'\. Allowed: 2, 3"):
        run.load().export("policy.onnx", version=7)


def test_another_number_of_environments_needs_a_reset(run):
    policy = run.load()
    policy.act(np.zeros((2, 3, 30)))
    with pytest.raises(muster.ConfigError, match=r"the memory is of 2. Call reset\(\)"):
        policy.act(np.zeros((3, 3, 30)))
    policy.reset()
    assert policy.act(np.zeros((3, 3, 30))).shape == (3, 3)


def test_loading_leaves_the_random_numbers_alone(run):
    before = th.get_rng_state()
    run.load()
    assert th.equal(before, th.get_rng_state())


@pytest.mark.slow
def test_groups_of_agents_act_by_name_and_in_batches(tmp_path):
    game = {"key": "mpe2.simple_adversary_v3", "groups": {"good": ["agent_0", "agent_1"], "bad": ["adversary_0"]}}
    settings = {"teams": {name: {"groups": [name]} for name in game["groups"]}, "t_max": 30, "test_nepisode": 1}
    settings |= {"seed": 1, "quiet": True, "local_results_path": str(tmp_path)}
    policy = muster.train("mappo", "pettingzoo", **game, **settings).load()
    env, envs = (muster.make("pettingzoo", num_envs=number, **game) for number in (None, 2))
    obs, _ = env.reset(seed=1)
    one = policy.act(obs)
    assert list(one) == env.agents
    policy.reset()
    obs, infos = envs.reset(seed=1)
    many = policy.act(obs, infos["action_mask"])
    assert many["good/actions"].shape == (2, 2) and many["bad/actions"].shape == (2, 1)
    first = [*many["good/actions"][0], *many["bad/actions"][0]]
    assert first == [one[agent] for agent in ("good_0", "good_1", "bad_0")]


@pytest.mark.slow
def test_a_policy_is_exported_once_onnxruntime_agrees(run, tmp_path, monkeypatch):
    ort = pytest.importorskip("onnxruntime")
    policy = run.load()
    (path,) = policy.export(tmp_path / "policy.onnx")
    session, rng = ort.InferenceSession(str(path)), np.random.default_rng(0)
    memory = {given.name: given.shape[-1] for given in session.get_inputs()}["recurrent_in"]
    given = {"obs_1": np.eye(3, dtype=np.float32), "recurrent_in": np.zeros((3, 1, memory), np.float32)}
    for _ in range(6):
        obs, legal = rng.normal(size=(3, 30)), (rng.random((3, 9)) < 0.3) | (np.arange(9) == 1)
        given |= {"obs_0": obs.astype(np.float32), "action_masks": legal.astype(np.float32)}
        chosen, given["recurrent_in"] = session.run(["deterministic_discrete_actions", "recurrent_out"], given)
        assert policy.act(obs, legal).tolist() == chosen[:, 0].tolist()
    monkeypatch.setattr("experiment.onnx_export.np.allclose", lambda *a, **k: False)
    with pytest.raises(muster.MusterError, match="onnxruntime computes another"):
        policy.export(tmp_path / "other.onnx")
    assert not (tmp_path / "other.onnx").exists()
    with pytest.raises(muster.ConfigError, match=r"must end in \.onnx"):
        policy.export(tmp_path / "policy")
