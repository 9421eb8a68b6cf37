"""Which actions are chosen, and how often."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch as th
from hypothesis import given
from hypothesis import strategies as st

from components.action_selectors import (
    REGISTRY,
    EpsilonGreedyActionSelector,
    MultinomialActionSelector,
    SoftPoliciesSelector,
)
from helpers import make_args

AVAIL = st.lists(st.lists(st.booleans(), min_size=4, max_size=4).filter(any), min_size=3, max_size=3)


@pytest.mark.slow
@given(AVAIL, st.sampled_from(sorted(REGISTRY)), st.floats(0, 1), st.booleans(), st.integers(0, 99))
def test_no_selector_takes_an_illegal_action(avail, name, epsilon, test_mode, seed):
    avail = th.tensor([avail]).int()
    outputs = th.rand(1, 3, 4, generator=th.Generator().manual_seed(seed)) + 0.1
    args = make_args(epsilon_start=epsilon, epsilon_finish=epsilon)
    actions = REGISTRY[name](args).select_action(outputs, avail, 0, test_mode=test_mode)
    assert actions.shape == (1, 3)
    assert actions.dtype == th.long
    assert avail.gather(2, actions.unsqueeze(2)).min() == 1


def test_on_a_cpu_the_choice_is_that_of_an_exponential_race():
    """The same random numbers make the same choices as on a GPU's path, and as before there was another one."""
    q, avail = th.randn(50, 3, 9), th.randint(2, (50, 2, 3, 9), dtype=th.int)[:, 1]
    selector = EpsilonGreedyActionSelector(make_args(epsilon=0.5))
    th.manual_seed(1)
    found, after = selector.select_action(q, avail, 0), th.rand(1)
    th.manual_seed(1)
    greedy = q.masked_fill(avail == 0, -float("inf")).argmax(dim=2)
    explore = th.rand_like(q[:, :, 0]) < 0.5
    at_random = (avail.float() / th.empty(q.shape).exponential_()).argmax(dim=2)
    assert th.equal(found, th.where(explore, at_random, greedy))
    assert th.equal(after, th.rand(1))
    assert th.equal(selector.select_action(q, avail, 0, test_mode=True), greedy)


def _shares(selector, outputs, avail, test_mode=False, t_env=0, draws=20000, dtype=th.float32):
    many = lambda x: th.tensor(x).expand(draws, 1, -1)  # noqa: E731
    th.manual_seed(0)
    actions = selector.select_action(many(outputs).to(dtype), many(avail), t_env, test_mode=test_mode)
    return np.bincount(actions.flatten().numpy(), minlength=len(outputs)) / draws


def test_epsilon_greedy_shares():
    """With epsilon 0.6 over three legal actions each random one has 0.2, the best one 0.4 more."""
    selector = EpsilonGreedyActionSelector(make_args(epsilon_start=0.6, epsilon_finish=0.6))
    shares = _shares(selector, [1.0, 9.0, 3.0, 2.0], [1, 0, 1, 1])
    assert shares == pytest.approx([0.2, 0, 0.6, 0.2], abs=0.02)


def test_epsilon_follows_the_steps_and_tests_are_greedy():
    selector = EpsilonGreedyActionSelector(make_args(epsilon_start=1.0, epsilon_finish=0.0, epsilon_anneal_time=100))
    assert _shares(selector, [0.0, 1.0], [1, 1], t_env=50) == pytest.approx([0.25, 0.75], abs=0.02)
    assert selector.epsilon == 0.5
    assert _shares(selector, [0.0, 1.0], [1, 1], test_mode=True).tolist() == [0, 1]


def test_epsilon_may_be_a_schedule_of_any_shape():
    points = ["staircase", [0, 0.6], [100, 0.2]]
    selector = EpsilonGreedyActionSelector(make_args(epsilon=points, epsilon_start=1.0))
    assert selector.epsilon == 0.6
    assert _shares(selector, [0.0, 1.0], [1, 1], t_env=150) == pytest.approx([0.1, 0.9], abs=0.02)


