"""Both runners on an environment whose every figure is known, and against each other."""

import contextlib

import pytest
import torch as th

from envs import REGISTRY
from experiment.assembly import assemble
from fakes import CountingEnv, RecordingLogger
from helpers import make_args
from utils.numbers.random_streams import seed_everything
from vector_envs.instances import TEST_SEED_OFFSET

RUNNERS = ["episode", "parallel"]


@pytest.fixture(autouse=True)
def counting_env(monkeypatch):
    monkeypatch.setitem(REGISTRY._entries, "counting", None)
    REGISTRY["counting"] = CountingEnv


@contextlib.contextmanager
def assembled(runner, seed=5, batch_size_run=1, env_args=None, **changes):
    """The parts of a run on CountingEnv, closed at the end."""
    seed_everything(seed)
    args = make_args(
        env="counting",
        env_args={**(env_args or {}), "seed": seed},
        runner=runner,
        batch_size_run=batch_size_run,
        **changes,
    )
    parts = assemble(args, RecordingLogger())
    try:
        yield parts
    finally:
        parts.runner.close_env()


@pytest.mark.parametrize("runner", RUNNERS)
def test_contents_of_an_episode(runner):
    with assembled(runner, env_args={"lengths": [4], "episode_limit": 6}) as parts:
        batch = parts.runner.run()
    t = list(range(7))
    assert batch["filled"][0, :, 0].tolist() == [1, 1, 1, 1, 1, 0, 0], "four steps and the closing state"
    assert batch["obs"][0, :5, 0, 2].tolist() == t[:5]
    assert batch["state"][0, :5, 1].tolist() == t[:5]
    actions = batch["actions"][0, :, :, 0]
    expected = [step + 1 + actions[step].sum().item() / 10 for step in range(4)]
    assert batch["reward"][0, :, 0].tolist() == pytest.approx([*expected, 0, 0, 0])
    assert batch["terminated"][0, :, 0].tolist() == [0, 0, 0, 1, 0, 0, 0]
    assert batch["truncated"].sum() == 0
    assert batch["actions_onehot"][0, :5].sum() == 10, "the closing state has an action, too"
    assert batch["actions_onehot"][0, 5:].sum() == 0
    chosen = batch["avail_actions"][0, :5].gather(2, batch["actions"][0, :5])
    assert chosen.min() == 1
    assert parts.runner.t_env == 4


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize(("end", "length"), [("time_limit", 6), ("truncated", 3)])
def test_a_cut_off_episode_is_truncated_and_not_terminated(runner, end, length):
    with assembled(runner, env_args={"lengths": [length], "ends": [end]}) as parts:
        batch = parts.runner.run()
    assert batch["terminated"].sum() == 0
    assert batch["truncated"][0, :, 0].tolist() == [int(t == length - 1) for t in range(7)]
    assert batch["filled"].sum() == length + 1


def test_one_parallel_environment_gives_the_same_batches_as_the_episode_runner():
    """Same seeds, same actions, same everything, bit for bit, tests in between included."""
    played = []
    for runner in RUNNERS:
        with assembled(
            runner, env_args={"lengths": [4, 6, 2], "ends": ["terminated", "time_limit", "truncated"]}
        ) as parts:
            batches = [parts.runner.run(test_mode=i % 3 == 2) for i in range(9)]
            played.append((batches, parts.runner.t_env, dict(parts.runner.logger.values)))
    (ours, our_steps, our_stats), (theirs, their_steps, their_stats) = played
    assert our_steps == their_steps
    assert our_stats == their_stats
    for a, b in zip(ours, theirs, strict=True):
        assert a.scheme.keys() == b.scheme.keys()
        for key in a.scheme:
            assert th.equal(a[key], b[key]), key


@pytest.mark.parametrize("runner", RUNNERS)
def test_tests_play_on_a_separate_environment(runner):
    with assembled(runner, env_args={"lengths": [3]}) as parts:
        first = parts.runner.run()
        test = parts.runner.run(test_mode=True)
        second = parts.runner.run()
    assert first["obs"][0, 0, 0, :2].tolist() == [5, 0]
    assert test["obs"][0, 0, 0, :2].tolist() == [(5 + TEST_SEED_OFFSET) % 1000, 0]
    assert second["obs"][0, 0, 0, :2].tolist() == [5, 1], "the training environment did not see the test"


@pytest.mark.parametrize("runner", RUNNERS)
def test_tests_can_share_the_training_environment(runner):
    with assembled(runner, env_args={"lengths": [3]}, separate_test_env=False) as parts:
        batches = [parts.runner.run(test_mode=test) for test in (False, True, False)]
    assert [b["obs"][0, 0, 0, :2].tolist() for b in batches] == [[5, 0], [5, 1], [5, 2]]


def test_the_parallel_runner_needs_no_truncated_field():
    """A third-party scheme may be PyMARL's own."""
    with assembled("parallel", env_args={"lengths": [2], "ends": ["truncated"]}) as parts:
        runner, args = parts.runner, parts.runner.args
        scheme = {
            k: v for k, v in runner.new_batch.args[0].items() if k in ("state", "obs", "actions", "avail_actions")
        }
        scheme |= {"reward": {"vshape": (1,)}, "terminated": {"vshape": (1,), "dtype": th.uint8}}
        preprocess = runner.new_batch.keywords["preprocess"]
        runner.setup(scheme, {"agents": args.n_agents}, preprocess, parts.mac)
        batch = runner.run()
    assert "truncated" not in batch.scheme
    assert batch["terminated"].sum() == 0


@pytest.mark.parametrize("runner", RUNNERS)
def test_nothing_is_differentiated_while_acting(runner, monkeypatch):
    """PyMARL's rollouts build a graph in vain."""
    seen = []
    with assembled(runner) as parts:
        forward = parts.mac.agent.forward

        def watched(inputs, hidden_state):
            outputs, hidden = forward(inputs, hidden_state)
            seen.append(outputs.requires_grad or hidden.requires_grad)
            return outputs, hidden

        monkeypatch.setattr(parts.mac.agent, "forward", watched)
        parts.runner.run()
    assert seen
    assert not any(seen)


def test_the_episode_runner_runs_one_environment():
    with pytest.raises(ValueError, match="one environment"), assembled("episode", batch_size_run=2):
        pass