def test_noise_decides_a_share_of_actions():
    """Values that differ by the noise's deviation d: N(0, d) - N(0, d) > d with probability 0.2398."""
    args = make_args(epsilon=0.0, epsilon_boltzmann=["linear", [0, 0.0], [10, 0.5]], boltzmann_noise=0.01)
    selector = REGISTRY["epsilon_boltzmann"](args)
    assert _shares(selector, [1.0, 1.01, 0.0], [1, 1, 0]).tolist() == [0, 1, 0]
    shares = _shares(selector, [1.0, 1.01, 0.0], [1, 1, 0], t_env=10)
    assert shares == pytest.approx([0.1199, 0.8801, 0], abs=0.01)
    assert _shares(selector, [1.0, 1.01, 9.0], [1, 1, 0], t_env=10, test_mode=True).tolist() == [0, 1, 0]


@pytest.mark.parametrize(("of", "share"), [("all", 0.3), ("others", 0.15)])
def test_noise_decides_linesights_share_of_all_actions(of, share):
    """It draws one number r: random below epsilon, noise below epsilon + epsilon_boltzmann. Here half are random."""
    args = make_args(epsilon=0.5, epsilon_boltzmann=0.3, boltzmann_noise=1e6, boltzmann_of=of)
    selector = REGISTRY["epsilon_boltzmann"](args)
    th.manual_seed(0)
    values = th.tensor([1.0, 0.0]).expand(40_000, 1, 2)
    best = (selector.select_action(values, th.ones_like(values), 0) == 0).float().mean()
    # half of the random ones, and of those that noise decides
    assert float(best) == pytest.approx(1 - 0.25 - share / 2, abs=0.01)


def test_greedy_play_draws_no_random_numbers():
    selector = EpsilonGreedyActionSelector(make_args())
    values, avail = th.rand(2, 2, 3), th.ones(2, 2, 3)
    before = th.get_rng_state()
    selector.select_action(values, avail, 0, test_mode=True)
    assert th.equal(th.get_rng_state(), before)
    selector.select_action(values, avail, 0)
    assert not th.equal(th.get_rng_state(), before)


@pytest.mark.parametrize("dtype", [th.float32, th.float64])  # the second takes the way of a GPU
def test_with_epsilon_one_every_legal_action_is_as_likely(dtype):
    selector = EpsilonGreedyActionSelector(make_args(epsilon_start=1.0, epsilon_finish=1.0))
    shares = _shares(selector, [5.0, 9.0, -1.0, 2.0, 0.0], [1, 0, 1, 1, 1], dtype=dtype)
    assert shares == pytest.approx([0.25, 0, 0.25, 0.25, 0.25], abs=0.02)


def test_each_agent_explores_on_its_own():
    """With epsilon 0.5 and two actions an agent takes the worse one 1/4 of the time, and both agents 1/16."""
    selector = EpsilonGreedyActionSelector(make_args(epsilon_start=0.5, epsilon_finish=0.5))
    th.manual_seed(0)
    values = th.tensor([[1.0, 0.0], [1.0, 0.0]]).expand(20000, 2, 2)
    worse = selector.select_action(values, th.ones(20000, 2, 2), 0).float()
    assert worse.mean(0).tolist() == pytest.approx([0.25, 0.25], abs=0.02)
    assert worse.prod(1).mean().item() == pytest.approx(1 / 16, abs=0.01)


def test_the_best_action_is_the_best_legal_one():
    selector = EpsilonGreedyActionSelector(make_args())
    values = th.tensor([[[-5.0, -7.0, 9.0], [0.0, 3.0, 2.0]]])
    avail = th.tensor([[[1, 1, 0], [1, 0, 1]]])
    assert selector.select_action(values, avail, 0, test_mode=True).tolist() == [[0, 2]]
    assert values[0, 0, 2] == 9


@pytest.mark.parametrize("cls", [MultinomialActionSelector, SoftPoliciesSelector])
def test_policies_are_sampled_among_the_legal_actions(cls):
    policy, avail = [0.1, 0.5, 0.2, 0.2], [1, 0, 1, 1]
    assert _shares(cls(make_args()), policy, avail) == pytest.approx([0.2, 0, 0.4, 0.4], abs=0.02)
    greedy = _shares(cls(make_args(test_greedy=True)), [0.1, 0.5, 0.3, 0.1], avail, test_mode=True)
    assert greedy.tolist() == [0, 0, 1, 0]
    sampled = _shares(cls(make_args(test_greedy=False)), policy, avail, test_mode=True)
    assert sampled == pytest.approx([0.2, 0, 0.4, 0.4], abs=0.02)


def test_the_exponential_decay_can_be_chosen():
    args = make_args(epsilon_decay="exp", epsilon_finish=0.04, epsilon_anneal_time=1000)
    selector = MultinomialActionSelector(args)
    selector.anneal(500)
    assert selector.epsilon == pytest.approx(0.2)


def test_exploring_draws_the_same_as_multinomial():
    """So that a seed explores as it did when the choice was `th.multinomial`'s."""
    selector = REGISTRY["epsilon_greedy"](make_args(epsilon_start=1.0, epsilon_finish=1.0))
    avail = th.tensor([[[1, 0, 1, 1], [0, 1, 0, 0]], [[1, 1, 1, 1], [0, 0, 1, 1]]])
    th.manual_seed(1)
    chosen = [selector.select_action(th.zeros(2, 2, 4), avail, 0) for _ in range(20)]
    th.manual_seed(1)
    for actions in chosen:
        th.rand(2, 2)
        assert th.equal(actions.flatten(), th.multinomial(avail.flatten(0, 1).float(), 1).squeeze(1))
    assert len({tuple(actions.flatten().tolist()) for actions in chosen}) > 5


@pytest.mark.slow
def test_a_file_in_pymarls_place_takes_ours_place(tmp_path):
    """Its plain dict is the registry; everything else is found where it was."""
    source = Path(__file__).resolve().parents[2] / "src"
    for folder in (tmp_path, tmp_path / "components"):
        folder.mkdir(exist_ok=True)
        for path in (source / folder.relative_to(tmp_path)).iterdir():
            if path.name not in ("components", "action_selectors.py", "__pycache__"):
                (folder / path.name).symlink_to(path)
    (tmp_path / "components" / "action_selectors.py").write_text(
        "from .epsilon_schedules import DecayThenFlatSchedule\n"
        "REGISTRY = {}\n"
        "class First:\n"
        "    def __init__(self, args):\n"
        "        self.schedule = DecayThenFlatSchedule(1, 0, 9)\n"
        "    def select_action(self, agent_inputs, avail_actions, t_env, test_mode=False):\n"
        "        return avail_actions.argmax(dim=2)\n"
        'REGISTRY["first"] = First\n'
    )
    settings = "batch_size=1 test_nepisode=1 seed=1 learner_log_interval=1 env_args.game=qtran t_max=3".split()
    settings.append(f"local_results_path={tmp_path / 'results'}")
    command = ["--config=vdn", "--env-config=matrix", "with", *settings]
    program = (
        "import sys, main\n"
        "for name in ('first', 'firts'):\n"
        "    print('exit code', main.main([*sys.argv[1:], f'action_selector={name}']))\n"
    )
    words = [sys.executable, "-c", program, *command]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=100)
    assert re.findall("exit code (.)", done.stdout) == ["0", "2"], done.stderr
    assert re.search(r"test_return_mean: +8\.0000", done.stdout), "the first actions pay 8 in this game"
    assert "action_selector=firts" in done.stderr
    assert "Did you mean 'first'?" in done.stderr
